"""Foreground: pixels that differ from the task's median image. PSNR over all pixels hides a tokenizer that draws only backgrounds."""

import numpy as np

from veridream.metrics.psnr import check_unit_range, psnr_from_mse

THRESHOLD = 0.1  # of the unit range; the largest channel difference of a pixel must exceed it


def foreground_mask(frames: np.ndarray, median: np.ndarray) -> np.ndarray:
    """Bool [..., H, W]: pixels of frames [..., H, W, 3] further than THRESHOLD, in any channel, from the median image(s) (broadcast). All in [0, 1]."""
    check_unit_range("frames", frames)
    check_unit_range("median image", median)
    out: np.ndarray = (np.abs(frames - median) > THRESHOLD).any(axis=-1)
    return out


def foreground_psnr(pred: np.ndarray, truth: np.ndarray, median: np.ndarray) -> np.ndarray:
    """PSNR in dB, float64 [B], over the foreground pixels of the truth [B, ..., H, W, 3], pooled over a sequence.

    NaN where a sequence has no foreground pixel at all: the quantity does not exist there, it is not 0 and not the cap.
    """
    check_unit_range("prediction", pred)
    mask = foreground_mask(truth, median)
    squared = ((pred.astype(np.float64) - truth.astype(np.float64)) ** 2).mean(axis=-1)
    axes = tuple(range(1, mask.ndim))
    count = mask.sum(axis=axes)
    total = np.where(mask, squared, 0.0).sum(axis=axes)
    return psnr_from_mse(np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0))
