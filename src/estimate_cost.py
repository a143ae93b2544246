"""What a scale would cost before it is run: jobs, hours, bytes by stage, scaled from the measured jobs of a finished run."""

import argparse
import json
import sys

from veridream.provenance.digest import ROOT
from veridream.provenance.estimate import as_json, as_text, estimate


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--scale", default="laptop", help="the scale to estimate: a file of params/scales (default: laptop)")
    ap.add_argument("--reference", metavar="SCALE", help="the finished run to scale from (default: laptop where it is finished, else smoke)")
    ap.add_argument("--json", action="store_true", help="print it as JSON")
    a = ap.parse_args()
    reference = a.reference or next((s for s in ("laptop", "smoke") if (ROOT / "results" / s / "benchmarks").is_dir()), "laptop")
    try:
        found = estimate(a.scale, reference)
    except ValueError as e:  # ParamsError, NothingMeasured, a damaged receipt
        print(f"estimate: {e}", file=sys.stderr)
        return 1
    print(json.dumps(as_json(found), indent=1, sort_keys=True) if a.json else as_text(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
