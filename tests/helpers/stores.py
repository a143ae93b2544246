"""Small stores for tests, with CounterEnv pixels."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from helpers.counter_env import counter_frame
from veridream import spec
from veridream.io.episode_store import Episode, EpisodeWriter, attrs_for, episode_seed
from veridream.params.tasks import task as task_of


def make_episode(length: int, number: int = 0, task: str = "pygame-pong", behaviour: str = "random", seed: int = 0, size: int = 32, env: int = 1) -> Episode:
    """`length` rows. Actions come from the episode's seed; reward t is t; state is [episode, step, zeros...] (6 numbers).

    Of a switched behaviour: segments of up to three steps, by all that can act in turn.
    """
    t = task_of(task)
    own = episode_seed(task, behaviour, seed, number)
    rng = np.random.default_rng(own)
    action = np.zeros((length, 16), dtype=np.float32)
    action[:, : t.action_dim] = np.round(rng.uniform(-1, 1, (length, t.action_dim)) * 100) / 100
    frames = np.stack([counter_frame(size, env, number, i, None if i == 0 else action[i, 0]) for i in range(length)])
    action[0] = np.nan
    reward = np.arange(length, dtype=np.float32)
    reward[0] = np.nan
    state = np.zeros((length, 6), dtype=np.float32)
    state[:, 0], state[:, 1] = number, np.arange(length)
    terminal = np.zeros(length, dtype=bool)
    e = Episode(frames, action, reward, terminal, state, own, success=bool(length % 2), behaviour={"scale": number / 4})
    if behaviour != "switched":
        return e
    codes = (np.arange(length - 1) // 3 + number) % len(spec.SEGMENTS)
    segments = [{"behaviour": spec.SEGMENTS[codes[k]], "steps": len(codes[k : k + 3])} for k in range(0, length - 1, 3)]
    return dataclasses.replace(e, behaviour={"segments": segments}, acted=np.array([*codes[:1], *codes], np.uint8) if length > 1 else np.zeros(1, np.uint8))


def make_store(
    path: str | Path,
    lengths: Sequence[int] = (7, 12, 5),
    task: str = "pygame-pong",
    behaviour: str = "random",
    seed: int = 0,
    size: int = 32,
    role: str = "corpus",
    env: int = 1,
    **attrs: object,
) -> Path:
    """A finished store at `path` whose episodes have these lengths (rows)."""
    path = Path(path)
    meta = attrs_for(task, role, behaviour, seed, len(lengths), size, renderer="numpy", versions={"counter": "1"}, **attrs)
    with EpisodeWriter(path, meta, size=size, state_dim=6) as w:
        for i, n in enumerate(lengths):
            w.append(make_episode(n, i, task, behaviour, seed, size, env))
    return path


def store_path(root: str | Path, role: str = "corpus", task: str = "pygame-pong", behaviour: str = "random", seed: int = 0) -> Path:
    """Where a results folder keeps that store."""
    return Path(root) / "data" / role / task / f"{behaviour}-s{seed}.zarr"
