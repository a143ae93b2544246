"""Area under the ROC curve by the Mann-Whitney statistic, ties counted half, vectorised over leading axes.

P(score of a positive > score of a negative) + half P(equal). NaN where only one class is present: undefined, not 0.5.
Labels are 0 or 1 (floats, so that NaN can mark padding); rows with a NaN are ignored.
"""

from collections.abc import Sequence

import numpy as np

from veridream.stats.grouping import flat, pad
from veridream.stats.ranking import mean_ranks


def area(score: np.ndarray, label: np.ndarray) -> np.ndarray:
    """AUROC [...] of score, label [..., n]; higher scores should mean label 1. Raises ValueError for labels other than 0, 1, NaN."""
    valid = np.isfinite(score) & np.isfinite(label)
    if not np.isin(label[valid], (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1")
    ranks = mean_ranks(np.where(valid, score, np.inf))
    positive = valid & (label == 1.0)
    n1 = positive.sum(axis=-1)
    n0 = valid.sum(axis=-1) - n1
    u = np.where(positive, ranks, 0.0).sum(axis=-1) - n1 * (n1 + 1) / 2
    return np.divide(u, n1 * n0, out=np.full(n1.shape, np.nan), where=(n1 > 0) & (n0 > 0))


def pooled(score: np.ndarray, label: np.ndarray) -> np.ndarray:
    """AUROC [...] of padded blocks [..., G, N], all groups in one pool."""
    return area(flat(score), flat(label))


def within(score: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Mean over groups of each group's own AUROC, [...], of padded blocks; groups of one class do not enter; NaN if none is left."""
    each = area(score, label)
    count = np.isfinite(each).sum(axis=-1)
    return np.divide(np.nansum(each, axis=-1), count, out=np.full(count.shape, np.nan), where=count > 0)


def auroc(score: np.ndarray, label: np.ndarray) -> float:
    """AUROC of score [n] against label [n] (bool, or 0 and 1)."""
    return float(area(np.asarray(score, dtype=np.float64), np.asarray(label, dtype=np.float64)))


def within_group_auroc(score: np.ndarray, label: np.ndarray, groups: Sequence[str] | np.ndarray) -> float:
    """Mean of the groups' own AUROC over the groups where both classes occur."""
    return float(within(*pad(groups, score, np.asarray(label, dtype=np.float64))))
