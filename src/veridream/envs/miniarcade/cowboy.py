"""pygame-cowboy: turn the lasso and throw it past the bull at the steer in the row behind.

Action 0 turns the arm. Action 1 above 0 throws the loop, when it is in the hand: it flies straight along the arm to the rope's end and comes
back; the arm may turn meanwhile. A bull walks in the near row and a steer in the far one; an animal that leaves the picture or is caught is
followed by another, which enters at a random side with a random speed.
Reward: +1 for a steer, -1 for a bull. `success`: `HERD` points ahead.
State: [loop_x, loop_y, arm, flight, steer_x, steer_v, bull_x, bull_v]: arm in radians against the x axis; flight 0 in the hand, 1 on the way
out, -1 on the way back; v in unit lengths a control step.
"""

import math
from dataclasses import dataclass

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Colour, Point
from veridream.envs.miniarcade.experts import drive, hold
from veridream.envs.miniarcade.game import PIXEL, Game

HAND: Point = (0.5, 4 * PIXEL)
TURN = 0.2  # radians a control step
ARM_LEAST, ARM_MOST = 0.7, math.pi - 0.7  # radians
LOOP_RADIUS = 2.4 * PIXEL
HOME, FAR = 6 * PIXEL, 27 * PIXEL  # of the loop's middle from the hand: when held, and at the rope's end
OUT, BACK = 2.6 * PIXEL, 5.2 * PIXEL  # of the loop, unit lengths a control step
HALF_LENGTH, HALF_HEIGHT = 3.5 * PIXEL, 2.1 * PIXEL  # of an animal
BULL_ROW, STEER_ROW = 17.5 * PIXEL, 27 * PIXEL
SLOWEST, FASTEST = 0.4 * PIXEL, 0.9 * PIXEL  # of an animal
HERD = 10

SAND, TRACK, BULL, STEER, HORN = (226, 190, 126), (208, 168, 104), (34, 30, 40), (168, 72, 32), (252, 246, 226)
COAT, HAT, ROPE = (40, 78, 176), (92, 48, 20), (250, 250, 250)

Animal = tuple[float, float]  # x, velocity


@dataclass(frozen=True)
class CowboyScene:
    arm: float
    heading: float  # the direction of the rope; the arm's while the loop is in the hand
    reach: float
    flight: int
    steer: Animal
    bull: Animal
    points: int = 0
    success: bool = False
    over: bool = False  # never


def loop_at(heading: float, reach: float) -> Point:
    """The middle of the loop."""
    return HAND[0] + reach * math.cos(heading), HAND[1] + reach * math.sin(heading)


def caught(loop: Point, animal_x: float, row: float) -> bool:
    """Whether the loop lies on an animal."""
    return abs(loop[0] - animal_x) <= HALF_LENGTH + 0.5 * LOOP_RADIUS and abs(loop[1] - row) <= HALF_HEIGHT + 0.5 * LOOP_RADIUS


def outcome(heading: float, wait: int, steer: Animal, bull: Animal) -> int:
    """What a throw in `wait` control steps brings: 1 the steer, -1 the bull, 0 nothing."""
    for k in range(1, math.ceil((FAR - HOME) / OUT) + 1):
        loop = loop_at(heading, min(HOME + OUT * k, FAR))
        for (x, v), row, worth in ((steer, STEER_ROW, 1), (bull, BULL_ROW, -1)):
            there = x + v * (wait + k)
            if -HALF_LENGTH <= there <= 1 + HALF_LENGTH and caught(loop, there, row):
                return worth
    return 0


class Cowboy(Game[CowboyScene]):
    """The game; see the module."""

    state_dim = 8
    action_dim = 2

    def start(self, rng: np.random.Generator) -> CowboyScene:
        """Any arm, both animals somewhere in the picture."""
        arm = float(rng.uniform(ARM_LEAST, ARM_MOST))
        steer, bull = ((float(rng.uniform(0.1, 0.9)), self._enter(rng)[1]) for _ in range(2))
        return CowboyScene(arm, arm, HOME, 0, steer, bull)

    @staticmethod
    def _enter(rng: np.random.Generator) -> Animal:
        side = 1.0 if rng.random() < 0.5 else -1.0
        return (0.5 - side * (0.5 + HALF_LENGTH), side * float(rng.uniform(SLOWEST, FASTEST)))

    def _walk(self, animal: Animal, rng: np.random.Generator) -> Animal:
        x = animal[0] + animal[1]
        return (x, animal[1]) if -HALF_LENGTH <= x <= 1 + HALF_LENGTH else self._enter(rng)

    def advance(self, scene: CowboyScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[CowboyScene, float]:
        """Turns the arm, moves animals and loop, then looks whom the loop lies on."""
        arm = min(max(scene.arm + TURN * action[0], ARM_LEAST), ARM_MOST)
        steer, bull = self._walk(scene.steer, rng), self._walk(scene.bull, rng)
        heading, reach, flight = scene.heading, scene.reach, scene.flight
        if flight == 0:
            heading, flight = arm, int(action[1] > 0)
        reach = min(max(reach + (0.0, OUT, -BACK)[flight], HOME), FAR)
        reward = 0
        if flight == 1:
            loop = loop_at(heading, reach)
            if caught(loop, steer[0], STEER_ROW):
                reward, steer = 1, self._enter(rng)
            elif caught(loop, bull[0], BULL_ROW):
                reward, bull = -1, self._enter(rng)
            flight = -1 if reward or reach == FAR else 1
        elif reach == HOME:
            heading, flight = arm, 0
        points = scene.points + reward
        return CowboyScene(arm, heading, reach, flight, steer, bull, points, scene.success or points >= HERD), float(reward)

    def observe(self, scene: CowboyScene) -> tuple[float, ...]:
        """[loop_x, loop_y, arm, flight, steer_x, steer_v, bull_x, bull_v]."""
        return *loop_at(scene.heading, scene.reach), scene.arm, scene.flight, *scene.steer, *scene.bull

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Sand and the two rows."""
        canvas.fill(SAND)
        for row in (BULL_ROW, STEER_ROW):
            canvas.rectangle(0.0, row - 3 * PIXEL, 1.0, 6 * PIXEL, TRACK)

    def paint(self, canvas: Canvas, scene: CowboyScene) -> None:
        """Animals, cowboy, arm, rope and loop."""
        for (x, v), row, colour in ((scene.bull, BULL_ROW, BULL), (scene.steer, STEER_ROW, STEER)):
            self._animal(canvas, x, 1.0 if v > 0 else -1.0, row, colour)
        canvas.capsule((HAND[0], -2 * PIXEL), HAND, 2.4 * PIXEL, COAT)
        canvas.capsule(HAND, loop_at(scene.arm, 4 * PIXEL), 1.3 * PIXEL, COAT)
        loop = loop_at(scene.heading, scene.reach)
        canvas.capsule(HAND, loop, 0.5 * PIXEL, ROPE)
        canvas.disc(HAND, 2 * PIXEL, HAT)
        canvas.disc(loop, LOOP_RADIUS, ROPE)
        canvas.disc(loop, 0.9 * PIXEL, HAT)

    @staticmethod
    def _animal(canvas: Canvas, x: float, side: float, row: float, colour: Colour) -> None:
        canvas.rectangle(x - HALF_LENGTH, row - HALF_HEIGHT, 2 * HALF_LENGTH, 2 * HALF_HEIGHT, colour, rounding=PIXEL)
        canvas.disc((x + side * (HALF_LENGTH - PIXEL), row + PIXEL), 1.3 * PIXEL, HORN)


class CowboyPlayer:
    """Turns to the arm that can be reached soonest and from which a throw will meet the steer and not the bull; throws when it is there."""

    ARMS = np.linspace(ARM_LEAST, ARM_MOST, 45).tolist()

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """[turn, throw], float32 [2]."""
        loop_x, loop_y, arm, flight, *animals = map(float, env.state())
        steer, bull = (animals[0], animals[1]), (animals[2], animals[3])
        if flight == 0 and outcome(arm, 0, steer, bull) == 1:
            return np.array([0.0, 1.0], dtype=np.float32)
        held = hold(env)
        back = 0.0 if flight == 0 else (math.dist((loop_x, loop_y), HAND) - HOME) / BACK
        waits = {a: held * math.ceil(max(abs(a - arm) / TURN, back, 1e-6) / held) for a in self.ARMS}
        good = [a for a in self.ARMS if outcome(a, waits[a], steer, bull) == 1]
        target = min(good, key=lambda a: (waits[a], abs(a - arm)), default=math.pi / 2)
        return np.array([*drive([target - arm], TURN, held), -1.0], dtype=np.float32)
