"""The statistics of tables, figures and claims, each a Statistic over padded blocks [..., G tasks, N rows]; nan where undefined."""

from collections.abc import Callable
from typing import Any

import numpy as np

from veridream.results.intervals import Statistic
from veridream.stats import auroc as roc
from veridream.stats import bootstrap
from veridream.stats import correlation as rank
from veridream.stats.grouping import flat

NORMALISED = ("u_r_norm", "u_f_norm", "u_s_norm")
LABELS = ("action_ignored", "scene_divergent")


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    a, b = (np.nansum(flat(x), axis=-1) for x in (numerator, denominator))
    return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=b > 0)


def metric(name: str) -> Statistic:
    """The pool statistic of that name: "asr" (ratio of the pool's mean squared errors, Sec. 2.1), "<column>" (mean over sequences) or "<column>:median"."""
    if name == "asr":
        return Statistic(("asr_shuffled", "asr_true"), _ratio)
    base, _, kind = name.partition(":")
    if kind not in ("", "median"):
        raise ValueError(f"metric {name!r}: write <column> for the mean or <column>:median")
    return Statistic((base,), bootstrap.median if kind else bootstrap.mean)


def _between(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    present = np.isfinite(x).any(axis=-1)
    means = [np.divide(np.nansum(v, axis=-1), np.isfinite(v).sum(axis=-1), out=np.full(v.shape[:-1], np.nan), where=present) for v in (x, y)]
    return rank.rank_correlation(*means)


def correlation(x: str, y: str, kind: str = "pooled", given: str = "m") -> Statistic:
    """Spearman's rho of two columns: "pooled", "within" (mean over tasks of the task's own rho), "between" (of the task means), or "partial" given a third."""
    kinds: dict[str, Callable[..., Any]] = {"pooled": rank.pooled, "within": rank.within, "between": _between, "partial": rank.partial}
    if kind not in kinds:
        raise ValueError(f"correlation kind {kind!r}: one of {', '.join(kinds)}")
    return Statistic((x, y, given) if kind == "partial" else (x, y), kinds[kind])


def area(score: str, label: str, kind: str = "pooled") -> Statistic:
    """AUROC of a score against a failure label, "pooled" or "within" (mean over the tasks in which both classes occur)."""
    kinds = {"pooled": roc.pooled, "within": roc.within}
    if kind not in kinds:
        raise ValueError(f"AUROC kind {kind!r}: one of {', '.join(kinds)}")
    return Statistic((score, label), kinds[kind])


def balanced_accuracy(score: str, threshold: float, label: str = "scene_divergent") -> Statistic:
    """Mean of hit rate and correct-rejection rate of "score > threshold" as an alarm for the label; nan with one class; 0.5 = chance."""

    def of(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        s, y = flat(s), flat(y)
        rates = []
        for positive, right in ((y == 1.0, s > threshold), (y == 0.0, s <= threshold)):
            n = positive.sum(axis=-1)
            rates.append(np.divide((positive & right).sum(axis=-1), n, out=np.full(np.shape(n), np.nan), where=n > 0))
        return (rates[0] + rates[1]) / 2.0

    return Statistic((score, label), of)


def share_above(score: str, threshold: float) -> Statistic:
    """Share of sequences with score > threshold, in [0, 1]."""
    return Statistic((score,), bootstrap.fraction_above(threshold))


def over_tasks(x: str, name: str) -> Statistic:
    """Spearman's rho over tasks between the task mean of x and the task's metric of that name."""
    m = metric(name)

    def of(first: np.ndarray, *blocks: np.ndarray) -> np.ndarray:
        each = m.of(*(b[..., None, :] for b in blocks))  # one "pool" a task
        return rank.rank_correlation(np.nanmean(first, axis=-1), each)

    return Statistic((x, *m.columns), of)


def frames_and(name: str) -> Statistic:
    """Of each task: log training frames and the metric of that name, [..., G, 2]; not yet a number, for what compares models task by task."""
    m = metric(name)

    def of(frames: np.ndarray, *blocks: np.ndarray) -> np.ndarray:
        each = m.of(*(b[..., None, :] for b in blocks))  # one "pool" a task
        return np.stack([np.log(np.nanmean(frames, axis=-1)), each], axis=-1)

    return Statistic(("frames_train", *m.columns), of)


def binned_median(score: np.ndarray, value: np.ndarray, bins: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Medians of score and value in at most `bins` equally filled bins of the score, ascending."""
    order = np.argsort(score, kind="stable")
    parts = [p for p in np.array_split(order, min(bins, len(order))) if len(p)]
    return np.array([np.median(score[p]) for p in parts]), np.array([np.median(value[p]) for p in parts])


def zero_crossing(score: np.ndarray, dpsnr: np.ndarray, bins: int = 10) -> float:
    """Where the binned median of dPSNR first falls through 0 dB, by linear interpolation; nan if it never does. The paper's display threshold."""
    x, y = binned_median(score, dpsnr, bins)
    for i in range(len(x) - 1):
        if y[i] > 0.0 >= y[i + 1]:
            return float(x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1]))
    return float("nan")
