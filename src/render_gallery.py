"""Renders the task gallery: every task's first frame and one in mid-episode, with name, instruction and scores.

    python src/render_gallery.py --tasks all --out results/gallery

Writes index.html and sheet.png. A task whose simulator cannot run on this machine is shown with the remedy instead of a frame.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from veridream.envs.base import SimulatorMissing
from veridream.envs.behaviours import make_behaviour
from veridream.envs.experts import make_expert
from veridream.envs.registry import make
from veridream.figures.gallery import Tile, page, png, sheet
from veridream.io.progress import Progress
from veridream.params.model import CemExpert
from veridream.params.tasks import Task, measured_scores, named_tasks

BUDGET = CemExpert(candidates=16, elites=4, iterations=2, horizon=10, execute=5)


def tile(task: Task, size: int, steps: int) -> Tile:
    """The task after reset and after `steps` agent steps of its expert, or of random actions."""
    try:
        env = make(task.id, size)
    except SimulatorMissing as e:
        return Tile(task, missing=str(e))
    try:
        step = env.reset(0)
        first = env.render()
        act = make_behaviour("expert" if task.expert else "random", env, lambda: make_expert(env, BUDGET.model_dump()), np.random.default_rng(0)).act
        for _ in range(steps):
            if step.is_last:
                break
            step = env.step(act())
        return Tile(task, (first, env.render()))
    finally:
        env.close()


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tasks", default="all", help="task and domain names, comma-separated, or all")
    ap.add_argument("--size", type=int, default=96, help="pixels a side")
    ap.add_argument("--steps", type=int, default=25, help="agent steps before the second frame")
    ap.add_argument("--out", type=Path, default=Path("results/gallery"))
    a = ap.parse_args()
    tasks = named_tasks(a.tasks)
    if not tasks:
        sys.exit(f"--tasks {a.tasks} names no task or domain of params/tasks.yaml")
    tiles = []
    with Progress("render_gallery", len(tasks)) as progress:
        for t in tasks:
            tiles.append(tile(t, a.size, a.steps))
            progress.update(task=t.id)
    a.out.mkdir(parents=True, exist_ok=True)
    (a.out / "index.html").write_text(page(tiles, measured_scores()))
    (a.out / "sheet.png").write_bytes(png(sheet(tiles, a.size)))
    missing = [t.task.id for t in tiles if t.missing]
    print(f"{a.out}/index.html, {a.out}/sheet.png: {len(tiles) - len(missing)} tasks" + (f"; without a frame: {', '.join(missing)}" if missing else ""))


if __name__ == "__main__":
    main()
