"""Scenes of MMBench2 tasks, whose simulators give states but no masks: what differs from the task's median picture is one thing that moves.

What each answer rests on:
    instruction  the decoded state's path against the true one (or the moving thing's centre, where no state dimension can be decoded)
    newton       pixels that are still in the truth and change for good
    mass         the area of what moves
    penetration  decoded states that no true frame of the task ever had: beyond a wall, a floor, a joint's end
    gravity      displacements over a few frames that the true dynamics do not give: the one-step form of the law for any force
    temporal     flicker of still pixels, jumps of the decoded state, the number of moving pieces
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import ndimage

from veridream.metrics.foreground import THRESHOLD
from veridream.provenance.digest import canonical
from veridream.wmb.items import digest
from veridream.wmb.sim.measured import Measured, check_shape, displacement, flicker, laplacian_variance, over_gap, sharpness_ratio, steps, still_pixels
from veridream.wmb.sim.probe import Probe, fit_probe

STILL_SHARE = 0.05  # least share of still pixels on which their change is judged
FLOORS = {"newton": 0.01, "mass": 0.25, "penetration": 0.1, "gravity": 0.1, "flicker": 0.002, "jump": 0.2, "count": 0.5, "travel": 0.05}


@dataclass(frozen=True)
class TaskModel:
    """What is known of a task from true training frames."""

    task: str
    median_HWC: np.ndarray  # uint8
    probe: Probe
    place_scale: np.ndarray  # standard deviation of the moving thing's centre, pixels [2]

    @cached_property
    def sha(self) -> str:
        arrays = (self.median_HWC, self.probe.mean_P, self.probe.weight_PS, self.probe.low_S, self.probe.high_S, self.place_scale)
        return digest(canonical([self.task, *(digest(np.ascontiguousarray(a).tobytes()) for a in arrays)]).encode())

    @property
    def by_state(self) -> bool:
        """Whether the path is that of decoded states; else of the moving thing's centre."""
        return len(self.probe.dims) > 0


def fit_task(task: str, median_HWC: np.ndarray, frames_NHWC: np.ndarray, state_NS: np.ndarray, episode_N: np.ndarray) -> TaskModel:
    """From training frames uint8, their states, and the number of the episode each belongs to."""
    probe = fit_probe(frames_NHWC, state_NS, episode_N)
    centre = _centres(_moving(frames_NHWC, median_HWC))
    scale = np.nanstd(centre, axis=0) if np.isfinite(centre).any() else np.ones(2)
    return TaskModel(task, median_HWC, probe, np.maximum(scale, 1.0))


class TaskScene:
    """Truth of one video of a task: uint8 frames. gap: frames over which displacements are compared."""

    floors: Mapping[str, float] = FLOORS

    def __init__(self, model: TaskModel, frames_THWC: np.ndarray, gap: int = 5) -> None:
        self.model, self.frames, self.gap, self.group = model, frames_THWC, gap, model.task
        self.still_HW = still_pixels(frames_THWC)
        self.judge_still = self.still_HW.mean() >= STILL_SHARE
        self.sharp_T = laplacian_variance(frames_THWC)
        self.true_pose = self._pose(frames_THWC)
        self.true_moving = _moving(frames_THWC, model.median_HWC)
        self.true_area, self.true_parts = _areas(self.true_moving)
        self.sha = digest(canonical([digest(frames_THWC.tobytes()), model.sha, gap]).encode())

    def _pose(self, frames_THWC: np.ndarray) -> np.ndarray:
        """float64 [T, S] in standard deviations of the training frames; NaN where nothing is seen."""
        if self.model.by_state:
            return self.model.probe(frames_THWC)
        out: np.ndarray = _centres(_moving(frames_THWC, self.model.median_HWC)) / self.model.place_scale
        return out

    def measure(self, frames_THWC: np.ndarray) -> Measured:
        """See `veridream.wmb.sim.measured`."""
        check_shape(frames_THWC, self.frames)
        pose, true = self._pose(frames_THWC), self.true_pose
        area, parts = _areas(_moving(frames_THWC, self.model.median_HWC))
        shown = (area > 0) & (self.true_area > 0)
        least = max(1.0, 0.002 * self.still_HW.size)  # a ratio of fewer pixels says nothing
        series = {
            "mass": np.where(shown, np.abs(area - self.true_area) / np.maximum(self.true_area, least), 0.0),
            "gravity": np.sqrt(((over_gap(pose, self.gap) - over_gap(true, self.gap)) ** 2).mean(axis=1)),
            "jump": np.maximum(steps(pose) - np.nan_to_num(steps(true)).max(), 0.0),
            "count": np.abs(parts - self.true_parts),
        }
        if self.model.by_state:
            beyond = [np.maximum(np.maximum(self.model.probe.low_S - p, p - self.model.probe.high_S), 0.0).max(axis=1) for p in (pose, true)]
            series["penetration"] = np.maximum(beyond[0] - beyond[1], 0.0)
        if self.judge_still:
            changed = np.abs(frames_THWC.astype(np.int16) - frames_THWC[0].astype(np.int16)).max(axis=-1) > 255 * THRESHOLD
            series["newton"] = (changed & self.still_HW).mean(axis=(1, 2))
            series["flicker"] = np.maximum(flicker(frames_THWC, self.still_HW) - flicker(self.frames, self.still_HW), 0.0)
        progress, end, travel, true_travel = displacement(pose, true)
        seen = 1.0 if self.model.by_state else float((area > 0).mean())
        return Measured(series, sharpness_ratio(frames_THWC, self.sharp_T), progress, end, travel, true_travel > FLOORS["travel"], seen)


def _moving(frames_THWC: np.ndarray, median_HWC: np.ndarray) -> np.ndarray:
    """Bool [T,H,W]: pixels that differ from the task's median picture."""
    out: np.ndarray = np.abs(frames_THWC.astype(np.int16) - median_HWC.astype(np.int16)).max(axis=-1) > 255 * THRESHOLD
    return out


def _areas(moving_THW: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(pixels, connected pieces of at least a thousandth of the picture), float64 [T] each."""
    least = max(2, moving_THW[0].size // 1000)
    parts = [(np.bincount(ndimage.label(m)[0].ravel())[1:] >= least).sum() for m in moving_THW]
    return moving_THW.sum(axis=(1, 2)).astype(np.float64), np.array(parts, dtype=np.float64)


def _centres(moving_THW: np.ndarray) -> np.ndarray:
    """Centre (x, y) of the moving pixels, float64 [T, 2]; NaN where there is none."""
    n = moving_THW.sum(axis=(1, 2)).astype(np.float64)
    n[n == 0] = np.nan
    x = moving_THW.sum(axis=1) @ np.arange(moving_THW.shape[2]) / n
    y = moving_THW.sum(axis=2) @ np.arange(moving_THW.shape[1]) / n
    return np.stack([x, y], axis=1)
