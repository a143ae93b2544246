"""The behaviours that data is collected with (paper, Sec. 3.0): no-op, random, expert, transformed expert, structured noise on the expert.

A behaviour is made anew for every episode, after the reset; its parameters are drawn from the episode's own generator and stored with it.
`switched` puts the others one after the other within an episode (App. D).
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from veridream import spec
from veridream.envs.base import Env
from veridream.envs.experts import Expert

TRANSFORMS = ("scale", "dropout", "flip", "zero", "repeat")
NOISES = ("gaussian", "ou", "mix")
ExpertFactory = Callable[[], Expert]


class Behaviour(Protocol):
    """`parameters` says what was drawn for this episode (JSON-ready); `act` gives the next action, float32 [action_dim] in [-1, 1].

    `acting` names what gave the last action: the behaviour itself, or the one whose segment it is.
    """

    parameters: dict[str, Any]

    @property
    def acting(self) -> str: ...

    def act(self) -> np.ndarray: ...


def make_behaviour(name: str, env: Env, expert_factory: ExpertFactory, rng: np.random.Generator, switching: Mapping[str, Any] | None = None) -> Behaviour:
    """The behaviour of one episode, whose environment has just been reset.

    Args:
        name: noop, random, expert, transformed, noise or switched. (curiosity is a planner in the world model, human a person at the keys.)
        env: the environment; only read.
        expert_factory: makes the task's expert; called where an expert acts, once an episode.
        rng: the episode's generator; all that a behaviour draws comes from it.
        switching: the params `collect.switched` (shortest, longest, weights); for switched alone.
    Raises:
        ValueError: unknown name; switched without params, or with no weight on anything that the task can have.
    """
    match name:
        case "noop":
            return Noop(env)
        case "random":
            return Random(env, rng)
        case "expert":
            return Follow(env, expert_factory(), rng)
        case "transformed":
            return Transformed(env, expert_factory(), rng)
        case "noise":
            return Noisy(env, expert_factory(), rng)
        case "switched":
            if switching is None:
                raise ValueError(f"{env.task.id}: switched behaviour without its params; give collect.switched")
            return Switched(env, expert_factory, rng, **switching)
    raise ValueError(f"unknown behaviour {name!r}; known: {', '.join(spec.SEGMENTS)}, switched")


def segment_weights(weights: Mapping[str, float], has_expert: bool) -> dict[str, float]:
    """The weights of what a task can have, in the order of spec.SEGMENTS, summing to 1; empty when nothing is left."""
    possible = {b: weights[b] for b in spec.SEGMENTS if weights.get(b, 0.0) > 0 and (has_expert or b not in spec.EXPERT_BEHAVIOURS)}
    total = sum(possible.values())
    return {b: w / total for b, w in possible.items()}


class Noop:
    """Zeros."""

    acting = "noop"

    def __init__(self, env: Env) -> None:
        self.parameters: dict[str, Any] = {}
        self._zero = np.zeros(env.action_dim, dtype=np.float32)

    def act(self) -> np.ndarray:
        return self._zero.copy()


class Random:
    """Uniform on [-1, 1], each step anew."""

    acting = "random"

    def __init__(self, env: Env, rng: np.random.Generator) -> None:
        self.parameters: dict[str, Any] = {}
        self._rng, self._dim = rng, env.action_dim

    def act(self) -> np.ndarray:
        return self._rng.uniform(-1.0, 1.0, self._dim).astype(np.float32)


class Follow:
    """The expert's actions; the base of the behaviours that change them in `change`."""

    acting = "expert"

    def __init__(self, env: Env, expert: Expert, rng: np.random.Generator) -> None:
        self.parameters: dict[str, Any] = {}
        self._env, self._expert, self._rng = env, expert, rng
        expert.reset(env, rng)

    def act(self) -> np.ndarray:
        action = np.asarray(self._expert.act(self._env, self._rng), dtype=np.float64)
        return np.clip(self.change(action), -1.0, 1.0).astype(np.float32)

    def change(self, action: np.ndarray) -> np.ndarray:
        return action


class Transformed(Follow):
    """One transformation an episode.

    scale: times `strength` in [0, 1]. dropout: each dimension is zero with probability `strength`. flip: the dimensions in `dims` change
    sign. zero: the whole action is zero with probability `strength`. repeat: the previous action again with probability `strength`.
    """

    acting = "transformed"

    def __init__(self, env: Env, expert: Expert, rng: np.random.Generator) -> None:
        super().__init__(env, expert, rng)
        kind = TRANSFORMS[rng.integers(len(TRANSFORMS))]
        self.parameters = {"kind": kind}
        if kind == "flip":
            n = int(rng.integers(1, env.action_dim + 1))
            self.parameters["dims"] = sorted(int(d) for d in rng.choice(env.action_dim, n, replace=False))
        else:
            self.parameters["strength"] = float(rng.uniform(0.0, 1.0) if kind == "scale" else rng.uniform(0.2, 0.9))
        self._previous = np.zeros(env.action_dim)

    def change(self, action: np.ndarray) -> np.ndarray:
        self._previous = self._changed(action)
        return self._previous

    def _changed(self, action: np.ndarray) -> np.ndarray:
        kind, strength = self.parameters["kind"], self.parameters.get("strength", 0.0)
        if kind == "scale":
            return action * strength
        if kind == "flip":
            signs = np.ones_like(action)
            signs[self.parameters["dims"]] = -1.0
            return action * signs
        if kind == "dropout":
            return action * (self._rng.random(action.shape) >= strength)
        struck = self._rng.random() < strength
        if kind == "zero":
            return np.zeros_like(action) if struck else action
        return self._previous if struck else action


class Noisy(Follow):
    """One kind of noise an episode.

    gaussian: white, standard deviation `sigma`. ou: an Ornstein-Uhlenbeck process, x <- (1 - theta) x + sigma sqrt(2 theta - theta^2) n, whose
    stationary standard deviation is `sigma`. mix: (1 - weight) times the expert's action plus weight times a uniform one.
    """

    acting = "noise"

    def __init__(self, env: Env, expert: Expert, rng: np.random.Generator) -> None:
        super().__init__(env, expert, rng)
        kind = NOISES[rng.integers(len(NOISES))]
        self.parameters = {"kind": kind}
        if kind == "mix":
            self.parameters["weight"] = float(rng.uniform(0.2, 0.9))
        else:
            self.parameters["sigma"] = float(rng.uniform(0.1, 0.9))
        if kind == "ou":
            self.parameters["theta"] = float(rng.uniform(0.05, 0.5))
        self._x = self.parameters.get("sigma", 0.0) * rng.standard_normal(env.action_dim)  # of the stationary distribution

    def change(self, action: np.ndarray) -> np.ndarray:
        p = self.parameters
        if p["kind"] == "mix":
            return (1.0 - p["weight"]) * action + p["weight"] * self._rng.uniform(-1.0, 1.0, action.shape)
        n = self._rng.standard_normal(action.shape)
        if p["kind"] == "gaussian":
            return action + p["sigma"] * n
        theta = p["theta"]
        self._x = (1.0 - theta) * self._x + p["sigma"] * np.sqrt(2.0 * theta - theta**2) * n
        return action + self._x


class Switched:
    """Segments of `shortest` to `longest` agent steps (uniform); what acts in each is drawn by weight, with parameters of its own.

    Draws are independent: the same behaviour may follow itself, and its share of the steps is its weight. An expert is reset where its
    segment begins, so it goes on from wherever the others have brought the environment. `parameters["segments"]` has an entry a segment:
    behaviour, steps (taken, not drawn: the episode may end first) and what that behaviour drew.
    """

    def __init__(self, env: Env, expert_factory: ExpertFactory, rng: np.random.Generator, shortest: int, longest: int, weights: Mapping[str, float]) -> None:
        if not 1 <= shortest <= longest:
            raise ValueError(f"{env.task.id}: segments of {shortest} to {longest} steps; collect.switched needs 1 <= shortest <= longest")
        self._env, self._rng, self._lengths = env, rng, (shortest, longest)
        self._expert = functools.cache(expert_factory)
        self._weights = segment_weights(weights, env.task.expert is not None)
        if not self._weights:
            raise ValueError(f"{env.task.id}: it has no expert, and collect.switched.weights gives nothing to noop and random")
        self.parameters: dict[str, Any] = {"segments": []}
        self._left = 0  # steps of this segment

    @property
    def acting(self) -> str:
        return self._behaviour.acting

    def act(self) -> np.ndarray:
        if self._left == 0:
            self._begin()
        self._left -= 1
        self.parameters["segments"][-1]["steps"] += 1
        return self._behaviour.act()

    def _begin(self) -> None:
        shortest, longest = self._lengths
        self._left = int(self._rng.integers(shortest, longest + 1))
        name = str(self._rng.choice(list(self._weights), p=list(self._weights.values())))
        self._behaviour = make_behaviour(name, self._env, self._expert, self._rng)
        self.parameters["segments"].append({"behaviour": name, "steps": 0, **self._behaviour.parameters})
