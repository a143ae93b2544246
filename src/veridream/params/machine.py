"""What `make doctor` found out about this machine, and which of the wanted tasks are left out for it (`collect.missing: skip`)."""

import json
from pathlib import Path

from veridream.params.load import ROOT, ParamsError
from veridream.params.model import Params

REPORT = ROOT.parent / ".doctor.json"
FEWEST = {"seen": 2, "unseen": 1}


def absent(report: Path | None = None) -> dict[str, str]:
    """{task: why it cannot run here, with the remedy}, as the doctor last saw it. Raises ParamsError when no doctor has looked."""
    report = report or REPORT
    try:
        out: dict[str, str] = json.loads(report.read_text())["absent"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ParamsError(f"collect.missing is skip, and {report} does not say what this machine lacks: run make doctor") from None
    return out


def skipped(params: Params) -> dict[str, str]:
    """{task: why} of the wanted tasks that are left out. Empty unless `collect.missing` is skip: their jobs then fail, and say the same."""
    if params.collect.missing != "skip":
        return {}
    gone = absent()
    return {t: gone[t] for t in (*params.tasks.seen, *params.tasks.unseen) if t in gone}


def present(params: Params) -> dict[str, list[str]]:
    """{seen: tasks, unseen: tasks} without the skipped ones. Raises ParamsError when too few are left."""
    gone = skipped(params)
    out = {side: [t for t in getattr(params.tasks, side) if t not in gone] for side in FEWEST}
    for side, least in FEWEST.items():
        if len(out[side]) < least:
            raise ParamsError(
                f"tasks.{side}: {len(out[side])} of {len(getattr(params.tasks, side))} tasks can run here, {least} needed; {'; '.join(gone.values())}"
            )
    return out


def told(gone: dict[str, str]) -> str:
    """The skipped tasks for people: how many, then each reason once with the tasks it holds for."""
    reasons: dict[str, list[str]] = {}
    for t, why in gone.items():
        reasons.setdefault(why.replace(t, "<task>"), []).append(t)
    lines = [f"{len(gone)} task{'s are' if len(gone) != 1 else ' is'} skipped: collect.missing is skip, and this machine cannot run"]
    return "\n".join([*lines, *(f"  {', '.join(tasks)}\n    {why}" for why, tasks in reasons.items())])
