"""From a judge's raw answer to a score: pure functions of the text.

official  what the published script computes, bug for bug, for comparability: "no" anywhere in the text ("another", "cannot") is a pass,
          whatever follows the last colon is the score of the instruction, and what is no number there is 0.
strict    what the text says; None where it does not say it, which scores 0 and is counted.
"""

import re

from veridream.wmb.questions import INSTRUCTION

_ECHO = re.compile(r"[\"'*]*\byes\b[\"'*]*\s*(?:or|and|/)\s*[\"'*]*\bno\b[\"'*]*", re.I)  # the question repeated
_TOKEN = re.compile(r"(?<![\w-])(?:yes|no)(?![\w-])", re.I)
_NOUN = re.compile(r"\s+(?!(?:because|since|as|but|and|the|it|this|there|in|all|everything|objects)\b)[a-z]", re.I)  # "no flicker", "no doubt"
_DIRECT = re.compile(r"(?:^|\b(?:answer|conclusion|verdict)(?:\W+is)?)\W*$", re.I)  # right before an answer
_VERDICT = re.compile(r"\b(?:answer|conclusion|conclude|verdict|therefore|overall|so|thus|hence)\b[^.!?\n]{0,40}$", re.I)
_NUMBER = r"([-+]?[\w./-]*\d[\w./-]*)"
_SCORE = re.compile(rf"\bscore[sd]?\b[*\"'_]*(?:\s*(?:is|of|to|as|would be|[=:：]))*[\s*\[(\"'`_]*{_NUMBER}(\s*(?:or|to|out of|and)\s*\d+)?", re.I)
_SET = re.compile(r"\bscore\b[*\"'_]*\s*(?:is|[=:：])", re.I)  # "score: 2" and "score is 2" say it; "a score of 2" may only talk about it
_BARE = re.compile(rf"[\s*\[(\"'`]*{_NUMBER}[\s*\])\"'`.]*")


def official(question: str, raw: str) -> float:
    """The published script's score: 0 or 1; for the instruction any float, NaN and infinity included."""
    if question != INSTRUCTION:
        return float("no" in raw.lower())
    try:
        return float(raw.split(":")[-1].strip(" ."))
    except ValueError:
        return 0.0


def strict(question: str, raw: str) -> float | None:
    """0 or 1 for a violation asked about (yes is 0), 0 to 3 for the instruction; None: the text does not say."""
    return _instruction(raw) if question == INSTRUCTION else _yes_no(raw)


def _yes_no(raw: str) -> float | None:
    """By the last standalone yes or no that answers; "no" before a noun does not, unless it opens the text or follows "answer:"."""
    text = _ECHO.sub(" ", raw)
    found = []
    for m in _TOKEN.finditer(text):
        word, before, after = m.group().lower(), text[: m.start()], text[m.end() :]
        direct = bool(_DIRECT.search(before))
        if word == "yes" or direct or not _NOUN.match(after):
            found.append((word, direct or bool(_VERDICT.search(before)) or not after.strip(" \n\"'*.!)]")))
    if not found:
        return None
    word, says = found[-1]
    if not says and len({w for w, _ in found}) > 1:
        return None  # both were said, and the last was said in passing
    return float(word == "no")


def _instruction(raw: str) -> float | None:
    """By the last phrase that sets a score, or a text that is a number and nothing else."""
    bare = _BARE.fullmatch(raw)
    if bare:
        return _level(bare.group(1))
    said = list(_SCORE.finditer(raw))
    said = [m for m in said if _SET.match(m.group())] or said
    if not said:
        return None
    number, more = said[-1].group(1), (said[-1].group(2) or "out of 3").split()
    return _level(number) if more == ["out", "of", "3"] else None  # "2 or 3", "2 out of 5"


def _level(number: str) -> float | None:
    """0 to 3 from "2", "2.", "2.0" or "2/3"; None for anything else, such as 7, -1, 2/5, 2-3, 1_0 or 2.5."""
    m = re.fullmatch(r"\+?([0-3])(?:\.0*)?(?:/3\.?)?", number)
    return float(m.group(1)) if m else None
