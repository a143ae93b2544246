"""What the games share: a frozen scene as the whole physical state, one random stream seeded by reset, exact snapshots.

A game is four functions of its scene: `start`, `advance`, `observe`, `paint`. All that can change lies in the scene and in the random
stream, so a snapshot is those two and the same seed and actions give the same bits.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from veridream.envs.base import Determinism, RawStep
from veridream.envs.miniarcade.canvas import Canvas

PIXEL = 1 / 32  # sizes and speeds are given in pixels of a 32 x 32 image; objects are at least 4 of them across


class Scene(Protocol):
    """Any frozen dataclass of floats and flags with these two."""

    @property
    def success(self) -> bool: ...  # reached at some control step since the reset; never lost again

    @property
    def over(self) -> bool: ...  # the game's own end


S = TypeVar("S", bound=Scene)


@dataclass(frozen=True)
class Snapshot(Generic[S]):
    scene: S
    rng: Mapping[str, Any]  # state of the bit generator


class Game(ABC, Generic[S]):
    """One game as a `RawEnv`. Subclasses set `state_dim` and `action_dim` and give the four functions."""

    state_dim: int
    action_dim: int
    determinism: Determinism = "bitwise"

    def __init__(self, canvas: Canvas) -> None:
        self.versions, self.renderer = canvas.versions, canvas.renderer
        self._canvas = canvas
        self._rng = np.random.default_rng(0)
        self._scene: S | None = None
        self.paint_backdrop(canvas)
        canvas.keep_backdrop()

    @property
    def scene(self) -> S:
        """The scene now. Raises RuntimeError before the first reset."""
        if self._scene is None:
            raise RuntimeError(f"{type(self).__name__}: no episode yet; call reset(seed) first")
        return self._scene

    def reset(self, seed: int) -> None:
        """Starts the episode of that seed (any non-negative int); nothing of an earlier one is left."""
        self._rng = np.random.default_rng(seed)
        self._scene = self.start(self._rng)

    def step(self, action: np.ndarray) -> RawStep:
        """One control step with a float [action_dim] action in [-1, 1]. Raises RuntimeError after the game's end."""
        if self.scene.over:
            raise RuntimeError(f"{type(self).__name__}: the game is over; call reset(seed) first")
        self._scene, reward = self.advance(self.scene, tuple(float(a) for a in action), self._rng)
        return RawStep(reward, self.scene.over, self.scene.success)

    def render(self) -> np.ndarray:
        """The current frame, uint8 [size, size, 3]."""
        self._canvas.begin()
        self.paint(self._canvas, self.scene)
        return self._canvas.frame()

    def state(self) -> np.ndarray:
        """The low-dimensional state, float32 [state_dim]."""
        return np.array(self.observe(self.scene), dtype=np.float32)

    def snapshot(self) -> Snapshot[S]:
        """Scene and random stream; `restore` continues from it bit for bit."""
        return Snapshot(self.scene, self._rng.bit_generator.state)

    def restore(self, snap: Snapshot[S]) -> None:
        """Back to a snapshot of this game, in this or in another environment of the same task."""
        self._scene = snap.scene
        self._rng.bit_generator.state = dict(snap.rng)

    def close(self) -> None:
        """Nothing to free: surfaces are plain memory."""

    @abstractmethod
    def start(self, rng: np.random.Generator) -> S: ...

    @abstractmethod
    def advance(self, scene: S, action: tuple[float, ...], rng: np.random.Generator) -> tuple[S, float]: ...

    @abstractmethod
    def observe(self, scene: S) -> tuple[float, ...]: ...

    @abstractmethod
    def paint_backdrop(self, canvas: Canvas) -> None: ...

    @abstractmethod
    def paint(self, canvas: Canvas, scene: S) -> None: ...
