"""pygame-chase-evade: catch the yellow prey, which runs away, and keep clear of the red hunter, which follows.

Motion is first order: the player's velocity is the action times `SPEED`, in each direction. The hunter goes straight for the player. The prey
strolls until the player is within `SIGHT`, then runs to where it gets farthest away, without leaving the field; both are slower than the player.
Reward: +1 for a catch, after which another prey appears far away; -1 for being caught, after which the hunter starts again from the corner
farthest from the player. `success`: `ENOUGH` prey were caught. State: [x, y, prey_x, prey_y, hunter_x, hunter_y].
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Point
from veridream.envs.miniarcade.experts import drive, hold, ways
from veridream.envs.miniarcade.game import PIXEL, Game

SPEED = 1.4 * PIXEL  # unit lengths a control step
RUN, STROLL, HUNT = 0.9 * PIXEL, 0.45 * PIXEL, 0.75 * PIXEL
SIGHT = 12 * PIXEL
RADIUS, HALF_HUNTER = 2.3 * PIXEL, 2.4 * PIXEL  # of player and prey; half the hunter's side
TOUCH = 4.0 * PIXEL  # distance of two middles that is a catch
FAR = 14 * PIXEL  # of a new prey from the player, at least
ENOUGH = 3
LOW, HIGH = 1 * PIXEL + RADIUS, 1 - 1 * PIXEL - RADIUS  # where a middle may be, in x and in y

FIELD, FENCE, PLAYER, EYE, PREY, HUNTER = (236, 222, 190), (150, 116, 84), (28, 88, 206), (255, 255, 255), (244, 176, 16), (200, 30, 40)
CORNERS = ((LOW, LOW), (LOW, HIGH), (HIGH, LOW), (HIGH, HIGH))


@dataclass(frozen=True)
class ChaseScene:
    x: float
    y: float
    prey: Point
    heading: float  # of the prey, radians
    hunter: Point
    caught: int = 0  # prey so far
    over: bool = False  # never

    @property
    def success(self) -> bool:
        return self.caught >= ENOUGH


def inside(x: float, y: float) -> Point:
    """The nearest point of the field."""
    return min(max(x, LOW), HIGH), min(max(y, LOW), HIGH)


def ahead(start: Point, angle: float, length: float) -> Point:
    """Where a straight walk ends, kept in the field."""
    return inside(start[0] + length * math.cos(angle), start[1] + length * math.sin(angle))


class ChaseEvade(Game[ChaseScene]):
    """The game; see the module."""

    state_dim = 6
    action_dim = 2

    def start(self, rng: np.random.Generator) -> ChaseScene:
        """The player anywhere, the prey far from it, the hunter in the farthest corner."""
        here = float(rng.uniform(LOW, HIGH)), float(rng.uniform(LOW, HIGH))
        return ChaseScene(*here, self._new_prey(here, rng), float(rng.uniform(-math.pi, math.pi)), max(CORNERS, key=lambda c: math.dist(c, here)))

    @staticmethod
    def _new_prey(player: Point, rng: np.random.Generator) -> Point:
        while True:
            place = float(rng.uniform(LOW, HIGH)), float(rng.uniform(LOW, HIGH))
            if math.dist(place, player) >= FAR:
                return place

    def advance(self, scene: ChaseScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[ChaseScene, float]:
        """Player, prey, hunter move in this order; then the catches."""
        here = inside(scene.x + SPEED * action[0], scene.y + SPEED * action[1])
        prey, heading = self._prey(scene, here, rng)
        hunter, reward, caught = self._hunter(scene.hunter, here), 0.0, scene.caught
        if math.dist(here, prey) < TOUCH:
            prey, reward, caught = self._new_prey(here, rng), 1.0, caught + 1
        if math.dist(here, hunter) < TOUCH:
            hunter, reward = max(CORNERS, key=lambda c: math.dist(c, here)), reward - 1.0
        return replace(scene, x=here[0], y=here[1], prey=prey, heading=heading, hunter=hunter, caught=caught), reward

    @staticmethod
    def _prey(scene: ChaseScene, player: Point, rng: np.random.Generator) -> tuple[Point, float]:
        """Place and heading of the prey after a control step. Runs the best of 16 ways; the middle of the field attracts a little."""
        if math.dist(scene.prey, player) >= SIGHT:
            there = ahead(scene.prey, scene.heading, STROLL)
            stopped = math.dist(there, scene.prey) < 0.99 * STROLL
            toward_middle = math.atan2(0.5 - there[1], 0.5 - there[0])
            return there, (toward_middle if stopped else scene.heading) + 0.3 * float(rng.normal())

        def worth(angle: float) -> float:
            there = ahead(scene.prey, angle, 4 * PIXEL)
            return math.dist(there, player) - 0.3 * math.dist(there, (0.5, 0.5))

        heading = max((2 * math.pi * k / 16 for k in range(16)), key=worth)
        return ahead(scene.prey, heading, RUN), heading

    @staticmethod
    def _hunter(hunter: Point, player: Point) -> Point:
        """Straight toward the player."""
        angle = math.atan2(player[1] - hunter[1], player[0] - hunter[0])
        return ahead(hunter, angle, min(HUNT, math.dist(hunter, player)))

    def observe(self, scene: ChaseScene) -> tuple[float, ...]:
        """[x, y, prey_x, prey_y, hunter_x, hunter_y]."""
        return scene.x, scene.y, *scene.prey, *scene.hunter

    def paint_backdrop(self, canvas: Canvas) -> None:
        """The fenced field."""
        canvas.fill(FENCE)
        canvas.rectangle(PIXEL, PIXEL, 1 - 2 * PIXEL, 1 - 2 * PIXEL, FIELD)

    def paint(self, canvas: Canvas, scene: ChaseScene) -> None:
        """Prey, hunter (a square), the player over both."""
        canvas.disc(scene.prey, RADIUS, PREY)
        left, bottom = scene.hunter[0] - HALF_HUNTER, scene.hunter[1] - HALF_HUNTER
        canvas.rectangle(left, bottom, 2 * HALF_HUNTER, 2 * HALF_HUNTER, HUNTER, rounding=0.6 * PIXEL)
        canvas.disc((scene.x, scene.y), RADIUS, PLAYER)
        canvas.disc((scene.x, scene.y), 0.8 * PIXEL, EYE)


class ChaseEvadePlayer:
    """Of 24 ways and the straight one to the prey, the one that ends nearest to the prey, with a fear of the hunter's neighbourhood."""

    WAYS = tuple(ways(24))
    SAFE, FEAR = 5.5 * PIXEL, 3.0  # distance from the hunter that is wanted; prey distance that a unit of it missing is worth

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action, float32 [2]."""
        x, y, prey_x, prey_y, hunter_x, hunter_y = map(float, env.state())
        held = hold(env)
        straight = drive([prey_x - x, prey_y - y], SPEED, held)

        def worth(way: np.ndarray) -> float:
            there = inside(x + SPEED * held * float(way[0]), y + SPEED * held * float(way[1]))
            hunted = math.dist(ChaseEvade._hunter((hunter_x, hunter_y), there), there)
            return -math.dist(there, (prey_x, prey_y)) - self.FEAR * max(0.0, self.SAFE - hunted)

        return max([straight, *self.WAYS], key=worth)
