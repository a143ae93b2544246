"""Runs a judge over a folder of videos: what is stored is not asked again, and every answer is stored before the next is asked."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from veridream.provenance.digest import content_id
from veridream.wmb.answers import ABSENT, Answer, Judge
from veridream.wmb.cache import AnswerCache, answer_key
from veridream.wmb.items import Item, digest
from veridream.wmb.questions import QUESTIONS

Line = dict[str, Any]


def run_judge(
    judge: Judge,
    items: Sequence[Item],
    videos: Mapping[str, Path],
    cache: AnswerCache,
    repeats: int = 1,
    progress: Callable[[int], None] = lambda n: None,
) -> list[Line]:
    """One line for every item, question and repeat, in that order.

    A line: item, question, repeat, judge, version, prompt (sha256), video (sha256, None if missing), key, decoding, raw, value, status, meta. Nothing
    in it changes when the same run is repeated or resumed.

    Args:
        videos: {stem: mp4} of those that exist (see `find_videos`); the others are answered by "missing_video".
        progress: told how many lines are done.
    Raises:
        JudgeError: the judge cannot answer; what it answered before is in the cache.
        ValueError: several repeats of a judge that always gives the same answer.
    """
    if repeats < 1 or (judge.deterministic and repeats > 1):
        raise ValueError(f"{repeats} repeats of {judge.id}: a judge that always gives the same answer is asked once; others at least once")
    lines: list[Line] = []
    for item in items:
        path = videos.get(item.stem)
        sha = content_id(path)["sha256"] if path is not None else None
        for question in QUESTIONS:
            prompt = judge.prompt(item, question)
            for r in range(repeats):
                key = "" if sha is None else answer_key(sha, prompt, judge.id, judge.version, judge.decoding(r), r)
                answer = ABSENT if path is None else _ask(judge, item, path, question, r, key, cache)
                facts = {"item": item.stem, "question": question, "repeat": r, "judge": judge.id, "version": judge.version, "prompt": digest(prompt.encode())}
                said = {"decoding": dict(judge.decoding(r)), "raw": answer.raw, "value": answer.value, "status": answer.status, "meta": dict(answer.meta)}
                lines.append({**facts, "video": sha, "key": key, **said})
        progress(len(QUESTIONS) * repeats)
    return lines


def _ask(judge: Judge, item: Item, path: Path, question: str, repeat: int, key: str, cache: AnswerCache) -> Answer:
    stored = cache.get(key)
    if stored is not None:
        return stored
    began = time.monotonic()
    answer = judge.answer(item, path, question, repeat)
    cache.put(key, answer, item=item.stem, question=question, repeat=repeat, seconds=round(time.monotonic() - began, 4))
    return answer


def write_lines(path: Path, lines: Sequence[Line]) -> None:
    """JSON lines; the same lines give the same bytes."""
    path.write_text("".join(json.dumps(x, sort_keys=True, ensure_ascii=False) + "\n" for x in lines), encoding="utf-8")


def read_lines(path: Path) -> list[Line]:
    """Raises FileNotFoundError, or ValueError that names the damaged line."""
    out = []
    for n, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            out.append(json.loads(text))
        except ValueError as e:
            raise ValueError(f"{path}: line {n} is damaged ({e}); judge again") from None
    return out
