"""Percentile bootstrap of means over clusters inside strata.

Rows of one cluster (the windows of one episode) are drawn together; every stratum (domain) keeps its number of clusters. One row a
cluster is the plain case: prompts resampled by domain.
"""

from collections.abc import Sequence

import numpy as np

BLOCK = 2_000_000  # numbers of one matrix of draws held at once


def resampled_means(
    values: np.ndarray, strata: Sequence[str] | np.ndarray, clusters: Sequence[str] | np.ndarray | None, resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Bootstrap means float64 [resamples, C] of values [n, C] (finite) over all rows.

    Args:
        strata: label of each row [n]; a cluster lies in one stratum.
        clusters: label of each row [n]; None: every row is its own.
    Raises:
        ValueError: no rows, labels of another length, a value that is not finite, or a cluster that lies in two strata.
    """
    values = np.asarray(values, dtype=np.float64)
    strata = np.asarray(strata).astype(str)
    clusters = np.arange(len(values)).astype(str) if clusters is None else np.asarray(clusters).astype(str)
    if not len(values) or strata.shape != values.shape[:1] or clusters.shape != values.shape[:1]:
        raise ValueError(f"{len(values)} rows with {len(strata)} strata and {len(clusters)} clusters; each row has one of both")
    if not np.isfinite(values).all():
        raise ValueError("a value is not finite; fill or leave out its row first")
    names, owner = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, owner, values)
    sizes = np.bincount(owner).astype(np.float64)
    home = np.empty(len(names), dtype=strata.dtype)
    home[owner] = strata
    if (home[owner] != strata).any():
        odd = names[owner[int(np.argmax(home[owner] != strata))]]
        raise ValueError(f"cluster {odd!r} lies in two strata; a cluster is drawn inside one")
    out = np.empty((resamples, values.shape[1]))
    members = [np.flatnonzero(home == s) for s in np.unique(home)]
    chunk = max(1, BLOCK // len(names))
    for first in range(0, resamples, chunk):
        n = min(chunk, resamples - first)
        weights = np.zeros((n, len(names)))
        for m in members:
            weights[:, m] = rng.multinomial(len(m), np.full(len(m), 1.0 / len(m)), size=n)
        out[first : first + n] = weights @ sums / (weights @ sizes)[:, None]
    return out


def percentile_interval(draws: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """(low, high), each [...], of draws [resamples, ...]."""
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(draws, [tail, 100.0 - tail], axis=0)
    return low, high
