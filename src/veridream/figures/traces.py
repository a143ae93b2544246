"""Run-time traces: the normalised predictors along longer rollouts, over their thresholds, for seen and unseen tasks."""

from pathlib import Path

import numpy as np
from matplotlib.ticker import FuncFormatter

from veridream import spec
from veridream.figures.clip_file import Clip, examples
from veridream.figures.palette import ACCENT, FAINT, INK, MUTED, PREDICTOR, SYMBOL
from veridream.figures.style import canvas

MOST = 4  # traces of each kind


def pick(clips: list[Clip]) -> list[Clip]:
    """Up to four seen and four unseen traces: the seen ones spread from the best to the worst dPSNR."""
    traces = examples(clips, traces=True)
    seen = sorted((c for c in traces if c.seen), key=lambda c: (-c.dpsnr, c.task))
    spread = [seen[i] for i in sorted({round(i) for i in np.linspace(0, len(seen) - 1, min(MOST, len(seen)))})] if seen else []
    return spread + [c for c in traces if not c.seen][:MOST]


def draw(path: Path, clips: list[Clip], thresholds: dict[str, float]) -> None:
    """thresholds: in units of u / m, by predictor; nan is not drawn. Lines are divided by them where known, so 1 is the alarm."""
    shown = pick(clips)
    if not shown:
        raise ValueError("the clips file holds no rollout")
    columns = min(4, len(shown))
    rows = -(-len(shown) // columns)
    with canvas(path, 1.85 * columns + 0.4, 1.75 * rows + 0.35) as fig:
        axes = fig.subplots(rows, columns, squeeze=False, sharey=True)
        for ax, c in zip(axes.flat, shown, strict=False):
            ax.axvspan(-0.5, c.context - 0.5, color=FAINT, alpha=0.45, linewidth=0)
            ax.axhline(1.0, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
            for u in spec.PREDICTORS:
                scale = thresholds.get(u, float("nan"))
                ax.plot(c.norm(u) / (scale if np.isfinite(scale) and scale > 0 else 1.0), color=PREDICTOR[u], linewidth=1.3, label=f"{SYMBOL[u]}/m")
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            ax.set_xlim(-0.5, c.frames - 0.5)
            ax.set_title(f"{c.task}\n{'seen' if c.seen else 'unseen'}, {c.dpsnr:+.1f} dB", fontsize=7.5, color=ACCENT if c.dpsnr <= 0 else INK)
        for ax in list(axes.flat)[len(shown) :]:
            ax.set_visible(False)
        for ax in axes[:, 0]:
            ax.set_ylabel("u/m over threshold")
        for ax in axes[-1]:
            ax.set_xlabel("frame")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=3)
