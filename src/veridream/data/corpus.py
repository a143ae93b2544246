"""Batches of windows from several stores. Small corpora are held in memory; larger ones are read by slice through a small cache."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from veridream import spec
from veridream.data.index import Index
from veridream.data.windows import Windows
from veridream.io.episode_store import EpisodeStore, StoreError, open_store
from veridream.io.store_manifest import CHUNK
from veridream.params.tasks import task as task_of

MEMORY_LIMIT = 2 << 30  # bytes of frames held in memory; beyond it they are read by chunk
CACHED_CHUNKS = 256


class Corpus:
    """Frames, actions and rewards of windows.

    Args:
        stores: paths of finished stores; their frames have one size.
        memory_limit: bytes of frames up to which everything is read into memory at once.
    Raises:
        StoreError: a store cannot be read, two have one id, or their frame sizes differ.
    """

    def __init__(self, stores: Sequence[str | Path], memory_limit: int = MEMORY_LIMIT) -> None:
        self.stores: dict[str, EpisodeStore] = {}
        for path in stores:
            s = open_store(path)
            if s.id in self.stores:
                raise StoreError(f"{path}: the store id {s.id} stands twice; give each store once")
            self.stores[s.id] = s
        if not self.stores:
            raise StoreError("a corpus needs at least one store")
        sizes = {s.attrs.size: s.id for s in self.stores.values()}
        if len(sizes) > 1:
            raise StoreError(
                f"frames of several sizes in one corpus: {', '.join(f'{i} has {n}' for n, i in sorted(sizes.items()))}; collect all at one render.size"
            )
        self.size = next(iter(sizes))
        self.bytes = sum(s.frames for s in self.stores.values()) * self.size * self.size * 3
        self._held: dict[str, np.ndarray] | None = None
        if self.bytes <= memory_limit:
            self._held = {i: np.asarray(s.frame[...]) for i, s in self.stores.items()}
        self._chunk = functools.lru_cache(maxsize=CACHED_CHUNKS)(self._read_chunk)

    def _store(self, sid: str) -> EpisodeStore:
        if sid not in self.stores:
            raise StoreError(f"store {sid} is in the index but was not given as an input; pass all of its stores")
        return self.stores[sid]

    def _read_chunk(self, sid: str, k: int) -> np.ndarray:
        return np.asarray(self.stores[sid].frame[k * CHUNK : (k + 1) * CHUNK])

    def rows(self, sid: str, start: int, stop: int) -> np.ndarray:
        """Frames u1 [stop - start,H,W,3] of these rows of one store."""
        n = self._store(sid).frames
        if not 0 <= start < stop <= n:
            raise ValueError(f"{sid}: rows {start}..{stop} are not within its {n} frames; the index is of another version of the store, make it again")
        if self._held is not None:
            return self._held[sid][start:stop]
        first, last = start // CHUNK, (stop - 1) // CHUNK
        block = np.concatenate([self._chunk(sid, k) for k in range(first, last + 1)])
        return block[start - first * CHUNK : stop - first * CHUNK]

    def frames(self, windows: Windows, T: int) -> np.ndarray:
        """u1 [B,T,H,W,3]."""
        out = np.empty((len(windows), T, self.size, self.size, 3), dtype=np.uint8)
        for b, (sid, start) in enumerate(zip(windows.store, windows.start.tolist(), strict=True)):
            out[b] = self.rows(sid, start, start + T)
        return out

    def actions(self, windows: Windows, T: int) -> np.ndarray:
        """f4 [B,T,16]: the action that led to each row, in [-1, 1]; zero where nothing led to it (`is_first`) and in padded dimensions."""
        out = np.empty((len(windows), T, spec.ACTION_DIM), dtype=np.float32)
        for b, (sid, start) in enumerate(zip(windows.store, windows.start.tolist(), strict=True)):
            out[b] = self._store(sid).prev_action[start : start + T]
        out[np.isnan(out)] = 0.0
        return out

    def rewards(self, windows: Windows, T: int) -> np.ndarray:
        """f4 [B,T]: the reward that led to each row; zero where `reward_mask` is zero."""
        out = np.empty((len(windows), T), dtype=np.float32)
        for b, (sid, start) in enumerate(zip(windows.store, windows.start.tolist(), strict=True)):
            out[b] = self._store(sid).reward[start : start + T]
        out[np.isnan(out)] = 0.0
        return out

    def reward_mask(self, windows: Windows, T: int) -> np.ndarray:
        """f4 [B,T]: 1 where a reward led to the row, 0 at `is_first` rows."""
        out = np.empty((len(windows), T), dtype=np.float32)
        for b, (sid, start) in enumerate(zip(windows.store, windows.start.tolist(), strict=True)):
            out[b] = ~self._store(sid).is_first[start : start + T]
        return out

    def mask(self, windows: Windows) -> np.ndarray:
        """f4 [B,16]: 1 for the task's own action dimensions, 0 for padding."""
        return np.stack([action_mask(t) for t in windows.task])

    def median_image(self, index: Index, task: str, most: int = 2048) -> np.ndarray:
        """u1 [H,W,3]: per-pixel lower median over the task's frames in `index` (select the train split first).

        More than `most` frames are thinned evenly. Raises ValueError when the index holds no episode of the task.
        """
        part = index.select(task=task)
        if not len(part):
            raise ValueError(f"no episode of task {task} to take the median image of; check the split that was selected")
        owner = np.repeat(np.arange(len(part)), part.length)
        row = np.arange(len(owner)) - np.repeat(np.cumsum(part.length) - part.length, part.length) + part.offset[owner]
        keep = np.arange(len(owner)) if len(owner) <= most else np.linspace(0, len(owner) - 1, most).astype(np.int64)
        frames = np.stack([self.rows(part.store[owner[i]], int(row[i]), int(row[i]) + 1)[0] for i in keep])
        middle = (len(frames) - 1) // 2
        return np.partition(frames, middle, axis=0)[middle]


@functools.cache
def _action_mask(task_id: str) -> tuple[float, ...]:
    n = task_of(task_id).action_dim
    return (1.0,) * n + (0.0,) * (spec.ACTION_DIM - n)


def action_mask(task_id: str) -> np.ndarray:
    """f4 [16]: 1 for the task's own action dimensions, 0 for padding. Raises UnknownTask."""
    return np.array(_action_mask(task_id), dtype=np.float32)
