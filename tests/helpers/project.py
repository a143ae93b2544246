"""Copies of the project for tests that edit, break or run it."""

import shutil
import subprocess
import sys
from pathlib import Path

from veridream.provenance.digest import ROOT

WHOLE = (
    "Makefile",
    "README.md",
    "CITATION.cff",
    ".doctor.json",
    "src",
    "params",
    "workflow",
    "requirements",
    "Snakefile",
    ".dvc/config",
    ".dvc/.gitignore",
    ".dvcignore",
    ".gitignore",
)
HARNESS = ("src/veridream/__init__.py", "src/veridream/spec.py", "src/veridream/params", "src/veridream/provenance", "params", "requirements")


def copy_project(to: Path, what: tuple[str, ...] = WHOLE) -> Path:
    """The project's sources, no results, no caches."""
    for name in what:
        source, target = ROOT / name, to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"), dirs_exist_ok=True)
        elif source.exists():
            shutil.copy2(source, target)
    return to


def copy_finished(finished: Path, to: Path) -> Path:
    """A finished project, its .snakemake records and times included: as good as the original, and free to break."""
    subprocess.run(["cp", "-a", "--reflink=auto", f"{finished}/.", str(to)], check=True)
    return to


def run(project: Path, script: str, *args: str, timeout: float = 300, **env: str) -> subprocess.CompletedProcess[str]:
    """A script of src/ (or "-m" and a module) with this interpreter, in the project's folder."""
    from veridream.provenance.workflow import environment

    words = [sys.executable, *([script] if script.startswith("-") else [f"src/{script}"]), *args]
    whole = environment(project) | {"PYTHONDONTWRITEBYTECODE": "1"} | env
    return subprocess.run(words, cwd=project, env=whole, capture_output=True, text=True, timeout=timeout)


def replace(path: Path, old: str, new: str) -> None:
    """Edits a file; the old text must stand there exactly once."""
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: {old!r} stands {text.count(old)} times"
    path.write_text(text.replace(old, new))
