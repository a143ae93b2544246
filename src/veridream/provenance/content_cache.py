"""What the audit has hashed before: sha256 of files by size, modification time, inode and change time.

A process can set a file's modification time but not its change time, so an edit that hides behind `touch -r` is still read. A file that
changed within the last two seconds is not remembered: the clock is too coarse to tell a second change from the first.
"""

import json
import time
import warnings
from pathlib import Path

from veridream.provenance.digest import file_sha256
from veridream.provenance.receipts import write_json

SETTLED_NS = 2_000_000_000
Entry = tuple[int, int, int, int, str]  # size, mtime_ns, inode, ctime_ns, sha256


class ContentCache:
    """Hashes files, and reads only those that it does not know as they stand.

    Args:
        path: where it is kept between calls, a JSON file; paths in it are relative to its folder.
        deep: read every byte whatever is remembered; what is found is remembered all the same.
    """

    def __init__(self, path: Path, deep: bool = False):
        self.path, self.deep = path, deep
        self.known = _load(path)
        self.read, self.trusted = 0, 0  # files whose bytes were read; files that were known
        self._fresh: set[str] = set()

    def sha256(self, file: Path) -> str:
        """sha256 of the file's bytes. Raises FileNotFoundError, PermissionError."""
        key = file.relative_to(self.path.parent).as_posix() if file.is_relative_to(self.path.parent) else file.as_posix()
        stat = file.stat()
        facts = (stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns)
        entry = self.known.get(key)
        if entry is not None and entry[:4] == facts and (not self.deep or key in self._fresh):
            self.trusted += 1
            return entry[4]
        found = file_sha256(file)
        self.read += 1
        self.known.pop(key, None)
        if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > SETTLED_NS:
            self.known[key] = (*facts, found)
            self._fresh.add(key)
        return found

    def forget(self, folder: Path) -> None:
        """Reads a file, or all files of a folder, anew next time."""
        key = folder.relative_to(self.path.parent).as_posix() if folder.is_relative_to(self.path.parent) else folder.as_posix()
        self.known = {k: v for k, v in self.known.items() if k != key and not k.startswith(f"{key}/")}

    def save(self) -> None:
        """Keeps what is known of the files that still exist. Where nothing can be written, says so and goes on."""
        if not self._fresh:
            return
        here = self.path.parent
        kept = {k: " ".join(map(str, v)) for k, v in self.known.items() if k in self._fresh or (here / k).is_file()}
        try:
            write_json(self.path, kept)
        except OSError as e:
            warnings.warn(f"{self.path}: what was hashed is not remembered ({e}); the next audit reads everything again")


def _load(path: Path) -> dict[str, Entry]:
    """What was kept; nothing where the file is missing, damaged or of another form: then everything is read."""
    try:
        whole = json.loads(path.read_text())
        rows = {k: v.split(" ") for k, v in whole.items()}
        return {k: (int(a), int(b), int(c), int(d), e) for k, (a, b, c, d, e) in rows.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
