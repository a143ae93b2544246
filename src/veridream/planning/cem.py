"""Cross-entropy method over action sequences: pure, batched, explicit generator (paper sec. 5 and App. F)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Score = Callable[[np.ndarray], np.ndarray]  # float32 [candidates, H, A] in [-1, 1] -> [candidates], higher is better


@dataclass(frozen=True)
class Plan:
    actions_HA: np.ndarray  # float32, the best sequence ever scored
    score: float
    mean_HA: np.ndarray  # float32, the last fitted mean; shift it to warm-start the next plan
    best_by_iteration: tuple[float, ...]  # best score so far after each iteration; never falls


def shift(mean_HA: np.ndarray, steps: int) -> np.ndarray:
    """The mean of the next plan when `steps` actions were executed: moved forward, zeros behind."""
    out = np.zeros_like(mean_HA)
    if steps < len(mean_HA):
        out[: len(mean_HA) - steps] = mean_HA[steps:]
    return out


def cem(
    score: Score,
    horizon: int,
    action_dim: int,
    *,
    candidates: int,
    elites: int,
    iterations: int,
    init_std: float,
    min_std: float,
    rng: np.random.Generator,
    init_mean_HA: np.ndarray | None = None,
) -> Plan:
    """Maximise `score` over sequences [H, A] in [-1, 1] with a diagonal Gaussian per time step.

    Each iteration samples, clips, scores, keeps the best sequence ever seen, and refits mean and std (at least min_std) to the elites.
    Raises ValueError when a score is not finite or has the wrong shape: a NaN would otherwise win or lose silently.
    """
    if not 1 <= elites <= candidates:
        raise ValueError(f"{elites} elites of {candidates} candidates")
    shape = (horizon, action_dim)
    mean = np.zeros(shape, dtype=np.float32) if init_mean_HA is None else np.asarray(init_mean_HA, dtype=np.float32)
    if mean.shape != shape:
        raise ValueError(f"the warm start has shape {mean.shape}, wanted {shape}")
    std = np.full(shape, init_std, dtype=np.float32)
    best, best_score, history = mean, -np.inf, []
    for _ in range(iterations):
        drawn = np.clip(mean + std * rng.standard_normal((candidates, *shape), dtype=np.float32), -1.0, 1.0)
        value = np.asarray(score(drawn), dtype=np.float64)
        if value.shape != (candidates,) or not np.isfinite(value).all():
            raise ValueError(f"the score function must return {candidates} finite numbers, got shape {value.shape}")
        order = np.argsort(-value, kind="stable")[:elites]
        if value[order[0]] > best_score:
            best, best_score = drawn[order[0]], float(value[order[0]])
        mean = drawn[order].mean(axis=0)
        std = np.maximum(drawn[order].std(axis=0), np.float32(min_std))
        history.append(best_score)
    return Plan(best, best_score, mean, tuple(history))
