"""pygame-coconut-dodge: run left and right on the beach; let no coconut fall on your head.

A coconut leaves the crown every `PERIOD` control steps, half of them right above the player, each at a steady speed of its own. The runner
moves at the action times `SPEED`. One that is hit stands dazed, and turns pale, for `DAZED` control steps.
Reward: +1 for a coconut that lands on the sand, -1 for one that hits. `success`: `ENOUGH` coconuts in a row have landed.
State: [x, dazed, then x, y, speed of up to three coconuts, lowest first; 0.5, 1, 0 for one that is not there]; dazed in [0, 1], speeds in unit
lengths a control step.
"""

from dataclasses import dataclass

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.experts import drive, hold
from veridream.envs.miniarcade.game import PIXEL, Game

SPEED = 1.5 * PIXEL  # of the runner, unit lengths a control step
SLOWEST, FASTEST = 1.15 * PIXEL, 1.7 * PIXEL  # of a coconut
PERIOD, DAZED, ENOUGH = 10, 6, 10
SAND, CROWN = 3 * PIXEL, 1 - 5 * PIXEL  # heights of the beach and of the leaves' lower end
RADIUS = 2.3 * PIXEL  # of a coconut
HALF_WIDTH, BODY, HEAD_RADIUS = 2.2 * PIXEL, 4.5 * PIXEL, 2.1 * PIXEL
HEAD = SAND + BODY + 1.5 * HEAD_RADIUS  # height of the head's top
REACH = HALF_WIDTH + 0.8 * RADIUS  # sideways distance at which a coconut still hits
LEFT, RIGHT = 3 * PIXEL, 1 - 3 * PIXEL  # where a runner's and a coconut's middle may be
MOST = 3  # coconuts in the air

SKY, BEACH, LEAF, LEAF_EDGE, COCONUT = (112, 192, 244), (240, 214, 144), (34, 132, 66), (22, 100, 50), (104, 58, 26)
SHIRT, HAT, PALE = (222, 40, 92), (255, 226, 104), (250, 244, 250)

Coconut = tuple[float, float, float]  # x, y, speed


@dataclass(frozen=True)
class CoconutScene:
    x: float
    coconuts: tuple[Coconut, ...]
    until: int  # control steps to the next coconut
    dazed: int = 0  # control steps to come
    row: int = 0  # coconuts landed since the last hit
    success: bool = False
    over: bool = False  # never


class CoconutDodge(Game[CoconutScene]):
    """The game; see the module."""

    state_dim = 2 + 3 * MOST
    action_dim = 1

    def start(self, rng: np.random.Generator) -> CoconutScene:
        """The runner anywhere, one coconut on its way."""
        x = float(rng.uniform(LEFT, RIGHT))
        return CoconutScene(x, (self._new(x, rng),), int(rng.integers(1, PERIOD)))

    @staticmethod
    def _new(x: float, rng: np.random.Generator) -> Coconut:
        aimed, elsewhere = rng.random() < 0.5, float(rng.uniform(LEFT, RIGHT))
        return x if aimed else elsewhere, CROWN, float(rng.uniform(SLOWEST, FASTEST))

    def advance(self, scene: CoconutScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[CoconutScene, float]:
        """The runner runs, the coconuts fall, hits and landings count, the next coconut comes."""
        x = scene.x if scene.dazed else min(max(scene.x + SPEED * action[0], LEFT), RIGHT)
        falling = [(cx, cy - speed, speed) for cx, cy, speed in scene.coconuts]
        hits = [c for c in falling if self.hits(c, x)]
        landed = [c for c in falling if c not in hits and c[1] <= SAND + RADIUS]
        rest = [c for c in falling if c not in hits and c not in landed]
        until = scene.until - 1
        if until == 0:
            rest, until = [*rest, self._new(x, rng)], PERIOD
        row = 0 if hits else scene.row + len(landed)
        dazed = DAZED if hits else max(scene.dazed - 1, 0)
        return CoconutScene(x, tuple(rest), until, dazed, row, scene.success or row >= ENOUGH), float(len(landed) - len(hits))

    @staticmethod
    def hits(coconut: Coconut, x: float) -> bool:
        """Whether a coconut touches the runner."""
        return abs(coconut[0] - x) < REACH and coconut[1] - 0.8 * RADIUS <= HEAD

    def observe(self, scene: CoconutScene) -> tuple[float, ...]:
        """[x, dazed, three times x, y, speed]."""
        lowest = sorted(scene.coconuts, key=lambda c: c[1])
        slots = [*lowest, *[(0.5, 1.0, 0.0)] * MOST][:MOST]
        return scene.x, scene.dazed / DAZED, *(v for slot in slots for v in slot)

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Sky, beach, and the crown with its leaves."""
        canvas.fill(SKY)
        canvas.rectangle(0, 0, 1, SAND, BEACH)
        canvas.rectangle(0, CROWN + 2.5 * PIXEL, 1, 1 - CROWN - 2.5 * PIXEL, LEAF_EDGE)
        for k in range(6):
            canvas.disc(((2.5 + 5.4 * k) * PIXEL, CROWN + 2.6 * PIXEL), 2.6 * PIXEL, LEAF)

    def paint(self, canvas: Canvas, scene: CoconutScene) -> None:
        """The runner, then the coconuts."""
        canvas.rectangle(scene.x - HALF_WIDTH, SAND, 2 * HALF_WIDTH, BODY, PALE if scene.dazed else SHIRT, rounding=0.8 * PIXEL)
        canvas.disc((scene.x, SAND + BODY + 0.5 * HEAD_RADIUS), HEAD_RADIUS, HAT)
        for x, y, _ in scene.coconuts:
            canvas.disc((x, y), RADIUS, COCONUT)


class CoconutPlayer:
    """Of plans to go to a place, at once or a little later, follows the one that stays clearest of what falls; best near the middle."""

    PLACES = tuple(float(p) for p in np.linspace(LEFT, RIGHT, 14))
    WAITS = (0, 4, 8, 12)  # control steps
    CLEAR = REACH + 1.2 * PIXEL  # sideways distance that is wanted

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action, float32 [1]."""
        x, _, *slots = map(float, env.state())
        coconuts = [(slots[k], slots[k + 1], slots[k + 2]) for k in range(0, 3 * MOST, 3) if slots[k + 2] > 0]
        plans: list[tuple[float, int]] = [(x, 0), *((place, wait) for place in self.PLACES for wait in self.WAITS)]
        place, wait = min(plans, key=lambda plan: self._cost(x, plan[0], plan[1], coconuts))
        return drive([place - x if wait == 0 else 0.0], SPEED, hold(env))

    def _cost(self, x: float, place: float, wait: int, coconuts: list[Coconut]) -> float:
        """Clearance that is missing, above all; then the way and the wait; then the place's distance from the middle."""
        missing = 0.0
        for cx, cy, speed in coconuts:
            first, last = max(0.0, (cy - HEAD - RADIUS) / speed), max(0.0, (cy - SAND - RADIUS) / speed) + 1.0
            for share in (0.0, 0.25, 0.5, 0.75, 1.0):
                when = first + share * (last - first)
                way = SPEED * max(0.0, when - wait)
                missing += max(0.0, self.CLEAR - abs(x + min(max(place - x, -way), way) - cx))
        return 50 * missing + 0.5 * abs(place - x) + 0.01 * wait + abs(place - 0.5)
