"""What a machine runs short of, made short on purpose: disk, memory, a file's size, a block that cannot be read. Each is put right on leaving."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup/memory")  # version 1
UNREADABLE = "/proc/self/mem"  # opens, and the kernel answers a read at its start with EIO
Before = Callable[[], None]  # runs in the child, before the program


class NotHere(Exception):
    """This machine cannot make that fault: the text says why."""


def mount(at: Path, megabytes: int) -> None:
    """An empty memory disk. Raises NotHere."""
    at.mkdir(parents=True, exist_ok=True)
    r = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(at)], capture_output=True, text=True)
    if r.returncode:
        raise NotHere(f"no memory disk can be mounted: {r.stderr.strip()}")


def unmount(at: Path) -> None:
    subprocess.run(["umount", str(at)], check=True)


@contextlib.contextmanager
def disk_with(at: Path, room: int) -> Iterator[None]:
    """The memory disk mounted at `at` has `room` bytes (whole pages) left; its old size on leaving."""
    s = os.statvfs(at)
    used = (s.f_blocks - s.f_bfree) * s.f_frsize
    subprocess.run(["mount", "-o", f"remount,size={used + max(room, s.f_frsize)}", str(at)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", f"remount,size={s.f_blocks * s.f_frsize}", str(at)], check=True)


@contextlib.contextmanager
def full_folder(at: Path) -> Iterator[Path]:
    """A folder in which no byte can be written."""
    mount(at, 1)
    try:
        with contextlib.suppress(OSError), (at / "filler").open("wb") as f:
            while True:
                f.write(b"\0" * 4096)
                f.flush()
        yield at
    finally:
        unmount(at)


@contextlib.contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Reading this file is an input/output error; the old file is back on leaving."""
    kept = path.with_name(f".{path.name}.kept")
    path.rename(kept)
    path.symlink_to(UNREADABLE)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        kept.rename(path)


@contextlib.contextmanager
def memory_group(megabytes: int) -> Iterator[Before]:
    """The program and its children get this much memory, and the kernel kills what takes more. Raises NotHere."""
    group = CGROUPS / f"faults-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(megabytes << 20))
    except OSError as e:
        raise NotHere(f"no memory group can be made in {CGROUPS} ({e.strerror}); it needs root and control groups of version 1") from None
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid())) and None
    finally:
        group.rmdir()


def address_space(size: int) -> Before:
    """No more than `size` bytes of memory can be asked for."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def file_size(size: int) -> Before:
    """No file can grow above `size` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
