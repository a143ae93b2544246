"""Closed-loop planning in the live environment (paper sec. 5): CEM in the model, a few steps executed, then planned again."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from veridream import spec
from veridream.data.collection import Policy, record_episode
from veridream.envs.base import Env
from veridream.envs.score import normalised_score
from veridream.io.episode_store import Episode, episode_seed
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Cem
from veridream.planning.cem import Plan, cem, shift
from veridream.planning.imagine import Context, encode_context, imagine

Objective = Callable[[Context, np.ndarray, torch.Generator], np.ndarray]  # context, candidates [N,H,A], noise -> [N], higher is better


class LivePlanner:
    """Looks at the live environment, plans by CEM every `cem.execute` steps, and gives out the planned actions one by one.

    The context grows from one frame at the start of an episode to cem.context frames. Every plan after the first starts from the last
    one's mean, moved forward. All randomness comes from `rng`.
    """

    def __init__(self, env: Env, tokenizer: Tokenizer, settings: Cem, objective: Objective, rng: np.random.Generator) -> None:
        self.env, self.tokenizer, self.settings, self.objective, self.rng = env, tokenizer, settings, objective, rng
        self.frames: list[np.ndarray] = []
        self.prev_actions: list[np.ndarray | None] = []
        self.queue: list[np.ndarray] = []
        self.plan: Plan | None = None

    def act(self) -> np.ndarray:
        """The next action, float32 [action_dim]; to be executed before the next call."""
        self.frames.append(self.env.render())
        if not self.prev_actions:
            self.prev_actions.append(None)
        if not self.queue:
            self.plan = self._replan()
            self.queue = list(self.plan.actions_HA[: self.settings.execute])
        action = self.queue.pop(0)
        self.prev_actions.append(action)
        return action

    def _replan(self) -> Plan:
        s, dim = self.settings, self.env.action_dim
        context = encode_context(self.tokenizer, self.frames, self.prev_actions, dim, s.context)
        generator = torch.Generator().manual_seed(int(self.rng.integers(2**62)))
        return cem(
            lambda candidates: self.objective(context, candidates, generator),
            s.horizon,
            dim,
            candidates=s.candidates,
            elites=s.elites,
            iterations=s.iterations,
            init_std=s.init_std,
            min_std=s.min_std,
            rng=self.rng,
            init_mean_HA=None if self.plan is None else shift(self.plan.mean_HA, s.execute),
        )


def predicted_return(dynamics: Dynamics, settings: Cem, task_F: torch.Tensor | None = None) -> Objective:
    """Sum of the rewards predicted over the horizon, mean over cem.seeds independent rollouts a candidate. task_F: as in imagine."""

    def objective(context: Context, candidates: np.ndarray, generator: torch.Generator) -> np.ndarray:
        n = settings.seeds
        repeated = np.repeat(candidates, n, axis=0)
        out = imagine(
            dynamics, context, repeated, substeps=settings.substeps, tau_ctx=settings.tau_ctx, seeds=1, carry="first", generator=generator, task_F=task_F
        )
        rewards: np.ndarray = out.reward_BH.sum(dim=1).reshape(-1, n).mean(dim=1).cpu().numpy()
        return rewards

    return objective


def random_policy(action_dim: int, rng: np.random.Generator) -> Policy:
    """Uniform random actions: the row of the table without a model."""
    return lambda: rng.uniform(-1.0, 1.0, action_dim).astype(np.float32)


def run_episodes(
    env: Env, policy: Callable[[np.random.Generator], Policy], model: str, episodes: int, seed: int, done: Callable[[], None]
) -> list[dict[str, Any]]:
    """Rows of spec.MPC_COLUMNS. Start e has the seed hash(task, "mpc", seed, e), the same for every model; `policy` gets a generator of its own an episode."""
    rows = []
    for e in range(episodes):
        start = episode_seed(env.task.id, "mpc", seed, e)
        rng = np.random.default_rng([start, 1])
        rows.append(_row(env, model, e, record_episode(env, start, lambda rng=rng: (policy(rng), {}))))  # type: ignore[misc]
        done()
    return rows


def _row(env: Env, model: str, number: int, episode: Episode) -> dict[str, Any]:
    steps = len(episode.reward) - 1
    total = float(np.sum(episode.reward[1:], dtype=np.float64))
    score = normalised_score(env.task, env.frame_skip, env.horizon, total, episode.success)  # the full horizon: an early end earns no more
    values = (model, env.task.id, number, episode.seed, steps, total, bool(episode.success), float(score))
    return dict(zip(spec.MPC_COLUMNS, values, strict=True))
