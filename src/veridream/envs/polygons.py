"""The Box2D tasks' pictures, flat polygons in world coordinates seen by a camera that looks straight on, and what their worlds share."""

import importlib.metadata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from veridream.envs.base import Determinism, NotSupported, RawStep
from veridream.envs.mujoco_render import shrink

OVERSAMPLE = 128  # pixels; smaller frames are drawn about this large and averaged down
Colour = tuple[int, int, int]


class Canvas:
    """A square picture.

    Args:
        size: side of the frame, pixels.
        view: side of the square of the world that is seen, metres.
    """

    def __init__(self, size: int, view: float) -> None:
        import pygame

        self._draw = pygame.draw.polygon
        self._pixels = pygame.surfarray.array3d
        self.samples = max(1, OVERSAMPLE // size)  # a pixel side
        self._side, self._view = size * self.samples, view
        self._surface = pygame.Surface((self._side, self._side))
        self._left, self._floor = 0.0, 0.0

    def clear(self, colour: Colour, left: float, floor: float) -> None:
        """One colour everywhere; from now on the lower left corner is at (left, floor), metres."""
        self._surface.fill(colour)
        self._left, self._floor = left, floor

    def polygon(self, colour: Colour, points: Iterable[Any]) -> None:
        """A filled polygon; its corners are (x, y) in metres, y upwards."""
        side, view = self._side, self._view
        self._draw(self._surface, colour, [((p[0] - self._left) * side / view, side - (p[1] - self._floor) * side / view) for p in points])

    def body(self, colour: Colour, body: Any) -> None:
        """Every fixture of a Box2D body."""
        for fixture in body.fixtures:
            self.polygon(colour, [body.transform * v for v in fixture.shape.vertices])

    def frame(self) -> np.ndarray:
        """What was drawn, uint8 [size, size, 3]."""
        return shrink(np.ascontiguousarray(self._pixels(self._surface).swapaxes(0, 1)), self.samples)


class Scene(ABC):
    """An adapter of one of gymnasium's Box2D worlds, which is made anew at every reset and drawn by `paint`.

    Args:
        task_id: for messages.
        make: makes the world.
        size: side of the frame, pixels.
        view: side of the square that is seen, metres.
        camera: more about the camera, for the store.
    """

    state_dim: int
    action_dim: int
    determinism: Determinism = "bitwise"

    def __init__(self, task_id: str, make: Callable[[], Any], size: int, view: float, camera: str = "") -> None:
        self._task_id, self._make = task_id, make
        self._env: Any = make()
        self._canvas = Canvas(size, view)
        self.versions = {k: importlib.metadata.version(k) for k in ("gymnasium", "Box2D", "pygame-ce")}
        self.renderer = f"veridream polygons, {self._canvas.samples} samples a pixel side; view {view:g} m{camera}"

    def _renew(self) -> Any:
        """A fresh world in place of the old one."""
        self._env.close()
        self._env = self._make()
        return self._env

    @abstractmethod
    def reset(self, seed: int) -> None: ...

    @abstractmethod
    def step(self, action: np.ndarray) -> RawStep: ...

    @abstractmethod
    def state(self) -> np.ndarray: ...

    @abstractmethod
    def paint(self, canvas: Canvas) -> None:
        """Clears the canvas to where the camera looks now, and draws the world."""

    def render(self) -> np.ndarray:
        self.paint(self._canvas)
        return self._canvas.frame()

    def snapshot(self) -> Any:
        raise NotSupported(f"{self._task_id}: Box2D cannot save and restore its contact state")

    def restore(self, snap: Any) -> None:
        raise NotSupported(f"{self._task_id}: Box2D cannot save and restore its contact state")

    def close(self) -> None:
        self._env.close()
