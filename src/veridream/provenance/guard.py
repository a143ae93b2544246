"""Nothing is left behind: a process group that ends with the process that started it, however that one ends.

A killed launcher cannot end its Snakemake, nor a killed Snakemake its jobs. A small process of its own session waits for the launcher's end (the
kernel closes a pipe then) and kills the group.
"""

import contextlib
import os
import signal
from typing import NoReturn


def end_group(group: int) -> None:
    """Kills what is left of a process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class Guard:
    """Make it in a process without threads. Popen(..., start_new_session=True, preexec_fn=guard.watch_me), and `done` when its end was waited for."""

    def __init__(self) -> None:
        reads, self._pipe = os.pipe()
        if os.fork() == 0:
            _keep(reads, self._pipe)
        os.close(reads)

    def watch_me(self) -> None:
        """Called in the leader of a new group, before its program starts: from now on the group ends with the guard's maker."""
        os.write(self._pipe, f"{os.getpid()}\n".encode())

    def done(self) -> None:
        """The group's leader has ended: so does what it left, and its number may be someone else's from now on."""
        os.write(self._pipe, b"0\n")


def _keep(reads: int, writes: int) -> NoReturn:
    """The guard: reads group numbers until the writer is gone, then kills the last one."""
    os.close(writes)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)  # who reads what the launcher writes need not wait for us
    group = 0
    with os.fdopen(reads) as lines:
        for line in lines:
            group = int(line)
    if group:
        end_group(group)
    os._exit(0)
