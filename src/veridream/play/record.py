"""Episodes that a person plays, recorded as any others are. Their actions are kept as they finish, so an interrupted session goes on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veridream.data.collection import Policy, record_episode, store_attrs
from veridream.data.replay import claim, claimed, collect_resuming
from veridream.envs.base import Env
from veridream.io.episode_store import Episode, StoreError
from veridream.play.exchange import Exchange
from veridream.play.keys import BEGIN, action


def record_play(env: Env, path: Path, params: Mapping[str, Any], exchange: Exchange, work: Path) -> dict[str, int]:
    """Writes the whole store at `path`; returns {episodes, frames, replayed}.

    Args:
        params: as of collect_episodes (data.collection.store_attrs), behaviour human.
        exchange: where frames go and keys come from.
        work: folder of the finished episodes' actions. Raises StoreError when it holds episodes that were played with other settings.
    """
    attrs = store_attrs(env, params)
    key = {**{k: v for k, v in params.items() if k != "episodes"}, "versions": attrs.versions, "renderer": attrs.renderer}
    if work.exists() and not claimed(work, key):
        raise StoreError(f"{work}: holds episodes that were played with other settings or packages; go on with those, or delete it")
    claim(work, key)
    count = params["episodes"]
    counts = collect_resuming(env, path, params, work, "play", lambda i, seed: _played(env, seed, exchange, {"episode": i + 1, "episodes": count}))
    exchange.show(env.render(), {"phase": "done"})
    return counts


def _played(env: Env, seed: int, exchange: Exchange, number: dict[str, int]) -> Episode:
    """One episode, from the person's Enter to its last step. Its first frame stands still until then."""
    step = 0

    def act() -> np.ndarray:
        nonlocal step
        step += 1
        held = exchange.ask(env.render(), {"phase": "playing", "step": step, "steps": env.horizon, **number})
        return action(held, env.action_dim)

    def begin() -> tuple[Policy, Mapping[str, Any]]:
        while BEGIN not in exchange.ask(env.render(), {"phase": "ready", **number}):
            pass
        return act, {}

    return record_episode(env, seed, begin)
