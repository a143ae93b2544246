"""The published leaderboard, params/wmb/*.csv: rows to stand beside ours, and checks of our own arithmetic.

human_scores  scores by human votes, 14 models (the paper's Table 3)
judge_scores  scores by the benchmark's judge, 13 models (its project page); level<k>: share of videos at instruction level k or more
judge_errors  error of seven judges, % (its Table 5, second-hand)
external_run  sums over 350 items of one public run of the unmodified script
quoted        what the paper says and nobody outside can check; printed, never asserted
"""

import csv
from pathlib import Path
from typing import Any

from veridream.wmb.questions import COMMON_SENSE, PHYSICS, QUESTIONS

ROOT = Path(__file__).resolve().parents[3] / "params" / "wmb"


def published(name: str, root: Path = ROOT) -> list[dict[str, Any]]:
    """Rows of one file; numbers as float."""
    with (root / f"{name}.csv").open(newline="", encoding="utf-8") as f:
        return [{k: _value(v) for k, v in row.items()} for row in csv.DictReader(f)]


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def judge_totals() -> dict[str, float]:
    """{model: instruction + common sense + physics} of the judge: the totals the paper's error table was made with."""
    return {r["model"]: round(r["instruction"] + r["common_sense"] + r["physics"], 2) for r in published("judge_scores")}


def prediction_errors() -> dict[str, float]:
    """{model: (judge - human) / human in %, signed}: the definition that gives the paper's quoted values."""
    human = {r["model"]: r["total"] for r in published("human_scores")}
    return {m: 100.0 * (j - human[m]) / human[m] for m, j in judge_totals().items()}


def paired_totals() -> tuple[list[str], dict[str, tuple[list[float], list[float]]]]:
    """(models in both tables, {total, instruction, physics, common_sense: (human values, judge values)})."""
    human = {r["model"]: r for r in published("human_scores")}
    judge = {r["model"]: r for r in published("judge_scores")}
    models = [m for m in human if m in judge]
    totals = judge_totals()
    axes = {
        "total": ([human[m]["total"] for m in models], [totals[m] for m in models]),
        "instruction": ([human[m]["instruction"] for m in models], [judge[m]["instruction"] for m in models]),
        "physics": ([round(sum(human[m][q] for q in PHYSICS), 2) for m in models], [judge[m]["physics"] for m in models]),
        "common_sense": ([round(sum(human[m][q] for q in COMMON_SENSE), 2) for m in models], [judge[m]["common_sense"] for m in models]),
    }
    return models, axes


def reference_rows() -> list[dict[str, Any]]:
    """Leaderboard rows of the published scores: {title, judge, total, <question>...}. They have no items, so no intervals and no rank."""
    out = []
    for name, judge in (("human_scores", "human votes, published"), ("judge_scores", "the benchmark's judge, published")):
        out += [{"title": r["model"], "judge": judge, "total": r["total"], **{q: r[q] for q in QUESTIONS}} for r in published(name)]
    return out
