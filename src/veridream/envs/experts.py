"""A task's expert: scripted where a script is at hand, else the cross-entropy method (CEM) on the simulator's own equations."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from veridream.envs.base import Env, NotSupported
from veridream.envs.box2d import HEIGHT, HOVER, WIDTH


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
        ValueError: the task has a CEM expert and no budget is given.
    """
    t = env.task
    if t.expert == "cem":
        if not params:
            raise ValueError(f"{t.id}: its expert is CEM on the simulator; the params collect.expert are missing")
        return CemExpert(**params)
    match t.domain:
        case "metaworld":
            from veridream.envs.metaworld import ScriptedPolicy

            return ScriptedPolicy(t)
        case "box2d":
            return HoverPilot()
        case "atari":
            return PongPlayer()
        case "pygame":
            from veridream.envs.miniarcade.experts import make_expert as make_arcade_expert

            return make_arcade_expert(t)
    raise ValueError(f"{t.id}: params/tasks.yaml says expert {t.expert!r}, and the domain {t.domain} has none")


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
        if not hasattr(env.raw, "planner"):
            raise NotSupported(f"{env.task.id}: the simulator has no planner for the CEM expert")
        self._plan, self._next = None, 0

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        if self._plan is None or self._next == self.execute:
            self._plan, self._next = self._search(env, rng), 0
        action: np.ndarray = self._plan[self._next]
        self._next += 1
        return action

    def _search(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        """The best plan [horizon, action_dim] found."""
        planner, shape = env.raw.planner(), (self.horizon, env.action_dim)
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


class HoverPilot:
    """Holds the lander at the hover point: a proportional-derivative loop for height, one for place by tilting, one for the tilt."""

    GRAVITY, THRUST = 10.0, 17.5  # m/s^2; the main engine's at full power

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        pass

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        x, y, vx, vy, angle, spin, _, _ = (float(v) for v in env.state())
        dx, dy = (HOVER[0] - x) * WIDTH / 2, (HOVER[1] - y) * HEIGHT / 2  # metres; the package scales place, speed and spin each in its way
        vx, vy, spin = vx * 50 / (WIDTH / 2), vy * 50 / (HEIGHT / 2), spin * 50 / 20
        power = (self.GRAVITY + 2.0 * dy - 2.5 * vy) / (self.THRUST * max(0.5, np.cos(angle)))
        main = 2.0 * power - 1.0 if power > 0.5 else (0.01 if power > 0.3 else -1.0)
        tilt = np.clip(-(0.8 * dx - 1.6 * vx) / self.GRAVITY, -0.3, 0.3)
        side = -(4.0 * (tilt - angle) - 1.5 * spin)
        return np.clip([main, side], -1.0, 1.0)


class PongPlayer:
    """Moves the paddle to where the ball will be. The paddle has inertia: where it will come to rest counts, not where it is."""

    LEAD = 1.0  # agent steps that the ball's height is extrapolated
    COAST = 0.5  # agent steps that the paddle goes on moving
    CENTRE, DEAD, FAR = 4.0, 6.0, 20.0  # in units of the console's memory: paddle's middle; close enough; too far for a slow move

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        self._last = None

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        _, ball, paddle = (float(v) for v in env.state()[:3])
        if ball == 0.0:  # out of play
            self._last = None
            return np.zeros(3)
        ball_speed, paddle_speed = (ball - self._last[0], paddle - self._last[1]) if self._last is not None else (0.0, 0.0)
        self._last = ball, paddle
        gap = ball + self.LEAD * ball_speed - (paddle + self.COAST * paddle_speed + self.CENTRE)
        if abs(gap) < self.DEAD:
            return np.zeros(3)
        return np.array([1.0 if abs(gap) > self.FAR else 0.1, 1.0 if gap > 0 else 0.0, -1.0])
