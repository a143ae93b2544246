"""Figure 4: where the training data lies beside where the round-trip residual is high. Figure 6: where each policy went on the unseen tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, LogNorm

from veridream.coverage.density import covered, mean_per_cell, visitation
from veridream.figures.palette import INK, MUTED
from veridream.figures.style import box, canvas

VISITS = LinearSegmentedColormap.from_list("visits", ["#cfdcec", "#3b6fb6", "#12284a"])
RESIDUAL = LinearSegmentedColormap.from_list("residual", ["#f6e7c8", "#dd8a45", "#8c1f1a"])
VISITED = ListedColormap([(0.45, 0.49, 0.56, 0.22)])  # visited in training, no scored sequence starts there
POLICY_NAMES = {"noop": "no-op", "random": "random", "expert": "expert", "curiosity": "curiosity"}
CELLS = 20  # a side, of the policy maps
COARSE = 12  # a side, of Figure 4: there are few scored sequences a cell


@dataclass(frozen=True)
class Plane:
    """The two coverage coordinates of a task: their names and the corners of the map."""

    names: tuple[str, str]
    low: tuple[float, float]
    high: tuple[float, float]


def draw_density(path: Path, planes: Mapping[str, Plane], states: Mapping[str, np.ndarray], points: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """states: training states [n, 2] of each seen task; points: (start states [k, 2], u_r / m [k]) of its held-out sequences."""
    tasks = [t for t in planes if t in states and t in points]
    if not tasks:
        raise ValueError("no seen task has both training states and scored sequences")
    with canvas(path, max(4.0, min(7.8, 1.5 * len(tasks) + 0.8)), 2.9 if len(tasks) > 5 else 3.6) as fig:
        axes = fig.subplots(2, len(tasks), squeeze=False)
        for j, t in enumerate(tasks):
            p = planes[t]
            counts = visitation(states[t], p.low, p.high, COARSE)
            _counts(axes[0, j], counts)
            xy, u = points[t]
            axes[1, j].imshow(np.ma.masked_equal(counts.T > 0, False), origin="lower", cmap=VISITED, aspect="equal")
            _image(axes[1, j], mean_per_cell(xy, u, p.low, p.high, COARSE), RESIDUAL, None)
            axes[0, j].set_title(_wrapped(t), fontsize=7)
            axes[1, j].set_xlabel(p.names[0], fontsize=7, color=MUTED)
            axes[1, j].set_ylabel(p.names[1] if j else f"mean $u_r/m$\n{p.names[1]}", fontsize=7 if j else 8.5, color=MUTED if j else INK)
        axes[0, 0].set_ylabel("training states\n(log density)")
        _share_scale(axes[1])
        fig.colorbar(axes[1, -1].images[-1], ax=axes[1, :].tolist(), fraction=0.015, pad=0.01, aspect=14)


def _share_scale(axes: Sequence[Axes]) -> None:
    """One colour scale for the row: from 0 to the 95th percentile of all cells, so that one wild cell does not wash out the rest."""
    values = np.concatenate([np.ma.compressed(np.ma.asarray(a.images[-1].get_array())) for a in axes])
    top = float(np.percentile(values, 95)) if len(values) else 1.0
    for a in axes:
        a.images[-1].set_clim(0.0, max(top, 1e-9))


def draw_policies(path: Path, planes: Mapping[str, Plane], states: Mapping[tuple[str, str], np.ndarray]) -> None:
    """states: {(task, behaviour): [n, 2]}. One row a task, one column a policy; the share of visited cells stands below each map."""
    policies = [b for b in POLICY_NAMES if any(k[1] == b for k in states)]
    tasks = [t for t in planes if any(k[0] == t for k in states)]
    if not tasks or not policies:
        raise ValueError("no targeted data of an unseen task was given")
    with canvas(path, 1.55 * len(policies) + 0.6, 1.75 * len(tasks) + 0.2) as fig:
        axes = fig.subplots(len(tasks), len(policies), squeeze=False)
        for i, t in enumerate(tasks):
            p = planes[t]
            for j, b in enumerate(policies):
                ax = axes[i, j]
                box(ax)
                if (t, b) in states:
                    counts = visitation(states[t, b], p.low, p.high, CELLS)
                    _counts(ax, counts)
                    ax.set_xlabel(f"{100 * covered(counts):.0f} % of cells", fontsize=7, color=MUTED)
                else:
                    ax.text(0.5, 0.5, "no data", transform=ax.transAxes, ha="center", va="center", fontsize=7, color=MUTED)
                if i == 0:
                    ax.set_title(POLICY_NAMES[b])
            axes[i, 0].set_ylabel(_wrapped(t), fontsize=7.5)


def _counts(ax: Axes, counts: np.ndarray) -> None:
    image = np.where(counts > 0, counts, np.nan).astype(float)
    _image(ax, image, VISITS, LogNorm(1, max(2.0, float(np.nanmax(image, initial=2.0)))))


def _image(ax: Axes, image_xy: np.ndarray, cmap: LinearSegmentedColormap, norm: LogNorm | None) -> None:
    """First axis x to the right, second axis y upward; empty cells are clear."""
    ax.imshow(np.ma.masked_invalid(image_xy.T), origin="lower", cmap=cmap, norm=norm, aspect="equal")
    box(ax)


def _wrapped(task: str) -> str:
    """A long task id on two lines, broken at a hyphen near its middle."""
    if len(task) < 14:
        return task
    cut = min((i for i, c in enumerate(task) if c == "-"), key=lambda i: abs(i - len(task) / 2), default=len(task))
    return task[: cut + 1] + "\n" + task[cut + 1 :]
