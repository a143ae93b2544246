"""The measures a claim may name. Each takes the evidence of a run and keyword arguments, and returns an Estimate with its interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from veridream import spec
from veridream.coverage.density import covered, visitation
from veridream.results import statistics as st
from veridream.results.columns import Columns, pair, where
from veridream.results.intervals import Estimate, interval, paired, percentile_ends, single, unpaired
from veridream.stats.bootstrap import Boot
from veridream.stats.correlation import rank_correlation

SEQUENCE = ("store", "episode", "start")
EPISODE = ("task", "episode", "seed")


class NotAvailable(Exception):
    """The run holds no data for this measure (a model, task or class is absent); its text says what."""


@dataclass(frozen=True)
class States:
    """Coverage coordinates of one behaviour's episodes on a task: arrays [T, 2], and the map's corners."""

    episodes: Sequence[np.ndarray]
    low: tuple[float, float]
    high: tuple[float, float]


@dataclass(frozen=True)
class Evidence:
    """What a run measured. scores and mpc: {model: table}; states: {(task, behaviour): States} of the targeted data."""

    scores: Mapping[str, Columns]
    mpc: Mapping[str, Columns] = field(default_factory=dict)
    states: Mapping[tuple[str, str], States] = field(default_factory=dict)
    boot: Boot = field(default_factory=Boot)

    def rows(self, model: str, part: str) -> Columns:
        """Score rows of a model on seen, unseen or all tasks, or on one task id. Raises NotAvailable."""
        if model not in self.scores:
            raise NotAvailable(f"model {model} was not scored")
        out = where(self.scores[model], part)
        if len(out["task"]) == 0:
            raise NotAvailable(f"no sequence of {part} was scored")
        return out

    def base_models(self) -> list[str]:
        """The base model and its replicates, as far as they were scored."""
        return [m for m in sorted(self.scores) if m == spec.BASE or m.startswith(spec.REPLICATE_PREFIX)]

    def episodes(self, model: str) -> Columns:
        """Closed-loop episodes of a model. Raises NotAvailable."""
        if model not in self.mpc:
            raise NotAvailable(f"model {model} was not planned with")
        return self.mpc[model]


Measure = Callable[..., Estimate]
MEASURES: dict[str, Measure] = {}


def measure(f: Measure) -> Measure:
    """Registers a measure under its own name, for params/claims.yaml."""

    def checked(*args: object, **kwargs: object) -> Estimate:
        e = f(*args, **kwargs)
        if not np.isfinite(e.value):
            raise NotAvailable("undefined on this run's data: one class only, or too few tasks")
        return e

    checked.__wrapped__ = f  # type: ignore[attr-defined]
    MEASURES[f.__name__] = checked
    return checked


@measure
def correlation(ev: Evidence, model: str, x: str, y: str, kind: str = "pooled", part: str = "seen", given: str = "m") -> Estimate:
    """Spearman's rho over sequences; kinds as in statistics.correlation."""
    return single(ev.rows(model, part), st.correlation(x, y, kind, given), ev.boot)


@measure
def correlation_gain(ev: Evidence, model: str, x: str, baseline: str, y: str, kind: str = "pooled", part: str = "seen") -> Estimate:
    """|rho(x, y)| - |rho(baseline, y)|: what the predictor adds over the baseline."""
    t = ev.rows(model, part)
    return interval([t, t], [st.correlation(x, y, kind), st.correlation(baseline, y, kind)], lambda a, b: np.abs(a) - np.abs(b), ev.boot)


@measure
def auroc(ev: Evidence, model: str, score: str, label: str, kind: str = "pooled", part: str = "seen") -> Estimate:
    """Area under the ROC curve of a score for a failure label."""
    return single(ev.rows(model, part), st.area(score, label, kind), ev.boot)


@measure
def auroc_gain(ev: Evidence, model: str, score: str, baseline: str, label: str, kind: str = "pooled", part: str = "seen") -> Estimate:
    """AUROC of the score minus that of the baseline."""
    t = ev.rows(model, part)
    return interval([t, t], [st.area(score, label, kind), st.area(baseline, label, kind)], lambda a, b: a - b, ev.boot)


@measure
def detector(ev: Evidence, model: str, score: str, threshold: float, part: str = "seen") -> Estimate:
    """Balanced accuracy of the alarm score > threshold for dPSNR <= 0."""
    return single(ev.rows(model, part), st.balanced_accuracy(score, threshold), ev.boot)


@measure
def flagged(ev: Evidence, model: str, score: str, threshold: float, part: str = "unseen") -> Estimate:
    """Share of sequences above a threshold."""
    return single(ev.rows(model, part), st.share_above(score, threshold), ev.boot)


@measure
def level(ev: Evidence, model: str, metric: str, part: str = "seen") -> Estimate:
    """A pool statistic of one model: metric as in statistics.metric."""
    return single(ev.rows(model, part), st.metric(metric), ev.boot)


@measure
def best_covered(ev: Evidence, model: str, metric: str, tasks: int = 2) -> Estimate:
    """metric on the seen tasks with the most training frames."""
    rows = ev.rows(model, "seen")
    frames = {str(t): int(n) for t, n in zip(rows["task"], rows["frames_train"], strict=True)}
    first = sorted(frames, key=lambda t: (-frames[t], t))[:tasks]
    keep = np.isin(rows["task"].astype(str), first)
    return single({c: v[keep] for c, v in rows.items()}, st.metric(metric), ev.boot)


@measure
def gap(ev: Evidence, model: str, metric: str, first: str = "seen", second: str = "unseen") -> Estimate:
    """metric on the first part minus metric on the second."""
    return unpaired(ev.rows(model, first), ev.rows(model, second), st.metric(metric), ev.boot)


@measure
def change(ev: Evidence, model: str, reference: str, metric: str, part: str = "seen") -> Estimate:
    """metric of model minus metric of reference, paired by sequence."""
    return paired(*pair(ev.rows(model, part), ev.rows(reference, part), SEQUENCE), st.metric(metric), ev.boot)


@measure
def task_correlation(ev: Evidence, model: str, x: str, metric: str, part: str = "seen") -> Estimate:
    """Spearman's rho over tasks between the task mean of x and the task's metric; the interval resamples tasks and sequences."""
    return single(ev.rows(model, part), st.over_tasks(x, metric), ev.boot)


@measure
def permuted_counts(ev: Evidence, metric: str) -> Estimate:
    """Spearman's rho over seen tasks of the change of log training frames with the change of the task's metric, from the base model to a replicate that
    has other episode counts; mean over replicates. What a task is stays the same, so it cannot explain the correlation."""
    others = [m for m in ev.base_models() if m != spec.BASE]
    if not others:
        raise NotAvailable("the scale has one base model; params.replicates gives others")
    tables = [pair(ev.rows(m, "seen"), ev.rows(spec.BASE, "seen"), SEQUENCE)[0] for m in (spec.BASE, *others)]

    def rho(first: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        return np.mean([rank_correlation(*np.moveaxis(b - first, -1, 0)) for b in rest], axis=0)

    return interval(tables, [st.frames_and(metric)] * len(tables), rho, ev.boot)


@measure
def mpc_change(ev: Evidence, model: str, reference: str) -> Estimate:
    """Mean closed-loop score of model minus that of reference, paired by task, episode and seed."""
    return paired(*pair(ev.episodes(model), ev.episodes(reference), EPISODE), st.metric("score"), ev.boot)


@measure
def mpc_ratio(ev: Evidence, model: str, reference: str) -> Estimate:
    """Mean closed-loop score of model over that of reference."""
    tables = pair(ev.episodes(model), ev.episodes(reference), EPISODE)

    def ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=np.asarray(b) > 0)

    return interval(tables, [st.metric("score")] * 2, ratio, ev.boot)


@measure
def order(ev: Evidence, models: list[str], metric: str, part: str = "unseen") -> Estimate:
    """Kendall's tau between the given order (lowest first) and the order of the models by metric: 1 same, 0 unrelated, -1 reversed."""
    closed_loop = metric == "mpc"
    tables = [ev.episodes(m) if closed_loop else ev.rows(m, part) for m in models]
    tables = [pair(t, tables[0], EPISODE if closed_loop else SEQUENCE)[0] for t in tables]

    def tau(*v: np.ndarray) -> np.ndarray:
        return np.mean([np.sign(v[j] - v[i]) for i in range(len(v)) for j in range(i + 1, len(v))], axis=0)

    return interval(tables, [st.metric("score" if closed_loop else metric)] * len(models), tau, ev.boot)


@measure
def coverage_change(ev: Evidence, behaviour: str, reference: str, cells: int = 16) -> Estimate:
    """Share of visited coverage cells by behaviour minus by reference, mean over unseen tasks; the interval resamples tasks and episodes."""
    tasks = sorted(t for t, b in ev.states if b == behaviour and (t, reference) in ev.states)
    if not tasks:
        raise NotAvailable(f"no states of {behaviour} and {reference} data on an unseen task were given")
    rng = np.random.default_rng(ev.boot.seed)

    def share(s: States, draw: bool) -> float:
        rows = rng.integers(len(s.episodes), size=len(s.episodes)) if draw else np.arange(len(s.episodes))
        return covered(visitation(np.concatenate([s.episodes[int(i)] for i in rows]), s.low, s.high, cells))

    def once(names: Sequence[str], draw: bool) -> float:
        return float(np.mean([share(ev.states[t, behaviour], draw) - share(ev.states[t, reference], draw) for t in names]))

    draws = np.array([once([tasks[i] for i in rng.integers(len(tasks), size=len(tasks))], True) for _ in range(min(ev.boot.resamples, 500))])
    n = sum(len(ev.states[t, b].episodes) for t in tasks for b in (behaviour, reference))
    return Estimate(once(tasks, False), *percentile_ends(draws, ev.boot), n)
