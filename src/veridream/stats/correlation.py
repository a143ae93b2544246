"""Spearman rank correlation, vectorised over leading axes: pooled, within groups, and partial given a third variable.

All functions work on the last axis and ignore pairs with a NaN. A constant input, or fewer than three pairs, gives NaN: rank correlation
is undefined there, and 0 would be a claim. Ties get their mean rank.
"""

from collections.abc import Sequence

import numpy as np

from veridream.stats.grouping import flat, pad
from veridream.stats.ranking import mean_ranks


def _ranks(*columns: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Ranks along the last axis among rows that are finite in all columns, and the mask of these rows."""
    valid = np.isfinite(columns[0])
    for c in columns[1:]:
        valid = valid & np.isfinite(c)
    return [mean_ranks(np.where(valid, c, np.inf)) for c in columns], valid


def _pearson(x: np.ndarray, y: np.ndarray, valid: np.ndarray) -> np.ndarray:
    n = valid.sum(axis=-1)
    safe = np.maximum(n, 1)[..., None]
    dx = np.where(valid, x - np.where(valid, x, 0).sum(-1, keepdims=True) / safe, 0.0)
    dy = np.where(valid, y - np.where(valid, y, 0).sum(-1, keepdims=True) / safe, 0.0)
    scale = np.sqrt((dx**2).sum(-1) * (dy**2).sum(-1))
    return np.divide((dx * dy).sum(-1), scale, out=np.full(n.shape, np.nan), where=(scale > 0) & (n >= 3))


def rank_correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rho [...] of x, y [..., n]."""
    (rx, ry), valid = _ranks(x, y)
    return _pearson(rx, ry, valid)


def pooled(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """rho [...] of padded blocks x, y [..., G, N], all groups in one pool."""
    return rank_correlation(flat(x), flat(y))


def within(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean over groups of each group's own rho, [...], of padded blocks [..., G, N]; groups where rho is undefined do not enter; NaN if none is left."""
    rho = rank_correlation(x, y)
    count = np.isfinite(rho).sum(axis=-1)
    return np.divide(np.nansum(rho, axis=-1), count, out=np.full(count.shape, np.nan), where=count > 0)


def partial(x: np.ndarray, y: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Partial rank correlation [...] of padded blocks [..., G, N], pooled: rho of x and y with the ranks of `given` held fixed.

    (r_xy - r_xg r_yg) / sqrt((1 - r_xg^2)(1 - r_yg^2)). NaN where x or y is (up to rounding) a monotone function of `given`.
    """
    (rx, ry, rg), valid = _ranks(flat(x), flat(y), flat(given))
    xy, xg, yg = _pearson(rx, ry, valid), _pearson(rx, rg, valid), _pearson(ry, rg, valid)
    scale = np.sqrt(np.maximum((1 - xg**2) * (1 - yg**2), 0.0))
    return np.divide(xy - xg * yg, scale, out=np.full(scale.shape, np.nan), where=scale > 1e-6)


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """rho of x, y [n]; NaN when undefined (see the module)."""
    return float(rank_correlation(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)))


def within_group_spearman(x: np.ndarray, y: np.ndarray, groups: Sequence[str] | np.ndarray) -> float:
    """Mean of the groups' own rho; the answer to "is it only task identity?"."""
    return float(within(*pad(groups, x, y)))


def partial_spearman(x: np.ndarray, y: np.ndarray, given: np.ndarray) -> float:
    """rho of x and y given a third variable, all [n]."""
    blocks = [np.asarray(c, dtype=np.float64)[None] for c in (x, y, given)]
    return float(partial(*blocks))
