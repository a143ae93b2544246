"""Scenes whose things are known: a mask for each in every true frame, as simulators that can segment give them.

A thing is found again in another video by its colour. Roles say what the laws demand of it:
    controlled  driven by the actions: its path is the instruction
    free        falls unless something holds it: gravity
    rest        nothing acts on it: Newton's law
    fixed       part of the world (floor, wall): nothing solid may be where it is
"""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import ndimage

from veridream.provenance.digest import canonical
from veridream.wmb.items import digest
from veridream.wmb.sim.measured import Measured, check_shape, displacement, flicker, laplacian_variance, over_gap, sharpness_ratio, still_pixels

REACH = 0.4  # a pixel is a thing's within this share of the colour distance to the nearest other class
VISIBLE = 0.1  # of its median true area: a smaller thing is not seen
PART = 0.02  # of its median true area: a smaller piece is no part
NOBODY = -1


@dataclass(frozen=True)
class Entity:
    name: str
    role: Literal["controlled", "free", "rest", "fixed"]


@dataclass(frozen=True)
class Found:
    """Where the things are in a video of T frames."""

    area_TK: np.ndarray  # pixels
    place_TK2: np.ndarray  # centroid (x, y) in pixels, NaN where unseen
    parts_TK: np.ndarray  # connected pieces
    inside_TK: np.ndarray  # share of the true area that lies in a fixed thing's place


class EntityScene:
    """Truth of one video.

    Args:
        frames_THWC: uint8.
        masks_TKHW: bool, which pixels show each thing.
        entities: K of them, exactly one controlled.
        gap: frames over which falls are compared.
    """

    def __init__(self, frames_THWC: np.ndarray, masks_TKHW: np.ndarray, entities: Sequence[Entity], gap: int = 5, group: str = "scene") -> None:
        roles = [e.role for e in entities]
        if masks_TKHW.shape != (len(frames_THWC), len(entities), *frames_THWC.shape[1:3]) or roles.count("controlled") != 1:
            raise ValueError(f"masks of shape {masks_TKHW.shape} for {len(entities)} things, roles {roles}; one mask a thing and frame, one controlled thing")
        self.frames, self.entities, self.gap, self.group = frames_THWC, tuple(entities), gap, group
        self.solid = [k for k, r in enumerate(roles) if r != "fixed"]
        self.controlled = roles.index("controlled")
        self.role = {r: [k for k, x in enumerate(roles) if x == r] for r in ("controlled", "free", "rest", "fixed")}
        self.world_HW = ndimage.binary_erosion(masks_TKHW[0, self.role["fixed"]].any(axis=0)) if self.role["fixed"] else np.zeros(frames_THWC.shape[1:3], bool)
        self.lookup = _colour_lookup(frames_THWC, masks_TKHW)
        true_area = np.median(masks_TKHW.sum(axis=(2, 3)), axis=0)
        self.usual_K = np.maximum(true_area, 1.0)
        self.still_HW = still_pixels(frames_THWC)
        self.sharp_T = laplacian_variance(frames_THWC)
        self.true = self.find(frames_THWC)
        self.true_flicker = flicker(frames_THWC, self.still_HW)
        pixel = max(frames_THWC.shape[1] / 224, 0.25)
        self.floors: Mapping[str, float] = {
            "newton": 2 * pixel,
            "mass": 0.25,
            "penetration": 0.1,
            "gravity": 3 * pixel,
            "flicker": 0.002,
            "jump": 5 * pixel,
            "count": 0.5,
            "travel": pixel,
        }
        self.sha = digest(canonical([digest(frames_THWC.tobytes()), digest(np.packbits(masks_TKHW).tobytes()), roles, gap]).encode())

    def find(self, frames_THWC: np.ndarray) -> Found:
        """The things of a video, by colour."""
        t = len(frames_THWC)
        coarse = (frames_THWC >> 3).astype(np.int32)
        label_THW = self.lookup[coarse[..., 0] << 10 | coarse[..., 1] << 5 | coarse[..., 2]]
        k = len(self.entities)
        area, place, parts, inside = np.zeros((t, k)), np.full((t, k, 2), np.nan), np.zeros((t, k)), np.zeros((t, k))
        for j in range(k):
            for i in range(t):
                mask = label_THW[i] == j
                rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
                if not len(rows):
                    continue
                y, x = int(rows[0]), int(cols[0])
                box = mask[y : rows[-1] + 1, x : cols[-1] + 1]
                area[i, j] = box.sum()
                inside[i, j] = (box & self.world_HW[y : rows[-1] + 1, x : cols[-1] + 1]).sum() / self.usual_K[j] if j in self.solid else 0.0
                place[i, j] = x + box.sum(axis=0) @ np.arange(box.shape[1]) / area[i, j], y + box.sum(axis=1) @ np.arange(box.shape[0]) / area[i, j]
                if j in self.solid:
                    sizes = np.bincount(ndimage.label(box)[0].ravel())[1:]
                    parts[i, j] = (sizes >= max(2.0, PART * self.usual_K[j])).sum()
        unseen = area < VISIBLE * self.usual_K
        place[unseen] = np.nan
        parts[unseen] = 0
        return Found(area, place, parts, inside)

    def measure(self, frames_THWC: np.ndarray) -> Measured:
        """See `veridream.wmb.sim.measured`. Things that appear or vanish count under `count`, and nowhere else."""
        check_shape(frames_THWC, self.frames)
        own, true = self.find(frames_THWC), self.true
        both = np.isfinite(own.place_TK2[..., 0]) & np.isfinite(true.place_TK2[..., 0])
        off = np.linalg.norm(own.place_TK2 - true.place_TK2, axis=-1)
        ratio = np.abs(own.area_TK / np.maximum(true.area_TK, 1.0) - 1.0)
        extra = np.maximum(own.parts_TK - true.parts_TK, 0.0)
        step, true_step = (np.linalg.norm(np.diff(f.place_TK2, axis=0, prepend=f.place_TK2[:1]), axis=-1) for f in (own, true))
        fall = np.abs(over_gap(own.place_TK2[..., 1], self.gap) - over_gap(true.place_TK2[..., 1], self.gap))
        series = {
            "newton": _worst(np.where(both, off, 0.0), self.role["rest"]),
            "mass": _worst(np.where(both, np.maximum(ratio, extra), 0.0), self.solid),
            "penetration": _worst(np.maximum(own.inside_TK - true.inside_TK, 0.0), self.solid),
            "gravity": _worst(fall, self.role["free"]),
            "flicker": np.maximum(flicker(frames_THWC, self.still_HW) - self.true_flicker, 0.0),
            "jump": _worst(np.maximum(step - np.nan_to_num(true_step).max(axis=0), 0.0), self.solid),
            "count": np.abs(own.parts_TK - true.parts_TK)[:, self.solid].sum(axis=1),
        }
        needed: dict[str, Sized] = {
            "newton": self.role["rest"],
            "gravity": self.role["free"],
            "penetration": self.role["fixed"],
            "flicker": self.still_HW.nonzero()[0],
        }
        series = {name: s for name, s in series.items() if len(needed.get(name, self.solid))}
        c = self.controlled
        progress, end, travel, true_travel = displacement(own.place_TK2[:, c], true.place_TK2[:, c])
        seen = float(np.isfinite(own.place_TK2[:, c, 0]).mean())
        return Measured(series, sharpness_ratio(frames_THWC, self.sharp_T), progress, end, travel, true_travel > self.floors["travel"], seen)


def _worst(x_TK: np.ndarray, which: Sequence[int]) -> np.ndarray:
    """Largest over those things, float64 [T]; NaN counts as 0."""
    if not which:
        return np.zeros(len(x_TK))
    out: np.ndarray = np.nan_to_num(x_TK[:, list(which)], nan=0.0).max(axis=1)
    return out


def _colour_lookup(frames_THWC: np.ndarray, masks_TKHW: np.ndarray) -> np.ndarray:
    """int [32768]: the thing a colour (five bits a channel) belongs to, NOBODY for the ground. Raises ValueError for things of one colour."""
    shown = np.moveaxis(masks_TKHW, 1, -1)
    ground = np.median(frames_THWC[~shown.any(axis=-1)].astype(np.float64), axis=0)
    colours = np.stack([np.median(frames_THWC[shown[..., k]].astype(np.float64), axis=0) for k in range(shown.shape[-1])] + [ground])
    apart = np.linalg.norm(colours[:, None] - colours[None], axis=-1) + np.where(np.eye(len(colours)), np.inf, 0.0)
    if apart.min() < 40:
        raise ValueError(f"two things, or a thing and the ground, differ by {apart.min():.0f} in colour; they cannot be told apart (at least 40 of 442)")
    bins = np.stack(np.meshgrid(*[np.arange(32) * 8 + 4.0] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    far = np.linalg.norm(bins[:, None] - colours[None, :-1], axis=-1) / (REACH * apart.min(axis=1)[:-1])
    nearest = far.argmin(axis=1)
    return np.where(far.min(axis=1) < 1.0, nearest, NOBODY).astype(np.int8)
