"""What the whole session shares: one finished smoke run of the real workflow, made on first use."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from helpers.project import copy_project, run

# Started in the background by a shell, this process ignores Ctrl-C, and so would every child that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def git(project: Path, *words: str) -> str:
    """git with an identity, whatever the machine has."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *words], cwd=project, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="session")
def smoke_results(tmp_path_factory) -> Path:
    """A clean copy of the project in which the smoke scale has been run from nothing. Read it, or copy it (helpers.project.copy_finished).

    VERIDREAM_SMOKE=<folder> keeps it there between sessions while tests are being written: the next session only remakes what changed.
    """
    kept = os.environ.get("VERIDREAM_SMOKE")
    project = Path(kept) if kept else tmp_path_factory.mktemp("smoke") / "project"
    project.mkdir(parents=True, exist_ok=True)
    copy_project(project)
    if not (project / ".git").exists():
        git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "as it is")
    done = run(project, "run_workflow.py", "--scale", "smoke", timeout=1500)
    assert done.returncode == 0, f"the smoke run failed:\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return project
