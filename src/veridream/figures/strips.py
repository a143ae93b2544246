"""Rollout strips: truth, reconstruction and model side by side in time, with the predictors below."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from veridream import spec
from veridream.figures.clip_file import Clip, examples
from veridream.figures.palette import ACCENT, FAINT, INK, MUTED, PREDICTOR, SYMBOL
from veridream.figures.style import bare, canvas

FRAMES = 8  # shown of each sequence
STRIP_WIDTH, STRIP_HEIGHT, LABEL_WIDTH, IMAGE_WIDTH = 3.9, 2.08, 0.5, 2.9  # inches


def pick(clips: list[Clip]) -> list[Clip]:
    """One clip a task, the most moving one (its first), seen tasks before unseen."""
    out: dict[str, Clip] = {}
    for c in examples(clips, traces=False):
        out.setdefault(c.task, c)
    return list(out.values())


def draw(path: Path, clips: list[Clip]) -> None:
    """Two sequences a row of the page."""
    shown = pick(clips)
    if not shown:
        raise ValueError("the clips file holds no rollout")
    rows = -(-len(shown) // 2)
    width, height = 2 * STRIP_WIDTH, rows * STRIP_HEIGHT
    with canvas(path, width, height, arrange=False) as fig:
        for i, c in enumerate(shown):
            _strip(Inches(fig, width, height, STRIP_WIDTH * (i % 2), STRIP_HEIGHT * (i // 2)), c)


@dataclass(frozen=True)
class Inches:
    """Places axes by inches from a corner, x to the right and y downward, so that frames stay square and aligned with the traces."""

    fig: Figure
    width: float
    height: float
    x: float
    y: float

    def axes(self, x: float, y: float, w: float, h: float) -> Axes:
        return self.fig.add_axes(((self.x + x) / self.width, 1 - (self.y + y + h) / self.height, w / self.width, h / self.height))


def _strip(place: Inches, c: Clip) -> None:
    at = np.unique(np.linspace(max(0, c.context - 2), c.frames - 1, min(FRAMES, c.frames)).round().astype(int))
    rows = [_row(x[at]) for x in (c.truth, c.recon, c.model)]
    tall = IMAGE_WIDTH * rows[0].shape[0] / rows[0].shape[1]
    for k, (image, name) in enumerate(zip(rows, ("truth", "recon", "model"), strict=True)):
        ax = place.axes(LABEL_WIDTH, 0.24 + k * (tall + 0.04), IMAGE_WIDTH, tall)
        ax.imshow(image, interpolation="nearest", aspect="auto")
        bare(ax)
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=7, labelpad=3)
        if k == 0:
            ax.set_title(f"{c.task}   {'seen' if c.seen else 'unseen'}   {c.dpsnr:+.1f} dB", fontsize=8, color=ACCENT if c.dpsnr <= 0 else INK, pad=4)
    ax = place.axes(LABEL_WIDTH, 0.24 + 3 * (tall + 0.04) + 0.02, IMAGE_WIDTH, 0.36)
    _trace(ax, c, at)


def _trace(ax: Axes, c: Clip, at: np.ndarray) -> None:
    x = np.interp(np.arange(c.frames), at, np.arange(len(at)) + 0.5)  # under the middle of each frame shown
    inside = np.arange(c.frames) >= at[0]
    start = float(np.interp(c.context - 0.5, at, np.arange(len(at)) + 0.5))
    ax.axvspan(0, start, color=FAINT, alpha=0.45, linewidth=0)
    for u in spec.PREDICTORS:
        y = c.norm(u)
        top = float(np.nanmax(y)) if np.isfinite(y).any() else 1.0
        ax.plot(x[inside], y[inside] / max(top, 1e-9), color=PREDICTOR[u], linewidth=1.1)
        ax.text(
            1.015, {"u_r": 0.86, "u_f": 0.48, "u_s": 0.1}[u], f"{SYMBOL[u]} {top:.2g}", transform=ax.transAxes, fontsize=6.5, color=PREDICTOR[u], va="center"
        )
    ax.set_xlim(0, len(at))
    ax.set_ylim(0, 1.1)
    ax.set_yticks([])
    ax.set_xticks([start], ["rollout starts"], fontsize=6.5)
    ax.tick_params(axis="x", length=2, labelcolor=MUTED, pad=1)


def _row(frames_THWC: np.ndarray, gap: int = 1) -> np.ndarray:
    """Frames in one image [H, T*(W+gap)-gap, 4] with clear gaps."""
    T, H, W, _ = frames_THWC.shape
    out = np.zeros((H, T * (W + gap) - gap, 4), np.uint8)
    for t in range(T):
        out[:, t * (W + gap) : t * (W + gap) + W] = np.dstack([frames_THWC[t], np.full((H, W), 255, np.uint8)])
    return out
