"""Kendall's rank correlation with ties, tau-b. For the short lists of models that leaderboards compare: O(n^2)."""

import numpy as np


def tau_b(x: np.ndarray, y: np.ndarray) -> float:
    """(concordant - discordant) / sqrt((pairs - ties in x)(pairs - ties in y)) of x, y [n]. NaN where one of them is constant.

    Raises ValueError when lengths differ, for fewer than two values, and for a NaN.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise ValueError(f"two lists of one length, at least 2, are compared; got shapes {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a value is not finite; leave its row out of both lists")
    upper = np.triu_indices(len(x), 1)
    dx, dy = (np.sign(v[:, None] - v[None, :])[upper] for v in (x, y))
    scale = float(np.count_nonzero(dx)) * float(np.count_nonzero(dy))
    return float((dx * dy).sum() / np.sqrt(scale)) if scale else float("nan")
