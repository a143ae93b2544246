"""pygame-air-hockey: strike the puck with the left mallet into the goal on the right; a scripted rival has the right half.

The action is the mallet's velocity, in each direction, times `SPEED`; a mallet keeps to its half. The puck glides with little friction, is
reflected by the rails, and takes a part of the velocity of the mallet that it meets. The rival is slower and misjudges the puck by a draw from
the game's random stream. After a goal, and when nobody has touched the puck for `QUIET` control steps, there is a face-off in the middle.
Reward: +1 for a goal of the player, -1 for one of the rival. `success`: `LEAD` goals ahead.
State: [puck_x, puck_y, puck_vx, puck_vy, mallet_x, mallet_y, rival_x, rival_y], velocities in unit lengths a control step.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas, Point
from veridream.envs.miniarcade.experts import drive, hold
from veridream.envs.miniarcade.game import PIXEL, Game

RAIL = 1 * PIXEL
PUCK_RADIUS, MALLET_RADIUS = 2.1 * PIXEL, 2.8 * PIXEL
CONTACT = PUCK_RADIUS + MALLET_RADIUS
GOAL_HALF = 8 * PIXEL
SPEED, RIVAL_SPEED = 1.5 * PIXEL, 0.4 * PIXEL  # unit lengths a control step
RIVAL_ERROR = 5 * PIXEL  # standard deviation of its misjudgement
FASTEST = 2.6 * PIXEL  # of the puck
SERVE = 0.9 * PIXEL
KEPT, ELASTIC = 0.993, 0.9  # share of the puck's speed kept by a control step, and by a bounce
PAUSE = 3  # control steps before a face-off
QUIET = 50
LEAD = 5

LOW, HIGH = RAIL + PUCK_RADIUS, 1 - RAIL - PUCK_RADIUS  # of the puck's middle
MALLET_LOW, MALLET_HIGH = RAIL + MALLET_RADIUS, 1 - RAIL - MALLET_RADIUS
MIDDLE = 0.5 - MALLET_RADIUS  # farthest right that the left mallet goes
RIVAL_HOME = 1 - 5 * PIXEL

ICE, BORDER, LINE, OWN, RIVAL, KNOB, PUCK = (222, 238, 248), (40, 60, 110), (170, 196, 226), (224, 60, 44), (40, 120, 220), (250, 250, 250), (22, 22, 30)


@dataclass(frozen=True)
class HockeyScene:
    puck: Point
    velocity: Point
    mallet: Point
    rival: Point
    error: float  # the rival's misjudgement
    pause: int  # control steps until the face-off
    quiet: int = 0  # control steps since a mallet touched the puck
    goals: tuple[int, int] = (0, 0)  # player, rival
    success: bool = False
    over: bool = False  # never


def clamp(value: float, low: float, high: float) -> float:
    """The value kept in [low, high]."""
    return min(max(value, low), high)


def in_mouth(y: float) -> bool:
    """Whether the puck at that height is between a goal's posts."""
    return abs(y - 0.5) <= GOAL_HALF - 0.5 * PUCK_RADIUS


def slide(puck: Point, velocity: Point) -> tuple[Point, Point]:
    """One control step of the free puck, with the rails but for the goals."""
    (x, y), (vx, vy) = (puck[0] + velocity[0], puck[1] + velocity[1]), (KEPT * velocity[0], KEPT * velocity[1])
    if not LOW <= y <= HIGH:
        y, vy = 2 * clamp(y, LOW, HIGH) - y, -ELASTIC * vy
    if not LOW <= x <= HIGH and not in_mouth(y):
        x, vx = 2 * clamp(x, LOW, HIGH) - x, -ELASTIC * vx
    return (x, y), (vx, vy)


def strike(puck: Point, velocity: Point, mallet: Point, motion: Point) -> tuple[Point, Point, bool]:
    """Puck and velocity after a mallet that has moved by `motion`; whether they met. A mallet is far heavier than the puck."""
    away = math.dist(puck, mallet)
    if away >= CONTACT:
        return puck, velocity, False
    nx, ny = ((puck[0] - mallet[0]) / away, (puck[1] - mallet[1]) / away) if away > 1e-9 else (1.0, 0.0)
    closing = min((velocity[0] - motion[0]) * nx + (velocity[1] - motion[1]) * ny, 0.0)
    vx, vy = velocity[0] - (1 + ELASTIC) * closing * nx, velocity[1] - (1 + ELASTIC) * closing * ny
    slower = min(1.0, FASTEST / max(math.hypot(vx, vy), 1e-9))
    x, y = mallet[0] + CONTACT * nx, clamp(mallet[1] + CONTACT * ny, LOW, HIGH)
    return (x if in_mouth(y) else clamp(x, LOW, HIGH), y), (slower * vx, slower * vy), True


class AirHockey(Game[HockeyScene]):
    """The game; see the module."""

    state_dim = 8
    action_dim = 2

    def start(self, rng: np.random.Generator) -> HockeyScene:
        """Mallets anywhere near their goals, the first face-off."""
        mallet, rival = (float(rng.uniform(0.12, 0.3)), float(rng.uniform(0.2, 0.8))), (RIVAL_HOME, float(rng.uniform(0.3, 0.7)))
        return self._face_off(HockeyScene((0.5, 0.5), (0.0, 0.0), mallet, rival, 0.0, 0), rng)

    @staticmethod
    def _face_off(scene: HockeyScene, rng: np.random.Generator) -> HockeyScene:
        side, angle = (1.0 if rng.random() < 0.5 else -1.0), float(rng.uniform(-0.7, 0.7))
        puck, velocity = (0.5, float(rng.uniform(0.3, 0.7))), (side * SERVE * math.cos(angle), SERVE * math.sin(angle))
        return replace(scene, puck=puck, velocity=velocity, error=float(rng.normal()) * RIVAL_ERROR, pause=PAUSE, quiet=0)

    def advance(self, scene: HockeyScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[HockeyScene, float]:
        """Moves both mallets, then the puck; then goals and face-offs."""
        x, y = scene.mallet[0] + SPEED * action[0], scene.mallet[1] + SPEED * action[1]
        mallet = clamp(x, MALLET_LOW, MIDDLE), clamp(y, MALLET_LOW, MALLET_HIGH)
        rival = self._rival(scene)
        moved = replace(scene, mallet=mallet, rival=rival)
        if scene.pause > 0:
            return replace(moved, pause=scene.pause - 1), 0.0
        puck, velocity = slide(scene.puck, scene.velocity)
        quiet, error = scene.quiet + 1, scene.error
        for now, before in ((mallet, scene.mallet), (rival, scene.rival)):
            puck, velocity, met = strike(puck, velocity, now, (now[0] - before[0], now[1] - before[1]))
            if met:
                quiet, error = 0, float(rng.normal()) * RIVAL_ERROR
        moved = replace(moved, puck=puck, velocity=velocity, quiet=quiet, error=error)
        if LOW <= puck[0] <= HIGH:
            return (moved if quiet < QUIET else self._face_off(moved, rng)), 0.0
        won = puck[0] > 0.5
        goals = scene.goals[0] + won, scene.goals[1] + (not won)
        moved = replace(moved, goals=goals, success=scene.success or goals[0] - goals[1] >= LEAD)
        return self._face_off(moved, rng), 1.0 if won else -1.0

    @staticmethod
    def _rival(scene: HockeyScene) -> Point:
        """Runs at a slow puck in its half, from behind; else shifts before its goal."""
        (x, y), (puck_x, puck_y) = scene.rival, scene.puck
        to_x, to_y = RIVAL_HOME, clamp(puck_y + scene.error, 0.5 - GOAL_HALF, 0.5 + GOAL_HALF)
        if 0.5 < puck_x < x and abs(scene.velocity[0]) < 0.8 * SERVE and scene.pause == 0:
            to_x, to_y = puck_x, puck_y + 0.3 * scene.error
        x += clamp(to_x - x, -RIVAL_SPEED, RIVAL_SPEED)
        y += clamp(to_y - y, -RIVAL_SPEED, RIVAL_SPEED)
        return clamp(x, 1 - MIDDLE, MALLET_HIGH), clamp(y, MALLET_LOW, MALLET_HIGH)

    def observe(self, scene: HockeyScene) -> tuple[float, ...]:
        """[puck_x, puck_y, puck_vx, puck_vy, mallet_x, mallet_y, rival_x, rival_y]; the puck's velocity is 0 before a face-off."""
        return *scene.puck, *((0.0, 0.0) if scene.pause else scene.velocity), *scene.mallet, *scene.rival

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Ice, middle line and circle, rails, goals in their defender's colour."""
        canvas.fill(BORDER)
        canvas.rectangle(RAIL, RAIL, 1 - 2 * RAIL, 1 - 2 * RAIL, ICE)
        canvas.disc((0.5, 0.5), 5 * PIXEL, LINE)
        canvas.disc((0.5, 0.5), 4 * PIXEL, ICE)
        canvas.rectangle(0.5 - 0.5 * PIXEL, RAIL, PIXEL, 1 - 2 * RAIL, LINE)
        for left, colour in ((0.0, OWN), (1 - RAIL, RIVAL)):
            canvas.rectangle(left, 0.5 - GOAL_HALF, RAIL, 2 * GOAL_HALF, colour)

    def paint(self, canvas: Canvas, scene: HockeyScene) -> None:
        """Mallets, then the puck over them."""
        for at, colour in ((scene.mallet, OWN), (scene.rival, RIVAL)):
            canvas.disc(at, MALLET_RADIUS, colour)
            canvas.disc(at, 1.1 * PIXEL, KNOB)
        canvas.disc(scene.puck, PUCK_RADIUS, PUCK)


class AirHockeyPlayer:
    """Goes where the puck can be struck from behind, or guards the goal; strikes as soon as one of `WAYS` sends the puck into the goal at speed,
    as far from the rival as can be."""

    AHEAD, QUICK = 24, 12  # control steps foreseen: of the puck that comes, and of the puck just struck
    GUARD, FRONT = 5 * PIXEL, 10 * PIXEL  # x of the mallet on guard, and of its farthest meeting with a puck that comes
    WAYS = tuple((math.cos(a), math.sin(a)) for a in np.arange(16) * math.pi / 8)

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action, float32 [2]."""
        x, y, vx, vy, mallet_x, mallet_y, _, rival_y = map(float, env.state())
        held, mallet = hold(env), (mallet_x, mallet_y)
        plan = self._plan((x, y), (vx, vy), mallet, 0.5 - math.copysign(GOAL_HALF - 1.5 * PUCK_RADIUS, rival_y - 0.5), held)
        if math.dist((x, y), mallet) > CONTACT + (FASTEST + 2 * SPEED) * held:
            return plan
        ways = [(float(plan[0]), float(plan[1])), *((u / max(abs(u), abs(v)), v / max(abs(u), abs(v))) for u, v in self.WAYS)]
        return np.array(max(ways, key=lambda way: self._worth((x, y), (vx, vy), mallet, way, rival_y, held)), dtype=np.float32)

    def _worth(self, puck: Point, velocity: Point, mallet: Point, way: Point, rival_y: float, held: int) -> float:
        """Of an action: 1 and more for a goal, the more the farther from the rival; -1 for one on the own side; 0 for neither."""
        for k in range(held + self.QUICK):
            puck, velocity = slide(puck, velocity)
            if k < held:
                to = clamp(mallet[0] + SPEED * way[0], MALLET_LOW, MIDDLE), clamp(mallet[1] + SPEED * way[1], MALLET_LOW, MALLET_HIGH)
                puck, velocity, _ = strike(puck, velocity, to, (to[0] - mallet[0], to[1] - mallet[1]))
                mallet = to
            if not LOW <= puck[0] <= HIGH:
                return 1 + abs(puck[1] - rival_y) if puck[0] > 0.5 else -1.0
        return 0.0

    def _plan(self, puck: Point, velocity: Point, mallet: Point, corner_y: float, held: int) -> np.ndarray:
        """The action toward the first place where the puck can be met on its line to the corner, float32 [2]; toward the guard without one."""
        x, y = puck
        guard_y = y
        for k in range(1, self.AHEAD + 1):
            puck, velocity = slide(puck, velocity)
            if puck[0] < self.GUARD:
                guard_y = puck[1]
                break
            far = math.dist((1.0, corner_y), puck)
            to_x = puck[0] - CONTACT * (1.0 - puck[0]) / far - mallet[0]
            to_y = puck[1] - CONTACT * (corner_y - puck[1]) / far - mallet[1]
            front = self.FRONT if velocity[0] < -0.5 * SERVE else MIDDLE
            if k >= held and max(abs(to_x), abs(to_y)) <= SPEED * k and MALLET_LOW <= mallet[0] + to_x <= front and mallet[0] < puck[0]:
                return drive([to_x, to_y], SPEED, held)
        guard_y = clamp(guard_y, 0.5 - GOAL_HALF, 0.5 + GOAL_HALF)
        if x < mallet[0] and abs(y - mallet[1]) < CONTACT + PIXEL:  # the puck is behind the mallet: go round it
            guard_y = y + math.copysign(CONTACT + 2 * PIXEL, 0.5 - y)
        return drive([self.GUARD - mallet[0], guard_y - mallet[1]], SPEED, held)
