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


def colour(white_NHA: np.ndarray, beta: float) -> np.ndarray:
    """White noise [N, H, A] made to a power of 1 / f^beta over its H steps, each step's variance still 1; beta 0 returns it as it is.

    A circular filter: f is counted in 1/H from 1, the mean standing with the slowest wave. The covariance of steps d apart is
    sum_f g_f cos(2 pi f d / H) / sum_f g_f with g_f = max(f, 1)^-beta over all H frequencies, negative ones included.
    """
    if beta == 0:
        return white_NHA
    horizon = white_NHA.shape[1]
    f = np.maximum(np.abs(np.fft.fftfreq(horizon, 1 / horizon)), 1)
    gain = f ** (-beta / 2)
    gain *= np.sqrt(horizon / (gain**2).sum())
    out: np.ndarray = np.fft.irfft(np.fft.rfft(white_NHA, axis=1) * gain[: horizon // 2 + 1, None], n=horizon, axis=1).astype(white_NHA.dtype)
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
    noise_colour: float = 0.0,
) -> Plan:
    """Maximise `score` over sequences [H, A] in [-1, 1] with a diagonal Gaussian per time step.

    noise_colour: beta of colour(), for smoother plans.
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
        noise = colour(rng.standard_normal((candidates, *shape), dtype=np.float32), noise_colour)
        drawn = np.clip(mean + std * noise, -1.0, 1.0)
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
