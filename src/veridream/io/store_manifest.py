"""What an episode store says about itself: attributes, manifest, names and seeds. Reads JSON only, so it costs no zarr import.

`manifest.json` is written last, when every array is on disk. A store without it was never finished and is refused.
"""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridream import spec
from veridream.provenance.stage import StageError

MANIFEST = "manifest.json"
LOCK = ".lock"
CHUNK = 64  # whole frames a chunk; docs/storage.md says why
SHARD = 16  # chunks a shard
ROW_CONVENTION = "row t holds observation t and the action and reward that led to it; NaN exactly at is_first rows"


class StoreError(StageError, ValueError):
    """A store that cannot be read or written; the text names it and the remedy."""


@dataclass(frozen=True)
class StoreAttrs:
    """Attributes of a store's root group."""

    role: str
    task: str
    domain: str
    behaviour: str
    seed: int
    episodes_planned: int
    instruction: str
    action_dim: int
    action_repeat: int
    control_hz: float  # agent steps a second, before frame_skip
    camera: str
    size: int  # pixels a side
    quality: str = "fast"
    frame_skip: int = 1
    max_steps: int = 1000  # agent steps
    renderer: str = ""
    determinism: str = "bitwise"
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    acted_names: list[str] = dataclasses.field(default_factory=list)  # what the numbers in the array `acted` stand for
    format_version: str = spec.FORMAT_VERSION
    row_convention: str = ROW_CONVENTION


def acted_names(behaviour: str) -> list[str]:
    """What can act in a store of a behaviour: one name, or those of the segments of `switched`."""
    return list(spec.SEGMENTS) if behaviour == "switched" else [behaviour]


def attrs_for(task_id: str, role: str, behaviour: str, seed: int, episodes: int, size: int, **rest: Any) -> StoreAttrs:
    """Attributes of a store of one task; what the registry knows is filled in. Raises UnknownTask, ValueError on a bad role or behaviour."""
    from veridream.params.tasks import task as task_of  # the registry needs pydantic; readers of JSON facts do not

    t = task_of(task_id)
    if role not in spec.ROLES:
        raise ValueError(f"role is {role!r}; known: {', '.join(spec.ROLES)}")
    if behaviour not in spec.BEHAVIOURS:
        raise ValueError(f"behaviour is {behaviour!r}; known: {', '.join(spec.BEHAVIOURS)}")
    known = {
        "domain": t.domain,
        "instruction": t.instruction,
        "action_dim": t.action_dim,
        "action_repeat": t.action_repeat,
        "control_hz": t.control_hz,
        "camera": t.camera,
        "acted_names": acted_names(behaviour),
    }
    return StoreAttrs(role=role, task=task_id, behaviour=behaviour, seed=seed, episodes_planned=episodes, size=size, **known, **rest)  # type: ignore[arg-type]


def array_specs(size: int, state_dim: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """{array: (dtype, shape of one row)}. Arrays under `episode/` have a row an episode, the others a row a frame."""
    return {
        "frame": ("uint8", (size, size, 3)),
        "prev_action": ("float32", (spec.ACTION_DIM,)),
        "reward": ("float32", ()),
        "is_first": ("bool", ()),
        "is_last": ("bool", ()),
        "is_terminal": ("bool", ()),
        "state": ("float32", (state_dim,)),
        "acted": ("uint8", ()),
        "episode/offset": ("int64", ()),
        "episode/length": ("int64", ()),
        "episode/seed": ("int64", ()),
        "episode/return": ("float64", ()),
        "episode/success": ("bool", ()),
    }


def store_id(path: str | Path) -> str:
    """`<role>/<task>/<behaviour>-s<seed>`, from the last three parts of a store's path."""
    path = Path(path)
    name = path.name.removeprefix(".").removesuffix(".part")  # a store that is being written
    return "/".join((*path.absolute().parts[-3:-1], name.removesuffix(".zarr")))


def episode_seed(task: str, behaviour: str, seed: int, index: int) -> int:
    """Seed of one episode, in [0, 2**63): any single episode can be made again alone."""
    key = json.dumps([task, behaviour, int(seed), int(index)], separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") >> 1


def tree_files(root: Path) -> list[str]:
    """Relative paths of every file of a store but its manifest, sorted."""
    ignored = {MANIFEST, ".snakemake_timestamp"}
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file() and p.relative_to(root).as_posix() not in ignored)


def file_sha256(path: Path) -> str:
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _json(path: Path, what: str) -> Any:
    try:
        return json.loads(path.read_text())
    except (ValueError, UnicodeDecodeError) as e:
        raise StoreError(f"{path}: damaged {what} ({e}); delete the store and collect it again") from None


def read_manifest(path: str | Path) -> dict[str, Any]:
    """{format_version, frames, arrays, files, episodes} of a finished store.

    Raises:
        FileNotFoundError: nothing there.
        StoreError: unfinished (no manifest), damaged, or of another format version.
    """
    path = Path(path)
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: no such store; run the workflow to collect it")
    if not (path / MANIFEST).is_file():
        lock = path / LOCK
        who = f"process {lock.read_text().strip()} was writing it" if lock.is_file() else "its writer never finished"
        raise StoreError(f"{path}: no {MANIFEST} ({who}); if that process is gone, delete the store and collect it again")
    out: dict[str, Any] = _json(path / MANIFEST, "manifest")
    version = out.get("format_version") if isinstance(out, dict) else None
    if version != spec.FORMAT_VERSION:
        raise StoreError(f"{path}: format version {version!r}, this code reads {spec.FORMAT_VERSION!r}; collect the store again")
    missing = [k for k in ("frames", "arrays", "files", "episodes") if k not in out]
    if missing:
        raise StoreError(f"{path}: {MANIFEST} lacks {', '.join(missing)}; delete the store and collect it again")
    for i, e in enumerate(out["episodes"]):
        if not (isinstance(e, dict) and type(e.get("length")) is int and type(e.get("seed")) is int and isinstance(e.get("sha256"), str)):
            raise StoreError(f"{path}: {MANIFEST}: episode {i} lacks its length, seed or sha256; delete the store and collect it again")
    for name, e in out["files"].items():
        if not (isinstance(e, dict) and type(e.get("bytes")) is int and isinstance(e.get("sha256"), str)):
            raise StoreError(f"{path}: {MANIFEST}: file {name} lacks its bytes or sha256; delete the store and collect it again")
    return out


def read_root_attributes(path: str | Path) -> dict[str, Any]:
    """All attributes of the root group. Raises StoreError on a missing or damaged zarr.json."""
    meta = Path(path) / "zarr.json"
    if not meta.is_file():
        raise StoreError(f"{path}: no zarr.json at its root; delete the store and collect it again")
    out: dict[str, Any] = _json(meta, "group metadata").get("attributes", {})
    return out


def read_attrs(path: str | Path) -> StoreAttrs:
    """Attributes of a store. Raises StoreError naming missing ones, or another format version."""
    have = read_root_attributes(path)
    if have.get("format_version") != spec.FORMAT_VERSION:
        raise StoreError(
            f"{path}: attribute format_version is {have.get('format_version')!r}, this code reads {spec.FORMAT_VERSION!r}; collect the store again"
        )
    names = [f.name for f in dataclasses.fields(StoreAttrs)]
    missing = [n for n in names if n not in have]
    if missing:
        raise StoreError(f"{path}: attributes missing: {', '.join(missing)}; delete the store and collect it again")
    return StoreAttrs(**{n: have[n] for n in names})
