"""Plays whole episodes of tasks by random actions and by their experts, and writes the mean normalised scores to params/task_scores.csv.

    python src/measure_scores.py --tasks metaworld,cup-catch --episodes 4

Episodes have the task's own horizon unless --max_steps cuts it. Rows of other tasks stay as they are. `make params` puts the scores into docs/tasks.md.
"""

import argparse
import csv
import os
import sys
from pathlib import Path

import numpy as np

from veridream.envs.base import AgentEnv, SimulatorMissing
from veridream.envs.behaviours import make_behaviour
from veridream.envs.experts import make_expert
from veridream.envs.registry import make
from veridream.envs.score import normalised_score
from veridream.io.progress import Progress
from veridream.params.model import CemExpert
from veridream.params.tasks import SCORES, Task, measured_scores, named_tasks

COLUMNS = ("task", "random", "expert", "episodes", "steps", "budget")  # steps: agent steps an episode; budget: CEM's numbers in the order of CemExpert


def mean_score(env: AgentEnv, behaviour: str, episodes: int, budget: CemExpert) -> float:
    """Mean normalised score of `episodes` episodes, seeds 0, 1, ..."""
    scores = []
    for seed in range(episodes):
        step, total = env.reset(seed), 0.0
        act = make_behaviour(behaviour, env, lambda: make_expert(env, budget.model_dump()), np.random.default_rng([seed, 1])).act
        while not step.is_last:
            step = env.step(act())
            total += step.reward
        scores.append(normalised_score(env.task, env.frame_skip, env.horizon, total, step.success))
    return float(np.mean(scores))


def measured(task: Task, episodes: int, max_steps: int | None, budget: CemExpert) -> dict[str, str]:
    env = make(task.id, 32, max_steps=max_steps)
    try:
        random = mean_score(env, "random", episodes, budget)
        expert = "" if task.expert is None else f"{mean_score(env, 'expert', episodes, budget):.3f}"
        plans = "/".join(str(v) for v in budget.model_dump().values()) if task.expert == "cem" else ""
        row = (task.id, f"{random:.3f}", expert, str(episodes), str(env.horizon), plans)
        return dict(zip(COLUMNS, row, strict=True))
    finally:
        env.close()


def write(rows: dict[str, dict[str, str]], path: Path) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("w", newline="") as f:
        writer = csv.DictWriter(f, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[k] for k in sorted(rows))
    os.replace(part, path)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tasks", required=True, help="task and domain names, comma-separated, or all")
    ap.add_argument("--episodes", type=int, default=2)
    ap.add_argument("--max_steps", type=int, help="agent steps an episode at the most")
    for name, default in CemExpert().model_dump().items():
        ap.add_argument(f"--{name}", type=int, default=default, help="budget of CEM experts (default: %(default)s)")
    a = ap.parse_args()
    tasks = named_tasks(a.tasks)
    if not tasks:
        sys.exit(f"--tasks {a.tasks} names no task or domain of params/tasks.yaml")
    budget = CemExpert(**{k: getattr(a, k) for k in CemExpert.model_fields})
    rows, missing = measured_scores(), []
    with Progress("measure_scores", len(tasks)) as progress:
        for t in tasks:
            try:
                rows[t.id] = measured(t, a.episodes, a.max_steps, budget)
                write(rows, SCORES)
                print(" ".join(rows[t.id].values()), flush=True)
            except SimulatorMissing as e:
                missing.append(f"{t.id}: {e}")
            progress.update(task=t.id)
    if missing:
        sys.exit("not measured:\n" + "\n".join(missing))


if __name__ == "__main__":
    main()
