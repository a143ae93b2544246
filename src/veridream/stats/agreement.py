"""How far voters agree: on one video, and on which of two models is better."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np


def close_pairs(scores: Mapping[Any, Sequence[float]], within: float = 2.0) -> tuple[float, int]:
    """(share of pairs of votes on one video whose totals differ by at most `within`, number of pairs); NaN without a pair.

    scores: {video: the totals its voters gave}. Every unordered pair of votes on one video counts once.
    """
    gaps = [abs(a - b) for votes in scores.values() for a, b in combinations(votes, 2)]
    return (float(np.mean([g <= within for g in gaps])) if gaps else float("nan")), len(gaps)


def equal_pairs(labels: Mapping[Any, Sequence[float]]) -> tuple[float, int]:
    """(share of pairs of votes on one video that gave the very same label, number of pairs)."""
    return close_pairs(labels, 0.0)


def alpha(labels: Mapping[Any, Sequence[float]], level: str = "nominal") -> float:
    """Krippendorff's alpha of the labels that voters gave to each unit: 1 full agreement, 0 chance, negative below it.

    1 - observed over expected disagreement, units weighted by their number of labels; units with fewer than two say nothing
    (Krippendorff, Content Analysis, chapter 11). NaN where no unit has two labels, or all labels are the same one.

    Args:
        level: "nominal" (labels differ or not), "ordinal" (by the ranks between them) or "interval" (by the square of their distance).
    """
    units = [list(map(float, v)) for v in labels.values() if len(v) > 1]
    values = np.array(sorted({x for u in units for x in u}))
    if level not in ("nominal", "ordinal", "interval"):
        raise ValueError(f"level is {level!r}; known: nominal, ordinal, interval")
    if len(values) < 2:
        return float("nan")
    seen = np.zeros((len(values), len(values)))  # coincidences
    for u in units:
        n = (np.array(u)[:, None] == values).sum(axis=0).astype(float)
        seen += (np.outer(n, n) - np.diag(n)) / (len(u) - 1)
    share = seen.sum(axis=1)
    if level == "nominal":
        distance = 1.0 - np.eye(len(values))
    else:
        place = np.cumsum(share) - share / 2 if level == "ordinal" else values
        distance = (place[:, None] - place) ** 2
    return float(1.0 - (share.sum() - 1) * (seen * distance).sum() / (np.outer(share, share) * distance).sum())


def pairwise_agreement(votes: Mapping[tuple[str, str], Sequence[tuple[str, float]]], ties: str = "drop") -> tuple[float, int]:
    """(share of agreeing pairs of comparisons, number of pairs). Our definition; the paper gives none.

    For a prompt and two models, a vote on one and a vote on the other make a comparison: a win, a loss or a tie by total. Two comparisons
    of the same prompt and models that share no vote are a pair; they agree when they have the same sign.

    Args:
        votes: {(prompt, model): [(voter, total), ...]}.
        ties: "drop" leaves out pairs with a tie; "half" counts them half.
    """
    if ties not in ("drop", "half"):
        raise ValueError(f"ties is {ties!r}; known: drop, half")
    prompts: dict[str, list[str]] = {}
    for prompt, model in sorted(votes):
        prompts.setdefault(prompt, []).append(model)
    agreed, n = 0.0, 0
    for prompt, models in prompts.items():
        for a, b in combinations(models, 2):
            signs = np.sign([[x - y for _, y in votes[prompt, b]] for _, x in votes[prompt, a]])
            for (i, j), (k, m) in combinations(np.ndindex(signs.shape), 2):
                if i == k or j == m:
                    continue
                one, two = signs[i, j], signs[k, m]
                if one == 0 or two == 0:
                    agreed, n = (agreed + 0.5, n + 1) if ties == "half" else (agreed, n)
                else:
                    agreed, n = agreed + float(one == two), n + 1
    return (agreed / n if n else float("nan")), n
