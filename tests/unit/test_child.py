"""Work in a child process: its result, its errors, and every way it can end."""

import os
import signal
import subprocess
import sys
import time

import pytest

from veridream.provenance.child import Died, in_child
from veridream.provenance.digest import ROOT
from veridream.provenance.stage import StageError


def test_the_result_comes_back_and_the_work_was_elsewhere():
    assert in_child(lambda note: {"pid": os.getpid() == os.getppid(), "n": [1, 2.5, "x"]}) == {"pid": False, "n": [1, 2.5, "x"]}
    assert in_child(lambda note: os.getpid()) != os.getpid()


def raises(error):
    def work(note):
        raise error

    return work


@pytest.mark.parametrize(
    "error, said, traced",
    [
        (StageError("row 3: weevils; sieve it"), "row 3: weevils; sieve it", False),
        (ValueError("burnt"), "burnt", True),
        (OSError(28, "No space left on device"), r"\[Errno 28\] No space left", True),
        (KeyError("flour"), "KeyError: 'flour'", True),
        (SystemExit(0), "SystemExit: 0", True),
    ],
)
def test_what_the_work_raises_is_raised_here(capfd, error, said, traced):
    with pytest.raises(StageError, match=said):
        in_child(raises(error))
    assert ("Traceback" in capfd.readouterr().err) == traced


def ends(how):
    def work(note):
        note(["episode", 0])
        note(["episode", 3])
        how()

    return work


@pytest.mark.parametrize("number, name", [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGABRT, "SIGABRT"), (signal.SIGKILL, "SIGKILL")])
def test_a_signal_is_named_with_the_last_note(capfd, number, name):
    with pytest.raises(Died) as e:
        in_child(ends(lambda: os.kill(os.getpid(), number)))
    assert e.value.how == f"signal {number.value} ({name})" and e.value.note == ["episode", 3] and e.value.signum == number
    assert ("test_child.py" in capfd.readouterr().err) == (number != signal.SIGKILL)  # the lines of Python it happened in


@pytest.mark.parametrize("status", [0, 3])
def test_an_exit_without_a_result_is_no_success(status):
    with pytest.raises(Died, match=f"exit status {status}, without a result"):
        in_child(lambda note: os._exit(status))


def test_nothing_noted_is_none():
    with pytest.raises(Died) as e:
        in_child(lambda note: os.kill(os.getpid(), signal.SIGABRT))
    assert e.value.note is None


PARENT = """
import sys, time
from pathlib import Path
from veridream.provenance.child import in_child

def work(note):
    import os
    Path(sys.argv[1]).write_text(str(os.getpid()))
    time.sleep(60)

in_child(work)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_child_does_not_outlive_its_parent(tmp_path, number):
    note = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(note)], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, stderr=subprocess.DEVNULL)
    wait(lambda: note.exists() and note.read_text())
    child = int(note.read_text())
    assert running(child)
    parent.send_signal(number)
    parent.wait(timeout=30)
    wait(lambda: not running(child))


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait(until):
    end = time.monotonic() + 30
    while not until():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
