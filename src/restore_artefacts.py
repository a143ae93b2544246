"""Restore the recorded artefacts of this commit: DVC checkout, verification, and only what provably holds is marked as up to date."""

import argparse
import json
import sys

from veridream.params.load import ParamsError
from veridream.provenance.ledger import refresh_plan
from veridream.provenance.lock import Locked
from veridream.provenance.restore import checkout, settle
from veridream.provenance.workflow import WorkflowFailed, scale_lock


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--scale", default="laptop", help="the folder under results/ (default: laptop)")
    ap.add_argument("--force", action="store_true", help="let DVC overwrite results that were never recorded")
    ap.add_argument("--json", action="store_true", help="print what is sound and what is stale, and why, as JSON")
    a = ap.parse_args()
    try:
        with scale_lock(a.scale):
            checkout(a.scale, force=a.force)
            restored = settle(a.scale)
            refresh_plan(a.scale)
    except (Locked, WorkflowFailed, ParamsError) as e:
        print(f"restore: {e}", file=sys.stderr)
        return 1
    if a.json:
        print(json.dumps({"scale": a.scale, "sound": restored.sound, "stale": restored.stale}, indent=1, sort_keys=True))
        return 0
    for receipt, why in restored.stale.items():
        print(f"stale, the next run remakes it: {receipt}: {'; '.join(why)}")
    print(f"restored {len(restored.sound)} artefacts whose whole upstream holds; {len(restored.stale)} jobs are stale")
    return 0


if __name__ == "__main__":
    sys.exit(main())
