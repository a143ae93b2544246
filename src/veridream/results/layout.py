"""How each table is shown: heads and cells for people, from the rows or from their CSV read back."""

from collections.abc import Callable
from typing import Any

from veridream.results import leaderboard
from veridream.results.markdown import number, with_interval

Row = dict[str, Any]
Shown = tuple[list[str], list[list[str]]]


def _ci(row: Row, name: str, signed: bool = False) -> str:
    return with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], signed)


def coverage(rows: list[Row]) -> Shown:
    """Table 1."""
    head = ["arm", "metric", "better", "value", "minus base", "minus control", "paper: minus base"]
    body = [
        [r["title"], f"{r['metric']} ({r['unit']})" if r["unit"] != "1" else r["metric"], r["better"], number(r["value"]), _ci(r, "vs_base", True)]
        + [_ci(r, "vs_control", True), number(r["paper_vs_base"], True)]
        for r in rows
    ]
    return head, body


def targeted(rows: list[Row]) -> Shown:
    """Table 2; the paper's value stands in a second line of the cell."""
    head = ["model", "recon PSNR (dB)", "dPSNR median (dB)", "dPSNR mean (dB)", "ASR", "u_r / m", "MPC score"]
    body = []
    for r in rows:
        cells = [r["title"]]
        for name, signed in (("recon_psnr", False), ("dpsnr_median", True), ("dpsnr", True), ("asr", False), ("u_r_norm", False), ("mpc", False)):
            published = r.get(f"paper_{name}")
            cells.append(_ci(r, name, signed) + ("" if published is None else f"\npaper {number(published, signed)}"))
        body.append(cells)
    return head, body


def auroc(rows: list[Row]) -> Shown:
    """Table 7."""
    head = ["score", "actions ignored, pooled", "within task", "paper", "scene divergent, pooled", "within task", "paper"]
    body = []
    for r in rows:
        cells = [r["title"]]
        for label in ("action_ignored", "scene_divergent"):
            cells += [_ci(r, label), _ci(r, f"{label}_within"), number(r[f"paper_{label}"])]
        body.append(cells)
    return head, body


LAYOUTS: dict[str, Callable[[list[Row]], Shown]] = {"coverage": coverage, "targeted": targeted, "auroc": auroc, "wmb": leaderboard.shown}
TITLES = {
    "coverage": "Table 1. Coverage-aware sampling, seen tasks",
    "targeted": "Table 2. Targeted data, unseen tasks",
    "auroc": "Table 7. Predictors as failure detectors (AUROC), base model, seen tasks",
    "wmb": "WorldModelBench by the simulator (wmb-sim), base model and its controls, seen tasks",
}
NOTES = {
    "coverage": "Differences are paired by sequence; brackets hold bootstrap intervals over tasks and sequences. "
    "The control got the same extra steps with the default sampling: only the column minus control isolates the sampling.",
    "targeted": "Every finetune starts from the coverage-aware model. Combined holds four sources, so four times the data; "
    "the matched row has one source's budget. Paper values are of 10 unseen tasks at 224 x 224.",
    "auroc": "Actions ignored: action-shuffle ratio at most 1.1. Scene divergent: rollout dPSNR at most 0 dB. "
    "Within task: mean over the tasks in which both classes occur, so that task identity cannot help.",
    "wmb": leaderboard.NOTES["wmb-sim"],
}
