"""What the simulator judge measures on a video: how far it is from the truth, frame by frame, in each respect."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

# Deviations from the truth, float64 [T] >= 0, by name. A scene that cannot measure one leaves it out: it does not apply.
SERIES = ("newton", "mass", "penetration", "gravity", "flicker", "jump", "count")


@dataclass(frozen=True)
class Measured:
    """A video of T frames against its truth."""

    series: Mapping[str, np.ndarray]
    sharpness: float  # median over frames of the Laplacian's variance over that of the truth
    progress: float  # slope of the decoded displacement on the true one over the whole video: 1 true, 0 still, -1 backwards
    end: float  # distance of the two last displacements over the root mean square of the true ones
    travel: float  # root mean square of the decoded displacement, in units of the scene
    moves: bool  # whether the truth moves at all
    seen: float  # share of frames in which the controlled thing is seen


class Scene(Protocol):
    """The truth of one item. `group`: scenes whose tolerances are set together; `sha` changes with anything that measure depends on."""

    group: str
    sha: str
    frames: np.ndarray  # uint8 [T,H,W,3]
    floors: Mapping[str, float]  # least tolerance of each series and of `travel`: what no viewer would call a violation

    def measure(self, frames_THWC: np.ndarray) -> Measured:
        """uint8 frames of the truth's shape. Raises ValueError for another."""
        ...


def level(series: np.ndarray, frames: int) -> float:
    """The largest deviation that lasts `frames` frames in a row; NaN counts as none. 0 for a shorter series."""
    x = np.nan_to_num(np.asarray(series, dtype=np.float64), nan=0.0)
    if len(x) < frames:
        return 0.0
    return float(np.lib.stride_tricks.sliding_window_view(x, frames).min(axis=1).max())


def displacement(pose_TS: np.ndarray, true_TS: np.ndarray) -> tuple[float, float, float, float]:
    """(progress, end, travel, true travel) of a decoded path against the true one, each from its own start. Frames with a NaN are passed over."""
    keep = np.isfinite(pose_TS).all(axis=1) & np.isfinite(true_TS).all(axis=1)
    if keep.sum() < 2:
        return 0.0, float("inf"), 0.0, 0.0
    own, true = pose_TS[keep] - pose_TS[keep][0], true_TS[keep] - true_TS[keep][0]
    square = float((true**2).sum())
    rms = float(np.sqrt((true**2).sum(axis=1).mean()))
    travel = float(np.sqrt((own**2).sum(axis=1).mean()))
    if square == 0.0:
        return 0.0, 0.0, travel, 0.0
    return float((own * true).sum() / square), float(np.linalg.norm(own[-1] - true[-1]) / rms), travel, rms


def laplacian_variance(frames_THWC: np.ndarray) -> np.ndarray:
    """Sharpness of uint8 frames: variance over the picture of the four-neighbour Laplacian of their grey values, float64 [T]."""
    grey = frames_THWC.astype(np.float32) @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    edge = grey[:, :-2, 1:-1] + grey[:, 2:, 1:-1] + grey[:, 1:-1, :-2] + grey[:, 1:-1, 2:] - 4 * grey[:, 1:-1, 1:-1]
    return edge.reshape(len(edge), -1).astype(np.float64).var(axis=1)


def sharpness_ratio(frames_THWC: np.ndarray, true_T: np.ndarray) -> float:
    """Median over frames of the sharpness over the truth's; 1 where both pictures are blank."""
    own = laplacian_variance(frames_THWC)
    return float(np.median((own + 1e-3) / (true_T + 1e-3)))


def still_pixels(frames_THWC: np.ndarray, most: int = 8) -> np.ndarray:
    """Bool [H,W]: pixels that never change by more than `most` of 255 in the truth, nor does a neighbour."""
    spread = np.ptp(frames_THWC, axis=0).max(axis=-1)
    padded = np.pad(spread, 1, mode="edge")
    h, w = spread.shape
    around = np.stack([padded[i : i + h, j : j + w] for i in range(3) for j in range(3)]).max(axis=0)
    out: np.ndarray = around <= most
    return out


def flicker(frames_THWC: np.ndarray, still_HW: np.ndarray) -> np.ndarray:
    """Mean |change from the frame before| over still pixels, in [0, 1]; float64 [T], 0 in the first frame."""
    pixels = frames_THWC[:, still_HW].astype(np.int16)
    return np.concatenate([[0.0], np.abs(np.diff(pixels, axis=0)).reshape(len(pixels) - 1, -1).mean(axis=1) / 255.0])


def steps(pose_TS: np.ndarray) -> np.ndarray:
    """Length of each step, float64 [T], 0 in the first frame."""
    return np.concatenate([[0.0], np.linalg.norm(np.diff(pose_TS, axis=0), axis=1)])


def over_gap(pose_TS: np.ndarray, gap: int) -> np.ndarray:
    """Displacement over `gap` frames, [T - gap, S]."""
    out: np.ndarray = pose_TS[gap:] - pose_TS[:-gap]
    return out


def check_shape(frames_THWC: np.ndarray, truth_THWC: np.ndarray) -> None:
    if frames_THWC.shape != truth_THWC.shape or frames_THWC.dtype != np.uint8:
        raise ValueError(f"a video of {frames_THWC.dtype} {frames_THWC.shape} against a truth of uint8 {truth_THWC.shape}; export both again")
