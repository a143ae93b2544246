"""Coverage coordinates read from episode stores. Apart from veridream.results.load, since opening a store costs the zarr import."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from veridream.io.episode_store import EpisodeStore, open_store
from veridream.params.tasks import task
from veridream.results.evidence import States


def targeted_states(stores: Sequence[Path]) -> dict[tuple[str, str], States]:
    """{(task, behaviour): coverage coordinates an episode} of the stores that hold targeted data; others are passed over."""
    out: dict[tuple[str, str], States] = {}
    for path in stores:
        store = open_store(path)
        if store.attrs.role == "targeted":
            plane = task(store.attrs.task).coverage
            out[store.attrs.task, store.attrs.behaviour] = States(coordinates(store), plane.low, plane.high)
    return out


def coordinates(store: EpisodeStore, episodes: Iterable[int] | None = None) -> list[np.ndarray]:
    """The two coverage coordinates of each (chosen) episode, float64 [T, 2]."""
    dims = list(task(store.attrs.task).coverage.dims)
    state = np.asarray(store.state)[:, dims].astype(np.float64)
    return [state[store.rows(i)] for i in (range(len(store)) if episodes is None else episodes)]
