"""Leaderboard rows with intervals, coverage and counts, and what may stand in one ranking: one protocol, one judge, the same items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from veridream.stats.bootstrap import Boot
from veridream.stats.pairwise import bradley_terry, elo, win_matrix, win_rates
from veridream.stats.rates import wilson
from veridream.stats.strata import percentile_interval, resampled_means
from veridream.wmb.items import FEWEST, BenchmarkError, Item
from veridream.wmb.questions import INSTRUCTION, QUESTIONS
from veridream.wmb.scoring import Scores

Protocol = Literal["wmb", "wmb-sim"]  # the published conditions, anyone's videos | our rollouts under recorded actions
Kind = Literal["model", "control"]
Row = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """One model's or control's scores.

    clusters: {stem: label of what is resampled together within a domain}; None: items. ranking: a name that entries share which may stand in one
    ranking though each has a file of answers of its own; otherwise the judge and its version must be the same.
    """

    title: str
    protocol: Protocol
    judge: str
    judge_version: str
    scores: Scores
    kind: Kind = "model"
    clusters: Mapping[str, str] | None = None
    ranking: str = ""

    def together(self, items: Sequence[Item]) -> list[str] | None:
        """The label of each item."""
        return None if self.clusters is None else [self.clusters[i.stem] for i in items]


def ranked(entries: Sequence[Entry]) -> list[Entry]:
    """Entries by strict total, best first.

    Raises BenchmarkError when they do not belong in one ranking: several protocols or judges, other items, or one that left items out.
    """
    if not entries:
        raise BenchmarkError("no entry to rank")
    for what, of in (("protocol", lambda e: e.protocol), ("judge", lambda e: e.ranking or f"{e.judge} {e.judge_version}")):
        found = sorted({of(e) for e in entries})
        if len(found) > 1:
            raise BenchmarkError(f"a ranking has one {what}, these entries have {', '.join(found)}; rank them apart")
    dropped = [e.title for e in entries if not e.scores.comparable]
    if dropped and len(entries) > 1:
        raise BenchmarkError(f"{', '.join(dropped)}: videos are missing and were dropped from the mean, so it is not comparable; use --missing zero")
    first = [i.stem for i in entries[0].scores.items]
    other = next((e.title for e in entries if [i.stem for i in e.scores.items] != first), None)
    if other is not None:
        raise BenchmarkError(f"{entries[0].title} and {other} were scored on other items; score both on the same list")
    names = [e.title for e in entries]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise BenchmarkError(f"{', '.join(twice)}: given twice; each entry has its own name")
    return sorted(entries, key=lambda e: (-np.nan_to_num(e.scores.total()), e.title))


def rows(entries: Sequence[Entry], boot: Boot) -> list[Row]:
    """One row an entry, best first; keys as in `row`, and `rank` (None for controls, and for a mean that left missing videos out)."""
    out: list[Row] = []
    place = 0
    for e in ranked(entries):
        counts = e.kind == "model" and e.scores.comparable
        place += counts
        out.append({"rank": place if counts else None, **row(e, boot)})
    return out


def row(e: Entry, boot: Boot) -> Row:
    """An entry's numbers: totals of both readings and their difference, eight means, each with the ends of its interval, and the counts.

    `every`: the strict total over all items, those that the judge cannot decide included. A number that is not finite (the published script
    reads "Score: nan" as NaN) has no interval; the others keep theirs.
    """
    s = e.scores
    values = np.column_stack([s.strict, s.totals(), s.totals("official"), s.totals("official") - s.totals()])
    means, low, high = np.full((3, values.shape[1]), np.nan)
    if len(values):
        means = values.mean(axis=0)
        finite = np.isfinite(values).all(axis=0)
        shares = [k for k, q in enumerate(QUESTIONS) if q != INSTRUCTION]
        low[finite], high[finite] = _intervals(e, s.items, values[:, finite], boot, shares)  # strict scores are finite, so these stay the first
    out: Row = {"title": e.title, "kind": e.kind, "protocol": e.protocol, "judge": e.judge, "judge_version": e.judge_version}
    out |= {"n": len(s.items), "items": s.expected, "coverage": 1.0 - len({*s.missing, *s.undecidable}) / s.expected}
    out |= {"missing": len(s.missing), "undecidable": len(s.undecidable), "comparable": s.comparable, "policy": s.policy}
    out |= {
        "applies": float(s.applies.mean()) if s.items else float("nan"),
        "unparsed": s.unparsed / s.answers if s.answers else 0.0,
        "misread": s.misread,
        "answers": s.answers,
    }
    out |= _with_ends("total", means[8], low[8], high[8]) | _with_ends("official", means[9], low[9], high[9])
    out |= _with_ends("every", *_every(e, boot))
    out |= _with_ends("difference", means[10], low[10], high[10]) | {"repeats": s.repeats.shape[1], "repeat_sd": s.spread()}
    for k, q in enumerate(QUESTIONS):
        out |= _with_ends(q, means[k], low[k], high[k])
    return out


def _with_ends(name: str, value: float, low: float, high: float) -> Row:
    return {name: float(value), f"{name}_low": float(low), f"{name}_high": float(high)}


def _intervals(e: Entry, items: Sequence[Item], values: np.ndarray, boot: Boot, rates: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """(low, high), each [C]: percentile bootstrap of the means of values [n, C] (finite), one row an item, items (or clusters) resampled by domain.

    rates: columns of shares. Where one is 0 or 1 a bootstrap collapses and Wilson's interval stands; it counts clusters, not rows: rows of one
    episode are not independent.
    """
    together = e.together(items)
    draws = resampled_means(values, [i.domain for i in items], together, boot.resamples, np.random.default_rng(boot.seed))
    low, high = percentile_interval(draws, boot.confidence)
    n = len(set(together)) if together is not None else len(items)
    for k in rates:
        mean = values[:, k].mean()
        if mean in (0.0, 1.0):
            low[k], high[k] = wilson(mean * n, n, boot.confidence)
    return low, high


def _every(e: Entry, boot: Boot) -> tuple[float, float, float]:
    """(total, low, high) over all items, undecidable ones included."""
    totals = e.scores.every_strict.sum(axis=1, keepdims=True)
    low, high = _intervals(e, e.scores.every, totals, boot)
    return float(totals.mean()), float(low[0]), float(high[0])


def domain_rows(entries: Sequence[Entry], boot: Boot) -> list[Row]:
    """{title, domain, subdomain ("" for the whole domain), n, total, total_low, total_high}; scores of fewer than FEWEST items are left out."""
    out: list[Row] = []
    for e in ranked(entries):
        s = e.scores
        totals = s.totals()
        for level in ("domain", "subdomain"):
            names = [(i.domain, "" if level == "domain" else i.subdomain) for i in s.items]
            for name in dict.fromkeys(names):
                keep = np.array([n == name for n in names])
                one: Row = {"title": e.title, "domain": name[0], "subdomain": name[1], "n": int(keep.sum())}
                if keep.sum() < FEWEST:
                    out.append(one | {"total": None, "total_low": None, "total_high": None})
                    continue
                low, high = _intervals(e, [i for i, k in zip(s.items, keep, strict=True) if k], totals[keep, None], boot)
                out.append(one | _with_ends("total", float(totals[keep].mean()), float(low[0]), float(high[0])))
    return out


def comparison(entries: Sequence[Entry], boot: Boot) -> dict[str, Any]:
    """Win rates between all entries on common items with the ends of their intervals, and Bradley-Terry strengths as Elo, the last-ranked at 800 (or why not).

    Elo has no interval: of items drawn again, many leave some entry without a win, and then no strengths exist.
    """
    best_first = ranked(entries)
    names = [e.title for e in best_first]
    totals = np.stack([e.scores.totals() for e in best_first])
    wins = win_matrix(totals)
    low, high = _win_intervals(best_first[0], totals, boot)
    out: dict[str, Any] = {"entries": names, "win_rates": _square(win_rates(wins)), "win_rates_low": _square(low), "win_rates_high": _square(high)}
    try:
        out["elo"] = dict(zip(names, elo(bradley_terry(wins, names), anchor=len(names) - 1).tolist(), strict=True))
    except ValueError as e:
        out["elo"], out["no_elo"] = None, str(e)
    return out


def _win_intervals(e: Entry, totals: np.ndarray, boot: Boot) -> tuple[np.ndarray, np.ndarray]:
    """(low, high), each [k, k], of the win rates of totals [k, n] on the items of `e`; NaN on the diagonal and without items."""
    k, n = totals.shape
    low, high = np.full((2, k, k), np.nan)
    if n and k > 1:
        off = ~np.eye(k, dtype=bool)
        won = ((totals[:, None] > totals) + 0.5 * (totals[:, None] == totals))[off]
        low[off], high[off] = _intervals(e, e.scores.items, won.T, boot, range(len(won)))
    return low, high


def _square(x: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(v) else float(v) for v in line] for line in x]
