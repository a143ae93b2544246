"""Why an artefact would be made again: which params key, module, line of the environment or input changed since, with the difference.

Exit code 2 where there is no such artefact, else 0.
"""

import argparse
import json
import sys

from veridream.provenance.audit import NotAnArtefact
from veridream.provenance.explain import as_json, as_text, explain


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("artefact", help="a path under results/<scale>/, for example results/laptop/figures/calibration.svg")
    ap.add_argument("--deep", action="store_true", help="read every byte, whatever an earlier audit remembers")
    ap.add_argument("--json", action="store_true", help="print it as JSON")
    a = ap.parse_args()
    try:
        found = explain(a.artefact, deep=a.deep)
    except NotAnArtefact as e:
        print(f"explain: {e}", file=sys.stderr)
        return 2
    print(json.dumps(as_json(found), indent=1, sort_keys=True) if a.json else as_text(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
