"""What changed between two recorded revisions: params, environment, metrics, and which artefacts, by which cause.

Reads the ledger that was committed with each (`make record`, then git commit), so it needs neither the results nor the DVC cache.
"""

import argparse
import json
import sys

from veridream.provenance.git import NoSuchRevision
from veridream.provenance.revisions import NoLedger, as_json, as_text, compare


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("rev1", help="a commit, branch or tag, for example HEAD~1")
    ap.add_argument("rev2", nargs="?", default="HEAD", help="the other one (default: HEAD)")
    ap.add_argument("--scale", default="laptop", help="the recorded scale (default: laptop)")
    ap.add_argument("--json", action="store_true", help="print it as JSON")
    a = ap.parse_args()
    try:
        found = compare(a.rev1, a.rev2, a.scale)
    except (NoSuchRevision, NoLedger) as e:
        print(f"diff: {e}", file=sys.stderr)
        return 1
    print(json.dumps(as_json(found), indent=1, sort_keys=True) if a.json else as_text(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
