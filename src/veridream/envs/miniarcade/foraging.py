"""pygame-foraging: an animal eats the ripe berries of six bushes, which grow again, and keeps clear of the hawk.

Four bushes stand in two rows on the left, in every episode at the same places; two grow wild on the right, beside a pond that the animal walks
around, all three at random places. A berry ripens in about `REGROW` control steps, each bush at a pace of its own, and is eaten by a touch.
The animal has momentum: its velocity is `KEEP` of the last one plus the action times `PUSH`. The hawk drifts over the field, flies at the
animal when that is within `SIGHT`, and after a strike rests for `REST` control steps, drawn pale.
Reward: +1 for a berry, -1 for a strike. `success`: `ENOUGH` berries eaten. State: [x, y, vx, vy, hawk_x, hawk_y, hawk's rest, pond_x, pond_y,
then x, y, ripeness of each bush]; rest and ripeness in [0, 1], velocities in unit lengths a control step.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Point
from veridream.envs.miniarcade.experts import hold, ways
from veridream.envs.miniarcade.game import PIXEL, Game

KEEP, PUSH = 0.75, 0.4 * PIXEL  # at most 1.6 pixels a control step in each direction
RADIUS = 2.3 * PIXEL  # of the animal
EDGE = RADIUS + 0.5 * PIXEL  # nearest that its middle comes to the field's end
POND_RADIUS = 3.6 * PIXEL
ROWS = tuple((x * PIXEL, y * PIXEL) for x in (5.5, 13.0) for y in (9.0, 23.0))  # the planted bushes
WILD = 2  # bushes more
BUSH_RADIUS, BERRY_RADIUS = 2.9 * PIXEL, 2.1 * PIXEL
EATEN = 2.8 * PIXEL  # distance of the middles of animal and bush
REGROW = 60  # control steps
DRIFT, SWOOP = 0.5 * PIXEL, 0.85 * PIXEL  # speeds of the hawk
SIGHT, STRIKE, REST = 9 * PIXEL, 3.6 * PIXEL, 30
ENOUGH = 12

GRASS, FURROW, WATER, BUSH, BERRY = (158, 186, 92), (140, 166, 78), (90, 160, 214), (40, 96, 52), (212, 36, 78)
FUR, NOSE, HAWK, TIRED = (252, 244, 226), (94, 62, 44), (66, 36, 104), (176, 164, 186)


@dataclass(frozen=True)
class FieldScene:
    x: float
    y: float
    vx: float
    vy: float
    hawk: Point
    heading: float  # of the hawk, radians
    rest: int  # control steps that the hawk still rests
    pond: Point
    bushes: tuple[Point, ...]
    ripe: tuple[float, ...]  # in [0, 1] a bush
    paces: tuple[float, ...]  # ripening a control step
    eaten: int = 0
    over: bool = False  # never

    @property
    def success(self) -> bool:
        return self.eaten >= ENOUGH


def glide(place: Point, velocity: Point, action: tuple[float, ...], pond: Point) -> tuple[Point, Point]:
    """Place and velocity of the animal a control step later. The field's end stops it; it is pushed out of the pond, along whose shore it slides."""
    vx, vy = KEEP * velocity[0] + PUSH * action[0], KEEP * velocity[1] + PUSH * action[1]
    x, y = place[0] + vx, place[1] + vy
    away, least = math.dist((x, y), pond), POND_RADIUS + RADIUS
    if away < least:
        nx, ny = ((x - pond[0]) / away, (y - pond[1]) / away) if away > 0 else (1.0, 0.0)
        inward = min(0.0, vx * nx + vy * ny)
        x, y, vx, vy = pond[0] + least * nx, pond[1] + least * ny, vx - inward * nx, vy - inward * ny
    if not EDGE <= x <= 1 - EDGE:
        x, vx = min(max(x, EDGE), 1 - EDGE), 0.0
    if not EDGE <= y <= 1 - EDGE:
        y, vy = min(max(y, EDGE), 1 - EDGE), 0.0
    return (x, y), (vx, vy)


def somewhere(rng: np.random.Generator, left: float, margin: float, others: list[Point], apart: float) -> Point:
    """A random place to the right of `left`, `margin` from the field's ends, at least `apart` from the others."""
    while True:
        place = float(rng.uniform(left, 1 - margin)), float(rng.uniform(margin, 1 - margin))
        if all(math.dist(place, o) >= apart for o in others):
            return place


class Foraging(Game[FieldScene]):
    """The game; see the module."""

    state_dim = 9 + 3 * (len(ROWS) + WILD)
    action_dim = 2

    def start(self, rng: np.random.Generator) -> FieldScene:
        """The pond, the wild bushes, how ripe each bush is; the animal on the left, the hawk far from it."""
        pond = somewhere(rng, 22 * PIXEL, 8 * PIXEL, [], 0.0)
        wild: list[Point] = []
        for _ in range(WILD):
            wild.append(somewhere(rng, 20 * PIXEL, 3.5 * PIXEL, [pond, *wild], POND_RADIUS + BUSH_RADIUS + 0.5 * PIXEL))
        x, y = float(rng.uniform(EDGE, 16 * PIXEL)), float(rng.uniform(EDGE, 1 - EDGE))
        hawk = somewhere(rng, 3 * PIXEL, 3 * PIXEL, [(x, y)], 14 * PIXEL)
        count = len(ROWS) + WILD
        ripe = tuple(min(float(r), 1.0) for r in rng.uniform(0.3, 1.6, count))
        paces = tuple(float(p) / REGROW for p in rng.uniform(0.75, 1.25, count))
        return FieldScene(x, y, 0.0, 0.0, hawk, float(rng.uniform(-math.pi, math.pi)), 0, pond, (*ROWS, *wild), ripe, paces)

    def advance(self, scene: FieldScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[FieldScene, float]:
        """Animal, berries, hawk, in this order."""
        here, velocity = glide((scene.x, scene.y), (scene.vx, scene.vy), action, scene.pond)
        ripe = [min(r + p, 1.0) for r, p in zip(scene.ripe, scene.paces, strict=True)]
        meal = [k for k, bush in enumerate(scene.bushes) if ripe[k] >= 1.0 and math.dist(here, bush) < EATEN]
        for k in meal:
            ripe[k] = 0.0
        hawk, heading = self._hawk(scene, here, rng)
        struck = scene.rest == 0 and math.dist(here, hawk) < STRIKE
        rest = REST if struck else max(scene.rest - 1, 0)
        after = replace(scene, x=here[0], y=here[1], vx=velocity[0], vy=velocity[1], hawk=hawk, heading=heading, rest=rest)
        return replace(after, ripe=tuple(ripe), eaten=scene.eaten + len(meal)), float(len(meal)) - float(struck)

    @staticmethod
    def _hawk(scene: FieldScene, animal: Point, rng: np.random.Generator) -> tuple[Point, float]:
        """Place and heading of the hawk after a control step; it draws its turn even while it rests or swoops."""
        turn = 0.25 * float(rng.normal())
        x, y = scene.hawk
        if scene.rest > 0:
            return scene.hawk, scene.heading
        near = math.dist(animal, scene.hawk)
        heading = math.atan2(animal[1] - y, animal[0] - x) if 0 < near < SIGHT else scene.heading + turn
        speed = SWOOP if near < SIGHT else DRIFT
        x, y = x + speed * math.cos(heading), y + speed * math.sin(heading)
        low, high = 2.5 * PIXEL, 1 - 2.5 * PIXEL
        if not (low <= x <= high and low <= y <= high):
            heading = math.atan2(0.5 - y, 0.5 - x)
        return (min(max(x, low), high), min(max(y, low), high)), heading

    def observe(self, scene: FieldScene) -> tuple[float, ...]:
        """[x, y, vx, vy, hawk_x, hawk_y, hawk's rest, pond_x, pond_y, then x, y, ripeness of each bush]."""
        bushes = (v for bush, r in zip(scene.bushes, scene.ripe, strict=True) for v in (*bush, r))
        return scene.x, scene.y, scene.vx, scene.vy, *scene.hawk, scene.rest / REST, *scene.pond, *bushes

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Grass, with a furrow under each planted row."""
        canvas.fill(GRASS)
        for x in sorted({x for x, _ in ROWS}):
            canvas.rectangle(x - 1.5 * PIXEL, 3 * PIXEL, 3 * PIXEL, 26 * PIXEL, FURROW)

    def paint(self, canvas: Canvas, scene: FieldScene) -> None:
        """Pond, bushes with their berries as large as they are ripe, the animal with its nose forward, the hawk above all."""
        canvas.disc(scene.pond, POND_RADIUS, WATER)
        for bush, r in zip(scene.bushes, scene.ripe, strict=True):
            canvas.disc(bush, BUSH_RADIUS, BUSH)
            if r >= 0.25:
                canvas.disc(bush, (1.0 if r >= 1.0 else 0.6 * r) * BERRY_RADIUS, BERRY)
        canvas.disc((scene.x, scene.y), RADIUS, FUR)
        way = math.atan2(scene.vy, scene.vx)
        canvas.disc((scene.x + 1.5 * PIXEL * math.cos(way), scene.y + 1.5 * PIXEL * math.sin(way)), 1.0 * PIXEL, NOSE)
        colour, (x, y), side = TIRED if scene.rest else HAWK, scene.hawk, (math.cos(scene.heading), math.sin(scene.heading))
        span = 2.2 * PIXEL
        canvas.capsule((x - span * side[1], y + span * side[0]), (x + span * side[1], y - span * side[0]), 1.1 * PIXEL, colour)
        canvas.capsule((x - 1.4 * PIXEL * side[0], y - 1.4 * PIXEL * side[1]), (x + PIXEL * side[0], y + PIXEL * side[1]), 1.3 * PIXEL, colour)


class ForagingPlayer:
    """Goes for the berry that it can have soonest; of 16 ways takes the one that leads nearest to it, with a fear of the hawk's neighbourhood."""

    WAYS = tuple((float(w[0]), float(w[1])) for w in ways(16))
    PACE = 1.4 * PIXEL  # its speed as it reckons
    SAFE, FEAR = 7.5 * PIXEL, 3.0  # distance from the hawk that is wanted; bush distance that a unit of it missing is worth
    LOOK = 4  # control steps that it looks beyond the action

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action, float32 [2]."""
        x, y, vx, vy, hawk_x, hawk_y, rest, pond_x, pond_y, *plants = map(float, env.state())
        bushes = [(plants[k], plants[k + 1], plants[k + 2]) for k in range(0, len(plants), 3)]
        bush_x, bush_y, _ = min(bushes, key=lambda b: self._delay(b, (x, y), (hawk_x, hawk_y)))

        def worth(way: tuple[float, float]) -> float:
            place, velocity, total = (x, y), (vx, vy), 0.0
            for _ in range(hold(env) + self.LOOK):
                place, velocity = glide(place, velocity, way, (pond_x, pond_y))
                near = math.dist(place, (hawk_x, hawk_y)) if rest == 0 else 1.0
                total -= math.dist(place, (bush_x, bush_y)) + self.FEAR * max(0.0, self.SAFE - near)
            return total

        return np.array(max(self.WAYS, key=worth), dtype=np.float32)

    def _delay(self, bush: tuple[float, float, float], here: Point, hawk: Point) -> float:
        """Control steps until its berry can be had, more where the hawk is."""
        walk = math.dist(here, bush[:2]) / self.PACE
        return max(walk, (1 - bush[2]) * REGROW) + 0.2 * walk + (20 if math.dist(hawk, bush[:2]) < self.SAFE else 0)
