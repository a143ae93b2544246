"""Human votes as a judge: a table with one row a video and voter, eight labels each, and how far the voters agree."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from veridream.io.tables import read_parquet
from veridream.stats.agreement import alpha, close_pairs, equal_pairs
from veridream.wmb.answers import Answer, JudgeError
from veridream.wmb.items import BenchmarkError, Item, digest
from veridream.wmb.questions import INSTRUCTION, QUESTIONS

COLUMNS = ("video", "voter", *QUESTIONS)  # labels: instruction 0, 1, 2, 3; the others 1 for no violation, 0 for one
Rule = Literal["mean", "majority"]


class VoteJudge:
    """Mean or majority of the votes on each video; a tie of the majority goes to the lower score.

    Args:
        path: CSV or parquet with COLUMNS; `video` is the item's stem.
    Raises:
        BenchmarkError: names the file, the row and the remedy.
    """

    deterministic = True

    def __init__(self, path: Path, rule: Rule = "mean") -> None:
        if rule not in ("mean", "majority"):
            raise ValueError(f"rule is {rule!r}; known: mean, majority")
        self.path, self.rule = path, rule
        self.votes = read_votes(path)
        self.id, self.version = f"votes, {rule}", digest(path.read_bytes())[:16]

    def prompt(self, item: Item, question: str) -> str:
        return question

    def decoding(self, repeat: int) -> Mapping[str, Any]:
        return {"rule": self.rule}

    def described(self) -> Mapping[str, Any]:
        """`agreement`, a line each."""
        told = self.agreement()
        whole = {f"votes, {k}": v for k, v in told.items() if not isinstance(v, dict)}
        return whole | {f"votes, {q}": f"alpha {told['alphas'][q]:.3f}, equal pairs {told['equal'][q]:.3f}" for q in QUESTIONS}

    def answer(self, item: Item, video: Path, question: str, repeat: int) -> Answer:
        if item.stem not in self.votes:
            raise JudgeError(f"{self.path}: nobody voted on {item.stem}; take its video away and choose --missing")
        labels = [one[question] for one in self.votes[item.stem].values()]
        value = sum(labels) / len(labels) if self.rule == "mean" else majority(labels)
        return Answer(None, value, meta={"votes": len(labels)})

    def agreement(self) -> dict[str, Any]:
        """How far the voters agree.

        {within_2: share of pairs of votes on one video whose totals differ by at most 2, pairs, voters, videos, alpha: Krippendorff's, of the totals
        (interval), equal: {question: share of pairs with the same label}, alphas: {question: Krippendorff's alpha}}, ordinal for the instruction.
        """
        totals = {v: [sum(one.values()) for one in votes.values()] for v, votes in self.votes.items()}
        share, pairs = close_pairs(totals)
        labels = {q: {v: [one[q] for one in votes.values()] for v, votes in self.votes.items()} for q in QUESTIONS}
        equal = {q: equal_pairs(x)[0] for q, x in labels.items()}
        alphas = {q: alpha(x, "ordinal" if q == INSTRUCTION else "nominal") for q, x in labels.items()}
        voters = {voter for votes in self.votes.values() for voter in votes}
        return {
            "within_2": share,
            "pairs": pairs,
            "voters": len(voters),
            "videos": len(self.votes),
            "alpha": alpha(totals, "interval"),
            "equal": equal,
            "alphas": alphas,
        }


def majority(labels: list[float]) -> float:
    """The most frequent label; of equally frequent ones the lowest."""
    return min(set(labels), key=lambda x: (-labels.count(x), x))


def label_errors(judge: Mapping[tuple[str, str], float], votes: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, float]:
    """{question: share of videos where the judge's label is not the voters' majority}; the instruction compares its four levels exactly."""
    out = {}
    for q in QUESTIONS:
        both = [(judge[v, q], majority([one[q] for one in votes[v].values()])) for v in votes if (v, q) in judge]
        out[q] = sum(a != b for a, b in both) / len(both) if both else float("nan")
    return out


def read_votes(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """{video: {voter: {question: label}}}, in the table's order."""
    if not path.is_file():
        raise BenchmarkError(f"{path} is missing; give a table of votes with the columns {', '.join(COLUMNS)}")
    rows: list[dict[str, Any]]
    if path.suffix == ".parquet":
        table = read_parquet(path)
        rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    else:
        with path.open(newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
    if not rows:
        raise BenchmarkError(f"{path}: holds no vote")
    missing = [c for c in COLUMNS if c not in rows[0]]
    if missing:
        raise BenchmarkError(f"{path}: column {', '.join(missing)} is missing; a vote has {', '.join(COLUMNS)}")
    out: dict[str, dict[str, dict[str, float]]] = {}
    for i, row in enumerate(rows, 1):
        video, voter = str(row["video"]), str(row["voter"])
        if voter in out.setdefault(video, {}):
            raise BenchmarkError(f"{path}: row {i}: {voter} voted twice on {video}; keep one row")
        out[video][voter] = {q: _label(path, i, q, row[q]) for q in QUESTIONS}
    return out


def _label(path: Path, row: int, question: str, cell: Any) -> float:
    known = (0.0, 1.0, 2.0, 3.0) if question == INSTRUCTION else (0.0, 1.0)
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = float("nan")
    if value not in known:
        raise BenchmarkError(f"{path}: row {row}: {question} is {cell!r}; a label is one of {', '.join(f'{x:g}' for x in known)}")
    return value
