"""One look for every figure, and SVG files whose bytes depend on the data alone."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from veridream.figures.palette import FAINT, INK, MUTED

RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 7.0,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlecolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.4,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.hashsalt": "veridream",
    "svg.fonttype": "none",
    "image.interpolation": "nearest",
    "path.simplify": False,
}
RASTER_ABOVE = 2000  # points; more are drawn as pixels inside the SVG


@contextlib.contextmanager
def canvas(path: Path, width: float, height: float, arrange: bool = True) -> Iterator[Figure]:
    """A figure of width x height inches in the house style, written as SVG to `path` on leaving. No date, creator or random id goes in.

    arrange: let the layout engine place the axes; without it they stand where they are put.
    """
    with mpl.rc_context(RC):
        fig = Figure(figsize=(width, height), layout="constrained" if arrange else None)
        yield fig
        with path.open("wb") as f:
            fig.savefig(f, format="svg", dpi=144, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})


def bare(ax: Axes) -> None:
    """No ticks and no frame: for images."""
    ax.set_xticks([])
    ax.set_yticks([])
    for s in ax.spines.values():
        s.set_visible(False)


def box(ax: Axes) -> None:
    """No ticks, a full thin frame: for maps."""
    ax.set_xticks([])
    ax.set_yticks([])
    for s in ax.spines.values():
        s.set_visible(True)
        s.set_color(FAINT)
