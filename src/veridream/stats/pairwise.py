"""Models against each other on common items: win rates and the Bradley-Terry model."""

from collections.abc import Sequence

import numpy as np


def win_matrix(scores: np.ndarray) -> np.ndarray:
    """Wins [k, k] of model i over model j on the items both have: scores [k, n] with NaN for absent, a tie is half a win for both."""
    scores = np.asarray(scores, dtype=np.float64)
    out = np.zeros((len(scores), len(scores)))
    for i, a in enumerate(scores):
        both = np.isfinite(a) & np.isfinite(scores)
        out[i] = ((a > scores) & both).sum(axis=1) + 0.5 * ((a == scores) & both).sum(axis=1)
    np.fill_diagonal(out, 0.0)
    return out


def win_rates(wins: np.ndarray) -> np.ndarray:
    """Share of won comparisons [k, k]; NaN on the diagonal and where two models share no item."""
    games = wins + wins.T
    return np.divide(wins, games, out=np.full(wins.shape, np.nan), where=games > 0)


def bradley_terry(wins: np.ndarray, names: Sequence[str], tolerance: float = 1e-12, most: int = 100_000) -> np.ndarray:
    """Log-strengths [k], mean 0: P(i beats j) = 1 / (1 + exp(s_j - s_i)). Maximum likelihood by Hunter's (2004) MM iteration.

    Raises ValueError for a single model, and when the maximum does not exist: some models never win against the rest (named), so their strength is -infinity.
    """
    wins = np.asarray(wins, dtype=np.float64)
    if len(wins) < 2:
        raise ValueError(f"{', '.join(names)} alone: strengths are of two models or more")
    weak = _unbeaten(wins)
    if weak:
        raise ValueError(f"{', '.join(names[i] for i in weak)} won nothing against the other models: no Bradley-Terry strengths exist; compare on more items")
    games, won = wins + wins.T, wins.sum(axis=1)
    p = np.ones(len(wins))
    for _ in range(most):
        new = won / (games / (p[:, None] + p[None, :])).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        if np.abs(np.log(new) - np.log(p)).max() < tolerance:
            return np.log(new)
        p = new
    raise ValueError(f"Bradley-Terry strengths of {', '.join(names)} did not settle in {most} iterations")


def _unbeaten(wins: np.ndarray) -> list[int]:
    """A group of models that won nothing against the rest, or none: the graph of wins must be strongly connected."""
    reach = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(len(wins)):
        reach = reach | (reach.astype(int) @ reach.astype(int) > 0)
    for row in reach:
        if not row.all():
            return np.flatnonzero(row).tolist()
    return []


def elo(strengths: np.ndarray, anchor: int = 0, at: float = 800.0) -> np.ndarray:
    """Bradley-Terry log-strengths on Elo's scale (400 points are odds of 10 to 1), model `anchor` standing at `at`."""
    return at + 400.0 / np.log(10.0) * (strengths - strengths[anchor])
