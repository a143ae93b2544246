"""What git remembers: files and folders as they stood at a revision. Reads only."""

import io
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

from veridream.provenance.digest import ROOT

MOST_VERSIONS = 200  # of one file that are looked through


class NoSuchRevision(ValueError):
    """git does not know the revision, or the project is no git repository."""


def run_git(*words: str, root: Path = ROOT) -> bytes | None:
    """git's standard output; None where git fails, is not installed, or the folder is no repository."""
    try:
        r = subprocess.run(["git", *words], capture_output=True, cwd=root)
    except FileNotFoundError:
        return None
    return r.stdout if r.returncode == 0 else None


def commit_of(rev: str, root: Path = ROOT) -> str:
    """The full hash of a revision. Raises NoSuchRevision."""
    out = None if rev.startswith("-") else run_git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", root=root)
    if out is None:
        raise NoSuchRevision(f"git knows no revision {rev!r} here; name a commit, a branch or a tag")
    return out.decode().strip()


def file_at(commit: str, path: str, root: Path = ROOT) -> bytes | None:
    """A file's bytes at a commit; None where it did not exist."""
    return run_git("show", f"{commit}:{path}", root=root)


def folders_at(commit: str, folders: Iterable[str], to: Path, root: Path = ROOT) -> None:
    """Writes folders as they stood at a commit. Raises NoSuchRevision where git cannot."""
    out = run_git("archive", "--format=tar", commit, "--", *folders, root=root)
    if out is None:
        raise NoSuchRevision(f"git cannot give {', '.join(folders)} as of {commit[:10]}")
    with tarfile.open(fileobj=io.BytesIO(out)) as tar:  # written out by hand: Debian 12's Python has no extractall(filter=...)
        for member in tar:
            data = tar.extractfile(member) if member.isfile() else None
            if data is not None:
                (to / member.name).parent.mkdir(parents=True, exist_ok=True)
                (to / member.name).write_bytes(data.read())


def find_version(path: str, fits: Callable[[bytes], bool], root: Path = ROOT, first: Iterable[str | None] = ()) -> tuple[str, bytes] | None:
    """(commit, bytes) of a version of the file that fits, looked for in the given commits, then in its history, the newest first."""
    log = run_git("log", f"--max-count={MOST_VERSIONS}", "--format=%H", "--", path, root=root) or b""
    for commit in dict.fromkeys([*(c for c in first if c), *log.decode().split()]):
        found = file_at(commit, path, root)
        if found is not None and fits(found):
            return commit, found
    return None
