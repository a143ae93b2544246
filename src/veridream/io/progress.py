"""Progress of a long loop on stderr: plain log lines, or a bar when stderr is a terminal.

    with Progress("train_tokenizer", total=steps, start=resumed) as p:
        p.update(loss=loss)

prints at most every 5 s: `train_tokenizer 120/2200 (5%) 6.1/s ETA 5m41s loss=0.012`.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

INTERVAL = 5.0  # seconds between plain lines


def duration(seconds: float) -> str:
    """Seconds as people write them: 41s, 5m41s, 2h05m."""
    s = max(0, round(seconds))
    if s < 60:
        return f"{s}s"
    if s < 3600:
        return f"{s // 60}m{s % 60:02d}s"
    return f"{s // 3600}h{s % 3600 // 60:02d}m"


def _value(v: Any) -> str:
    return f"{v:.4g}" if isinstance(v, float) else str(v)


class Progress:
    """Counts units of work and says how fast they go and how long the rest takes. Never part of a result.

    Args:
        name: what is being done; first word of each line.
        total: units in all.
        start: units done before this process (a resumed run); they count as done, not toward the rate.
        stream: where lines go; stderr by default.
        clock: seconds; a test may give its own.
    """

    def __init__(self, name: str, total: int, start: int = 0, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        if total < 0 or not 0 <= start <= total:
            raise ValueError(f"{name}: start {start} is not within 0..{total}")
        self.name, self.total, self.done = name, total, start
        self._start, self._stream, self._clock = start, stream or sys.stderr, clock
        self._values: dict[str, Any] = {}
        self._began = self._said = clock()
        self._said_at = start  # units at the last line
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        self._began = self._said = self._clock()
        if self._stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[values]}"))
            self._bar = Bar(*columns, console=Console(file=self._stream))
            self._bar.start()
            self._task = self._bar.add_task(self.name, total=self.total, completed=self.done, values="")
        return self

    def update(self, n: int = 1, **values: Any) -> None:
        """`n` more units are done. `values` (numbers or short words) are shown from now on."""
        self.done += n
        self._values.update(values)
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, values=self._shown())
        elif self._clock() - self._said >= INTERVAL:
            self._say()

    def line(self) -> str:
        """The plain line of this moment."""
        seconds = max(self._clock() - self._began, 1e-9)
        rate = (self.done - self._start) / seconds
        percent = 100 * self.done // self.total if self.total else 100
        left = f"ETA {duration((self.total - self.done) / rate)}" if rate > 0 else "ETA ?"
        if self.done >= self.total:
            left = f"took {duration(seconds)}"
        return " ".join(filter(None, (f"{self.name} {self.done}/{self.total} ({percent}%) {rate:.1f}/s {left}", self._shown())))

    def _shown(self) -> str:
        return " ".join(f"{k}={_value(v)}" for k, v in self._values.items())

    def _say(self) -> None:
        self._said, self._said_at = self._clock(), self.done
        print(self.line(), file=self._stream, flush=True)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self.done != self._said_at:
            self._say()
