"""An estimate with its bootstrap interval, resampled over tasks first and over the sequences within each task second."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridream.results.columns import Columns, column
from veridream.stats.bootstrap import Boot, columns_ci, resample
from veridream.stats.grouping import pad


@dataclass(frozen=True)
class Estimate:
    """A statistic of the whole sample, the ends of its interval (nan if undefined), and the number of rows behind it."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Statistic:
    """A function of some columns, given as padded blocks [..., G tasks, N rows] with nan where absent, reduced over the last two axes."""

    columns: tuple[str, ...]
    of: Callable[..., Any]

    def __call__(self, cols: Columns) -> float:
        """Its value on a table; nan when no row is finite."""
        data = [column(cols, c) for c in self.columns]
        return float(self.of(*pad(cols["task"], *data))) if _any_finite(data) else float("nan")


def _any_finite(data: Sequence[np.ndarray]) -> bool:
    return len(data[0]) > 0 and bool(np.all([np.isfinite(d.astype(float)) for d in data], axis=0).any())


def interval(tables: Sequence[Columns], statistics: Sequence[Statistic], combine: Callable[..., Any], boot: Boot) -> Estimate:
    """combine(statistic values) over tables with the same rows in the same order (one sequence, several models): rows are resampled together."""
    data = [column(t, c) for t, s in zip(tables, statistics, strict=True) for c in s.columns]
    if not _any_finite(data):
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    ends = np.cumsum([len(s.columns) for s in statistics])

    def of(*blocks: np.ndarray) -> np.ndarray:
        parts = [blocks[e - len(s.columns) : e] for s, e in zip(statistics, ends, strict=True)]
        return np.asarray(combine(*(s.of(*p) for s, p in zip(statistics, parts, strict=True))))

    i = columns_ci(data, tables[0]["task"], of, boot.resamples, boot.confidence, np.random.default_rng(boot.seed))
    return Estimate(i.value, i.low, i.high, i.n)


def single(table: Columns, statistic: Statistic, boot: Boot) -> Estimate:
    """A statistic of one table with its interval."""
    return interval([table], [statistic], lambda v: v, boot)


def paired(a: Columns, b: Columns, statistic: Statistic, boot: Boot) -> Estimate:
    """statistic(a) - statistic(b) for two models on the same sequences, rows already in one order; n counts the sequences."""
    return interval([a, b], [statistic, statistic], lambda x, y: x - y, boot)


def unpaired(a: Columns, b: Columns, statistic: Statistic, boot: Boot) -> Estimate:
    """statistic(a) - statistic(b) for two sets of sequences (seen and unseen tasks), each resampled on its own."""
    rng = np.random.default_rng(boot.seed)
    draws, values, n = [], [], 0
    for t in (a, b):
        data = [column(t, c) for c in statistic.columns]
        if not _any_finite(data):
            return Estimate(float("nan"), float("nan"), float("nan"), 0)
        blocks = pad(t["task"], *data)
        values.append(float(statistic.of(*blocks)))
        draws.append(np.concatenate([np.atleast_1d(statistic.of(*x)) for x in resample(blocks, boot.resamples, rng)]))
        n += int(np.isfinite(blocks[0]).sum())
    low, high = percentile_ends(draws[0] - draws[1], boot)
    return Estimate(values[0] - values[1], low, high, n)


def percentile_ends(draws: np.ndarray, boot: Boot) -> tuple[float, float]:
    """The interval of bootstrap draws; nan when half or more of them are undefined."""
    ok = draws[np.isfinite(draws)]
    if 2 * len(ok) <= len(draws):
        return float("nan"), float("nan")
    tail = 50.0 * (1.0 - boot.confidence)
    low, high = np.percentile(ok, [tail, 100.0 - tail])
    return float(low), float(high)
