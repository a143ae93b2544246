"""Is this store what its writer meant? Walks files, metadata, rows and episodes; every problem names the array and the row or chunk."""

from pathlib import Path
from typing import Any

import numpy as np

from veridream import spec
from veridream.io.episode_store import EpisodeStore, episode_digest, open_store
from veridream.io.row_validation import different, row_problems
from veridream.io.store_manifest import (
    CHUNK,
    LOCK,
    SHARD,
    StoreError,
    acted_names,
    array_specs,
    episode_seed,
    file_sha256,
    read_root_attributes,
    tree_files,
)
from veridream.params.tasks import registry

DECODE_ERRORS = (ValueError, RuntimeError, OSError, KeyError, TypeError)


def validate_store(path: str | Path) -> list[str]:
    """Problems of a store, none when it is sound. Each reads `<store>: <array>: <chunk or row>: <what is wrong>`."""
    path = Path(path)
    try:
        store = open_store(path)
    except (StoreError, FileNotFoundError) as e:
        return [str(e)]
    problems, lost = _files(path, store.manifest)
    problems += _attributes(store)
    sound, more = _metadata(store)
    problems += more
    values, more = _read_small(store, sound - lost)
    problems += more + _episodes(store, values) + row_problems(store, values)
    if "frame" in sound and "frame" not in lost:
        problems += _digests(store, values)
    return [p if p.startswith(str(path)) else f"{path}: {p}" for p in problems]


def _owner(file: str) -> tuple[str, str]:
    """(array, what the file is) of a file of the store."""
    array, _, chunk = file.partition("/c/")
    if not chunk:
        return file.removesuffix("/zarr.json"), "metadata"
    k = int(chunk.split("/")[0]) if chunk.split("/")[0].isdigit() else -1
    if array == "frame" and k >= 0:
        return array, f"chunk {chunk} (rows {k * CHUNK * SHARD}..{(k + 1) * CHUNK * SHARD - 1})"
    return array, f"chunk {chunk}"


def _files(path: Path, manifest: dict[str, Any]) -> tuple[list[str], set[str]]:
    """Problems of the files, and arrays of which a file is missing or cut short (their values mean nothing)."""
    out, lost = [], set()
    planned, found = manifest["files"], tree_files(path)
    for name, expected in planned.items():
        array, what = _owner(name)
        if not (path / name).is_file():
            out.append(f"{array}: {what}: file {name} is missing")
            lost.add(array)
            continue
        size = (path / name).stat().st_size
        if size < expected["bytes"]:
            out.append(f"{array}: {what}: file {name} is truncated, {size} of {expected['bytes']} bytes")
            lost.add(array)
        elif size > expected["bytes"] or file_sha256(path / name) != expected["sha256"]:
            out.append(f"{array}: {what}: file {name} has changed since it was written")
    for name in sorted(set(found) - set(planned)):
        last = name.rsplit("/", 1)[-1]
        if last in (".zgroup", ".zarray", ".zattrs", ".zmetadata"):
            out.append(f"{name}: foreign metadata of zarr format 2; a store holds format 3 only")
        elif name == LOCK:
            out.append(f"{name}: lock of a writer in a finished store")
        else:
            out.append(f"{name}: extra file that the writer did not make")
    return out, lost


def _attributes(store: EpisodeStore) -> list[str]:
    a, out = store.attrs, []
    for name, known in (("role", spec.ROLES), ("behaviour", spec.BEHAVIOURS), ("task", tuple(registry())), ("determinism", ("bitwise", "tolerant"))):
        if getattr(a, name) not in known:
            out.append(f"attribute {name}: {getattr(a, name)!r} is none of {', '.join(known)}")
    if a.task in registry():
        t = registry()[a.task]
        for name in ("domain", "action_dim", "action_repeat", "control_hz", "instruction", "camera"):
            if getattr(a, name) != getattr(t, name):
                out.append(f"attribute {name}: {getattr(a, name)!r}, params/tasks.yaml says {getattr(t, name)!r} for {a.task}")
    says = f"{a.role}/{a.task}/{a.behaviour}-s{a.seed}"
    if says != store.id:
        out.append(f"attributes say {says}, the path says {store.id}")
    if len(store) != a.episodes_planned:
        out.append(f"attribute episodes_planned: {a.episodes_planned}, the store holds {len(store)} episodes")
    if a.acted_names != acted_names(a.behaviour):
        out.append(f"attribute acted_names: {a.acted_names}, a store of behaviour {a.behaviour} has {acted_names(a.behaviour)}")
    drawn = read_root_attributes(store.path).get("behaviour_parameters")
    if not isinstance(drawn, list) or len(drawn) != len(store):
        out.append(f"attribute behaviour_parameters: expected a list with an entry for each of {len(store)} episodes")
    return out


def _metadata(store: EpisodeStore) -> tuple[set[str], list[str]]:
    """Arrays whose dtype and shape are those of the schema, and problems of the others."""
    try:
        state_dim = int(store.manifest["arrays"]["state"]["shape"][1])
    except (KeyError, IndexError, TypeError, ValueError):
        return set(), ["state: the manifest gives no shape [frames, dims] for it"]
    sound, out = set(), []
    specs = array_specs(store.attrs.size, state_dim)
    for name, (dtype, row) in specs.items():
        shape = (len(store) if "/" in name else store.frames, *row)
        if store.manifest["arrays"].get(name) != {"dtype": dtype, "shape": list(shape)}:
            out.append(f"{name}: the manifest says {store.manifest['arrays'].get(name)}, expected {dtype} {shape}")
        try:
            array = store.array(name)
        except (StoreError, *DECODE_ERRORS) as e:
            out.append(f"{name}: metadata cannot be read: {e}")
            continue
        if array.dtype != np.dtype(dtype) or array.shape != shape:
            out.append(f"{name}: {array.dtype} {array.shape}, expected {dtype} {shape}")
        else:
            sound.add(name)
    unknown = sorted(set(store.manifest["arrays"]) - set(specs))
    return sound, out + [f"{n}: not an array of the schema" for n in unknown]


def _read_small(store: EpisodeStore, names: set[str]) -> tuple[dict[str, np.ndarray], list[str]]:
    values, out = {}, []
    for name in sorted(names - {"frame"}):
        try:
            values[name] = np.asarray(store.array(name)[...])
        except DECODE_ERRORS as e:
            out.append(f"{name}: chunk 0: cannot be decoded: {e}")
    return values, out


def _episodes(store: EpisodeStore, v: dict[str, np.ndarray]) -> list[str]:
    """The episode table against the manifest, the seeds and the number of rows."""
    out = []
    records = store.manifest["episodes"]
    length = np.array([e["length"] for e in records], dtype=np.int64)
    if length.sum() != store.frames:
        out.append(f"episode/length: the manifest's lengths sum to {length.sum()}, the store has {store.frames} rows")
    if (length < 1).any():
        out.append(f"episode/length: row {int(np.argmin(length))}: {length.min()}, every episode has at least its reset row")
    a = store.attrs
    seeds = np.array([episode_seed(a.task, a.behaviour, a.seed, i) for i in range(len(records))], dtype=np.int64)
    out += different("episode/length", v.get("episode/length"), length, "the manifest's length")
    out += different("episode/offset", v.get("episode/offset"), np.cumsum(length) - length, "the sum of the lengths before it")
    out += different("episode/seed", v.get("episode/seed"), seeds, "the hash of (task, behaviour, seed, index)")
    out += different(
        "episode/seed in the manifest", np.array([e["seed"] for e in records], dtype=np.int64), seeds, "the hash of (task, behaviour, seed, index)"
    )
    if "episode/return" in v and "reward" in v and length.sum() == store.frames and (length >= 1).all():
        stop = np.cumsum(length)
        returns = np.array([np.sum(v["reward"][e - n + 1 : e], dtype=np.float64) for n, e in zip(length, stop, strict=True)])
        out += different("episode/return", v["episode/return"], returns, "the sum of the episode's rewards")
    return out


class _Frames:
    """Frames by row, a shard in memory at a time. A shard that cannot be decoded is tried chunk by chunk, to name the damaged one."""

    def __init__(self, store: EpisodeStore) -> None:
        self.array, self.n, self.problems = store.frame, store.frames, []  # type: ignore[var-annotated]
        self._k, self._block = -1, np.zeros(0, dtype=np.uint8)

    def rows(self, lo: int, hi: int) -> np.ndarray:
        rows = CHUNK * SHARD
        parts = []
        for k in range(lo // rows, (hi - 1) // rows + 1):
            if k != self._k:
                self._k, self._block = k, self._read(k * rows, min((k + 1) * rows, self.n))
            parts.append(self._block[max(lo - k * rows, 0) : hi - k * rows])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _read(self, lo: int, hi: int) -> np.ndarray:
        try:
            return np.asarray(self.array[lo:hi])
        except DECODE_ERRORS as whole:
            before = len(self.problems)
            for start in range(lo, hi, CHUNK):
                try:
                    self.array[start : min(start + CHUNK, hi)]
                except DECODE_ERRORS as e:
                    self.problems.append(f"frame: chunk {start // CHUNK} (rows {start}..{min(start + CHUNK, hi) - 1}): cannot be decoded: {e}")
            if len(self.problems) == before:
                self.problems.append(f"frame: rows {lo}..{hi - 1}: cannot be decoded: {whole}")
            return np.zeros((hi - lo, *self.array.shape[1:]), dtype=np.uint8)


def _digests(store: EpisodeStore, v: dict[str, np.ndarray]) -> list[str]:
    """Every episode's digest: finds a row that was moved or changed even where each file is intact."""
    needed = ("prev_action", "reward", "state")
    length = np.array([e["length"] for e in store.manifest["episodes"]], dtype=np.int64)
    if any(n not in v for n in needed) or length.sum() != store.frames or (length < 1).any():
        return []
    frames, out, stop = _Frames(store), [], 0
    for i, e in enumerate(store.manifest["episodes"]):
        start, stop = stop, stop + e["length"]
        digest = episode_digest(frames.rows(start, stop), *(v[n][start:stop] for n in needed))
        if digest != e["sha256"]:
            out.append(f"episode {i} (rows {start}..{stop - 1}): frame, prev_action, reward or state is not what was written (a row moved or changed)")
    return frames.problems + out
