"""What one test session shares among its processes: things made once, and the order in which the processes take the tests."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from veridream.params.tasks import registry

# The first test that needs the smoke run goes first: while one process makes it, the other has the contract suite and the stages to do. The
# unit tests are short files and go last, so that the processes end together.
ORDER = ("contract", "stages", "paper", "workflow", "faults", "unit")
WHOLE = ("workflow/test_dvc_commands.py", "workflow/test_matrix.py")  # their tests share what a fixture of the module makes in minutes


def shared_folder(own: Path) -> Path:
    """The session's temporary folder, given a process's own (tmp_path_factory.getbasetemp())."""
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def once(own: Path, name: str, make: Callable[[Path], Path]) -> Path:
    """What make(a new folder) returns, made by the first process that asks; the others wait for it.

    Args:
        own: the process's temporary folder, tmp_path_factory.getbasetemp().
        name: of the thing, once a session.
    Raises:
        AssertionError: make failed in another process; it is not tried twice. Where it failed, its own error.
    """
    folder = shared_folder(own) / name
    folder.mkdir(exist_ok=True)
    made, failed = folder / ".made", folder / ".failed"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if failed.exists():
            raise AssertionError(failed.read_text())
        if not made.exists():
            try:
                made.write_text(str(make(folder)))
            except Exception as e:
                failed.write_text(f"{type(e).__name__}: {e}")
                raise
    return Path(made.read_text())


def unit_of_work(nodeid: str) -> str:
    """Which tests one process takes together: a file's, but a task's of tests/contract, which share an environment, and the tests of tests/workflow
    one by one, since each takes long and stands alone."""
    path, test = nodeid.split("::", 1)
    if "tests/contract/" in path and "[" in test:
        words = test.split("[", 1)[1].rstrip("]").split("-")
        return f"{path}::{next((t for n in range(len(words), 0, -1) if (t := '-'.join(words[:n])) in registry()), '')}"
    return f"{path}::{test}" if "tests/workflow/" in path and not path.endswith(WHOLE) else path


def rank(nodeid: str, smoke: bool) -> int:
    """Where a test stands in the order: by its part of tests/; what needs no smoke run before what does."""
    part = nodeid.split("/")[1] if nodeid.startswith("tests/") else ""
    return 2 * (ORDER.index(part) if part in ORDER else len(ORDER)) + smoke
