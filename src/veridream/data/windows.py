"""Windows: runs of T frames that lie inside one episode, numbered, and drawn by a pure function of (seed, step).

widx = WindowIndex.build(index.select(role="corpus", split="train"), T=12)
weights = task_weights("sqrt", widx.counts())
windows = widx.take(sample_windows(widx, weights, batch=16, seed=0, step=7))
frames_BTHWC = corpus.frames(windows, T=12)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veridream.data.index import Index


@dataclass(frozen=True)
class Windows:
    """Some windows, with the ids that lead back to their frames."""

    store: np.ndarray  # store ids [B]
    episode: np.ndarray  # int64 [B], number within the store
    start: np.ndarray  # int64 [B], row of the store's arrays at which the window starts
    task: np.ndarray  # task ids [B]

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class WindowIndex:
    """Every window of T frames, sorted by task, store, episode, start. A window id is its position here."""

    T: int
    context: int
    stores: tuple[str, ...]
    tasks: tuple[str, ...]
    store: np.ndarray  # int32 [N], into stores
    episode: np.ndarray  # int32 [N]
    start: np.ndarray  # int64 [N]
    task: np.ndarray  # int32 [N], into tasks
    bounds: np.ndarray  # int64 [len(tasks) + 1]: windows of task k are bounds[k] .. bounds[k + 1] - 1

    @staticmethod
    def build(index: Index, T: int, context: int = 0) -> "WindowIndex":
        """All windows of T rows inside one episode. Only their first row can be an `is_first` row, so no transition in them is NaN.

        Args:
            index: the episodes to use (select a split first).
            T: rows a window.
            context: how many of them are given rather than predicted, 0 <= context < T; only recorded.
        Raises:
            ValueError: T or context out of range, no episodes, or a task whose episodes are all shorter than T.
        """
        if T < 1 or not 0 <= context < T:
            raise ValueError(f"windows of T={T} with context={context}: need T >= 1 and 0 <= context < T")
        tasks, stores = tuple(index.tasks()), tuple(sorted(set(index.store.tolist())))
        if not tasks:
            raise ValueError("no episodes to take windows from; check the split and roles that were selected")
        task_k = np.searchsorted(np.array(tasks, dtype=object), index.task)
        store_k = np.searchsorted(np.array(stores, dtype=object), index.store)
        order = np.lexsort((index.episode, store_k, task_k))
        per_episode = np.maximum(index.length[order] - T + 1, 0)
        rows = np.repeat(order, per_episode)
        within = np.arange(len(rows), dtype=np.int64) - np.repeat(np.cumsum(per_episode) - per_episode, per_episode)
        counts = np.bincount(task_k[rows], minlength=len(tasks))
        if not counts.all():
            t = tasks[int(np.argmin(counts))]
            longest = int(index.length[index.task == t].max())
            raise ValueError(f"task {t}: no window of {T} frames, its longest episode has {longest}; raise collect.max_steps or shorten the window")
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        start = index.offset[rows] + within
        return WindowIndex(
            T, context, stores, tasks, store_k[rows].astype(np.int32), index.episode[rows].astype(np.int32), start, task_k[rows].astype(np.int32), bounds
        )

    def __len__(self) -> int:
        return len(self.start)

    def counts(self) -> dict[str, int]:
        """Windows of each task."""
        return {t: int(n) for t, n in zip(self.tasks, np.diff(self.bounds), strict=True)}

    def take(self, ids: np.ndarray) -> Windows:
        """The windows of these ids."""
        store = np.array(self.stores, dtype=object)[self.store[ids]]
        task = np.array(self.tasks, dtype=object)[self.task[ids]]
        return Windows(store, self.episode[ids].astype(np.int64), self.start[ids], task)


def sample_windows(widx: WindowIndex, task_weights: Mapping[str, float], batch: int, seed: int, step: int) -> np.ndarray:
    """Ids int64 [batch]: a task by its weight, then one of its windows, each as likely. Depends on (seed, step) and the arguments alone.

    Raises ValueError when the weights are not those of the index's tasks, are negative, or do not sum to 1.
    """
    if set(task_weights) != set(widx.tasks):
        raise ValueError(f"weights are given for {sorted(task_weights)}, the windows are of {list(widx.tasks)}")
    p = np.array([task_weights[t] for t in widx.tasks], dtype=np.float64)
    if (p < 0).any() or abs(p.sum() - 1.0) > 1e-6:
        raise ValueError(f"task weights must be >= 0 and sum to 1; they sum to {p.sum():g}")
    rng = np.random.default_rng([seed, step])
    edges = np.cumsum(p / p.sum())
    k = np.minimum(np.searchsorted(edges, rng.random(batch), side="right"), int(np.flatnonzero(p)[-1]))
    size = widx.bounds[k + 1] - widx.bounds[k]
    within = np.minimum((rng.random(batch) * size).astype(np.int64), size - 1)
    return widx.bounds[k] + within


def window_keys(windows: Windows) -> list[str]:
    """A readable key a window, `<store>#<episode>@<start>`, for messages and dump files."""
    return [f"{s}#{e}@{r}" for s, e, r in zip(windows.store, windows.episode, windows.start, strict=True)]
