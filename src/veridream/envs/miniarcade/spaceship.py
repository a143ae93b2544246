"""pygame-spaceship: fly a ship against a stream of rocks: shoot them, let none past, and keep out of the way of the nearest.

The action is the ship's velocity, in each direction, times `SPEED`; the ship keeps to the left of the picture. Its gun fires by itself: a bolt
leaves the nose as soon as the last one has hit or left the picture. Rocks come from the right, each with its own size, height and velocity;
their vertical motion is reflected at the top and the bottom.
Reward: +1 for a rock that was shot, -1 for one that hit the ship or got past it; all are replaced by new ones. `success`: `KILLS` points ahead.
State: [x, y, bolt_x, bolt_y, then x, y, vx, vy, radius of each of the `ROCKS` rocks], velocities in unit lengths a control step.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Point
from veridream.envs.miniarcade.experts import drive, hold
from veridream.envs.miniarcade.game import PIXEL, Game

SPEED = 1.4 * PIXEL  # unit lengths a control step
LEFTMOST, RIGHTMOST = 5.5 * PIXEL, 14 * PIXEL  # of the ship's middle
EDGE = 3 * PIXEL  # of the ship's middle from top and bottom, at least
HALF_LENGTH, RADIUS = 2.5 * PIXEL, 2.2 * PIXEL  # of the hull
NOSE = 5 * PIXEL  # where a bolt starts, ahead of the ship's middle
BOLT_SPEED = 2.4 * PIXEL
BOLT_HALF, BOLT_RADIUS = 1 * PIXEL, 2 * PIXEL
ROCKS = 3
SMALL, LARGE = 2.4 * PIXEL, 3.4 * PIXEL  # radius of a rock
SLOWEST, FASTEST = 0.5 * PIXEL, 0.9 * PIXEL  # of a rock, leftward
DRIFT = 0.3 * PIXEL  # most of a rock's vertical speed
HURT = 4  # control steps the ship shows a hit
KILLS = 30

SPACE, PLANET, HULL, CABIN, HIT = (12, 18, 84), (28, 42, 118), (226, 232, 246), (60, 200, 120), (250, 60, 50)
BOLT, ROCK, CRATER = (120, 255, 236), (176, 132, 104), (130, 92, 70)


@dataclass(frozen=True)
class Rock:
    x: float
    y: float
    vx: float
    vy: float
    radius: float


@dataclass(frozen=True)
class SpaceshipScene:
    x: float
    y: float
    bolt: Point
    rocks: tuple[Rock, ...]
    hurt: int = 0
    points: int = 0
    success: bool = False
    over: bool = False  # never


def to_hull(x: float, y: float, at: Point) -> float:
    """Distance of a point from the hull's middle line."""
    return math.hypot(max(abs(at[0] - x) - HALF_LENGTH, 0.0), at[1] - y)


class Spaceship(Game[SpaceshipScene]):
    """The game; see the module."""

    state_dim = 4 + 5 * ROCKS
    action_dim = 2

    def start(self, rng: np.random.Generator) -> SpaceshipScene:
        """The ship at a random height, the rocks in the right half."""
        x, y = float(rng.uniform(LEFTMOST, RIGHTMOST)), float(rng.uniform(0.25, 0.75))
        rocks = tuple(replace(self._rock(rng), x=float(rng.uniform(0.65, 1.0))) for _ in range(ROCKS))
        return SpaceshipScene(x, y, (x + NOSE, y), rocks)

    @staticmethod
    def _rock(rng: np.random.Generator) -> Rock:
        """One that is about to enter on the right."""
        radius = float(rng.uniform(SMALL, LARGE))
        x, y = 1 + radius + float(rng.uniform(0, 6 * PIXEL)), float(rng.uniform(radius, 1 - radius))
        return Rock(x, y, -float(rng.uniform(SLOWEST, FASTEST)), float(rng.uniform(-DRIFT, DRIFT)), radius)

    def advance(self, scene: SpaceshipScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[SpaceshipScene, float]:
        """Moves ship, bolt and rocks; then hits of the bolt, then of the ship."""
        x = min(max(scene.x + SPEED * action[0], LEFTMOST), RIGHTMOST)
        y = min(max(scene.y + SPEED * action[1], EDGE), 1 - EDGE)
        bolt = scene.bolt[0] + BOLT_SPEED, scene.bolt[1]
        spent = bolt[0] > 1 + BOLT_RADIUS
        rocks, reward, hurt = [], 0, max(scene.hurt - 1, 0)
        for rock in map(self._fly, scene.rocks):
            if not spent and math.dist(bolt, (rock.x, rock.y)) <= rock.radius + 0.8 * BOLT_RADIUS:
                rock, reward, spent = self._rock(rng), reward + 1, True
            elif to_hull(x, y, (rock.x, rock.y)) <= rock.radius + 0.8 * RADIUS:
                rock, reward, hurt = self._rock(rng), reward - 1, HURT
            elif rock.x < -rock.radius:
                rock, reward = self._rock(rng), reward - 1
            rocks.append(rock)
        points = scene.points + reward
        bolt = (x + NOSE, y) if spent else bolt
        return SpaceshipScene(x, y, bolt, tuple(rocks), hurt, points, scene.success or points >= KILLS), float(reward)

    @staticmethod
    def _fly(rock: Rock) -> Rock:
        y, vy = rock.y + rock.vy, rock.vy
        if not rock.radius <= y <= 1 - rock.radius:
            y, vy = (2 * rock.radius if y < 0.5 else 2 * (1 - rock.radius)) - y, -vy
        return replace(rock, x=rock.x + rock.vx, y=y, vy=vy)

    def observe(self, scene: SpaceshipScene) -> tuple[float, ...]:
        """[x, y, bolt_x, bolt_y, then x, y, vx, vy, radius of every rock]."""
        return scene.x, scene.y, *scene.bolt, *(v for r in scene.rocks for v in (r.x, r.y, r.vx, r.vy, r.radius))

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Space with a far planet."""
        canvas.fill(SPACE)
        canvas.disc((0.7, 0.3), 6 * PIXEL, PLANET)

    def paint(self, canvas: Canvas, scene: SpaceshipScene) -> None:
        """Rocks, bolt, ship; the hull is red after a hit."""
        for rock in scene.rocks:
            canvas.disc((rock.x, rock.y), rock.radius, ROCK)
            canvas.disc((rock.x - 0.3 * rock.radius, rock.y + 0.3 * rock.radius), 0.4 * rock.radius, CRATER)
        canvas.capsule((scene.bolt[0] - BOLT_HALF, scene.bolt[1]), (scene.bolt[0] + BOLT_HALF, scene.bolt[1]), BOLT_RADIUS, BOLT)
        tail, nose = (scene.x - HALF_LENGTH, scene.y), (scene.x + HALF_LENGTH, scene.y)
        canvas.rectangle(tail[0] - RADIUS, scene.y - 2.8 * PIXEL, 2.5 * PIXEL, 5.6 * PIXEL, CABIN)
        canvas.capsule(tail, nose, RADIUS, HIT if scene.hurt else HULL)
        canvas.disc((scene.x + PIXEL, scene.y), 1.3 * PIXEL, CABIN)


class SpaceshipPlayer:
    """Keeps to the left, lines up with the rock that a bolt can meet soonest, and slips away from one that is too near to be shot."""

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action, float32 [2]."""
        x, y, bolt_x, _, *rest = map(float, env.state())
        rocks = [Rock(*rest[k : k + 5]) for k in range(0, len(rest), 5)]
        held = hold(env)
        for rock in rocks:
            side = y - rock.y
            if -RADIUS < rock.x - x < NOSE + rock.radius + 2 * PIXEL and abs(side) < rock.radius + RADIUS + PIXEL:
                up = side > 0 if EDGE + 3 * PIXEL < y < 1 - EDGE - 3 * PIXEL else y < 0.5
                return np.array([-1.0, 1.0 if up else -1.0], dtype=np.float32)
        reload = max(1 + BOLT_RADIUS - bolt_x, 0.0) / BOLT_SPEED
        choices = []
        for rock in rocks:
            meet = (rock.x - x - NOSE) / (BOLT_SPEED - rock.vx)
            if meet > 0:
                aim = min(max(rock.y + rock.vy * (meet + min(reload, 4)), EDGE), 1 - EDGE)
                choices.append((max(abs(aim - y) / SPEED, reload) + meet, aim))
        aim = min(choices, default=(0.0, 0.5))[1]
        return drive([LEFTMOST - x, aim - y], SPEED, held)
