"""Answers on disk, one JSON line each, under the hash of everything that decides them. Append-only: a killed run loses at most its last line."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from veridream.provenance.digest import canonical
from veridream.provenance.lock import hold_lock
from veridream.wmb.answers import Answer
from veridream.wmb.items import BenchmarkError, digest


def answer_key(video: str, prompt: str, judge: str, version: str, decoding: Mapping[str, Any], repeat: int) -> str:
    """The key of an answer: sha256 over the video's bytes (their sha256), the prompt, the judge and its version, the decoding and the repeat."""
    return digest(canonical([video, prompt, judge, version, dict(decoding), repeat]).encode())


class AnswerCache:
    """Answers by key; made by `open_cache`."""

    def __init__(self, answers: dict[str, Answer], file: BinaryIO) -> None:
        self._answers, self._file = answers, file
        self.hits = 0  # answers that were there when asked for

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> Answer | None:
        """The stored answer, or None."""
        found = self._answers.get(key)
        self.hits += found is not None
        return found

    def put(self, key: str, answer: Answer, **beside: Any) -> None:
        """Stores an answer before anything else is asked; `beside` (item, question, seconds) is for people who read the file."""
        one = {"key": key, "raw": answer.raw, "value": answer.value, "status": answer.status, "meta": dict(answer.meta), **beside}
        self._file.write(json.dumps(one, sort_keys=True, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        self._answers[key] = answer


@contextlib.contextmanager
def open_cache(path: Path) -> Iterator[AnswerCache]:
    """The answers of a file, made if it is not there, for one process at a time. A torn last line, left by a kill, is cut off.

    Raises BenchmarkError for a damaged line elsewhere, Locked when another process holds the file.
    """
    with hold_lock(path.with_name(f".{path.name}.lock"), str(path)):
        data = path.read_bytes() if path.is_file() else b""
        whole = data[: data.rfind(b"\n") + 1]
        answers = dict(_read(path, n, line) for n, line in enumerate(whole.split(b"\n")[:-1], 1))
        if len(whole) < len(data):
            os.truncate(path, len(whole))
        with path.open("ab") as f:
            yield AnswerCache(answers, f)


def _read(path: Path, n: int, line: bytes) -> tuple[str, Answer]:
    try:
        one = json.loads(line)
        return one["key"], Answer(one["raw"], one["value"], one["status"], one["meta"])
    except (ValueError, KeyError, TypeError) as e:
        raise BenchmarkError(f"{path}: line {n} is damaged ({e!r}); delete that line, its question is asked again") from None
