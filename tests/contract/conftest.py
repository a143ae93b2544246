"""Which tasks the contract suite visits, and the table it ends with.

VERIDREAM_TASKS: "sample" (default: the laptop scale's tasks, at least one a domain), "all", or task and domain names, comma-separated.
"""

import os
import time
from collections import Counter

import pytest

from veridream.envs.base import SimulatorMissing
from veridream.envs.gl import probe_backends
from veridream.envs.registry import make
from veridream.params.load import load_params
from veridream.params.tasks import named_tasks, registry

if not os.environ.get("MUJOCO_GL"):  # set by the make targets; here for a bare pytest, before MuJoCo is imported
    os.environ["MUJOCO_GL"] = probe_backends()

SIZE, FRAME_SKIP, STEPS = 32, 2, 32
_open: dict = {}
_outcomes: dict[str, Counter] = {}
_facts: dict[str, dict] = {}
_reasons: dict[str, str] = {}  # why a task was skipped
_started: dict[str, float] = {}  # seconds that its first environment took


def wanted() -> list[str]:
    """The task ids to visit, domain by domain."""
    words = os.environ.get("VERIDREAM_TASKS", "sample")
    if words == "sample":
        return list(load_params("laptop").tasks.seen + load_params("laptop").tasks.unseen)
    out = [t.id for t in named_tasks(words)]
    assert out, f"VERIDREAM_TASKS={words} names no task or domain of params/tasks.yaml"
    return out


def opened(task_id: str):
    """An environment of a task, shared until the suite leaves the task. A simulator that cannot run here skips the test, with its remedy."""
    if task_id not in _open:
        try:
            _open[task_id] = make(task_id, SIZE, frame_skip=FRAME_SKIP, max_steps=STEPS)
        except SimulatorMissing as e:
            if not {"vulkan", "assets"} & set(registry()[task_id].needs):
                raise
            pytest.skip(str(e))
    return _open[task_id]


@pytest.fixture(params=wanted(), scope="module")
def env(request):
    """One environment a task for the whole suite: reset isolation is part of what is tested. pytest visits task after task."""
    began = time.perf_counter()
    env = opened(request.param)
    _started[request.param] = time.perf_counter() - began
    yield env
    for e in _open.values():
        e.close()
    _open.clear()


@pytest.fixture
def twin(env):
    """A second environment of the same task."""
    second = make(env.task.id, SIZE, frame_skip=FRAME_SKIP, max_steps=STEPS)
    yield second
    second.close()


@pytest.fixture
def neighbour(env):
    """An environment of another task."""
    return opened("cup-catch" if env.task.id != "cup-catch" else "mw-push")


@pytest.fixture
def fact(env, request):
    """Notes a number for the table: fact(name, value). It travels with the test's report, also from another process."""
    noted = request.node.user_properties
    noted.append(("start", _started[env.task.id]))
    return lambda name, value: noted.append((name, float(value)))


def pytest_runtest_logreport(report):
    if "[" in report.nodeid and report.outcome and (report.when == "call" or report.outcome != "passed"):
        task = report.nodeid.rsplit("[", 1)[1].rstrip("]")
        for known in registry():  # other parameters may follow the task's name
            if task == known or (task.startswith(f"{known}-") and task[len(known) + 1 :] in ("noop", "transformed", "noise")):
                _outcomes.setdefault(known, Counter())[report.outcome] += 1
                _facts.setdefault(known, {}).update(report.user_properties)
                if report.outcome == "skipped":
                    _reasons[known] = str(report.longrepr[2]).removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter):
    if os.environ.get("VERIDREAM_TASKS", "sample") == "sample":
        return
    terminalreporter.section(f"{len(_outcomes)} tasks")
    for task in sorted(_outcomes, key=list(registry()).index):
        seen = _outcomes[task]
        t, facts = registry()[task], _facts.get(task, {})
        verdict = "FAILED" if seen["failed"] or seen["error"] else "skipped" if not seen["passed"] else "passed"
        numbers = " ".join(f"{k} {v:.3g}" for k, v in facts.items()) if seen["passed"] else _reasons.get(task, "")
        terminalreporter.write_line(f"{task:32} {t.domain:14} A={t.action_dim:<3} {t.expert or '-':14} {verdict:8} {seen['passed']:3} tests  {numbers}")
