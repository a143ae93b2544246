"""A simulator that dies in the middle of a collection: a message that helps, no store, and the same command afterwards gives the undisturbed bytes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from veridream.io.episode_store import episode_seed, open_store
from veridream.params.tasks import task
from veridream.provenance.digest import content_id

ROOT = Path(__file__).resolve().parents[2]
PARAMS = {
    "role": "corpus",
    "task": "pygame-pong",
    "behaviour": "expert",
    "seed": 0,
    "episodes": 4,
    "render": {"size": 16, "quality": "fast"},
    "max_steps": 20,
    "frame_skip": 1,
}
# The stage as it is, with a simulator that sends its own process a signal at one call: what a null pointer in its C code does.
BROKEN = """
import os, runpy, sys
from veridream.envs.miniarcade.game import Game

number, method, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
whole, calls = getattr(Game, method), 0

def broken(*args, **kw):
    global calls
    calls += 1
    if calls == count:
        os.kill(os.getpid(), number)
    return whole(*args, **kw)

setattr(Game, method, broken)
sys.argv = sys.argv[4:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def words(root):
    store = root / "data/corpus/pygame-pong/expert-s0.zarr"
    paths = ["--receipt", str(root / "receipts/collect.json"), "--store", str(store)]
    return [str(ROOT / "src/collect_episodes.py"), "--params", json.dumps(PARAMS), *paths], store


def run(command, code=None, *args):
    start = ["-c", code, *map(str, args)] if code else []
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, *start, *command], env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    command, store = words(tmp_path_factory.mktemp("undisturbed"))
    done = run(command)
    assert done.returncode == 0, done.stderr
    return store


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_crash_in_an_episode(tmp_path, undisturbed, number):
    command, store = words(tmp_path)
    steps = int((open_store(undisturbed).length[:2] - 1).sum()) + 3  # the third of episode 2
    done = run(command, BROKEN, number.value, "step", steps * task("pygame-pong").action_repeat)
    assert done.returncode == 1
    for word in (
        "collect_episodes: corpus/pygame-pong/expert-s0:",
        f"signal {number.value} ({number.name})",
        f"episode 2 of 4 (seed {episode_seed('pygame-pong', 'expert', 0, 2)})",
        "no store was written",
        "run the workflow again",
        "memory" if number == signal.SIGKILL else "make doctor",
    ):
        assert word in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert [p for p in tmp_path.rglob("*") if p.is_file() or p.suffix in (".zarr", ".part")] == []
    assert run(command).returncode == 0
    assert content_id(store) == content_id(undisturbed)


def test_a_crash_while_the_simulator_starts(tmp_path):
    command, store = words(tmp_path)
    done = run(command, BROKEN, signal.SIGSEGV.value, "__init__", 1)
    assert done.returncode == 1 and "before the first episode, while the simulator started" in done.stderr and not store.exists()


def test_a_simulator_that_leaves_without_a_word_is_no_success(tmp_path):
    command, store = words(tmp_path)
    done = run(command, BROKEN.replace("os.kill(os.getpid(), number)", "os._exit(number)"), 0, "reset", 2)
    assert done.returncode == 1 and "the simulator ended by exit status 0, episode 1 of 4" in done.stderr and not store.exists()
