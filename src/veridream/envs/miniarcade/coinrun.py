"""pygame-coinrun: run and jump over two gaps in the ground from coin to coin.

Action 0 runs, first order, also in the air. Action 1 above 0 jumps when the runner stands. Who steps over a gap's edge falls through it and
starts again on a random part of the ground. Low coins are collected by running, high ones by jumping; some hang over a gap. There is one
coin at a time. Where the gaps are is drawn by the reset.
Reward: +1 for a coin, -1 for a fall. `success`: `PURSE` coins collected.
State: [x, y, vy, coin_x, coin_y, gap1, gap2]: y of the feet above the ground (below 0 in a gap), vy in unit lengths a control step, gap1 and
gap2 the left edges.
"""

from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Point
from veridream.envs.miniarcade.experts import hold
from veridream.envs.miniarcade.game import PIXEL, Game

GROUND = 8 * PIXEL  # height of its surface
GAP = 7 * PIXEL  # width
GAPS = ((5 * PIXEL, 7 * PIXEL), (18.5 * PIXEL, 20.5 * PIXEL))  # least and most of a gap's left edge
RUN = 1.3 * PIXEL  # unit lengths a control step
JUMP = 2.6 * PIXEL  # first upward step of a jump
GRAVITY = 0.55 * PIXEL  # unit lengths a control step squared
HALF, TALL = 2.2 * PIXEL, 5.5 * PIXEL  # half width and height of the runner
COIN_RADIUS = 2.3 * PIXEL
LOW, HIGH = GROUND + 2.8 * PIXEL, GROUND + 9.5 * PIXEL  # of a coin's middle
APART = 8 * PIXEL  # runner and new coin, at least, horizontally
PURSE = 10

SKY, CLOUD, EARTH, GRASS, DARK = (112, 190, 244), (146, 208, 250), (122, 76, 44), (64, 160, 60), (30, 34, 60)
SHIRT, SKIN, COIN = (214, 40, 60), (250, 214, 180), (255, 214, 30)

Motion = tuple[float, float, float]  # x, y, vy


@dataclass(frozen=True)
class CoinrunScene:
    x: float
    y: float
    vy: float
    coin: Point
    gaps: tuple[float, float]
    coins: int = 0
    success: bool = False
    over: bool = False  # never


def gap_under(x: float, gaps: tuple[float, float]) -> float | None:
    """The left edge of the gap below x; None over firm ground."""
    return next((left for left in gaps if left < x < left + GAP), None)


def move(motion: Motion, run: float, jump: bool, gaps: tuple[float, float]) -> Motion:
    """One control step of the runner."""
    x, y, vy = motion
    x = min(max(x + RUN * run, HALF), 1 - HALF)
    if y < 0:  # inside a gap, between its walls
        left = gap_under(motion[0], gaps) or 0.0
        return min(max(x, left + HALF), left + GAP - HALF), y + vy - GRAVITY, vy - GRAVITY
    stood = y == 0.0 and vy == 0.0
    vy = (JUMP if jump else 0.0) if stood else vy - GRAVITY
    if gap_under(x, gaps) is None:
        return (x, y + vy, vy) if y + vy > 0 else (x, 0.0, 0.0)
    if stood and not jump:
        vy = -GRAVITY
    return x, y + vy, vy


def touches(motion: Motion, coin: Point) -> bool:
    """Whether the runner has the coin."""
    middle = GROUND + motion[1] + TALL / 2
    return abs(coin[0] - motion[0]) <= HALF + 0.6 * COIN_RADIUS and abs(coin[1] - middle) <= TALL / 2 + 0.6 * COIN_RADIUS


def islands(gaps: tuple[float, float]) -> tuple[float, float, float]:
    """The middles of the three parts of the ground."""
    return gaps[0] / 2, (gaps[0] + GAP + gaps[1]) / 2, (gaps[1] + GAP + 1) / 2


class Coinrun(Game[CoinrunScene]):
    """The game; see the module."""

    state_dim = 7
    action_dim = 2

    def start(self, rng: np.random.Generator) -> CoinrunScene:
        """Gaps, a runner in the middle of a part of the ground, a coin."""
        first, second = (float(rng.uniform(*ends)) for ends in GAPS)
        x = islands((first, second))[rng.integers(3)]
        return CoinrunScene(x, 0.0, 0.0, self._coin(x, (first, second), rng), (first, second))

    @staticmethod
    def _coin(x: float, gaps: tuple[float, float], rng: np.random.Generator) -> Point:
        while True:
            at = float(rng.uniform(COIN_RADIUS, 1 - COIN_RADIUS))
            high = rng.random() < 0.5 or gap_under(at - HALF, gaps) is not None or gap_under(at + HALF, gaps) is not None
            if abs(at - x) > APART:
                return at, HIGH if high else LOW

    def advance(self, scene: CoinrunScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[CoinrunScene, float]:
        """Moves the runner; then the coin, or the fall."""
        x, y, vy = move((scene.x, scene.y, scene.vy), action[0], action[1] > 0, scene.gaps)
        if y < -GROUND - TALL:
            return replace(scene, x=islands(scene.gaps)[rng.integers(3)], y=0.0, vy=0.0), -1.0
        scene = replace(scene, x=x, y=y, vy=vy)
        if not touches((x, y, vy), scene.coin):
            return scene, 0.0
        coins = scene.coins + 1
        return replace(scene, coin=self._coin(x, scene.gaps, rng), coins=coins, success=coins >= PURSE), 1.0

    def observe(self, scene: CoinrunScene) -> tuple[float, ...]:
        """[x, y, vy, coin_x, coin_y, gap1, gap2]."""
        return scene.x, scene.y, scene.vy, *scene.coin, *scene.gaps

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Sky, two clouds, and grass on earth without its gaps."""
        canvas.fill(SKY)
        for x, y in ((0.2, 0.85), (0.72, 0.78)):
            canvas.capsule((x, y), (x + 5 * PIXEL, y), 2.2 * PIXEL, CLOUD)
        canvas.rectangle(0.0, 0.0, 1.0, GROUND, EARTH)
        canvas.rectangle(0.0, GROUND - 2 * PIXEL, 1.0, 2 * PIXEL, GRASS)

    def paint(self, canvas: Canvas, scene: CoinrunScene) -> None:
        """The gaps of this episode, the coin, the runner over it."""
        for left in scene.gaps:
            canvas.rectangle(left, 0.0, GAP, GROUND, DARK)
        canvas.disc(scene.coin, COIN_RADIUS, COIN)
        feet = GROUND + scene.y
        canvas.rectangle(scene.x - HALF, feet, 2 * HALF, TALL, SHIRT, rounding=PIXEL)
        canvas.rectangle(scene.x - HALF, feet + TALL - 2 * PIXEL, 2 * HALF, 2 * PIXEL, SKIN, rounding=PIXEL)


class CoinrunPlayer:
    """Plays a few ways to run and one jump, now or up to three actions later, in `move`, and takes the first action of the best way.

    Best is the coin at the earliest; without it, to stand nearest to it; never a fall.
    """

    RUNS = (1.0, -1.0, 0.75, -0.75, 0.5, -0.5, 0.0)
    STEPS = 20  # control steps looked ahead

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """[run, jump], float32 [2]."""
        x, y, vy, coin_x, coin_y, first, second = map(float, env.state())
        held = hold(env)
        ways = [(run, delay) for run in self.RUNS for delay in (-1, 0, 1, 2, 3)]
        run, delay = max(ways, key=lambda way: self._worth((x, y, vy), way[0], way[1], held, (coin_x, coin_y), (first, second)))
        return np.array([run, 1.0 if delay == 0 else -1.0], dtype=np.float32)

    def _worth(self, motion: Motion, run: float, delay: int, held: int, coin: Point, gaps: tuple[float, float]) -> float:
        worth = 0.0
        for k in range(self.STEPS):
            motion = move(motion, run, k // held == delay, gaps)
            if motion[1] < 0:
                return -100.0 + k
            if touches(motion, coin):
                worth = worth or 100.0 - k
            if k >= held * max(delay + 1, 1) - 1 and motion[1:] == (0.0, 0.0):
                break  # it stands: from here on, plan anew
        return worth or -abs(motion[0] - coin[0])
