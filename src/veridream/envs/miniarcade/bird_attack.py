"""pygame-bird-attack: a hawk sweeps over a meadow, back and forth; make it dive on the rabbit and climb over the bush.

The hawk flies on by itself and turns at the sides; the action is its vertical velocity times `CLIMB`. The rabbit hops to and fro on its side of
the bush; once caught, another sits down elsewhere. A hawk that hits the bush turns round. Where the bush stands is drawn by the reset.
Reward: +1 for a rabbit, -1 for a hit of the bush. `success`: `PREY` points ahead.
State: [x, y, vx, rabbit_x, rabbit_v, bush_x], velocities in unit lengths a control step.
"""

from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.experts import drive, hold
from veridream.envs.miniarcade.game import PIXEL, Game

GROUND = 5 * PIXEL  # height of the meadow
SPEED, CLIMB = 1.0 * PIXEL, 1.8 * PIXEL  # of the hawk, unit lengths a control step
RADIUS, HALF_LENGTH = 2.2 * PIXEL, 1.8 * PIXEL  # of the hawk's body
TURN_AT = 4 * PIXEL  # of the hawk's middle from the sides
LOWEST, HIGHEST = GROUND + RADIUS, 1 - 3 * PIXEL
BUSH_HALF, BUSH_HEIGHT = 2.5 * PIXEL, 7 * PIXEL
BUSHES = 14 * PIXEL, 18 * PIXEL  # least and most of its x
CLEAR = 9 * PIXEL  # of a rabbit's middle from the bush's, at least
RABBIT_RADIUS = 2.2 * PIXEL
HOP = 0.4 * PIXEL  # of a rabbit, unit lengths a control step
REACH = 3.6 * PIXEL  # of the two middles, when a rabbit is caught
HURT = 4  # control steps the hawk shows a hit
PREY = 6

DAWN, SUN, MEADOW, BUSH, BERRY = (248, 184, 160), (255, 226, 160), (92, 156, 60), (18, 84, 44), (150, 40, 90)
BODY, WING, HIT, RABBIT, EAR = (64, 40, 92), (110, 80, 150), (240, 40, 40), (255, 252, 244), (206, 160, 150)


@dataclass(frozen=True)
class BirdScene:
    x: float
    y: float
    vx: float
    rabbit_x: float
    rabbit_v: float
    bush: float
    hurt: int = 0
    points: int = 0
    success: bool = False
    over: bool = False  # never


def room(x: float, bush: float) -> tuple[float, float]:
    """Between which places a rabbit at x hops."""
    return (RABBIT_RADIUS, bush - CLEAR) if x < bush else (bush + CLEAR, 1 - RABBIT_RADIUS)


def in_bush(x: float, y: float, bush: float) -> bool:
    """Whether the hawk touches the bush."""
    return abs(x - bush) < BUSH_HALF + HALF_LENGTH + 0.5 * RADIUS and y < GROUND + BUSH_HEIGHT + 0.8 * RADIUS


class BirdAttack(Game[BirdScene]):
    """The game; see the module."""

    state_dim = 6
    action_dim = 1

    def start(self, rng: np.random.Generator) -> BirdScene:
        """The hawk high up, going either way."""
        bush = float(rng.uniform(*BUSHES))
        x, y = float(rng.uniform(TURN_AT, 1 - TURN_AT)), float(rng.uniform(0.65, HIGHEST))
        scene = BirdScene(x, y, SPEED if rng.random() < 0.5 else -SPEED, 0.0, 0.0, bush)
        return self._rabbit(scene, rng)

    @staticmethod
    def _rabbit(scene: BirdScene, rng: np.random.Generator) -> BirdScene:
        """Another rabbit, not where the hawk is."""
        while True:
            x = float(rng.uniform(RABBIT_RADIUS, 1 - RABBIT_RADIUS))
            if abs(x - scene.bush) > CLEAR and abs(x - scene.x) > 2 * REACH:
                return replace(scene, rabbit_x=x, rabbit_v=HOP if rng.random() < 0.5 else -HOP)

    def advance(self, scene: BirdScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[BirdScene, float]:
        """Moves hawk and rabbit, then looks what the hawk has hit."""
        x, vx = scene.x + scene.vx, scene.vx
        if not TURN_AT <= x <= 1 - TURN_AT:
            x, vx = (2 * TURN_AT if x < 0.5 else 2 * (1 - TURN_AT)) - x, -vx
        y = min(max(scene.y + CLIMB * action[0], LOWEST), HIGHEST)
        low, high = room(scene.rabbit_x, scene.bush)
        there = scene.rabbit_x + scene.rabbit_v
        rabbit_x, rabbit_v = (there, scene.rabbit_v) if low <= there <= high else (scene.rabbit_x, -scene.rabbit_v)
        scene = replace(scene, x=x, y=y, vx=vx, rabbit_x=rabbit_x, rabbit_v=rabbit_v, hurt=max(scene.hurt - 1, 0))
        reward = 0
        if in_bush(x, y, scene.bush):
            away = 1.0 if x > scene.bush else -1.0
            edge = BUSH_HALF + HALF_LENGTH + 0.5 * RADIUS
            scene, reward = replace(scene, x=scene.bush + away * edge, vx=away * SPEED, hurt=HURT), -1
        elif max(abs(x - rabbit_x) - HALF_LENGTH, 0.0) ** 2 + (y - GROUND - RABBIT_RADIUS) ** 2 <= REACH**2:
            scene, reward = self._rabbit(scene, rng), 1
        points = scene.points + reward
        return replace(scene, points=points, success=scene.success or points >= PREY), float(reward)

    def observe(self, scene: BirdScene) -> tuple[float, ...]:
        """[x, y, vx, rabbit_x, rabbit_v, bush_x]."""
        return scene.x, scene.y, scene.vx, scene.rabbit_x, scene.rabbit_v, scene.bush

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Dawn, the sun, the meadow."""
        canvas.fill(DAWN)
        canvas.disc((0.8, 0.8), 4 * PIXEL, SUN)
        canvas.rectangle(0.0, 0.0, 1.0, GROUND, MEADOW)

    def paint(self, canvas: Canvas, scene: BirdScene) -> None:
        """Bush, rabbit, hawk; the hawk is red after a hit."""
        canvas.rectangle(scene.bush - BUSH_HALF, GROUND - PIXEL, 2 * BUSH_HALF, BUSH_HEIGHT + PIXEL, BUSH, rounding=2 * PIXEL)
        canvas.disc((scene.bush, GROUND + 0.6 * BUSH_HEIGHT), PIXEL, BERRY)
        rabbit = scene.rabbit_x, GROUND + RABBIT_RADIUS
        canvas.capsule(rabbit, (rabbit[0], rabbit[1] + 2.5 * PIXEL), 0.8 * PIXEL, EAR)
        canvas.disc(rabbit, RABBIT_RADIUS, RABBIT)
        side = 1.0 if scene.vx > 0 else -1.0
        beak, tail = (scene.x + side * HALF_LENGTH, scene.y), (scene.x - side * HALF_LENGTH, scene.y)
        canvas.capsule((scene.x, scene.y), (scene.x - side * 2.5 * PIXEL, scene.y + 2.8 * PIXEL), 1.3 * PIXEL, WING)
        canvas.capsule(tail, beak, RADIUS, HIT if scene.hurt else BODY)
        canvas.disc((beak[0] + side * 1.4 * PIXEL, beak[1]), PIXEL, SUN)


class BirdAttackPlayer:
    """Cruises just above the bush's height and dives when the rabbit is as far ahead as the dive is long."""

    CRUISE = GROUND + BUSH_HEIGHT + RADIUS + PIXEL
    STRIKE = GROUND + RABBIT_RADIUS + 2 * PIXEL

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The climb, float32 [1]."""
        x, y, vx, rabbit_x, rabbit_v, bush = map(float, env.state())
        held, side = hold(env), 1.0 if vx > 0 else -1.0
        edge = BUSH_HALF + HALF_LENGTH + 0.5 * RADIUS
        rabbit_ahead, bush_ahead = side * (rabbit_x - x), side * (bush - x)
        meet = (rabbit_ahead - HALF_LENGTH - 2 * PIXEL) / (SPEED - side * rabbit_v)  # control steps until the rabbit is in reach
        dive, climb = (y - self.STRIKE) / CLIMB, (self.CRUISE - PIXEL - self.STRIKE) / CLIMB + held - 1
        way = bush_ahead if bush_ahead > -edge else 2 * (1 - TURN_AT - x if vx > 0 else x - TURN_AT) - bush_ahead  # to the bush, by way of the side
        near = (rabbit_x > bush) == (x > bush) and rabbit_ahead > -HALF_LENGTH - 2 * PIXEL and meet <= dive + held
        want = self.STRIKE if near and (way - edge) / SPEED - max(meet, dive, 0.0) > climb else self.CRUISE
        return drive([want - y], CLIMB, held)
