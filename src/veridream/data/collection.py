"""Runs episodes in an environment and records them row by row. Whatever crosses the environment's border is checked here."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veridream import spec
from veridream.envs.base import Env
from veridream.envs.behaviours import make_behaviour
from veridream.envs.experts import make_expert
from veridream.io.episode_store import Episode, EpisodeWriter, StoreAttrs, StoreError, attrs_for, episode_seed
from veridream.io.progress import Progress

Policy = Callable[[], np.ndarray]  # the next action, [action_dim]


def padded(action: np.ndarray) -> np.ndarray:
    """f4 [16]: an action [action_dim], zeros after it."""
    out = np.zeros(spec.ACTION_DIM, dtype=np.float32)
    out[: len(action)] = action
    return out


def record_episode(env: Env, seed: int, begin: Callable[[], tuple[Policy, Mapping[str, Any]]]) -> Episode:
    """One episode from reset to its last step: T rows for T - 1 agent steps.

    Args:
        seed: of the reset.
        begin: called right after the reset; gives the policy of this episode (its actions are clipped to [-1, 1] here) and the
            JSON-ready parameters to keep with the episode.
    Raises:
        ValueError: an action or reward that is not finite or has the wrong shape, with the step. The writer checks the rest.
    """
    step = env.reset(seed)
    frames, states = [env.render()], [env.state()]
    actions, rewards, terminals = [np.full(spec.ACTION_DIM, np.nan, np.float32)], [np.float32(np.nan)], [False]
    act, parameters = begin()
    while not step.is_last:
        action = np.asarray(act(), dtype=np.float32)
        if action.shape != (env.action_dim,) or not np.isfinite(action).all():
            raise ValueError(f"{env.task.id}: step {len(actions)}: action {action.tolist()}, expected {env.action_dim} finite numbers")
        action = np.clip(action, -1.0, 1.0)
        step = env.step(action)
        if not np.isfinite(step.reward):
            raise ValueError(f"{env.task.id}: step {len(actions)}: reward {step.reward} is not finite")
        actions.append(padded(action))
        rewards.append(np.float32(step.reward))
        terminals.append(bool(step.is_terminal))
        frames.append(env.render())
        states.append(env.state())
    return Episode(
        frame=np.stack(frames),
        prev_action=np.stack(actions),
        reward=np.array(rewards, dtype=np.float32),
        is_terminal=np.array(terminals, dtype=bool),
        state=np.stack(states).astype(np.float32),
        seed=seed,
        success=bool(step.success),
        behaviour=dict(parameters),
    )


def store_attrs(env: Env, params: Mapping[str, Any]) -> StoreAttrs:
    """Attributes of the store that these stage params (role, task, behaviour, seed, episodes, render, max_steps, frame_skip) ask for."""
    render = params["render"]
    return attrs_for(
        params["task"],
        params["role"],
        params["behaviour"],
        params["seed"],
        params["episodes"],
        render["size"],
        quality=render["quality"],
        frame_skip=params["frame_skip"],
        max_steps=params["max_steps"],
        renderer=env.renderer,
        determinism=env.determinism,
        versions=dict(sorted(env.versions.items())),
    )


def collect(env: Env, path: str | Path, params: Mapping[str, Any], begun: Callable[[int, int], None] = lambda episode, seed: None) -> dict[str, int]:
    """Collects a whole store. Every episode depends on its own seed alone, so a rerun from nothing gives the same bytes.

    Args:
        env: the task's environment.
        path: where the store goes; must not exist.
        params: the stage's params, see `store_attrs`; `expert` for tasks whose expert plans, `switched` for that behaviour.
        begun: told the number and seed of each episode before its reset.
    Returns:
        {episodes, frames} written.
    """
    attrs = store_attrs(env, params)
    total = params["episodes"]
    with (
        EpisodeWriter(path, attrs, size=attrs.size, state_dim=env.state_dim) as writer,
        Progress(f"collect_episodes {attrs.task} {attrs.behaviour}", total) as progress,
    ):
        for i in range(total):
            seed = episode_seed(attrs.task, attrs.behaviour, attrs.seed, i)
            begun(i, seed)
            try:
                writer.append(_behaved(env, attrs, seed, params))
            except StoreError:
                raise  # the disk, not the episode
            except ValueError as e:
                raise ValueError(f"episode {i} of {attrs.role}/{attrs.task}/{attrs.behaviour}-s{attrs.seed} (seed {seed}): {e}") from e
            progress.update(frames=writer.frames)
    return {"episodes": len(writer.episodes), "frames": writer.frames}


def _behaved(env: Env, attrs: StoreAttrs, seed: int, params: Mapping[str, Any]) -> Episode:
    acted: list[int] = []

    def begin() -> tuple[Policy, Mapping[str, Any]]:
        rng = np.random.default_rng([seed, 1])
        behaviour = make_behaviour(attrs.behaviour, env, lambda: make_expert(env, dict(params.get("expert") or {})), rng, params.get("switched"))

        def act() -> np.ndarray:
            action = behaviour.act()
            acted.append(attrs.acted_names.index(behaviour.acting))
            return action

        return act, behaviour.parameters

    episode = record_episode(env, seed, begin)
    return dataclasses.replace(episode, acted=np.array([*acted[:1], *acted], dtype=np.uint8))
