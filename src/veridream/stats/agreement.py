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
