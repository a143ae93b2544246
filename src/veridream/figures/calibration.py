"""Figure 5: each motion-normalised predictor against rollout dPSNR, with the binned median and the correlations the paper leaves out."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from veridream.figures.palette import ACCENT, FAINT, INK, MUTED, NAME, SOFT, SYMBOL, domain_colour
from veridream.figures.style import RASTER_ABOVE, canvas
from veridream.results.columns import Columns
from veridream.results.markdown import number
from veridream.results.statistics import binned_median, zero_crossing

Row = dict[str, Any]
PAPER_THRESHOLD = {"u_r": 2.0, "u_f": 0.5, "u_s": 0.66}
DB = (-15.0, 15.0)


def draw(path: Path, seen: Columns, unseen: Columns, correlations: list[Row]) -> None:
    """seen, unseen: score rows of the base model; correlations: results.tables.correlation_rows of the seen ones."""
    by_score = {r["score"]: r for r in correlations}
    with canvas(path, 7.6, 3.4) as fig:
        axes = fig.subplots(1, 3, sharey=True)
        for ax, u in zip(axes, ("u_r", "u_f", "u_s"), strict=True):
            _panel(ax, u, seen, unseen, by_score)
        axes[0].set_ylabel("rollout dPSNR (dB)")
        handles = [ax_handle(axes[0], domain_colour(d), d) for d in sorted(set(seen["domain"].tolist()))]
        handles.append(axes[0].plot([], [], "x", color=MUTED, markersize=4, label="unseen task")[0])
        fig.legend(handles=handles, loc="outside lower center", ncols=len(handles), handletextpad=0.2, columnspacing=1.3)


def ax_handle(ax: Axes, colour: str, label: str) -> Any:
    return ax.plot([], [], "o", color=colour, markersize=4, label=label)[0]


def _panel(ax: Axes, u: str, seen: Columns, unseen: Columns, correlations: dict[str, Row]) -> None:
    name = f"{u}_norm"
    x, y = seen[name], seen["dpsnr"]
    both = np.concatenate([x, unseen[name]])
    limit = float(np.quantile(both, 0.97)) * 1.05
    many = len(both) > RASTER_ABOVE
    ax.axhline(0, color=MUTED, linewidth=0.7)
    ax.scatter(np.minimum(unseen[name], limit), np.clip(unseen["dpsnr"], *DB), s=9, marker="x", color=MUTED, linewidths=0.6, alpha=0.6, rasterized=many)
    for d in sorted(set(seen["domain"].tolist())):
        rows = seen["domain"] == d
        ax.scatter(np.minimum(x[rows], limit), np.clip(y[rows], *DB), s=8, color=domain_colour(d), alpha=0.55, linewidths=0, rasterized=many)
    bx, by = binned_median(x, y)
    ax.plot(np.minimum(bx, limit), by, color=INK, linewidth=1.8, marker="o", markersize=3)
    cross = zero_crossing(x, y)
    if np.isfinite(cross) and cross < limit:
        ax.axvline(cross, color=ACCENT, linewidth=1.0, linestyle=(0, (4, 2)))
        ax.text(cross, DB[0] + 0.4, f" {number(cross)}", color=ACCENT, fontsize=7, va="bottom")
    ax.set_xlim(0, limit * 1.02)
    ax.xaxis.set_major_locator(MaxNLocator(5, prune="upper"))
    ax.set_ylim(DB[0] - 0.5, DB[1] + 0.5)
    ax.set_xlabel(f"{SYMBOL[u]} / m")
    ax.set_title(f"{SYMBOL[u]}  {NAME[u]}", pad=36)
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.text(0, 1.02, _caption(correlations[name], correlations["1/m"]), transform=ax.transAxes, va="bottom", fontsize=7, linespacing=1.3, color=SOFT)


def _caption(row: Row, baseline: Row) -> str:
    pooled = f"$\\rho$ pooled {number(row['pooled'])}  (1/m alone {number(baseline['pooled'])})"
    within = f"$\\rho$ within task {number(row['within'])}  (1/m alone {number(baseline['within'])})"
    return f"{pooled}\n{within}\n$\\rho$ given motion {number(row['partial'])}"
