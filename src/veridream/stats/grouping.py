"""Ragged groups as one padded block: columns [n] become [G, N] with NaN where a group is shorter. Every statistic here ignores NaN."""

from collections.abc import Sequence

import numpy as np


def pad(groups: Sequence[str] | np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
    """Each column as float64 [G, N], groups in sorted order, rows in given order. A row with a NaN in any column is NaN in all of them.

    Raises ValueError when lengths differ or nothing is left.
    """
    labels = np.asarray(groups)
    data = np.stack([np.asarray(c, dtype=np.float64) for c in columns])
    if data.shape[1:] != labels.shape:
        raise ValueError(f"{labels.size} group labels for columns of shape {data.shape[1:]}")
    keep = np.isfinite(data).all(axis=0)
    if not keep.any():
        raise ValueError("no row is finite in every column; nothing to summarise")
    labels, data = labels[keep], data[:, keep]
    _, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    within = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = np.full((len(data), len(sizes), sizes.max()), np.nan)
    out[:, inverse[order], within] = data[:, order]
    return tuple(out)


def flat(x: np.ndarray) -> np.ndarray:
    """[..., G, N] -> [..., G * N]: groups pooled."""
    return x.reshape(*x.shape[:-2], -1)
