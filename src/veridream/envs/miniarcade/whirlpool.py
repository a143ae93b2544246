"""pygame-whirlpool: steer a boat to the buoy through water that turns and is drawn into the middle.

The current at distance r from the middle is `SWIRL` / r around it and `INFLOW` / r into it: its stream lines are the foam spirals, drawn
turning. Which way round it turns is drawn for each episode. The boat's velocity takes up the share `GRIP` of what it lacks to that of the water
plus the action times `SPEED`; the edges of the picture stop it. A boat within `CORE` of the middle is swallowed and starts again from the rim.
Reward: +1 for a buoy, after which another appears; -1 for being swallowed. `success`: `ENOUGH` buoys without being swallowed in between.
State: [x, y, vx, vy, buoy_x, buoy_y, spin, sine and cosine of the foam's angle]; velocities in unit lengths a control step, spin +1
anticlockwise or -1.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Point
from veridream.envs.miniarcade.experts import hold, ways
from veridream.envs.miniarcade.game import PIXEL, Game

MIDDLE: Point = (0.5, 0.5)
SWIRL, INFLOW = 5.0 * PIXEL**2, 2.8 * PIXEL**2  # unit lengths a control step, times unit length
SPEED, GRIP = 1.3 * PIXEL, 0.7
CORE = 3.2 * PIXEL
RADIUS = 2.1 * PIXEL  # half the boat's width, and its distance from the edges
BOW = 1.6 * PIXEL  # half the length of the boat's axis
BUOY_RADIUS, REACHED = 2.2 * PIXEL, 3.4 * PIXEL
RIM = 13 * PIXEL  # distance from the middle at which a swallowed boat starts again
NEAREST, FARTHEST, FAR = 8 * PIXEL, 13 * PIXEL, 12 * PIXEL  # of a buoy from the middle; of a new one from the boat, at least
ENOUGH = 3
TURN = 0.14  # radians the foam turns a control step
ARMS, JOINTS = 3, 8  # of the foam

WATER, FOAM, DEEP, HULL, DECK, BUOY = (22, 88, 142), (92, 160, 200), (6, 18, 44), (250, 244, 232), (176, 40, 40), (255, 158, 24)


@dataclass(frozen=True)
class WhirlScene:
    x: float
    y: float
    vx: float
    vy: float
    buoy: Point
    spin: float  # +1 anticlockwise, -1 clockwise
    foam: float  # angle of the drawn spirals, radians
    row: int = 0  # buoys since the boat was swallowed
    success: bool = False
    over: bool = False  # never


def current(place: Point, spin: float) -> Point:
    """Velocity of the water, unit lengths a control step; inside the core as at its rim."""
    dx, dy = place[0] - MIDDLE[0], place[1] - MIDDLE[1]
    r = math.hypot(dx, dy)
    square = max(r, CORE) * max(r, 1e-9)
    return (-spin * SWIRL * dy - INFLOW * dx) / square, (spin * SWIRL * dx - INFLOW * dy) / square


def sail(place: Point, velocity: Point, action: tuple[float, ...], spin: float) -> tuple[Point, Point]:
    """Place and velocity of the boat a control step later."""
    water = current(place, spin)
    vx = velocity[0] + GRIP * (water[0] + SPEED * action[0] - velocity[0])
    vy = velocity[1] + GRIP * (water[1] + SPEED * action[1] - velocity[1])
    x, y = place[0] + vx, place[1] + vy
    if not RADIUS <= x <= 1 - RADIUS:
        x, vx = min(max(x, RADIUS), 1 - RADIUS), 0.0
    if not RADIUS <= y <= 1 - RADIUS:
        y, vy = min(max(y, RADIUS), 1 - RADIUS), 0.0
    return (x, y), (vx, vy)


def around(radius: float, angle: float) -> Point:
    """The point at a distance and an angle from the middle."""
    return MIDDLE[0] + radius * math.cos(angle), MIDDLE[1] + radius * math.sin(angle)


class Whirlpool(Game[WhirlScene]):
    """The game; see the module."""

    state_dim = 9
    action_dim = 2

    def start(self, rng: np.random.Generator) -> WhirlScene:
        """The boat on the rim, a buoy far from it."""
        x, y = around(RIM, float(rng.uniform(-math.pi, math.pi)))
        spin = 1.0 if rng.random() < 0.5 else -1.0
        return WhirlScene(x, y, 0.0, 0.0, self._new_buoy((x, y), rng), spin, float(rng.uniform(-math.pi, math.pi)))

    @staticmethod
    def _new_buoy(boat: Point, rng: np.random.Generator) -> Point:
        while True:
            place = around(float(rng.uniform(NEAREST, FARTHEST)), float(rng.uniform(-math.pi, math.pi)))
            if math.dist(place, boat) >= FAR:
                return place

    def advance(self, scene: WhirlScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[WhirlScene, float]:
        """The boat sails, the foam turns; then swallowed, or at the buoy, or neither."""
        here, velocity = sail((scene.x, scene.y), (scene.vx, scene.vy), action, scene.spin)
        foam = (scene.foam + scene.spin * TURN) % (2 * math.pi)
        if math.dist(here, MIDDLE) < CORE:
            x, y = around(RIM, float(rng.uniform(-math.pi, math.pi)))
            return replace(scene, x=x, y=y, vx=0.0, vy=0.0, foam=foam, row=0), -1.0
        after = replace(scene, x=here[0], y=here[1], vx=velocity[0], vy=velocity[1], foam=foam)
        if math.dist(here, scene.buoy) >= REACHED:
            return after, 0.0
        row = scene.row + 1
        return replace(after, buoy=self._new_buoy(here, rng), row=row, success=scene.success or row >= ENOUGH), 1.0

    def observe(self, scene: WhirlScene) -> tuple[float, ...]:
        """[x, y, vx, vy, buoy_x, buoy_y, spin, sine and cosine of the foam's angle]."""
        return scene.x, scene.y, scene.vx, scene.vy, *scene.buoy, scene.spin, math.sin(scene.foam), math.cos(scene.foam)

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Still water."""
        canvas.fill(WATER)

    def paint(self, canvas: Canvas, scene: WhirlScene) -> None:
        """Foam along the stream lines, the core, the buoy, the boat along its way."""
        for arm in range(ARMS):
            points = []
            for k in range(JOINTS):
                r = CORE * (15 * PIXEL / CORE) ** (k / (JOINTS - 1))
                points.append(around(r, scene.foam + 2 * math.pi * arm / ARMS - scene.spin * SWIRL / INFLOW * math.log(r / CORE)))
            for a, b in pairwise(points):
                canvas.capsule(a, b, 0.6 * PIXEL, FOAM)
        canvas.disc(MIDDLE, CORE, DEEP)
        canvas.disc(scene.buoy, BUOY_RADIUS, BUOY)
        canvas.disc(scene.buoy, 0.9 * PIXEL, HULL)
        way = math.atan2(scene.vy, scene.vx)
        dx, dy = BOW * math.cos(way), BOW * math.sin(way)
        canvas.capsule((scene.x - dx, scene.y - dy), (scene.x + dx, scene.y + dy), RADIUS, HULL)
        canvas.disc((scene.x - 0.5 * dx, scene.y - 0.5 * dy), 1.1 * PIXEL, DECK)


class WhirlpoolPlayer:
    """Of 16 ways takes the one that leads nearest to the buoy, reckoned around the middle and not through it, and keeps off the core."""

    WAYS = tuple((float(w[0]), float(w[1])) for w in ways(16))
    SAFE, FEAR = 6.5 * PIXEL, 4.0  # distance from the middle that is wanted; way that a unit of it missing is worth
    LOOK = 4  # control steps that it looks beyond the action

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action, float32 [2]."""
        x, y, vx, vy, buoy_x, buoy_y, spin, _, _ = map(float, env.state())

        def cost(way: tuple[float, float]) -> float:
            place, velocity, nearest, least = (x, y), (vx, vy), math.inf, math.inf
            for _ in range(hold(env) + self.LOOK):
                place, velocity = sail(place, velocity, way, spin)
                nearest, least = min(nearest, self._way(place, (buoy_x, buoy_y))), min(least, math.dist(place, MIDDLE))
            return nearest + self.FEAR * max(0.0, self.SAFE - least)

        return np.array(min(self.WAYS, key=cost), dtype=np.float32)

    @staticmethod
    def _way(place: Point, buoy: Point) -> float:
        """Length of the way around the middle: the change of distance from it, and the arc at the mean distance."""
        here, there = math.dist(place, MIDDLE), math.dist(buoy, MIDDLE)
        bearing = math.atan2(buoy[1] - MIDDLE[1], buoy[0] - MIDDLE[0]) - math.atan2(place[1] - MIDDLE[1], place[0] - MIDDLE[0])
        arc = abs((bearing + math.pi) % (2 * math.pi) - math.pi) * (here + there) / 2
        return math.hypot(here - there, arc)
