"""Plays closed-loop episodes on the unseen tasks: CEM in the model (mpc.objective says on what), or random actions for model "none"."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from veridream import spec
from veridream.data.collection import Policy
from veridream.data.instructions import instruction_features
from veridream.envs.base import Env
from veridream.envs.registry import make
from veridream.io.progress import Progress
from veridream.io.tables import write_parquet
from veridream.params.model import Mpc
from veridream.planning.mpc import LivePlanner, behaviour_prior, expert_goal, goal_distance, predicted_return, random_policy, run_episodes
from veridream.provenance.stage import Job, StageError, stage
from veridream.train.checkpoints import load_world_model

OfEpisode = Callable[[int, np.random.Generator], Policy]  # the start's seed, the episode's generator


def policy_for(job: Job, settings: Mpc) -> Callable[[Env], OfEpisode]:
    """What acts in an environment: one fresh policy an episode."""
    given = [bool(job.inputs[i]) for i in ("tokenizer", "dynamics")]
    if job.params["model"] == spec.NO_MODEL:
        if any(given):
            raise StageError('model "none" takes random actions; leave --tokenizer and --dynamics out')
        return lambda env: lambda start, rng: random_policy(env.action_dim, rng)
    if not all(given):
        raise StageError(f"model {job.params['model']!r} needs --tokenizer and --dynamics")
    tokenizer, dynamics = load_world_model(job.input("tokenizer"), job.input("dynamics"), job.params.get("device", "cpu"))

    def policy(env: Env) -> OfEpisode:
        features = instruction_features(env.task.instruction, dynamics.arch.task_features) if dynamics.arch.agents else None
        task_F = None if features is None else torch.from_numpy(features)
        cem = settings.cem
        prior = behaviour_prior(dynamics, cem, task_F)

        def of_episode(start: int, rng: np.random.Generator) -> Policy:
            if settings.objective == "goal":
                objective = goal_distance(dynamics, cem, expert_goal(env, tokenizer, start, job.params["expert"]), task_F)
            else:
                objective = predicted_return(dynamics, cem, task_F)
            return LivePlanner(env, tokenizer, cem, objective, rng, prior).act

        return of_episode

    return policy


def main(job: Job) -> None:
    p, settings = job.params, Mpc.model_validate(job.params["mpc"])
    torch.set_num_threads(settings.threads)
    policy = policy_for(job, settings)
    rows: list[dict[str, Any]] = []
    with Progress(f"plan_mpc {p['model']}", total=len(p["tasks"]) * settings.episodes) as progress:
        for task in p["tasks"]:
            env = make(task, p["render"]["size"], p["render"]["quality"], p["frame_skip"], p["max_steps"])
            try:
                rows += run_episodes(env, policy(env), p["model"], settings.episodes, settings.seed, progress.update)
            finally:
                env.close()
    write_parquet(job.out["episodes"], rows)
    job.counts["episodes"] = len(rows)


if __name__ == "__main__":
    with stage("plan_mpc", inputs=("tokenizer?", "dynamics?"), outputs=("episodes",)) as job:
        main(job)
