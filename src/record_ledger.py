"""Record a finished run: dvc.yaml from the receipts, the bytes into the DVC cache, and the anchor that ties all of it down (ledger/).

Refuses unless every receipt holds (bytes, params, code, environment, inputs, history) and Snakemake plans nothing.
--check only compares dvc.yaml and ledger/ with what the receipts generate: exit 1 where they differ.
"""

import argparse
import json
import subprocess
import sys
from typing import Any

from veridream.params.load import ParamsError
from veridream.provenance.digest import ROOT
from veridream.provenance.ledger import METRICS, differences, write_anchor, write_ledger
from veridream.provenance.lock import Locked
from veridream.provenance.records import Receipt, Records
from veridream.provenance.workflow import WorkflowFailed, scale_lock, summary


class Refused(Exception):
    """The text says why nothing was recorded."""


def sound_receipts(scale: str) -> dict[str, Receipt]:
    """The receipts of today's DAG, all of which hold. Raises Refused, WorkflowFailed."""
    plan = summary(scale)
    if pending := sorted(p for p, why in plan.items() if why is not None):
        shown = "\n".join(f"  {p}: {plan[p]}" for p in pending[:20]) + (f"\n  and {len(pending) - 20} more" if len(pending) > 20 else "")
        raise Refused(f"Snakemake would still make {len(pending)} files; run `make reproduce SCALE={scale}` first:\n{shown}")
    records = Records(scale)
    if failing := {k: v for k, v in records.failing().items() if k in plan}:
        raise Refused("receipts do not hold:\n" + "\n".join(f"  {k}: {'; '.join(v)}" for k, v in failing.items()))
    if orphans := sorted(k for k in records.receipts if k not in plan):
        print(f"left out, no rule makes them any more (`make gc SCALE={scale}` shows what can go): {', '.join(orphans)}", file=sys.stderr)
    return {k: r for k, r in records.receipts.items() if k in plan}


def check(scale: str) -> dict[str, Any]:
    """{scale, in_sync, differs}. Raises Refused, WorkflowFailed."""
    plan = summary(scale)
    receipts = {k: r for k, r in Records(scale).receipts.items() if k in plan}
    if not receipts:
        raise Refused(f"results/{scale} holds no receipts to compare with")
    try:
        wrong = differences(scale, receipts)
    except ValueError as e:
        raise Refused(str(e)) from None
    return {"scale": scale, "in_sync": not wrong, "differs": wrong}


def record(scale: str) -> dict[str, Any]:
    """{scale, artefacts, jobs, stages}. Raises Refused, WorkflowFailed."""
    receipts = sound_receipts(scale)
    stages = write_ledger(scale, receipts)
    words = ["commit", "--quiet", "--force", "--with-deps", f"{scale}-{METRICS}"]  # it reads every receipt: all of the scale, dvc.lock written once
    done = subprocess.run([sys.executable, "-m", "dvc", *words], cwd=ROOT)
    if done.returncode:
        raise Refused("dvc commit failed (see above); dvc.yaml is written, its bytes are not in the cache")
    write_anchor(scale, receipts)
    return {"scale": scale, "artefacts": sum(len(r["outputs"]) for r in receipts.values()), "jobs": len(receipts), "stages": stages}


def as_text(said: dict[str, Any]) -> str:
    if "stages" in said:
        counts = f"recorded {said['artefacts']} artefacts of {said['jobs']} jobs in {len(said['stages'])} DVC stages"
        return f"{counts}; commit dvc.yaml, dvc.lock and ledger/ to git"
    if said["in_sync"]:
        return "the ledger is in sync"
    return f"not what the receipts of {said['scale']} generate: {', '.join(said['differs'])}; `make record SCALE={said['scale']}` writes them"


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", default="laptop", help="the folder under results/ (default: laptop)")
    ap.add_argument("--check", action="store_true", help="change nothing; exit 1 when the ledger is out of sync")
    ap.add_argument("--json", action="store_true", help="print the outcome as JSON")
    a = ap.parse_args()
    try:
        if a.check:
            said = check(a.scale)
        else:
            with scale_lock(a.scale):
                said = record(a.scale)
    except (Refused, Locked, WorkflowFailed, ParamsError) as e:
        print(f"not recorded: {e}" if not a.check else f"not checked: {e}", file=sys.stderr)
        return 1
    print(json.dumps(said, indent=1, sort_keys=True) if a.json else as_text(said))
    return 0 if said.get("in_sync", True) else 1


if __name__ == "__main__":
    sys.exit(main())
