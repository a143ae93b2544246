"""A linear probe from pictures to the simulator's state, trained on true frames alone, for tasks whose things have no masks."""

from dataclasses import dataclass

import numpy as np

GRID = 16  # pictures are averaged to this side first
RIDGE = (1e-3, 1e-2, 1e-1)  # of the mean variance of a pixel; the one that predicts held-out episodes best is kept
DECODABLE = 0.5  # least R^2 on held-out episodes of a state dimension that is used
FOLDS = 4


@dataclass(frozen=True)
class Probe:
    """Decodes the state dimensions that pictures show. Units: standard deviations of the training frames."""

    dims: tuple[int, ...]  # of the state; may be empty
    r2: tuple[float, ...]  # on held-out episodes, one a dimension
    mean_P: np.ndarray
    weight_PS: np.ndarray
    low_S: np.ndarray  # least and largest decoded value on the training frames
    high_S: np.ndarray

    def __call__(self, frames_THWC: np.ndarray) -> np.ndarray:
        """Decoded states float64 [T, S]."""
        out: np.ndarray = (features(frames_THWC) - self.mean_P) @ self.weight_PS
        return out


def features(frames_THWC: np.ndarray) -> np.ndarray:
    """float64 [T, P] of uint8 frames: block means to a side of at most GRID, in [0, 1]."""
    t, side = frames_THWC.shape[:2]
    k = -(-side // GRID)
    pad = -side % k
    x = np.pad(frames_THWC, ((0, 0), (0, pad), (0, pad), (0, 0)), mode="edge") if pad else frames_THWC
    n = x.shape[1] // k
    return x.reshape(t, n, k, n, k, 3).mean(axis=(2, 4)).reshape(t, -1) / 255.0


def fit_probe(frames_NHWC: np.ndarray, state_NS: np.ndarray, episode_N: np.ndarray) -> Probe:
    """Ridge regression of the standardised state on the picture. Episodes are folds: frames of one never stand on both sides.

    Raises ValueError for fewer than two episodes.
    """
    episodes = np.unique(episode_N)
    if len(episodes) < 2:
        raise ValueError("a probe needs frames of at least two episodes; collect more of this task (collect.counts)")
    x, y = features(frames_NHWC), np.asarray(state_NS, dtype=np.float64)
    spread = y.std(axis=0)
    varies = np.flatnonzero(spread > 1e-6)
    y = (y[:, varies] - y[:, varies].mean(axis=0)) / spread[varies]
    fold = np.searchsorted(episodes, episode_N) % min(FOLDS, len(episodes))
    errors = {r: _held_out(x, y, fold, r) for r in RIDGE}
    best = min(RIDGE, key=lambda r: float(errors[r].mean()) if len(varies) else 0.0)
    r2 = 1.0 - errors[best]
    kept = np.flatnonzero(r2 > DECODABLE)
    mean, weight = _ridge(x, y[:, kept], best)
    decoded = (x - mean) @ weight
    low, high = (decoded.min(axis=0), decoded.max(axis=0)) if len(kept) else (np.zeros(0), np.zeros(0))
    return Probe(tuple(varies[kept].tolist()), tuple(r2[kept].tolist()), mean, weight, low, high)


def _ridge(x: np.ndarray, y: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """(mean picture [P], weights [P, S]) for centred pictures."""
    mean = x.mean(axis=0)
    c = x - mean
    penalty = ridge * len(x) * max(float(c.var()), 1e-9)
    return mean, np.linalg.solve(c.T @ c + penalty * np.eye(c.shape[1]), c.T @ (y - y.mean(axis=0)))


def _held_out(x: np.ndarray, y: np.ndarray, fold: np.ndarray, ridge: float) -> np.ndarray:
    """Squared error over variance of each column, on frames whose episode was not trained on; [S]."""
    square = np.zeros(y.shape[1])
    for f in np.unique(fold):
        train, test = fold != f, fold == f
        mean, weight = _ridge(x[train], y[train], ridge)
        square += ((y[test] - y[train].mean(axis=0) - (x[test] - mean) @ weight) ** 2).sum(axis=0)
    return square / np.maximum(((y - y.mean(axis=0)) ** 2).sum(axis=0), 1e-12)
