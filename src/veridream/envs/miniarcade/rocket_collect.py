"""pygame-rocket-collect: turn and fire a rocket that glides, and collect star after star.

Action 0 turns the rocket; action 1 above 0 fires its engine along its nose. Drag slows it down; the sides throw it back at half its speed.
Reward of a control step: the decrease of the distance to the star, in image sides, plus 1 for a star; another then lights up elsewhere.
`success`: `STARS` collected. State: [x, y, vx, vy, heading, star_x, star_y]: velocities in unit lengths a control step, heading in radians
in [-pi, pi) against the x axis.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Point
from veridream.envs.miniarcade.experts import drive, hold
from veridream.envs.miniarcade.game import PIXEL, Game
from veridream.envs.miniarcade.reacher_easy import wrap

TURN = 0.25  # radians a control step
THRUST = 0.16 * PIXEL  # unit lengths a control step squared
DRAG = 0.06  # share of the velocity lost a control step
BOUNCE = 0.5
HALF_LENGTH, RADIUS = 1.9 * PIXEL, 2.1 * PIXEL  # of the hull
EDGE = 3 * PIXEL  # of the rocket's middle from the sides, at least
STAR_RADIUS = 2.6 * PIXEL
REACH = 4.2 * PIXEL  # of the two middles, when a star is collected
APART = 10 * PIXEL  # rocket and new star, at least
STARS = 5

DEEP, NEBULA, HULL, NOSE, FLAME, STAR, GLOW = (4, 58, 70), (8, 76, 88), (240, 240, 236), (236, 64, 72), (255, 150, 40), (255, 226, 70), (120, 130, 50)


@dataclass(frozen=True)
class RocketScene:
    x: float
    y: float
    vx: float
    vy: float
    heading: float
    star: Point
    fire: float = 0.0  # the engine's share in the last control step; only for the picture
    stars: int = 0
    success: bool = False
    over: bool = False  # never


class RocketCollect(Game[RocketScene]):
    """The game; see the module."""

    state_dim = 7
    action_dim = 2

    def start(self, rng: np.random.Generator) -> RocketScene:
        """At rest anywhere, any heading."""
        x, y = (float(rng.uniform(EDGE, 1 - EDGE)) for _ in range(2))
        return RocketScene(x, y, 0.0, 0.0, float(rng.uniform(-math.pi, math.pi)), self._star(x, y, rng))

    @staticmethod
    def _star(x: float, y: float, rng: np.random.Generator) -> Point:
        while True:
            star = float(rng.uniform(EDGE, 1 - EDGE)), float(rng.uniform(EDGE, 1 - EDGE))
            if math.dist(star, (x, y)) > APART:
                return star

    def advance(self, scene: RocketScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[RocketScene, float]:
        """Turns, fires, glides; then the sides and the star."""
        heading, fire = wrap(scene.heading + TURN * action[0]), max(action[1], 0.0)
        vx = (1 - DRAG) * scene.vx + THRUST * fire * math.cos(heading)
        vy = (1 - DRAG) * scene.vy + THRUST * fire * math.sin(heading)
        x, y = scene.x + vx, scene.y + vy
        if not EDGE <= x <= 1 - EDGE:
            x, vx = min(max(x, EDGE), 1 - EDGE), -BOUNCE * vx
        if not EDGE <= y <= 1 - EDGE:
            y, vy = min(max(y, EDGE), 1 - EDGE), -BOUNCE * vy
        away = math.dist((x, y), scene.star)
        reward = math.dist((scene.x, scene.y), scene.star) - away
        scene = replace(scene, x=x, y=y, vx=vx, vy=vy, heading=heading, fire=fire)
        if away > REACH:
            return scene, reward
        stars = scene.stars + 1
        return replace(scene, star=self._star(x, y, rng), stars=stars, success=stars >= STARS), reward + 1.0

    def observe(self, scene: RocketScene) -> tuple[float, ...]:
        """[x, y, vx, vy, heading, star_x, star_y]."""
        return scene.x, scene.y, scene.vx, scene.vy, scene.heading, *scene.star

    def paint_backdrop(self, canvas: Canvas) -> None:
        """The deep, with two clouds in it."""
        canvas.fill(DEEP)
        canvas.disc((0.25, 0.75), 7 * PIXEL, NEBULA)
        canvas.disc((0.8, 0.2), 5 * PIXEL, NEBULA)

    def paint(self, canvas: Canvas, scene: RocketScene) -> None:
        """Star, flame, hull, nose."""
        canvas.disc(scene.star, STAR_RADIUS + 0.8 * PIXEL, GLOW)
        canvas.disc(scene.star, STAR_RADIUS, STAR)
        dx, dy = math.cos(scene.heading), math.sin(scene.heading)

        def along(distance: float) -> Point:
            return scene.x + distance * dx, scene.y + distance * dy

        if scene.fire > 0:
            canvas.capsule(along(-HALF_LENGTH), along(-HALF_LENGTH - (1.5 + 2.5 * scene.fire) * PIXEL), 1.4 * PIXEL, FLAME)
        canvas.capsule(along(-HALF_LENGTH), along(HALF_LENGTH), RADIUS, HULL)
        canvas.disc(along(HALF_LENGTH + 0.6 * PIXEL), 1.5 * PIXEL, NOSE)


class RocketCollectPlayer:
    """Turns into the velocity that it lacks for flying straight at the star, and fires when it points there."""

    CRUISE = 1.7 * PIXEL  # unit lengths a control step
    POINTING = 0.7  # radians

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """[turn, fire], float32 [2]."""
        x, y, vx, vy, heading, star_x, star_y = map(float, env.state())
        held = hold(env)
        away = max(math.dist((x, y), (star_x, star_y)), 1e-9)
        lack_x, lack_y = self.CRUISE * (star_x - x) / away - vx, self.CRUISE * (star_y - y) / away - vy
        error = wrap(math.atan2(lack_y, lack_x) - heading)
        turn = drive([error], TURN, held)[0]
        fire = 1.0 if abs(error) < self.POINTING and math.hypot(lack_x, lack_y) > THRUST else 0.0
        return np.array([turn, fire], dtype=np.float32)
