"""Box2D tasks: lunarlander-hover, on gymnasium's LunarLander with continuous actions and a reward of its own.

Drawn here, not by the package: its picture costs 10 ms and shows the lander 2 pixels wide at 32x32. The world is made anew at every reset.
"""

import importlib.metadata
from typing import Any

import numpy as np

from veridream.envs.base import Determinism, NotSupported, Quality, RawStep
from veridream.params.tasks import Task

HOVER = (0.0, 0.7)  # the point to stay at, in the package's normalised coordinates
NEAR = 0.5  # distance at which the reward is 1/e of the best
START = ((-0.35, 0.35), (0.7, 1.2))  # x, y of the start, uniform, in the same coordinates (the package starts every episode at (0, 1.4))
VIEW, FLOOR = 10.4, 2.4  # metres: side of the square that is drawn, centred on the pad's column, and the height of its lower edge
WIDTH, HEIGHT, SCALE = 600 / 30.0, 400 / 30.0, 30.0
OVERSAMPLE = 128  # pixels; smaller frames are drawn about this large and averaged down


def make(task: Task, size: int, quality: Quality) -> "LunarHover":
    """The adapter of a task of this domain. The quality is ignored: there is nothing to leave out."""
    if task.id != "lunarlander-hover":
        raise ValueError(f"no adapter for Box2D task {task.id}")
    return LunarHover(size)


def hover_reward(x: float, y: float, vx: float, vy: float, angle: float) -> float:
    """Reward in [0, 1] of one control step: near the hover point, upright, and slow. Normalised coordinates, radians."""
    near = float(np.exp(-((x - HOVER[0]) ** 2 + (y - HOVER[1]) ** 2) / NEAR**2))
    slow = 1.0 / (1.0 + (vx**2 + vy**2) / 0.5**2)
    upright = max(0.0, float(np.cos(angle)))
    return near * upright * (0.5 + 0.5 * slow)


class LunarHover:
    """State: x, y, vx, vy (normalised as in the package), angle (rad), angular velocity, left and right leg contact.

    Actions: main engine (off below 0, 50 to 100 % above), side engines (off within 0.5 of 0).
    """

    state_dim = 8
    action_dim = 2
    determinism: Determinism = "bitwise"

    def __init__(self, size: int) -> None:
        from gymnasium.envs.box2d.lunar_lander import LunarLander

        self._make = lambda: LunarLander(continuous=True)
        self._env: Any = self._make()
        self._size = size
        self._observation = np.zeros(8, dtype=np.float32)
        self._fired = (0.0, 0.0)
        self.versions = {k: importlib.metadata.version(k) for k in ("gymnasium", "Box2D", "pygame-ce")}
        self.renderer = f"veridream polygons, {max(1, OVERSAMPLE // size)} samples a pixel side; view {VIEW:g} m"

    def reset(self, seed: int) -> None:
        self._env.close()
        self._env = self._make()
        self._observation, _ = self._env.reset(seed=seed)
        self._place(*(np.random.default_rng(seed).uniform(*np.transpose(START))))
        self._fired = (0.0, 0.0)

    def _place(self, x: float, y: float) -> None:
        """Moves the lander and its legs; speed and shape stay as they are."""
        dx, dy = (x - float(self._observation[0])) * WIDTH / 2.0, (y - float(self._observation[1])) * HEIGHT / 2.0
        for body in self._env.drawlist:
            body.position = (body.position[0] + dx, body.position[1] + dy)
        self._observation[:2] = x, y

    def step(self, action: np.ndarray) -> RawStep:
        self._observation, _, terminal, _, _ = self._env.step(np.asarray(action, dtype=np.float64))
        main, side = float(action[0]), float(action[1])
        self._fired = ((1.0 + main) / 2.0 if main > 0 else 0.0, side if abs(side) > 0.5 else 0.0)
        x, y, vx, vy, angle = (float(v) for v in self._observation[:5])
        crashed = bool(terminal)
        return RawStep(0.0 if crashed else hover_reward(x, y, vx, vy, angle), crashed)

    def state(self) -> np.ndarray:
        return self._observation.copy()

    def snapshot(self) -> Any:
        raise NotSupported("lunarlander-hover: Box2D cannot save and restore its contact state")

    def restore(self, snap: Any) -> None:
        raise NotSupported("lunarlander-hover: Box2D cannot save and restore its contact state")

    def close(self) -> None:
        self._env.close()

    def render(self) -> np.ndarray:
        """Sky, ground, body, legs, and a flame where an engine fired in the last control step."""
        import pygame

        from veridream.envs.mujoco_render import shrink

        k = max(1, OVERSAMPLE // self._size)
        side = self._size * k
        surface = pygame.Surface((side, side))
        surface.fill((10, 10, 40))

        def polygon(colour: tuple[int, int, int], points: Any) -> None:
            pygame.draw.polygon(surface, colour, [self._pixel(p, side) for p in points])

        for p1, p2, *_ in self._env.sky_polys:
            polygon((190, 190, 200), [p1, p2, (p2[0], 0.0), (p1[0], 0.0)])
        left, right, pad = self._env.helipad_x1, self._env.helipad_x2, self._env.helipad_y
        polygon((230, 200, 40), [(left, pad), (right, pad), (right, pad - 0.4), (left, pad - 0.4)])
        for flame in self._flames():
            polygon((255, 140, 30), flame)
        for body, colour in zip(self._env.drawlist, ((150, 110, 255), (110, 230, 120), (110, 230, 120)), strict=True):
            for fixture in body.fixtures:
                polygon(colour, [body.transform * v for v in fixture.shape.vertices])
        return shrink(np.ascontiguousarray(pygame.surfarray.array3d(surface).swapaxes(0, 1)), k)

    @staticmethod
    def _pixel(point: Any, side: int) -> tuple[float, float]:
        return (point[0] - (WIDTH - VIEW) / 2.0) * side / VIEW, side - (point[1] - FLOOR) * side / VIEW

    def _flames(self) -> list[list[Any]]:
        """Triangles in world coordinates, as long as the engine was strong."""
        main, sideways = self._fired
        at = self._env.lander.transform
        out = []
        if main > 0:
            out.append([at * (-0.35, -0.3), at * (0.35, -0.3), at * (0.0, -0.4 - 1.3 * main)])
        if sideways:
            s = float(np.sign(sideways))  # a positive command fires the engine on the left
            out.append([at * (-0.55 * s, 0.2), at * (-0.55 * s, 0.6), at * (-s * (0.7 + 0.8 * abs(sideways)), 0.4)])
        return out
