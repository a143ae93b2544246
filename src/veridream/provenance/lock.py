"""One run at a time: an advisory lock that ends with the process that holds it, and says who that is."""

import contextlib
import fcntl
import json
import os
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class Locked(RuntimeError):
    """Someone else holds the lock: the text says who, since when, and what to do."""


@contextlib.contextmanager
def hold_lock(path: str | Path, what: str) -> Iterator[int]:
    """Holds the lock file for the block and yields its descriptor; a child that inherits it (`pass_fds`) holds the lock as well.

    The lock is the kernel's (flock), so a killed holder frees it: a left-over file blocks nobody. The file is removed on the way out.
    Args:
        path: the lock file; its folder is made.
        what: what the lock guards, for the message: "results/smoke".
    Raises:
        Locked: names the holder's pid, host, start and command.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = _acquire(path, what)
    try:
        holder = {"pid": os.getpid(), "host": platform.node(), "since": datetime.now(UTC).isoformat(timespec="seconds"), "command": " ".join(sys.argv)}
        os.ftruncate(fd, 0)
        os.pwrite(fd, (json.dumps(holder) + "\n").encode(), 0)
        yield fd
    finally:
        path.unlink(missing_ok=True)
        os.close(fd)


def _acquire(path: Path, what: str) -> int:
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 65536, 0)
            os.close(fd)
            raise Locked(_message(path, what, holder)) from None
        if path.exists() and os.path.samestat(os.fstat(fd), path.stat()):
            return fd
        os.close(fd)  # the last holder removed the file between our open and our lock


def _message(path: Path, what: str, holder: bytes) -> str:
    try:
        h: dict[str, Any] = json.loads(holder)
        who = f"process {h['pid']} on {h['host']} since {h['since']}: {h['command']}"
    except (ValueError, KeyError):
        who = f"a process that has not written its name yet (see {path})"
    return f"{what} is in use by {who}\nwait until it is done, or stop it; the lock goes with it"
