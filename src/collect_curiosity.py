"""Collects the curiosity episodes of one unseen task: planned in the model towards its own round-trip residual, executed in the simulator."""

import functools

import numpy as np
import torch

from veridream.curiosity.collection import collect_curiosity, curiosity
from veridream.data.collection import Policy
from veridream.data.instructions import instruction_features
from veridream.envs.registry import make
from veridream.hallucination.predictors import round_trip_residual
from veridream.params.model import Curiosity
from veridream.planning.mpc import LivePlanner, behaviour_prior
from veridream.provenance.digest import code_digest, job_domains
from veridream.provenance.receipts import recorded_id
from veridream.provenance.stage import Job, stage
from veridream.train.checkpoints import load_world_model


def main(job: Job) -> None:
    settings = Curiosity.model_validate(job.params["curiosity"])
    torch.set_num_threads(settings.threads)
    tokenizer, dynamics = load_world_model(job.input("tokenizer"), job.input("dynamics"), job.params.get("device", "cpu"))
    p = job.params
    env = make(p["task"], p["render"]["size"], p["render"]["quality"], p["frame_skip"], p["max_steps"])
    objective = curiosity(dynamics, functools.partial(round_trip_residual, tokenizer), settings.cem, settings.max_share)

    features = torch.from_numpy(instruction_features(env.task.instruction, dynamics.arch.task_features)) if dynamics.arch.agents else None
    prior = behaviour_prior(dynamics, settings.cem, features)

    def policy(rng: np.random.Generator) -> Policy:
        return LivePlanner(env, tokenizer, settings.cem, objective, rng, prior).act

    assert job.work is not None
    code = code_digest("src/collect_curiosity.py", domains=job_domains(p))
    key = {"params": p, "models": [recorded_id(job.input(i)) for i in ("tokenizer", "dynamics")], "code": code}
    try:
        counts = collect_curiosity(env, job.out["store"], p, policy, job.work, key)
    finally:
        env.close()
    job.facts |= {"renderer": env.renderer, "replayed": counts.pop("replayed")}
    job.counts |= counts


if __name__ == "__main__":
    with stage("collect_curiosity", inputs=("tokenizer", "dynamics"), outputs=("store",), work=True) as job:
        main(job)
