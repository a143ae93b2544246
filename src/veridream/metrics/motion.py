"""Motion of latents (the divisor of the normalised predictors, paper sec. 4) and of decoded frames (the dead-tokenizer check)."""

import numpy as np

from veridream import spec
from veridream.metrics.psnr import check_unit_range


def latent_motion_steps(z_BTLD: np.ndarray) -> np.ndarray:
    """RMS over (L, D) of z_t - z_{t-1}, float64 [B, T-1]. Raises ValueError for fewer than two frames."""
    if z_BTLD.shape[1] < 2:
        raise ValueError("motion needs at least two frames")
    step = np.diff(z_BTLD.astype(np.float64), axis=1)
    out: np.ndarray = np.sqrt((step**2).mean(axis=(-2, -1)))
    return out


def latent_motion(z_BTLD: np.ndarray) -> np.ndarray:
    """m, float64 [B]: mean over the steps of latent_motion_steps."""
    out: np.ndarray = latent_motion_steps(z_BTLD).mean(axis=1)
    return out


def normalised(u: np.ndarray, m: np.ndarray) -> np.ndarray:
    """u / max(m, spec.MOTION_FLOOR), the motion-normalised predictor; shapes broadcast."""
    out: np.ndarray = u / np.maximum(m, spec.MOTION_FLOOR)
    return out


def decoded_motion_ratio(decoded_BTHWC: np.ndarray, truth_BTHWC: np.ndarray) -> np.ndarray:
    """Frame-to-frame RMS change of decoded truth over that of the truth, float64 [B]; each pooled over the sequence.

    1: everything that moves is redrawn moving; 0: a dead tokenizer, which draws a still image. NaN where the truth does not move at all.
    """
    check_unit_range("decoded", decoded_BTHWC)
    check_unit_range("truth", truth_BTHWC)
    axes = tuple(range(1, truth_BTHWC.ndim))
    ours = np.sqrt((np.diff(decoded_BTHWC.astype(np.float64), axis=1) ** 2).mean(axis=axes))
    true = np.sqrt((np.diff(truth_BTHWC.astype(np.float64), axis=1) ** 2).mean(axis=axes))
    return np.divide(ours, true, out=np.full(len(true), np.nan), where=true > 0)
