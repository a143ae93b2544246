"""Which held-out sequences are scored: a pure function of the index and the params, so every model gets the same ones.

For each task: `sequences` windows of T frames, each inside one episode, spread evenly over the task's held-out episodes (seen tasks:
held-out corpus episodes; unseen tasks: test episodes) and, within an episode, over its possible starts.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from veridream.data.index import Index
from veridream.data.windows import Windows


@dataclass(frozen=True)
class Sequences:
    """Chosen windows in order of task, store, episode, start."""

    windows: Windows  # store, episode, start (row of the store), task
    row: np.ndarray  # int64 [n], the episode's place in the index
    frames: int  # T

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: np.ndarray) -> "Sequences":
        w = self.windows
        return Sequences(Windows(w.store[rows], w.episode[rows], w.start[rows], w.task[rows]), self.row[rows], self.frames)


def choose_sequences(index: Index, tasks: list[str], sequences: int, frames: int, seed: int, split: str = "heldout") -> Sequences:
    """`sequences` windows of `frames` frames a task, from that side. Raises ValueError that names a task with fewer possible windows, and the remedy."""
    rows, starts = [], []
    for t in sorted(tasks):
        r, s = _choose_task(index, t, sequences, frames, seed, split)
        rows.append(r)
        starts.append(s)
    row = np.concatenate(rows)
    start = index.offset[row] + np.concatenate(starts)
    return Sequences(Windows(index.store[row], index.episode[row], start, index.task[row]), row, frames)


def heldout_rows(index: Index, task: str, split: str = "heldout") -> np.ndarray:
    """Places in the index of a task's scored episodes, by store and episode."""
    role = np.where(index.seen, "corpus", "test")
    rows = np.flatnonzero((index.task == task) & (index.split == split) & (index.role == role))
    return rows[np.lexsort((index.episode[rows], index.store[rows].astype(str)))]


def task_generator(seed: int, task: str) -> np.random.Generator:
    """Independent of which other tasks there are."""
    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(task.encode()).digest()[:8], "big")])


def _choose_task(index: Index, task: str, sequences: int, frames: int, seed: int, split: str) -> tuple[np.ndarray, np.ndarray]:
    rows = heldout_rows(index, task, split)
    room = np.maximum(index.length[rows] - frames + 1, 0)
    if room.sum() < sequences:
        raise ValueError(
            f"task {task}: {int(room.sum())} {split} windows of {frames} frames in {len(rows)} episodes, {sequences} are wanted; "
            "collect more or longer episodes of it, or lower score.sequences, score.context or score.horizon"
        )
    rng = task_generator(seed, task)
    quota = _spread(room, sequences, rng.permutation(len(rows)))
    out = [(np.full(q, r), _stratified(n, q, rng)) for r, n, q in zip(rows, room.tolist(), quota.tolist(), strict=True) if q]
    return np.concatenate([r for r, _ in out]), np.concatenate([s for _, s in out])


def _spread(room: np.ndarray, total: int, order: np.ndarray) -> np.ndarray:
    """Quota of each episode: rounds that give one window to each episode with room left, the last, incomplete round in a drawn order."""
    quota = np.zeros_like(room)
    while total:
        open_ = order[room[order] > quota[order]][:total]
        quota[open_] += 1
        total -= len(open_)
    return quota


def _stratified(n: int, quota: int, rng: np.random.Generator) -> np.ndarray:
    """`quota` distinct starts of range(n), one drawn from each of as many equal parts, ascending."""
    edges = np.arange(quota + 1) * n // quota
    return edges[:-1] + (rng.random(quota) * np.diff(edges)).astype(np.int64)
