"""Collects the episodes of one task, behaviour and seed into an episode store."""

from veridream.data.collection import collect
from veridream.envs.base import SimulatorMissing
from veridream.envs.registry import make
from veridream.provenance.stage import StageError, stage

with stage("collect_episodes", outputs=("store",)) as job:
    p = job.params
    try:
        env = make(p["task"], p["render"]["size"], p["render"]["quality"], p["frame_skip"], p["max_steps"])
    except SimulatorMissing as e:
        raise StageError(str(e)) from None
    try:
        job.counts = collect(env, job.out["store"], p)
        job.facts = {"renderer": env.renderer, "determinism": env.determinism}
    finally:
        env.close()
