"""A task's expert: scripted where a script is at hand, else the cross-entropy method (CEM) on the simulator's own equations."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from veridream.envs.base import Env, RawEnv, repeat_action
from veridream.envs.registry import domain_module


class Expert(Protocol):
    """Reads the environment and never changes it."""

    def reset(self, env: Any, rng: np.random.Generator) -> None: ...  # after env.reset

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray: ...  # float [action_dim]; once an agent step


def make_expert(env: Env, params: Mapping[str, int] | None = None) -> Expert:
    """The expert of the environment's task.

    Args:
        env: made by veridream.envs.registry.
        params: budget of the CEM expert (candidates, elites, iterations, horizon, execute); unused where a script exists.
    Raises:
        ValueError: the task has no expert, or a CEM expert and no budget is given.
    """
    t = env.task
    if t.expert is None:
        raise ValueError(f"{t.id}: params/tasks.yaml names no expert for it; use the behaviours noop and random")
    if t.expert != "cem":
        scripted: Expert = domain_module(t).make_expert(t)
        return scripted
    if not params:
        raise ValueError(f"{t.id}: its expert is CEM on the simulator; the params collect.expert are missing")
    return CemExpert(**params)


class SimulatorPlanner:
    """Plays candidate action sequences in the simulator itself and puts it back exactly as it was. For any adapter with snapshots."""

    def __init__(self, raw: RawEnv) -> None:
        self._raw = raw

    def returns(self, action_NHA: np.ndarray, repeat: int) -> np.ndarray:
        """Return [N] of N sequences of H agent steps from the current state; repeat: control steps an agent step."""
        start = self._raw.snapshot()
        out = np.zeros(len(action_NHA))
        for n, action_HA in enumerate(action_NHA):
            for action in action_HA:
                one = repeat_action(self._raw, action.astype(np.float32), repeat)
                out[n] += one.reward
                if one.is_terminal:
                    break
            self._raw.restore(start)
        return out


class CemExpert:
    """Plans on a copy of the simulator's state, executes the first steps of the best plan found, and plans again from there.

    A diagonal Gaussian per agent step; the noise is correlated in time (AR(1)), since control steps are short. The mean of the last plan,
    moved forward, starts the next one; its best plan is a candidate too.

    Args:
        candidates, elites, iterations, horizon, execute: see `CemExpert` in veridream.params.model.
    """

    STD, FLOOR, MEMORY = 0.7, 0.1, 0.5

    def __init__(self, candidates: int, elites: int, iterations: int, horizon: int, execute: int) -> None:
        if not elites <= candidates or not execute <= horizon:
            raise ValueError(f"CEM expert: elites ({elites}) <= candidates ({candidates}) and execute ({execute}) <= horizon ({horizon}) must hold")
        self.candidates, self.elites, self.iterations, self.horizon, self.execute = candidates, elites, iterations, horizon, execute
        self._plan: np.ndarray | None = None
        self._next = 0

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        self._plan, self._next = None, 0

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        if self._plan is None or self._next == self.execute:
            self._plan, self._next = self._search(env, rng), 0
        action: np.ndarray = self._plan[self._next]
        self._next += 1
        return action

    def _search(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        """The best plan [horizon, action_dim] found."""
        planner = env.raw.planner() if hasattr(env.raw, "planner") else SimulatorPlanner(env.raw)
        shape = (self.horizon, env.action_dim)
        mean = np.zeros(shape)
        if self._plan is not None:
            mean[: -self.execute or None] = self._plan[self.execute :]
        std = np.full(shape, self.STD)
        best, best_return = mean, -np.inf
        for _ in range(self.iterations):
            plans = np.clip(mean + std * self._noise(rng, env.action_dim), -1.0, 1.0)
            plans[0] = best
            returns = planner.returns(plans, env.repeat)
            elite = plans[np.argsort(-returns, kind="stable")[: self.elites]]
            mean, std = elite.mean(axis=0), np.maximum(elite.std(axis=0), self.FLOOR)
            top = int(np.argmax(returns))
            if returns[top] > best_return:
                best, best_return = plans[top], float(returns[top])
        return best

    def _noise(self, rng: np.random.Generator, action_dim: int) -> np.ndarray:
        """Unit-variance noise [candidates, horizon, action_dim], AR(1) over time."""
        white = rng.standard_normal((self.horizon, self.candidates, action_dim))
        for t in range(1, self.horizon):
            white[t] = self.MEMORY * white[t - 1] + np.sqrt(1.0 - self.MEMORY**2) * white[t]
        return white.swapaxes(0, 1)
