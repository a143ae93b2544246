"""What the whole session shares: one finished smoke run of the real workflow, made on first use."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from helpers.project import copy_finished, copy_project, run
from helpers.session import once, rank, unit_of_work

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process a core: before torch is imported
# Started in the background by a shell, this process ignores Ctrl-C, and so would every child that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def git(project: Path, *words: str) -> str:
    """git with an identity, whatever the machine has."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *words], cwd=project, check=True, capture_output=True, text=True).stdout.strip()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With several processes (-n 2): whole files, and the tests of tests/workflow one by one, in the order of the collection."""
    from xdist.scheduler import LoadScopeScheduling

    class InOrder(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of_work(nodeid)

    config.option.loadscopereorder = False
    return InOrder(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Puts the parts in order; where several processes share the tests, one that needs the smoke run goes first."""
    items.sort(key=lambda i: rank(i.nodeid, "smoke_results" in i.fixturenames))
    if "PYTEST_XDIST_WORKER" in os.environ:
        first = next((i for i in items if "smoke_results" in i.fixturenames and "::" in unit_of_work(i.nodeid)), None)
        if first is not None:
            items.remove(first)
            items.insert(0, first)


@pytest.fixture(scope="session")
def smoke_results(tmp_path_factory) -> Path:
    """A clean copy of the project in which the smoke scale has been run from nothing. Read it, or copy it (helpers.project.copy_finished).

    VERIDREAM_SMOKE=<folder> keeps it there between sessions while tests are being written: the next session only remakes what changed.
    """
    return once(tmp_path_factory.getbasetemp(), "smoke", smoke_run)


def smoke_run(folder: Path) -> Path:
    """The project, below the folder or at VERIDREAM_SMOKE, once the workflow has run in it."""
    project = Path(os.environ.get("VERIDREAM_SMOKE") or folder / "project")
    project.mkdir(parents=True, exist_ok=True)
    copy_project(project)
    if not (project / ".git").exists():
        git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "as it is")
    done = run(project, "run_workflow.py", "--scale", "smoke", timeout=1500)
    assert done.returncode == 0, f"the smoke run failed:\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return project


@pytest.fixture(scope="session")
def recorded_smoke(smoke_results, tmp_path_factory) -> Path:
    """The smoke run, recorded and committed (dvc.yaml, dvc.lock, ledger/, the bytes in the DVC cache). Read it, or copy it."""

    def record(folder: Path) -> Path:
        project = copy_finished(smoke_results, folder / "project")
        done = run(project, "record_ledger.py", "--scale", "smoke")
        assert done.returncode == 0, done.stderr
        git(project, "add", "--all")
        git(project, "commit", "--quiet", "--message", "recorded")
        return project

    return once(tmp_path_factory.getbasetemp(), "recorded", record)
