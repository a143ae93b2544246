"""From answers to scores: both readings of every raw answer, the policy for missing videos, and what could not be read, counted.

A total is the mean of the instruction (0-3) plus the seven means of the other questions (0-1 each): 0-10. Answers that do not say score
0 and are counted. Questions that do not apply (no liquid in the scene) score full marks, so that totals stay comparable, and are counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from veridream.wmb import parse
from veridream.wmb.answers import MISSING, NOT_APPLICABLE, UNDECIDABLE, Answer, Key
from veridream.wmb.items import BenchmarkError, Item
from veridream.wmb.questions import MOST, QUESTIONS

Policy = Literal["error", "zero", "drop"]  # of missing videos: refuse; score 0; leave out of the mean, as the published script does


@dataclass(frozen=True)
class Scores:
    """Scores of one model on the items that count. Rows are items [n], columns QUESTIONS.

    `every` and `every_strict` hold the undecidable items too, with what the judge says of them all the same.
    """

    items: tuple[Item, ...]
    strict: np.ndarray  # float64 [n, 8], mean over repeats
    official: np.ndarray  # float64 [n, 8], as the published script reads the answers
    applies: np.ndarray  # bool [n, 8]
    repeats: np.ndarray  # float64 [n, R], strict totals of each repeat
    expected: int  # items asked for
    missing: tuple[str, ...]  # stems without a video
    undecidable: tuple[str, ...]  # stems on which the judge cannot tell stillness from truth: they do not count for anyone
    every: tuple[Item, ...]  # [m], m = n + undecidable
    every_strict: np.ndarray  # float64 [m, 8]
    answers: int  # answers read
    unparsed: int  # of them, those the strict reading found nothing in
    misread: int  # of them, those the two readings score differently
    policy: Policy

    @property
    def comparable(self) -> bool:
        """Whether the mean is over all items, so that it may be ranked."""
        return not (self.missing and self.policy == "drop")

    def total(self, reading: str = "strict") -> float:
        """0 to 10; NaN where no item counts."""
        return float(getattr(self, reading).mean(axis=0).sum()) if self.items else float("nan")

    def totals(self, reading: str = "strict") -> np.ndarray:
        """float64 [n], one an item, 0 to 10."""
        out: np.ndarray = getattr(self, reading).sum(axis=1)
        return out

    def components(self, reading: str = "strict") -> dict[str, float]:
        """{question: mean over items}."""
        return dict(zip(QUESTIONS, getattr(self, reading).mean(axis=0).tolist(), strict=True))

    def spread(self) -> float:
        """Judge noise: root mean over items of the unbiased variance of their totals over repeats; NaN for one repeat."""
        return float(np.sqrt(self.repeats.var(axis=1, ddof=1).mean())) if self.repeats.shape[1] > 1 and self.items else float("nan")


def score(items: Sequence[Item], answers: Mapping[Key, Answer], missing: Policy = "error", repeats: int = 1) -> Scores:
    """Scores of one model from its answers.

    Args:
        answers: one for every (stem, question, repeat); those of an item whose video is missing say so.
    Raises:
        BenchmarkError: an answer is not there, no item is left, or videos are missing and the policy is "error".
    """
    if missing not in get_args(Policy):
        raise ValueError(f"policy {missing!r}; known: {', '.join(get_args(Policy))}")
    absent = tuple(i.stem for i in items if _has(MISSING, i, answers))
    undecidable = tuple(i.stem for i in items if _has(UNDECIDABLE, i, answers))
    if missing == "error":
        refuse_missing(absent, len(items))
    gone = set(absent)
    every = [i for i in items if i.stem not in gone or missing == "zero"]
    if not every:
        raise BenchmarkError("no item has a video; an empty mean is no score")
    counts = np.array([i.stem not in undecidable for i in every])
    shape = (len(every), repeats, len(QUESTIONS))
    strict, official, applies = np.zeros(shape), np.zeros(shape), np.ones(shape, dtype=bool)
    unparsed = misread = read = 0
    for i, item in enumerate(every):
        if item.stem in gone:
            continue
        for r in range(repeats):
            for k, q in enumerate(QUESTIONS):
                a = _find(answers, (item.stem, q, r))
                if a.status == NOT_APPLICABLE or (a.status == UNDECIDABLE and a.raw is None):
                    strict[i, r, k] = official[i, r, k] = MOST[q]
                    applies[i, r, k] = False
                    continue
                said, as_script = _read(q, a)
                strict[i, r, k], official[i, r, k] = 0.0 if said is None else said, as_script
                if counts[i]:
                    read, unparsed, misread = read + 1, unparsed + (said is None), misread + (strict[i, r, k] != as_script)
    return Scores(
        tuple(i for i, c in zip(every, counts, strict=True) if c),
        strict.mean(axis=1)[counts],
        official.mean(axis=1)[counts],
        np.asarray(applies.all(axis=1))[counts],
        strict.sum(axis=2)[counts],
        len(items),
        absent,
        undecidable,
        tuple(every),
        strict.mean(axis=1),
        read,
        unparsed,
        int(misread),
        missing,
    )


def refuse_missing(stems: Sequence[str], of: int, model: str = "") -> None:
    """Raises BenchmarkError, which names the model, when there are stems of items without a video, of so many items."""
    if stems:
        names = ", ".join(stems[:3]) + (", ..." if len(stems) > 3 else "")
        raise BenchmarkError(f"{model + ': ' if model else ''}{len(stems)} of {of} videos are missing ({names}); make them, or choose --missing zero or drop")


def _find(answers: Mapping[Key, Answer], key: Key) -> Answer:
    if key not in answers:
        raise BenchmarkError(f"no answer on {key[0]}, question {key[1]}, repeat {key[2]}; judge it first")
    return answers[key]


def _has(status: str, item: Item, answers: Mapping[Key, Answer]) -> bool:
    given = [answers.get((item.stem, q, 0)) for q in QUESTIONS]
    return any(a is not None and a.status == status for a in given)


def _read(question: str, a: Answer) -> tuple[float | None, float]:
    """(strict, official) score of an answer."""
    if a.value is not None:
        if not 0.0 <= a.value <= MOST[question]:
            raise BenchmarkError(f"{question}: a score of {a.value} is outside [0, {MOST[question]:g}]")
        return a.value, a.value
    return parse.strict(question, str(a.raw)), parse.official(question, str(a.raw))
