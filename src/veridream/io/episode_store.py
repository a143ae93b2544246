"""The episode store: zarr v3, one store per role, task, behaviour and seed; one writer; flat over episodes.

    with EpisodeWriter(path, attrs, size=32, state_dim=6) as writer:
        writer.append(episode)
    store = open_store(path)
    store.frame[store.offset[2] : store.offset[2] + store.length[2]]

Row t holds observation t and the action and reward that LED to it; `prev_action` and `reward` are NaN exactly at `is_first` rows.
`acted` says what gave that action, a number into the attribute `acted_names`; an `is_first` row repeats the row after it.
The same episodes give the same bytes. The manifest is written last: a store without one was never finished, and no reader opens it.
"""

import contextlib
import dataclasses
import functools
import hashlib
import os
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import ZstdCodec

from veridream import spec
from veridream.io.store_manifest import (
    CHUNK,
    LOCK,
    MANIFEST,
    SHARD,
    StoreAttrs,
    StoreError,
    array_specs,
    attrs_for,
    episode_seed,
    file_sha256,
    read_attrs,
    read_manifest,
    store_id,
    tree_files,
)
from veridream.provenance.receipts import write_json

__all__ = ["Episode", "EpisodeStore", "EpisodeWriter", "StoreAttrs", "StoreError", "attrs_for", "episode_digest", "episode_seed", "open_store", "store_id"]


@dataclass(frozen=True)
class Episode:
    """One finished episode of T rows (T - 1 agent steps)."""

    frame: np.ndarray  # uint8 [T,H,W,3]
    prev_action: np.ndarray  # float32 [T,16], row 0 NaN, in [-1, 1], zero beyond the task's own dimensions
    reward: np.ndarray  # float32 [T], row 0 NaN
    is_terminal: np.ndarray  # bool [T], the simulator's own end flag
    state: np.ndarray  # float32 [T,S], finite
    seed: int
    success: bool
    behaviour: dict[str, Any] = field(default_factory=dict)  # parameters drawn for this episode, JSON-ready
    acted: np.ndarray | None = None  # uint8 [T], what gave each row's action, into acted_names; None: the first name, throughout


def episode_digest(frame: np.ndarray, prev_action: np.ndarray, reward: np.ndarray, state: np.ndarray) -> str:
    """sha256 over the little-endian bytes of one episode's rows. NaNs count as one NaN whatever their bits."""
    h = hashlib.sha256()
    for a, kind in ((frame, "u1"), (prev_action, "<f4"), (reward, "<f4"), (state, "<f4")):
        a = np.ascontiguousarray(a, dtype=kind)
        if kind != "u1":
            a = np.where(np.isnan(a), np.float32(np.nan), a)
        h.update(repr(a.shape).encode())
        h.update(a.tobytes())
    return h.hexdigest()


def check_episode(e: Episode, size: int, state_dim: int, action_dim: int, acted_names: Sequence[str]) -> None:
    """Raises ValueError at the first array and row that breaks the row convention, a range, a shape or a dtype."""
    t = len(e.frame)
    if t < 1:
        raise ValueError("episode without rows; the reset row is always recorded")
    shapes = {"frame": ("uint8", (t, size, size, 3)), "prev_action": ("float32", (t, spec.ACTION_DIM)), "reward": ("float32", (t,))}
    shapes |= {"is_terminal": ("bool", (t,)), "state": ("float32", (t, state_dim))}
    for name, (dtype, shape) in shapes.items():
        a = getattr(e, name)
        if a.dtype != np.dtype(dtype) or a.shape != shape:
            raise ValueError(f"{name}: {a.dtype} {a.shape}, expected {dtype} {shape}")
    if not np.isnan(e.prev_action[0]).all() or not np.isnan(e.reward[0]):
        raise ValueError("row 0: prev_action and reward must be NaN, since nothing led to the first row")
    for name, a, bad in (
        ("prev_action", e.prev_action[1:], ~(np.abs(e.prev_action[1:]) <= 1.0)),
        ("prev_action padding", e.prev_action[1:, action_dim:], e.prev_action[1:, action_dim:] != 0),
        ("reward", e.reward[1:], ~np.isfinite(e.reward[1:])),
        ("state", e.state, ~np.isfinite(e.state)),
    ):
        rows = np.flatnonzero(bad.any(axis=tuple(range(1, bad.ndim))))
        if len(rows):
            row = int(rows[0])
            raise ValueError(f"{name}: row {row + (len(a) < t)} holds {a[row].tolist()}; actions lie in [-1, 1], padding is 0, all is finite")
    if e.is_terminal[:-1].any():
        raise ValueError(f"is_terminal: row {int(np.argmax(e.is_terminal))} is set before the last row {t - 1}")
    if e.acted is None:
        if len(acted_names) > 1:
            raise ValueError(f"acted: missing; a store of {', '.join(acted_names)} records what acted in each row")
    elif e.acted.dtype != np.uint8 or e.acted.shape != (t,) or (e.acted >= len(acted_names)).any():
        raise ValueError(f"acted: {e.acted.dtype} {e.acted.shape} up to {e.acted.max(initial=0)}, expected uint8 ({t},) below {len(acted_names)}")


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """An error of the disk while writing, with the store's name and what to do."""
    try:
        yield
    except OSError as e:
        raise StoreError(f"{path}: writing failed: {e.strerror or e} (errno {e.errno}); make room on that disk and run the workflow again") from e


class EpisodeWriter:
    """The only writer of a new store. Frames go to disk a shard at a time, so memory does not grow with their number.

    Leaving the block without an exception finishes the store; anything else leaves a folder without a manifest, which nobody reads.
    Raises StoreError when the path exists, or when fewer or more episodes than `attrs.episodes_planned` were appended.
    """

    def __init__(self, path: str | Path, attrs: StoreAttrs, size: int, state_dim: int) -> None:
        if size != attrs.size:
            raise ValueError(f"{path}: size is {size}, attributes say {attrs.size}")
        self.path, self.attrs, self.size, self.state_dim = Path(path), attrs, size, state_dim
        self.episodes: list[dict[str, Any]] = []
        self.frames = 0  # rows appended
        self._flushed = 0  # rows of `frame` on disk
        self._pending: list[np.ndarray] = []
        self._rows: dict[str, list[np.ndarray]] = {n: [] for n in array_specs(size, state_dim) if n != "frame" and "/" not in n}

    def __enter__(self) -> "EpisodeWriter":
        try:
            self.path.mkdir(parents=True)
        except FileExistsError:
            lock = self.path / LOCK
            who = f"process {lock.read_text().strip()} is writing it" if lock.is_file() else "it exists already"
            raise StoreError(f"{self.path}: {who}; a store has one writer and is never overwritten: delete it first") from None
        with _writing(self.path):
            (self.path / LOCK).write_text(f"{os.getpid()}\n")
            self._group = zarr.create_group(store=str(self.path), zarr_format=3)
            self._frame = self._array("frame", 0)
        return self

    def _array(self, name: str, rows: int) -> zarr.Array:
        dtype, row = array_specs(self.size, self.state_dim)[name]
        # only `frame` is large; the others fit one chunk each
        layout: dict[str, Any] = {"chunks": (CHUNK, *row), "shards": (CHUNK * SHARD, *row)} if name == "frame" else {"chunks": (max(rows, 1), *row)}
        return self._group.create_array(
            name,
            shape=(rows, *row),
            dtype=dtype,
            compressors=ZstdCodec(level=9, checksum=True),
            fill_value=np.zeros((), dtype)[()],
            config={"write_empty_chunks": True},  # an absent chunk then always means a lost one
            **layout,
        )

    def append(self, e: Episode) -> None:
        """Adds one finished episode. Raises ValueError naming the episode, array and row that is wrong."""
        try:
            check_episode(e, self.size, self.state_dim, self.attrs.action_dim, self.attrs.acted_names)
        except ValueError as problem:
            raise ValueError(f"{self.path}: episode {len(self.episodes)}: {problem}") from None
        t = len(e.frame)
        ends = np.zeros((2, t), dtype=bool)
        ends[0, 0] = ends[1, -1] = True
        values = {"prev_action": e.prev_action, "reward": e.reward, "is_first": ends[0], "is_last": ends[1], "is_terminal": e.is_terminal, "state": e.state}
        values["acted"] = np.zeros(t, np.uint8) if e.acted is None else e.acted
        for name, a in values.items():
            self._rows[name].append(a)
        record = {"length": t, "seed": int(e.seed), "return": float(np.sum(e.reward[1:], dtype=np.float64)), "success": bool(e.success)}
        self.episodes.append({**record, "sha256": episode_digest(e.frame, e.prev_action, e.reward, e.state), "behaviour": e.behaviour})
        self.frames += t
        self._pending.append(e.frame)
        if self.frames - self._flushed >= CHUNK * SHARD:
            self._flush((self.frames - self._flushed) // (CHUNK * SHARD) * CHUNK * SHARD)

    def _flush(self, rows: int) -> None:
        """Writes whole shards only (the last one at the end), so no shard is ever read back and written again."""
        block = np.concatenate(self._pending)
        self._pending = [block[rows:]]
        with _writing(self.path):
            self._frame.resize((self._flushed + rows, *block.shape[1:]))
            self._frame[self._flushed : self._flushed + rows] = block[:rows]
        self._flushed += rows

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: types.TracebackType | None) -> None:
        if kind is None:
            if len(self.episodes) != self.attrs.episodes_planned:
                raise StoreError(
                    f"{self.path}: {len(self.episodes)} episodes were collected, {self.attrs.episodes_planned} were planned; a short store is a failure"
                )
            with _writing(self.path):
                self._finish()

    def _finish(self) -> None:
        if self.frames > self._flushed:
            self._flush(self.frames - self._flushed)
        columns = {n: np.concatenate(parts) for n, parts in self._rows.items()}
        length = np.array([e["length"] for e in self.episodes], dtype=np.int64)
        columns["episode/offset"] = np.cumsum(length) - length
        for n in ("length", "seed", "return", "success"):
            columns[f"episode/{n}"] = np.array([e[n] for e in self.episodes])
        for name, values in columns.items():
            self._array(name, len(values))[...] = values
        behaviours = [e["behaviour"] for e in self.episodes]
        self._group.attrs.put({**dataclasses.asdict(self.attrs), "behaviour_parameters": behaviours})
        (self.path / LOCK).unlink()
        specs = array_specs(self.size, self.state_dim)
        arrays = {n: {"dtype": d, "shape": [len(self.episodes) if "/" in n else self.frames, *row]} for n, (d, row) in specs.items()}
        files = {f: {"bytes": (self.path / f).stat().st_size, "sha256": file_sha256(self.path / f)} for f in tree_files(self.path)}
        records = [{k: e[k] for k in ("length", "seed", "sha256")} for e in self.episodes]
        write_json(self.path / MANIFEST, {"format_version": spec.FORMAT_VERSION, "frames": self.frames, "arrays": arrays, "files": files, "episodes": records})


class EpisodeStore:
    """A finished store, read only. `frame` stays on disk and is read by slice; the other arrays are numpy, read on first use."""

    def __init__(self, path: Path, manifest: dict[str, Any], attrs: StoreAttrs) -> None:
        self.path, self.manifest, self.attrs = path, manifest, attrs
        self.id = store_id(path)
        self._arrays: dict[str, zarr.Array] = {}

    @functools.cached_property
    def group(self) -> zarr.Group:
        return zarr.open_group(str(self.path), mode="r", zarr_format=3, use_consolidated=False)

    def array(self, name: str) -> zarr.Array:
        """An array by its name, on disk. Raises StoreError when it is not there."""
        if name in self._arrays:
            return self._arrays[name]
        try:
            found = self.group[name]
        except KeyError:
            raise StoreError(f"{self.path}: array {name} is missing; delete the store and collect it again") from None
        if not isinstance(found, zarr.Array):
            raise StoreError(f"{self.path}: {name} is a group, expected an array; delete the store and collect it again")
        self._arrays[name] = found
        return found

    def _numpy(self, name: str) -> np.ndarray:
        return np.asarray(self.array(name)[...])

    @functools.cached_property
    def frame(self) -> zarr.Array:
        return self.array("frame")  # u1 [N,H,W,3]

    @functools.cached_property
    def prev_action(self) -> np.ndarray:
        return self._numpy("prev_action")  # f4 [N,16]

    @functools.cached_property
    def reward(self) -> np.ndarray:
        return self._numpy("reward")  # f4 [N]

    @functools.cached_property
    def is_first(self) -> np.ndarray:
        return self._numpy("is_first")

    @functools.cached_property
    def is_last(self) -> np.ndarray:
        return self._numpy("is_last")

    @functools.cached_property
    def is_terminal(self) -> np.ndarray:
        return self._numpy("is_terminal")

    @functools.cached_property
    def state(self) -> np.ndarray:
        return self._numpy("state")  # f4 [N,S]

    @functools.cached_property
    def acted(self) -> np.ndarray:
        return self._numpy("acted")  # u1 [N], into attrs.acted_names

    @functools.cached_property
    def offset(self) -> np.ndarray:
        return self._numpy("episode/offset")

    @functools.cached_property
    def length(self) -> np.ndarray:
        return self._numpy("episode/length")

    @functools.cached_property
    def seed(self) -> np.ndarray:
        return self._numpy("episode/seed")

    @functools.cached_property
    def return_(self) -> np.ndarray:
        return self._numpy("episode/return")

    @functools.cached_property
    def success(self) -> np.ndarray:
        return self._numpy("episode/success")

    @property
    def frames(self) -> int:
        return int(self.manifest["frames"])

    def __len__(self) -> int:
        return len(self.manifest["episodes"])

    def rows(self, episode: int) -> slice:
        """Rows of one episode."""
        return slice(int(self.offset[episode]), int(self.offset[episode] + self.length[episode]))


def open_store(path: str | Path) -> EpisodeStore:
    """Opens a finished store for reading.

    Raises:
        FileNotFoundError: nothing at the path.
        StoreError: unfinished, damaged, or of another format version; says what to do.
    """
    path = Path(path)
    return EpisodeStore(path, read_manifest(path), read_attrs(path))
