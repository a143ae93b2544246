"""Hierarchical percentile bootstrap: tasks are resampled with replacement, then the sequences within each drawn task.

Sequences of one task are not independent, so resampling sequences alone would give intervals that are far too narrow.
A statistic takes padded blocks [..., G, N] (NaN: absent) and reduces the last two axes; see `mean`, `median`, and
`pooled`, `within`, `partial` of correlation and auroc. A task drawn twice counts as two groups.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veridream.stats.grouping import flat, pad

Statistic = Callable[..., np.ndarray]
BLOCK = 4_000_000  # numbers of one column held at once


@dataclass(frozen=True)
class Boot:
    """Bootstrap settings: number of resamples, level in (0.5, 1), seed."""

    resamples: int = 2000
    confidence: float = 0.95
    seed: int = 0


class Interval(NamedTuple):
    """A value with its bootstrap interval. low and high are NaN when more than half of the resamples leave the statistic undefined."""

    value: float
    low: float
    high: float
    n: int  # rows used: those finite in every column


def mean(x: np.ndarray) -> np.ndarray:
    """Mean over all rows of padded blocks [..., G, N]."""
    out: np.ndarray = np.nanmean(flat(x), axis=-1)
    return out


def median(x: np.ndarray) -> np.ndarray:
    """Median over all rows of padded blocks [..., G, N]."""
    out: np.ndarray = np.nanmedian(flat(x), axis=-1)
    return out


def fraction_above(threshold: float) -> Statistic:
    """The statistic "share of rows above threshold"."""

    def share(x: np.ndarray) -> np.ndarray:
        y = flat(x)
        out: np.ndarray = np.nanmean(np.where(np.isnan(y), np.nan, y > threshold), axis=-1)
        return out

    return share


NUMPY_NAMES: dict[Any, Statistic] = {np.mean: mean, np.median: median}


def resample(blocks: Sequence[np.ndarray], resamples: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, ...]]:
    """Chunks [R, G, N] of jointly resampled columns; the chunks' R sum to `resamples`."""
    G, N = blocks[0].shape
    sizes = np.isfinite(blocks[0]).sum(axis=-1)
    chunk = max(1, BLOCK // (G * N))
    for first in range(0, resamples, chunk):
        R = min(chunk, resamples - first)
        task = rng.integers(G, size=(R, G))
        size = sizes[task][..., None]
        row = (rng.random((R, G, N)) * size).astype(np.int64)
        absent = np.arange(N) >= size
        yield tuple(np.where(absent, np.nan, b[task[..., None], row]) for b in blocks)


def columns_ci(
    columns: Sequence[np.ndarray], groups: Sequence[str] | np.ndarray, statistic: Statistic, resamples: int, confidence: float, rng: np.random.Generator
) -> Interval:
    """The interval of a statistic of several aligned columns [n] (correlations, AUROC). Rows with a NaN in any column do not enter n."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence is {confidence}; it lies between 0 and 1")
    blocks = pad(groups, *columns)
    value = float(statistic(*blocks))
    draws = np.concatenate([np.atleast_1d(statistic(*b)) for b in resample(blocks, resamples, rng)])
    draws = draws[np.isfinite(draws)]
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(draws, [tail, 100.0 - tail]) if 2 * len(draws) > resamples else (np.nan, np.nan)
    return Interval(value, float(low), float(high), int(np.isfinite(blocks[0]).sum()))


def hierarchical_ci(
    values: np.ndarray,
    groups: Sequence[str] | np.ndarray,
    statistic: Any = np.mean,
    resamples: int = 2000,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Interval:
    """(value, low, high, n) of values [n] over groups (tasks) [n]; np.mean, np.median or a statistic of padded blocks. rng: explicit; seed 0 if left out."""
    rng = np.random.default_rng(0) if rng is None else rng
    return columns_ci([values], groups, NUMPY_NAMES.get(statistic, statistic), resamples, confidence, rng)


def align(ids_a: Sequence[Hashable], ids_b: Sequence[Hashable]) -> np.ndarray:
    """int64 [n] with ids_b[out[i]] == ids_a[i]. Raises ValueError unless both hold the same ids, each once."""
    place = {k: i for i, k in enumerate(ids_b)}
    if len(place) != len(ids_b) or len(set(ids_a)) != len(ids_a):
        raise ValueError("a sequence id stands twice; paired comparison needs each once")
    if set(place) != set(ids_a):
        odd = next(iter(set(place) ^ set(ids_a)))
        raise ValueError(f"the two models were not scored on the same sequences: {odd!r} is in one only; score both with the same params")
    return np.array([place[k] for k in ids_a], dtype=np.int64)


def paired_ci(
    ids_a: Sequence[Hashable],
    a: np.ndarray,
    ids_b: Sequence[Hashable],
    b: np.ndarray,
    groups_a: Sequence[str] | np.ndarray,
    statistic: Any = np.mean,
    resamples: int = 2000,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Interval:
    """Interval of a statistic of the differences a - b on identical sequence ids (rows of b may be in another order)."""
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)[align(ids_a, ids_b)]
    return hierarchical_ci(difference, groups_a, statistic, resamples, confidence, rng)
