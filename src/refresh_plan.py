"""Bring ledger/<scale>/plan.json up to today's params and code, or with --metrics ledger/<scale>/metrics.json to the receipts as they stand.

These are the two stages of dvc.yaml that are no rule: through them DVC's own commands (`dvc repro`, `dvc exp run`) see what a param changes.
"""

import argparse
import sys

from veridream.provenance.anchor import metrics_path
from veridream.provenance.digest import ROOT
from veridream.provenance.ledger import metrics, refresh_plan
from veridream.provenance.receipts import load_receipts, write_json


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", default="laptop", help="the recorded scale (default: laptop)")
    ap.add_argument("--metrics", action="store_true", help="the metrics instead of the plan")
    a = ap.parse_args()
    try:
        if a.metrics:
            receipts = load_receipts(ROOT / "results" / a.scale / "receipts")
            write_json(ROOT / metrics_path(a.scale), metrics({k.removeprefix(f"{ROOT.as_posix()}/"): r for k, r in receipts.items()}))
        else:
            refresh_plan(a.scale)
    except ValueError as e:  # ParamsError, a damaged receipt
        print(f"refresh_plan: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
