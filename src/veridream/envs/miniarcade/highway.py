"""pygame-highway: drive fast on a three-lane road and weave through slower traffic. The picture moves with the car.

Action 0 steers: lateral velocity, times `STEER`. Action 1 is the wanted speed between 0 (at -1) and `FASTEST` (at +1), which the car's speed
approaches. All other cars drive at `TRAFFIC`, each in a random lane; one that is left behind comes again farther ahead.
Reward of a control step: how much faster than the traffic the car is, as a share of the most, at least 0; minus `CRASH` for running into
another car, which stops the car and takes the other off the road. `success`: `PASSED` cars overtaken.
State: [x, speed, stripes, then x, y of each of the `CARS` cars]: speed in unit lengths a control step, stripes the phase of the lane marks.
"""

from dataclasses import dataclass

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Colour
from veridream.envs.miniarcade.experts import drive, hold
from veridream.envs.miniarcade.game import PIXEL, Game

LANES = (8 * PIXEL, 16 * PIXEL, 24 * PIXEL)  # their middles
VERGE = 4 * PIXEL  # width, on either side
HALF_WIDTH, HALF_LENGTH = 2.3 * PIXEL, 3.2 * PIXEL  # of a car
OWN_Y = 6 * PIXEL
STEER = 1.2 * PIXEL  # unit lengths a control step
FASTEST, TRAFFIC = 1.8 * PIXEL, 0.9 * PIXEL  # unit lengths a control step
RESPONSE = 0.15  # share of the gap to the wanted speed that a control step closes
CARS = 3
NEAREST, FARTHEST = 14 * PIXEL, 20 * PIXEL  # between a car and the next, along the road
AHEAD = 1 + HALF_LENGTH  # from where on a car is out of sight
STRIPE = 16 * PIXEL  # period of the lane marks
CRASH = 5.0
HURT = 4  # control steps the car shows a crash
PASSED = 12

GRASS, ASPHALT, MARK, OWN, HIT, WINDOW = (70, 128, 52), (74, 76, 82), (214, 214, 200), (252, 204, 40), (250, 60, 40), (24, 32, 48)
PAINTS: tuple[Colour, ...] = ((70, 140, 240), (236, 238, 240), (206, 80, 190))

Car = tuple[float, float]  # x, y


@dataclass(frozen=True)
class HighwayScene:
    x: float
    speed: float
    stripes: float  # in [0, STRIPE)
    cars: tuple[Car, ...]
    hurt: int = 0
    passed: int = 0
    success: bool = False
    over: bool = False  # never


class Highway(Game[HighwayScene]):
    """The game; see the module."""

    state_dim = 3 + 2 * CARS
    action_dim = 2

    def start(self, rng: np.random.Generator) -> HighwayScene:
        """Any lane, the traffic's speed, cars ahead."""
        x = LANES[rng.integers(3)] + float(rng.uniform(-PIXEL, PIXEL))
        cars: tuple[Car, ...] = ()
        for _ in range(CARS):
            cars += (self._car([y for _, y in cars], OWN_Y, rng),)
        return HighwayScene(x, TRAFFIC, float(rng.uniform(0, STRIPE)), cars)

    @staticmethod
    def _car(others: list[float], least: float, rng: np.random.Generator) -> Car:
        """A car beyond all the others and beyond `least`."""
        return LANES[rng.integers(3)], max([least, *others]) + float(rng.uniform(NEAREST, FARTHEST))

    def advance(self, scene: HighwayScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[HighwayScene, float]:
        """Moves the car, the marks and the traffic; then overtaken cars and crashes."""
        x = min(max(scene.x + STEER * action[0], VERGE + HALF_WIDTH), 1 - VERGE - HALF_WIDTH)
        speed = scene.speed + RESPONSE * (FASTEST * (action[1] + 1) / 2 - scene.speed)
        closer = speed - TRAFFIC
        if closer < 0 and min(y for _, y in scene.cars) > AHEAD:
            closer = 0.0  # the traffic waits just out of sight
        reward, passed, hurt = max(speed - TRAFFIC, 0.0) / (FASTEST - TRAFFIC), scene.passed, max(scene.hurt - 1, 0)
        cars = [(car_x, y - closer) for car_x, y in scene.cars]
        for k, (car_x, y) in enumerate(cars):
            others = [other for j, (_, other) in enumerate(cars) if j != k]
            passed += int(y < OWN_Y <= scene.cars[k][1])
            if abs(car_x - x) < 1.9 * HALF_WIDTH and abs(y - OWN_Y) < 1.9 * HALF_LENGTH:
                cars[k] = self._car(others, AHEAD, rng)
                reward, speed, hurt = reward - CRASH, 0.0, HURT
            elif y < -HALF_LENGTH:
                cars[k] = self._car(others, AHEAD, rng)
        success = scene.success or passed >= PASSED
        return HighwayScene(x, speed, (scene.stripes + speed) % STRIPE, tuple(cars), hurt, passed, success), reward

    def observe(self, scene: HighwayScene) -> tuple[float, ...]:
        """[x, speed, stripes, then x, y of every car]."""
        return scene.x, scene.speed, scene.stripes, *(v for car in scene.cars for v in car)

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Verges and asphalt."""
        canvas.fill(GRASS)
        canvas.rectangle(VERGE, 0.0, 1 - 2 * VERGE, 1.0, ASPHALT)

    def paint(self, canvas: Canvas, scene: HighwayScene) -> None:
        """Lane marks, traffic, the own car over it; it is red after a crash."""
        for k in range(4):
            bottom = (k - 0.5) * STRIPE - scene.stripes
            for x in (12 * PIXEL, 20 * PIXEL):
                canvas.rectangle(x - 0.5 * PIXEL, bottom, PIXEL, 0.45 * STRIPE, MARK)
        for (x, y), colour in zip(scene.cars, PAINTS, strict=True):
            self._vehicle(canvas, x, y, colour)
        self._vehicle(canvas, scene.x, OWN_Y, HIT if scene.hurt else OWN)

    @staticmethod
    def _vehicle(canvas: Canvas, x: float, y: float, colour: Colour) -> None:
        canvas.rectangle(x - HALF_WIDTH, y - HALF_LENGTH, 2 * HALF_WIDTH, 2 * HALF_LENGTH, colour, rounding=PIXEL)
        canvas.rectangle(x - 1.4 * PIXEL, y + 0.4 * PIXEL, 2.8 * PIXEL, 1.5 * PIXEL, WINDOW)


class HighwayPlayer:
    """Takes the lane whose next car is farthest, at full speed; slows down behind a car that it cannot get past yet."""

    SIDE = 2 * HALF_WIDTH + 0.6 * PIXEL  # lateral distance at which two cars pass each other
    LENGTH = 2 * HALF_LENGTH + PIXEL  # the same along the road

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """[steer, speed], float32 [2]."""
        x, speed, _, *rest = map(float, env.state())
        cars = [(rest[k], rest[k + 1] - OWN_Y) for k in range(0, len(rest), 2)]
        held = hold(env)
        here = min(range(3), key=lambda lane: abs(LANES[lane] - x))
        free = [self._free(cars, lane) for lane in range(3)]
        step = (speed - TRAFFIC) * held
        open_ = {here}
        for direction in (-1, 1):
            lane = here + direction
            while 0 <= lane < 3 and free[lane] > self.LENGTH + max(step, 0.0) + 2 * PIXEL:
                open_.add(lane)
                lane += direction
        target = max(open_, key=lambda lane: (min(free[lane], 1.0), -abs(lane - here)))
        steer = drive([LANES[target] - x], STEER, held)[0]
        blocking = [dy for car_x, dy in cars if abs(car_x - x) < self.SIDE and -HALF_LENGTH < dy < self.LENGTH + 4 * max(step, 0.0)]
        return np.array([steer, -0.6 if blocking else 1.0], dtype=np.float32)

    def _free(self, cars: list[Car], lane: int) -> float:
        """How far ahead the next car of a lane is; 0 with one alongside."""
        ahead = [dy for x, dy in cars if abs(x - LANES[lane]) < HALF_WIDTH and dy > -self.LENGTH]
        return max(min(ahead, default=2.0), 0.0)
