"""Figure 3: training frames a task, sorted, on a log scale, coloured by domain."""

from pathlib import Path
from typing import Any

import numpy as np

from veridream.figures.palette import ACCENT, INK, MUTED, domain_colour
from veridream.figures.style import canvas

Row = dict[str, Any]


def draw(path: Path, rows: list[Row]) -> None:
    """rows of index/frame_counts.csv: task, domain, seen, role, train_frames. Corpus bars are solid, targeted data of unseen tasks is an outline."""
    bars = [
        (int(r["train_frames"]), str(r["task"]), str(r["domain"]), r["role"] == "corpus")
        for r in rows
        if r["role"] in ("corpus", "targeted") and int(r["train_frames"]) > 0
    ]
    if not bars:
        raise ValueError("the frame counts name no training frames")
    bars.sort(key=lambda b: (not b[3], -b[0], b[1]))
    corpus = [b[0] for b in bars if b[3]]
    crowded = len(bars) > 40
    with canvas(path, 7.2, 3.0 if not crowded else 3.4) as fig:
        ax = fig.add_subplot()
        for i, (n, _, domain, solid) in enumerate(bars):
            c = domain_colour(domain)
            ax.bar(
                i,
                n,
                color=c if solid else "none",
                edgecolor=c,
                linewidth=0.0 if solid else 1.0,
                linestyle="-" if solid else (0, (2, 1.5)),
                width=0.76 if not crowded else 1.0,
            )
            if not crowded:
                ax.text(i, n * 1.1, f"{n:,}", ha="center", va="bottom", fontsize=7, color=MUTED)
        if corpus:
            median = float(np.median(corpus))
            ax.plot([-0.6, len(corpus) - 0.5], [median, median], color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
            ax.text(len(corpus) - 0.5, median * 1.06, f"median of pretraining tasks {median:,.0f}", ha="right", va="bottom", fontsize=7.5)
        ax.set_yscale("log")
        ax.set_ylim(min(b[0] for b in bars) / 2.2, max(b[0] for b in bars) * 2.2)
        ax.set_xlim(-0.6, len(bars) - 0.4)
        ax.set_ylabel("training frames")
        ax.set_xticks(range(len(bars)) if not crowded else [], [b[1] for b in bars] if not crowded else [], rotation=28, ha="right", rotation_mode="anchor")
        ax.tick_params(axis="x", length=0)
        for d in dict.fromkeys(b[2] for b in bars):
            ax.bar(0, 0, color=domain_colour(d), label=d)
        if any(not b[3] for b in bars):
            ax.bar(0, 0, color="none", edgecolor=ACCENT if not corpus else MUTED, linestyle=(0, (2, 1.5)), label="targeted data, unseen task")
        ax.legend(ncols=6, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0, handlelength=1.0, handletextpad=0.5, columnspacing=1.2)
