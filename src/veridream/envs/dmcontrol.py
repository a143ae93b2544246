"""The DeepMind Control Suite: 21 of its tasks, and two recoloured variants.

What all share stands in dmcontrol_adapter, what a body has of its own in dmcontrol_bodies and dmcontrol_runners, and the
batched planning in mujoco_planner.
"""

from typing import Any

import numpy as np

from veridream.envs import dmcontrol_bodies as bodies
from veridream.envs import dmcontrol_runners as runners
from veridream.envs.base import Quality
from veridream.envs.dmcontrol_adapter import DmControl
from veridream.params.tasks import Task

__all__ = ["DmControl", "make"]

TASKS: dict[str, tuple[type[DmControl], str, str]] = {  # id -> body, the suite's domain and task
    "acrobot-swingup": (bodies.Acrobot, "acrobot", "swingup"),
    "cartpole-balance": (bodies.Cartpole, "cartpole", "balance"),
    "cartpole-balance-sparse": (bodies.Cartpole, "cartpole", "balance_sparse"),
    "cartpole-swingup": (bodies.Cartpole, "cartpole", "swingup"),
    "cartpole-swingup-sparse": (bodies.Cartpole, "cartpole", "swingup_sparse"),
    "cheetah-run": (runners.Cheetah, "cheetah", "run"),
    "cup-catch": (bodies.CupCatch, "ball_in_cup", "catch"),
    "cup-catch-var1": (bodies.CupCatch, "ball_in_cup", "catch"),
    "finger-spin": (bodies.Finger, "finger", "spin"),
    "finger-turn-easy": (bodies.Finger, "finger", "turn_easy"),
    "finger-turn-easy-var1": (bodies.Finger, "finger", "turn_easy"),
    "finger-turn-hard": (bodies.Finger, "finger", "turn_hard"),
    "fish-swim": (bodies.Fish, "fish", "swim"),
    "hopper-hop": (runners.Hopper, "hopper", "hop"),
    "hopper-stand": (runners.Hopper, "hopper", "stand"),
    "pendulum-swingup": (bodies.Pendulum, "pendulum", "swingup"),
    "quadruped-run": (runners.Quadruped, "quadruped", "run"),
    "quadruped-walk": (runners.Quadruped, "quadruped", "walk"),
    "reacher-easy": (bodies.Reacher, "reacher", "easy"),
    "reacher-hard": (bodies.Reacher, "reacher", "hard"),
    "walker-run": (runners.Walker, "walker", "run"),
    "walker-stand": (runners.Walker, "walker", "stand"),
    "walker-walk": (runners.Walker, "walker", "walk"),
}
# The visual variants: a colour by the name of a geom or "site NAME", "else" for the other geoms and the tendons; the sky's in bytes.
VARIANTS: dict[str, dict[str, tuple[float, ...]]] = {
    "cup-catch-var1": {"ball": (0.1, 0.95, 0.9, 1.0), "else": (0.85, 0.15, 0.75, 1.0), "ground": (0.75, 0.7, 0.35, 1.0), "sky": (235, 225, 190)},
    "finger-turn-easy-var1": {
        "proximal": (0.15, 0.6, 0.2, 1.0),
        "distal": (0.15, 0.6, 0.2, 1.0),
        "fingertip": (0.95, 0.75, 0.1, 1.0),
        "cap1": (0.3, 0.25, 0.75, 1.0),
        "cap2": (0.3, 0.25, 0.75, 1.0),
        "site target": (0.9, 0.1, 0.55, 1.0),
        "site tip": (0.9, 0.1, 0.55, 1.0),
        "else": (0.2, 0.2, 0.2, 1.0),
        "ground": (0.75, 0.7, 0.35, 1.0),
        "sky": (235, 225, 190),
    },
}
SKY_BOX = 2  # the type of its texture


def make(task: Task, size: int, quality: Quality) -> DmControl:
    """The adapter of a task of this domain."""
    if task.id not in TASKS:
        raise ValueError(f"no adapter for dm_control task {task.id}")
    from dm_control import suite

    body, domain, name = TASKS[task.id]
    env = suite.load(domain, name, task_kwargs={"time_limit": float("inf"), "random": 0})
    if task.id in VARIANTS:
        recolour(env.physics.model.ptr, VARIANTS[task.id])
    return body(task, env, size, quality)


def recolour(model: Any, colours: dict[str, tuple[float, ...]]) -> None:
    """Other colours of geoms, sites, tendons, ground and sky; the physics is the same."""
    for g in range(model.ngeom):
        model.geom_matid[g] = -1
        model.geom_rgba[g] = colours.get(model.geom(g).name, colours["else"])
    for s in range(model.nsite):
        name = f"site {model.site(s).name}"
        if name in colours:
            model.site_matid[s] = -1
            model.site_rgba[s] = colours[name]
    model.tendon_rgba[:] = colours["else"]
    for t in range(model.ntex):
        if model.tex_type[t] == SKY_BOX:
            start, n = int(model.tex_adr[t]), int(model.tex_width[t] * model.tex_height[t])
            model.tex_data[start : start + 3 * n] = np.tile(np.array(colours["sky"], np.uint8), n)
