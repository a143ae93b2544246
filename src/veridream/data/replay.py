"""Finished episodes again from their actions alone: an environment is a function of its seed and the actions, so a work folder keeps no frames."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veridream.data.collection import record_episode, store_attrs
from veridream.envs.base import Env
from veridream.io.episode_store import Episode, EpisodeWriter, episode_seed
from veridream.io.progress import Progress
from veridream.provenance.digest import canonical

KEY = "key.json"


def claimed(work: Path, key: Mapping[str, Any]) -> bool:
    """Whether a run with the same key left the work folder."""
    note = work / KEY
    return note.is_file() and note.read_text() == canonical(key)


def claim(work: Path, key: Mapping[str, Any]) -> None:
    """Empties the work folder unless a run with the same key left it."""
    if claimed(work, key):
        return
    if work.exists():
        shutil.rmtree(work)
    work.mkdir(parents=True)
    part = work / f".{KEY}.part"
    part.write_text(canonical(key))
    os.replace(part, work / KEY)


def saved_actions(work: Path, episode: int) -> Path:
    """Where the actions of a finished episode stand."""
    return work / f"episode-{episode:05d}.npy"


def save_actions(path: Path, actions: np.ndarray) -> None:
    """float32 [T - 1, action_dim], whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as f:
        np.save(f, actions)
        f.flush()
        os.fsync(f.fileno())
    os.replace(part, path)


def replay(env: Env, seed: int, saved: Path) -> Episode:
    """The finished episode again. Raises ValueError when the simulator no longer follows the saved actions."""
    actions = np.load(saved)
    left = iter(actions)

    def act() -> np.ndarray:
        try:
            action: np.ndarray = next(left)
        except StopIteration:
            raise ValueError(f"{saved}: the episode goes on after its {len(actions)} saved actions; delete {saved.parent} and run again") from None
        return action

    episode = record_episode(env, seed, lambda: (act, {}))
    if len(episode.reward) - 1 != len(actions):
        raise ValueError(f"{saved}: the episode ended after {len(episode.reward) - 1} of {len(actions)} saved actions; delete {saved.parent} and run again")
    return episode


def collect_resuming(env: Env, path: str | Path, params: Mapping[str, Any], work: Path, title: str, record: Callable[[int, int], Episode]) -> dict[str, int]:
    """Writes the whole store at `path`, episodes that `work` (claimed before) holds from their actions; returns {episodes, frames, replayed}.

    Args:
        params: of data.collection.store_attrs.
        title: of the progress lines; the task follows.
        record: (number of the episode, its seed) -> a new episode; its actions are saved as it ends.
    """
    attrs = store_attrs(env, params)
    replayed = 0
    with EpisodeWriter(path, attrs, size=attrs.size, state_dim=env.state_dim) as writer, Progress(f"{title} {attrs.task}", params["episodes"]) as progress:
        for i in range(params["episodes"]):
            seed = episode_seed(attrs.task, attrs.behaviour, attrs.seed, i)
            saved = saved_actions(work, i)
            if saved.is_file():
                episode = replay(env, seed, saved)
                replayed += 1
            else:
                episode = record(i, seed)
                save_actions(saved, episode.prev_action[1:, : env.action_dim])
            writer.append(episode)
            progress.update(frames=writer.frames)
    return {"episodes": len(writer.episodes), "frames": writer.frames, "replayed": replayed}
