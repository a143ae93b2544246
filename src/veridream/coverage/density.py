"""Visitation maps over a task's two coverage coordinates (paper Figs. 4, 6, 10): how often a cell is visited, and the mean of a value in it."""

import numpy as np


def cell_index(xy: np.ndarray, low: tuple[float, float], high: tuple[float, float], cells: int) -> np.ndarray:
    """int64 [n, 2] cell of each point [n, 2]. Points outside [low, high] count in the border cell. Raises ValueError on NaN or an empty range."""
    if cells < 1 or not all(a < b for a, b in zip(low, high, strict=True)):
        raise ValueError(f"no grid: {cells} cells between {low} and {high}")
    if not np.isfinite(xy).all():
        raise ValueError("a coverage coordinate is NaN or infinite")
    lo, hi = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    return np.clip(np.floor((np.asarray(xy, dtype=np.float64) - lo) / (hi - lo) * cells), 0, cells - 1).astype(np.int64)


def visitation(xy: np.ndarray, low: tuple[float, float], high: tuple[float, float], cells: int) -> np.ndarray:
    """Visits a cell, int64 [cells, cells], first axis x; sums to len(xy)."""
    return _sum(cell_index(xy, low, high, cells), np.ones(len(xy)), cells).astype(np.int64)


def mean_per_cell(xy: np.ndarray, values: np.ndarray, low: tuple[float, float], high: tuple[float, float], cells: int) -> np.ndarray:
    """Mean of values [n] in each cell, float64 [cells, cells]; NaN in cells without a finite value."""
    finite = np.isfinite(values)
    index = cell_index(xy, low, high, cells)[finite]
    count = _sum(index, np.ones(len(index)), cells)
    total = _sum(index, np.asarray(values, dtype=np.float64)[finite], cells)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def covered(counts: np.ndarray) -> float:
    """Share of cells visited at least once, in [0, 1]."""
    return float((counts > 0).mean())


def _sum(index: np.ndarray, weights: np.ndarray, cells: int) -> np.ndarray:
    out = np.zeros((cells, cells))
    np.add.at(out, (index[:, 0], index[:, 1]), weights)
    return out
