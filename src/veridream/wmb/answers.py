"""Answers as judges give them: the raw text first, whatever it may be worth. Scoring reads it later, and can read it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from veridream.wmb.items import Item

OK, NOT_APPLICABLE, MISSING, UNDECIDABLE = "ok", "not_applicable", "missing_video", "undecidable"
STATUSES = (OK, NOT_APPLICABLE, MISSING, UNDECIDABLE)
Key = tuple[str, str, int]  # stem, question, repeat


@dataclass(frozen=True)
class Answer:
    """What a judge said of one video and one question.

    raw: its text, None where it gave none (of an undecidable item: what it would say). value: a score that needs no reading (the mean of
    votes). meta: JSON-ready facts beside it.
    """

    raw: str | None
    value: float | None = None
    status: str = OK
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status {self.status!r}; known: {', '.join(STATUSES)}")
        if self.status == OK and self.raw is None and self.value is None:
            raise ValueError("an answer holds a text or a value, or says why not by its status")


ABSENT = Answer(None, status=MISSING)


class JudgeError(RuntimeError):
    """A judge cannot answer; the text names it, the item and the remedy. Nothing is stored in place of an answer."""


class Judge(Protocol):
    """Answers the eight questions. `version` changes whenever its answers may: weights, decoding, frames, code, data."""

    id: str
    version: str
    deterministic: bool  # every repeat gives the same answer

    def prompt(self, item: Item, question: str) -> str:
        """What it is asked, byte for byte; part of the key an answer is kept under."""
        ...

    def decoding(self, repeat: int) -> Mapping[str, Any]:
        """What else decides the answer of a repeat (seed, temperature, frames); JSON-ready."""
        ...

    def answer(self, item: Item, video: Path, question: str, repeat: int) -> Answer:
        """Raises JudgeError."""
        ...


class DescribedJudge(Judge, Protocol):
    """A judge that came from a user's files or environment, and says what they were."""

    def described(self) -> Mapping[str, Any]:
        """What a reader of the scores should know of it beside id and version; JSON-ready."""
        ...


def take(lines: Sequence[Mapping[str, Any]]) -> dict[Key, Answer]:
    """Answers by key, from lines as `veridream.wmb.run` writes them."""
    return {(x["item"], x["question"], int(x["repeat"])): Answer(x["raw"], x["value"], x["status"], x["meta"]) for x in lines}
