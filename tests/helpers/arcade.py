"""Starts and plays MiniArcade's games."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from veridream.envs import miniarcade
from veridream.envs.base import AgentEnv, RawEnv
from veridream.params.tasks import task


class Played(NamedTuple):
    """One episode: its return, whether it was solved, and the control steps until then (or until its end)."""

    total: float
    success: bool
    first: int


def made(task_id: str, size: int = 32, quality: Any = "fast") -> Any:
    """The game of a task, before its first reset."""
    return miniarcade.make(task(task_id), size, quality)


def started(task_id: str, seed: int = 0, **changes: Any) -> Any:
    """A game in the scene of a seed, with changes."""
    env = made(task_id)
    env.reset(seed)
    env._scene = replace(env.scene, **changes)
    return env


def episode(task_id: str, seed: int, player: str, frame_skip: int, steps: int) -> Played:
    """One episode of at most `steps` agent steps by the game's player ("expert") or by random actions ("random")."""
    env = AgentEnv(task(task_id), made(task_id), 32, frame_skip, steps)
    rng, expert = np.random.default_rng(seed), miniarcade.make_expert(env.task)
    env.reset(seed)
    expert.reset(env, rng)
    total, taken, first = 0.0, 0, None
    while True:
        one = env.step(expert.act(env, rng) if player == "expert" else rng.uniform(-1, 1, env.action_dim))
        total, taken = total + one.reward, taken + frame_skip
        first = taken if one.success and first is None else first
        if one.is_last:
            return Played(total, one.success, first or taken)


def mean_total(task_id: str, player: str, seeds: int, frame_skip: int, steps: int) -> float:
    """Mean return of the episodes of the first `seeds` seeds."""
    return float(np.mean([episode(task_id, seed, player, frame_skip, steps).total for seed in range(seeds)]))


def trace(env: RawEnv, seed: int, steps: int) -> list[bytes]:
    """Frames, states and rewards of an episode of random actions, as bytes."""
    rng = np.random.default_rng(seed)
    env.reset(seed)
    out = [env.render().tobytes(), env.state().tobytes()]
    for _ in range(steps):
        one = env.step(rng.uniform(-1, 1, env.action_dim).astype(np.float32))
        out += [env.render().tobytes(), env.state().tobytes(), np.float64(one.reward).tobytes()]
        if one.is_terminal:
            break
    return out
