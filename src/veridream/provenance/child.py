"""Work in a forked child process: where foreign code crashes (a simulator's segmentation fault), this process lives to say so.

    try:
        counts = in_child(lambda note: collect(..., note))
    except Died as e:
        raise StageError(f"... {e.how} ... {e.note}")

The child writes to the same stderr, so its progress shows. It dies with its parent; Ctrl-C or an exception here ends it. Fork before the work
has started a thread or opened a renderer: they do not come along.
"""

import contextlib
import ctypes
import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NoReturn

from veridream.provenance.stage import StageError, lack_of_memory

PR_SET_PDEATHSIG = 1
SHOW_CURSOR = "\x1b[?25h"  # a progress bar hides it and cannot bring it back when its process is killed
HANDLED = (signal.SIGINT, signal.SIGTERM)
Note = Callable[[Any], None]


class Died(Exception):
    """The child ended without a result. `how`: "signal 11 (SIGSEGV)" or "exit status 3"; `note`: the last thing it noted, None before the first."""

    def __init__(self, status: int, note: Any) -> None:
        self.signum = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        names = {s.value: s.name for s in signal.Signals}
        self.how = f"exit status {os.waitstatus_to_exitcode(status)}" if self.signum is None else f"signal {self.signum} ({names.get(self.signum, 'unnamed')})"
        self.note = note
        super().__init__(f"the child process ended by {self.how}, without a result")


def die_with_parent() -> None:
    """A killed parent takes this process along (Linux): two runs never write one folder."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def in_child(work: Callable[[Note], Any]) -> Any:
    """What `work` returns (JSON-ready), run in a child process.

    Args:
        work: gets a function that notes what is under way (JSON-ready), for the case that the child dies.
    Raises:
        StageError: the text of what `work` raised; its traceback stands on stderr, unless it was a StageError.
        Died: ended by a signal, or by an exit (of whatever status) before `work` returned.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reads, writes = os.pipe()
    parent, status = os.getpid(), None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)  # until each side knows what to do with them
    pid = os.fork()
    if pid == 0:
        _child(work, writes, parent, before)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writes)
        with os.fdopen(reads, "rb") as pipe:
            said = _heard(pipe)
        status = os.waitpid(pid, 0)[1]
    finally:
        if status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        if sys.stderr.isatty():
            sys.stderr.write(SHOW_CURSOR)
    if "error" in said:
        raise StageError(said["error"])
    if "result" not in said:
        raise Died(status, said.get("note"))
    return said["result"]


def _child(work: Callable[[Note], Any], pipe: int, parent: int, mask: Iterable[int]) -> NoReturn:
    with _Ending(pipe) as say:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both; the parent ends us
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        die_with_parent()
        if os.getppid() != parent:
            raise StageError("the parent process is gone")
        faulthandler.enable(2)  # a crash prints the lines of Python it happened in
        say("result", work(lambda value: say("note", value)))
    raise AssertionError("the process has ended")


class _Ending:
    """Tells the parent how the block ended and ends the process: nothing of the parent's code that is still to come runs twice."""

    def __init__(self, pipe: int) -> None:
        self._pipe = os.fdopen(pipe, "wb")

    def __enter__(self) -> Callable[[str, Any], None]:
        return self._say

    def _say(self, kind: str, value: Any) -> None:
        self._pipe.write(json.dumps({kind: value}).encode() + b"\n")
        self._pipe.flush()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if value is not None:
                if not isinstance(value, StageError):
                    traceback.print_exception(value)
                expected = isinstance(value, (StageError, ValueError, OSError)) and str(value)
                self._say("error", str(value) if expected else lack_of_memory(value) or f"{type(value).__name__}: {value}")
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(0)


def _heard(pipe: Iterable[bytes]) -> dict[str, Any]:
    """The last value of each kind that the child said. A line that a crash cut off is not one."""
    said: dict[str, Any] = {}
    for line in pipe:
        if line.endswith(b"\n"):
            said |= json.loads(line)
    return said
