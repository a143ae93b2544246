"""Action-shuffle ratio (paper sec. 4): one-step latent error under another sequence's actions over the error under the true ones.

1: actions are ignored. The actions come from another sequence of the SAME task, so that the ratio is not inflated by a change of
action space, by a permutation without fixed points, since a fixed point would score exactly 1 whatever the model does.
"""

from collections.abc import Sequence

import numpy as np


def derangement(n: int, rng: np.random.Generator) -> np.ndarray:
    """A permutation of range(n) without fixed points, uniform over all of them (by rejection). Raises ValueError for n < 2."""
    if n < 2:
        raise ValueError(f"{n} sequence(s) cannot be deranged; the action-shuffle ratio needs at least two of a task")
    own = np.arange(n)
    while True:
        order = rng.permutation(n)
        if (order != own).all():
            return order


def derangement_within(groups: Sequence[str] | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """int64 [n]: row i takes the actions of row out[i] != i of the same group. Raises ValueError that names a group of one."""
    labels = np.asarray(groups)
    out = np.empty(len(labels), dtype=np.int64)
    for g in np.unique(labels):
        rows = np.flatnonzero(labels == g)
        if len(rows) < 2:
            raise ValueError(f"{g}: one sequence only; the action-shuffle ratio needs at least two of a task (raise score.sequences)")
        out[rows] = rows[derangement(len(rows), rng)]
    return out


def shuffle_ratio(shuffled_error: np.ndarray, true_error: np.ndarray) -> np.ndarray:
    """Numerator over denominator, float64; both mean squared latent errors >= 0. NaN where the true error is 0 (the ratio is undefined)."""
    shuffled_error, true_error = np.asarray(shuffled_error, dtype=np.float64), np.asarray(true_error, dtype=np.float64)
    return np.divide(shuffled_error, true_error, out=np.full(shuffled_error.shape, np.nan), where=true_error > 0)
