"""Audit an artefact: its chain of makers back to the first stores, each link with its hash, params, code, commit, and whether it HOLDS.

Exit codes: 0 every link holds; 1 a link is broken; 2 there is no such artefact.
"""

import argparse
import json
import sys

from veridream.provenance.audit import NotAnArtefact, as_json, as_text, audit


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("artefact", help="a path under results/<scale>/, for example results/laptop/figures/calibration.svg")
    ap.add_argument("--json", action="store_true", help="print the chain as JSON")
    a = ap.parse_args()
    try:
        chain = audit(a.artefact)
    except NotAnArtefact as e:
        print(f"audit: {e}", file=sys.stderr)
        return 2
    print(json.dumps(as_json(chain), indent=1, sort_keys=True) if a.json else as_text(chain))
    return 0 if all(link.holds for link in chain) else 1


if __name__ == "__main__":
    sys.exit(main())
