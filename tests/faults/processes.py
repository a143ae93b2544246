"""The living processes of one project folder, and what part each has in a run."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

ROLES = ("launcher", "snakemake", "stage", "worker")


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    role: str  # one of ROLES, or "other" (a shell, tee, the planning of Snakemake)
    words: tuple[str, ...]


def living(project: Path) -> dict[int, Process]:
    """{pid: process} of all that have their working folder in the project; a zombie is not living."""
    found: dict[int, tuple[int, tuple[str, ...]]] = {}
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            if not (proc / "cwd").resolve(strict=True).is_relative_to(project):
                continue
            words = tuple((proc / "cmdline").read_bytes().decode(errors="replace").strip("\0").split("\0"))
            state, parent = (proc / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except (OSError, IndexError):  # ended meanwhile
            continue
        if state not in "ZX":
            found[int(proc.name)] = int(parent), words
    return {pid: Process(pid, parent, _role(pid, found), words) for pid, (parent, words) in found.items()}


def _script(words: tuple[str, ...]) -> str | None:
    """The script of src/ that a Python process runs."""
    return words[1] if len(words) > 1 and "python" in Path(words[0]).name and words[1].startswith("src/") else None


def _role(pid: int, found: dict[int, tuple[int, tuple[str, ...]]]) -> str:
    parent, words = found[pid]
    script = _script(words)
    if script == "src/run_workflow.py":
        return "launcher" if _script(found.get(parent, (0, ()))[1]) != script else "other"
    if "snakemake" in words[:4] and "--summary" not in words:
        return "snakemake"
    above = parent
    while above in found:
        if (over := _script(found[above][1])) is not None and over != "src/run_workflow.py":
            return "worker"
        above = found[above][0]
    return "stage" if script is not None else "other"


def of_role(project: Path, role: str) -> list[int]:
    """The pids of a role, oldest first."""
    return sorted(p.pid for p in living(project).values() if p.role == role)


def end_all(project: Path) -> None:
    """Kills whatever runs in the project, and waits for it."""
    for pid in living(project):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    left_behind(project)


def left_behind(project: Path, seconds: float = 15) -> list[str]:
    """What is still running when that much time has passed; empty as soon as nothing is."""
    until = time.monotonic() + seconds
    while (now := living(project)) and time.monotonic() < until:
        time.sleep(0.05)
    return [f"process {p.pid} is left behind: {' '.join(p.words)[:120]}" for p in now.values()]
