"""The conditions a benchmark folder asks videos for: worldmodelbench.json beside images/, as the benchmark publishes it and as we export it.

A folder of videos answers it with one <stem>.mp4 an item. Stems may hold dots, so a name is never made by changing a suffix.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

LIST = "worldmodelbench.json"
STEM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
LONGEST_STEM = 100
OFFICIAL = {"items": 350, "domains": 7, "subdomains": 56}  # commit 00b7aa1
OFFICIAL_SUBDOMAINS = (10, 10, 5, 5, 10, 6, 10)  # of its domains, in the order of the list
OFFICIAL_SHA256 = "56cf38e7fc8cb3a485d71de890a38d2857752cc168addda8900b89f9809a842b"  # of worldmodelbench.json at that commit
FEWEST = 5  # items of a subdomain whose score is worth printing


class BenchmarkError(ValueError):
    """What is wrong with a benchmark folder, a video folder or an answer file: names the place and the remedy."""


def digest(data: bytes) -> str:
    """sha256, hex."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Item:
    """One condition. The judge sees the video and the instruction alone."""

    domain: str
    subdomain: str
    text_first_frame: str
    text_instruction: str
    first_frame: str  # images/<stem>.<jpg or png>

    @property
    def stem(self) -> str:
        return PurePosixPath(self.first_frame).stem  # drops the last suffix only

    @property
    def video(self) -> str:
        """File name of its video."""
        return self.stem + ".mp4"

    @property
    def prompt(self) -> str:
        """The text-to-video condition."""
        return f"{self.text_first_frame} {self.text_instruction}"


FIELDS = tuple(f.name for f in fields(Item))


def load_items(folder: Path, images: bool = True) -> list[Item]:
    """The items of a benchmark folder (or of its JSON file), in the file's order. images: their first frames must be there.

    Raises BenchmarkError that names the file, the row and the remedy.
    """
    path = folder / LIST if folder.is_dir() else folder
    if not path.is_file():
        raise BenchmarkError(f"{path} is missing; give the folder that holds {LIST}")
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as e:
        raise BenchmarkError(f"{path}: not valid JSON ({e}); fetch it again") from None
    if not isinstance(rows, list) or not rows:
        raise BenchmarkError(f"{path}: must be a list of items, at least one")
    items = [_item(path, i, row) for i, row in enumerate(rows)]
    seen: dict[str, int] = {}
    for i, item in enumerate(items):
        other = seen.setdefault(item.stem.lower(), i)
        if other != i:
            raise BenchmarkError(f"{path}: items {other} and {i} both want {item.video} (case is not told apart); rename one first_frame")
        if images and not (path.parent / item.first_frame).is_file():
            raise BenchmarkError(f"{path}: item {i}: {item.first_frame} is not there; fetch the images folder too")
    return items


def _item(path: Path, i: int, row: Any) -> Item:
    if not isinstance(row, dict) or set(row) != set(FIELDS):
        odd = sorted(set(row) ^ set(FIELDS)) if isinstance(row, dict) else row
        raise BenchmarkError(f"{path}: item {i}: holds exactly {', '.join(FIELDS)}; differs in {odd}")
    empty = [k for k in FIELDS if not isinstance(row[k], str) or not row[k].strip()]
    if empty:
        raise BenchmarkError(f"{path}: item {i}: {', '.join(empty)} must be text, not empty")
    item = Item(**row)
    parts = PurePosixPath(item.first_frame).parts
    if len(parts) != 2 or parts[0] != "images" or not STEM.fullmatch(parts[1]) or len(item.stem) > LONGEST_STEM:
        raise BenchmarkError(f"{path}: item {i}: first_frame {item.first_frame!r} is not images/<name>.<jpg or png> of at most {LONGEST_STEM} safe characters")
    if PurePosixPath(item.first_frame).suffix not in (".jpg", ".jpeg", ".png"):
        raise BenchmarkError(f"{path}: item {i}: first_frame {item.first_frame!r} is no jpg or png")
    return item


def check_official(items: Sequence[Item]) -> None:
    """Raises BenchmarkError unless these are the 350 published items: 7 domains of 50, each in one block, 56 subdomains, one domain's stems all dotted."""
    domains = [i.domain for i in items]
    counts, blocks = Counter(domains), 1 + sum(a != b for a, b in pairwise(domains))
    subdomains = {(i.domain, i.subdomain) for i in items}
    found = {"items": len(items), "domains": len(counts), "subdomains": len(subdomains)}
    if found != OFFICIAL or set(counts.values()) != {50} or blocks != len(counts) or len({s for _, s in subdomains}) != len(subdomains):
        raise BenchmarkError(f"not the published test set: {found}, domains {dict(counts)} in {blocks} blocks; the published one is {OFFICIAL}, 50 a domain")
    sizes = tuple(len({s for d, s in subdomains if d == domain}) for domain in counts)
    if sizes != OFFICIAL_SUBDOMAINS:
        raise BenchmarkError(f"not the published test set: {sizes} subdomains in its domains, in order; the published one has {OFFICIAL_SUBDOMAINS}")
    undotted = {i.domain for i in items if "." not in i.stem}
    if undotted == set(domains):
        raise BenchmarkError("not the published test set: no domain of it has a dot in all of its 50 stems, as the games have; were files renamed?")


def write_items(path: Path, items: Sequence[Item]) -> None:
    """The JSON of a benchmark folder, as the benchmark writes it."""
    path.write_text(json.dumps([asdict(i) for i in items], indent=4, ensure_ascii=False) + "\n", encoding="utf-8")


def find_videos(folder: Path, items: Sequence[Item]) -> tuple[dict[str, Path], list[str]]:
    """({stem: its mp4} of those that are there, names of mp4 files that no item wants). Inputs are the list's, never a glob's.

    Raises BenchmarkError when the folder is missing or holds no item's video.
    """
    if not folder.is_dir():
        raise BenchmarkError(f"{folder} is no folder; give the one that holds <stem>.mp4 files")
    found = {i.stem: folder / i.video for i in items if (folder / i.video).is_file()}
    if not found:
        raise BenchmarkError(f"{folder}: holds none of the {len(items)} videos, the first of which is {items[0].video}")
    wanted = {i.video for i in items}
    return found, sorted(p.name for p in folder.glob("*.mp4") if p.name not in wanted)
