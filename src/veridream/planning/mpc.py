"""Closed-loop planning in the live environment (paper sec. 5): CEM in the model, a few steps executed, then planned again."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from veridream import spec
from veridream.data.collection import Policy, record_episode
from veridream.envs.base import Env
from veridream.envs.behaviours import make_behaviour
from veridream.envs.experts import make_expert
from veridream.envs.score import normalised_score
from veridream.io.episode_store import Episode, episode_seed
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Cem
from veridream.planning.cem import Plan, Score, cem, shift
from veridream.planning.imagine import Context, behaviour, encode_context, imagine

Prior = Callable[[Context, torch.Generator], np.ndarray]  # context, noise -> first mean of a plan, float32 [H, action_dim]
Objective = Callable[[Context, np.ndarray, torch.Generator], np.ndarray]  # context, candidates [N,H,A], noise -> [N], higher is better


class LivePlanner:
    """Looks at the live environment, plans by CEM every `cem.execute` steps, and gives out the planned actions one by one.

    The context grows from one frame at the start of an episode to cem.context frames. Every plan starts from `prior`; without one, every plan
    after the first from the last one's mean, moved forward. All randomness comes from `rng`.
    """

    def __init__(self, env: Env, tokenizer: Tokenizer, settings: Cem, objective: Objective, rng: np.random.Generator, prior: Prior | None = None) -> None:
        self.env, self.tokenizer, self.settings, self.objective, self.rng, self.prior = env, tokenizer, settings, objective, rng, prior
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
        last = None if self.plan is None else shift(self.plan.mean_HA, s.execute)
        mean = last if self.prior is None else self.prior(context, generator)
        return planned(s, dim, lambda candidates: self.objective(context, candidates, generator), self.rng, mean)


def planned(s: Cem, action_dim: int, score: Score, rng: np.random.Generator, init_mean_HA: np.ndarray | None = None) -> Plan:
    """One plan by the settings."""
    return cem(
        score,
        s.horizon,
        action_dim,
        candidates=s.candidates,
        elites=s.elites,
        iterations=s.iterations,
        init_std=s.init_std,
        min_std=s.min_std,
        rng=rng,
        init_mean_HA=init_mean_HA,
        noise_colour=s.noise_colour,
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


def expert_goal(env: Env, tokenizer: Tokenizer, start: int, budget: Mapping[str, int] | None = None) -> torch.Tensor:
    """Latents [L,D] of the last frame of the episode that the task's expert plays from the start of that seed.

    budget: of an expert that plans in the simulator (params collect.expert). Raises ValueError where the task has no expert.
    """

    def begin() -> tuple[Policy, Mapping[str, Any]]:
        expert = make_behaviour("expert", env, lambda: make_expert(env, budget), np.random.default_rng([start, 2]))
        return expert.act, {}

    frames = record_episode(env, start, begin).frame
    return encode_context(tokenizer, [frames[-1]], [None], env.action_dim, 1).z_CLD[0]


def goal_distance(dynamics: Dynamics, settings: Cem, goal_LD: torch.Tensor, task_F: torch.Tensor | None = None) -> Objective:
    """Minus the RMS distance of the last imagined latent from the goal's, mean over cem.seeds independent rollouts a candidate. task_F: as in imagine."""

    def objective(context: Context, candidates: np.ndarray, generator: torch.Generator) -> np.ndarray:
        n, s = settings.seeds, settings
        repeated = np.repeat(candidates, n, axis=0)
        out = imagine(dynamics, context, repeated, substeps=s.substeps, tau_ctx=s.tau_ctx, seeds=1, carry="first", generator=generator, task_F=task_F)
        distance = (out.z_BHLD[:, -1] - goal_LD.to(out.z_BHLD.device)).square().mean(dim=(-2, -1)).sqrt()
        scores: np.ndarray = -distance.reshape(-1, n).mean(dim=1).cpu().numpy()
        return scores

    return objective


def behaviour_prior(dynamics: Dynamics, settings: Cem, task_F: torch.Tensor | None) -> Prior | None:
    """What cem.warm_start asks for; None where the last plan goes on. Raises ValueError when the dynamics has no behaviour-cloning head."""
    if settings.warm_start == "last_plan":
        return None
    if task_F is None or not dynamics.arch.bc_horizon:
        raise ValueError("cem.warm_start is behaviour, but the dynamics has no behaviour-cloning head (dynamics.arch.bc_horizon); set it to last_plan")
    features, s = task_F, settings

    def prior(context: Context, generator: torch.Generator) -> np.ndarray:
        how = {"most": s.context, "substeps": s.substeps}
        return behaviour(dynamics, context, s.horizon, **how, tau_ctx=s.tau_ctx, generator=generator, task_F=features)

    return prior


def random_policy(action_dim: int, rng: np.random.Generator) -> Policy:
    """Uniform random actions: the row of the table without a model."""
    return lambda: rng.uniform(-1.0, 1.0, action_dim).astype(np.float32)


def run_episodes(
    env: Env, policy: Callable[[int, np.random.Generator], Policy], model: str, episodes: int, seed: int, done: Callable[[], None]
) -> list[dict[str, Any]]:
    """Rows of spec.MPC_COLUMNS. Start e has the seed hash(task, "mpc", seed, e), the same for every model.

    policy: (start's seed, a generator of the episode's own) -> what acts; called before the episode, so it may play in the environment.
    """
    rows = []
    for e in range(episodes):
        start = episode_seed(env.task.id, "mpc", seed, e)
        act = policy(start, np.random.default_rng([start, 1]))
        rows.append(_row(env, model, e, record_episode(env, start, lambda act=act: (act, {}))))  # type: ignore[misc]
        done()
    return rows


def _row(env: Env, model: str, number: int, episode: Episode) -> dict[str, Any]:
    steps = len(episode.reward) - 1
    total = float(np.sum(episode.reward[1:], dtype=np.float64))
    score = normalised_score(env.task, env.frame_skip, env.horizon, total, episode.success)  # the full horizon: an early end earns no more
    values = (model, env.task.id, number, episode.seed, steps, total, bool(episode.success), float(score))
    return dict(zip(spec.MPC_COLUMNS, values, strict=True))
