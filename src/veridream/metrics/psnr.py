"""Peak signal-to-noise ratio of images in [0, 1] (peak 1), in dB, capped at spec.PSNR_CAP (paper sec. 4: reconstruction and rollout PSNR).

Pooling: the squared error is averaged over everything that is pooled FIRST, then the logarithm is taken once. The mean of per-frame
PSNRs is another number, pulled up by easy frames.

Near-stationary sequences: repeating the last frame of a still scene gives 40 to 60 dB, so a few such sequences pull any mean of
PSNR differences far below zero. The stated rule of this project: medians are reported beside means, and no row is dropped.
"""

import numpy as np

from veridream import spec


def check_unit_range(name: str, x: np.ndarray) -> None:
    """The metric border. Raises ValueError unless x is a finite float array within [0, 1]."""
    if not np.issubdtype(x.dtype, np.floating):
        raise ValueError(f"{name} has dtype {x.dtype}: images enter a metric as floats in [0, 1]; divide uint8 frames by 255")
    if not np.isfinite(x).all():
        raise ValueError(f"{name} holds NaN or infinity")
    if x.size and (x.min() < 0.0 or x.max() > 1.0):
        raise ValueError(f"{name} spans [{x.min():g}, {x.max():g}], outside [0, 1]; clamp decoded frames first")


def mse(pred: np.ndarray, truth: np.ndarray, keep: int = 1) -> np.ndarray:
    """Mean squared error, float64 [the first `keep` axes], pooled over all other axes. Both in [0, 1], of one shape."""
    if pred.shape != truth.shape:
        raise ValueError(f"shapes differ: prediction {pred.shape}, truth {truth.shape}")
    check_unit_range("prediction", pred)
    check_unit_range("truth", truth)
    squared = (pred.astype(np.float64) - truth.astype(np.float64)) ** 2
    out: np.ndarray = squared.mean(axis=tuple(range(keep, squared.ndim)))
    return out


def psnr_from_mse(error: np.ndarray) -> np.ndarray:
    """10 log10(1 / error) in dB, at most spec.PSNR_CAP (also for error 0); NaN stays NaN. error >= 0."""
    error = np.asarray(error, dtype=np.float64)
    if (error < 0).any():
        raise ValueError("a mean squared error is negative")
    floor = 10.0 ** (-spec.PSNR_CAP / 10.0)
    out: np.ndarray = -10.0 * np.log10(np.maximum(error, floor))
    return out


def psnr(pred: np.ndarray, truth: np.ndarray, keep: int = 1) -> np.ndarray:
    """PSNR in dB [the first `keep` axes]; the error is pooled over all other axes first."""
    return psnr_from_mse(mse(pred, truth, keep))
