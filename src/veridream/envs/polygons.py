"""Flat polygons in world coordinates, seen by a camera that looks straight on: the pictures of the Box2D tasks."""

from collections.abc import Iterable
from typing import Any

import numpy as np

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
