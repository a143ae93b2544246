"""A drawing surface in unit coordinates whose edges come out anti-aliased: drawn large with pygame, averaged down."""

import math

import numpy as np

from veridream.envs.base import Quality

Colour = tuple[int, int, int]
Point = tuple[float, float]
SCALE = {"fast": 4, "full": 8}  # canvas pixels per image pixel, at least
LEAST = {"fast": 256, "full": 512}  # canvas side, at least: small images move in finer steps


class Canvas:
    """A square drawing surface, x to the right and y up, both in [0, 1].

    Args:
        size: image side, pixels.
        quality: how much larger than the image the surface is.
    Raises:
        ImportError: pygame-ce is not installed.
    """

    def __init__(self, size: int, quality: Quality) -> None:
        import pygame

        self._pygame = pygame
        scale = max(SCALE[quality], -(-LEAST[quality] // size))
        self.size, self._side = size, size * scale
        self._surface = pygame.Surface((self._side, self._side), 0, 32)
        self._small = pygame.Surface((size, size), 0, 32)
        self._backdrop = self._surface.copy()
        self.versions = {"pygame-ce": pygame.version.ver, "sdl": ".".join(map(str, pygame.get_sdl_version()))}
        self.renderer = f"pygame {quality} x{scale} {pygame.transform.get_smoothscale_backend().lower()}"

    def fill(self, colour: Colour) -> None:
        """Paints the whole surface."""
        self._surface.fill(colour)

    def rectangle(self, left: float, bottom: float, width: float, height: float, colour: Colour, rounding: float = 0.0) -> None:
        """A filled rectangle, its corners rounded off by `rounding`."""
        x0, x1 = round(left * self._side), round((left + width) * self._side)
        y0, y1 = round((1 - bottom - height) * self._side), round((1 - bottom) * self._side)
        self._pygame.draw.rect(self._surface, colour, (x0, y0, x1 - x0, y1 - y0), border_radius=round(rounding * self._side))

    def disc(self, centre: Point, radius: float, colour: Colour) -> None:
        """A filled disc."""
        x, y = round(centre[0] * self._side), round((1 - centre[1]) * self._side)
        self._pygame.draw.circle(self._surface, colour, (x, y), round(radius * self._side))

    def capsule(self, start: Point, end: Point, radius: float, colour: Colour) -> None:
        """A thick line from start to end with round ends."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        dx, dy = -math.sin(angle) * radius, math.cos(angle) * radius
        corners = [(start[0] + dx, start[1] + dy), (end[0] + dx, end[1] + dy), (end[0] - dx, end[1] - dy), (start[0] - dx, start[1] - dy)]
        self._pygame.draw.polygon(self._surface, colour, [(round(x * self._side), round((1 - y) * self._side)) for x, y in corners])
        self.disc(start, radius, colour)
        self.disc(end, radius, colour)

    def keep_backdrop(self) -> None:
        """Remembers what is painted now as the backdrop that `begin` starts from."""
        self._backdrop.blit(self._surface, (0, 0))

    def begin(self) -> None:
        """Starts a frame: the backdrop alone."""
        self._surface.blit(self._backdrop, (0, 0))

    def frame(self) -> np.ndarray:
        """What is painted now, averaged down: uint8 [size, size, 3], a copy."""
        self._pygame.transform.smoothscale(self._surface, (self.size, self.size), self._small)
        return np.ascontiguousarray(self._pygame.surfarray.pixels3d(self._small).swapaxes(0, 1))
