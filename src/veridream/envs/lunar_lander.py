"""Three tasks of the lunar lander: stay in the air, come down on the pad, rise from it. Continuous actions."""

from typing import Any

import numpy as np

from veridream.envs.base import RawStep
from veridream.envs.polygons import Canvas, Scene

HOVER = (0.0, 0.7)  # the point to stay at, in the package's normalised coordinates
RISE = (0.0, 0.8)  # the point to rise to
NEAR, NEAR_PAD = 0.5, 0.6  # distance at which the reward is 1/e of the best
START = ((-0.35, 0.35), (0.7, 1.2))  # x, y of the start, uniform, in the same coordinates (the package starts every episode at (0, 1.4))
ON_PAD, DROP = 0.08, -0.01  # take-off: the start is within so much of the pad's middle, let down from this height
UNFOLD, SETTLE = 10, 60  # control steps before: in the air until the legs are out, then on the pad to come to rest
PAD = 0.2  # half the pad's width
REST = 0.02  # speed below which the lander counts as at rest
VIEW, FLOOR = 10.4, 2.4  # metres: side of the square that is drawn, centred on the pad's column, and the height of its lower edge
WIDTH, HEIGHT = 600 / 30.0, 400 / 30.0


def _slow(vx: float, vy: float) -> float:
    return 1.0 / (1.0 + (vx**2 + vy**2) / 0.5**2)


def hover_reward(x: float, y: float, vx: float, vy: float, angle: float) -> float:
    """Reward in [0, 1] of one control step: near the hover point, upright, and slow. Normalised coordinates, radians."""
    near = float(np.exp(-((x - HOVER[0]) ** 2 + (y - HOVER[1]) ** 2) / NEAR**2))
    upright = max(0.0, float(np.cos(angle)))
    return near * upright * (0.5 + 0.5 * _slow(vx, vy))


def land_reward(x: float, y: float, vx: float, vy: float, angle: float, legs: float) -> float:
    """Reward in [0, 1] of one control step: near the pad's middle, upright, slow, and with `legs` (0, 1 or 2) on the ground."""
    near = float(np.exp(-(x**2 + y**2) / NEAR_PAD**2))
    upright = max(0.0, float(np.cos(angle)))
    return near * upright * (0.25 + 0.25 * _slow(vx, vy) + 0.25 * legs)


def takeoff_reward(x: float, y: float, vx: float, vy: float, angle: float) -> float:
    """Reward in [0, 1] of one control step: near the height to rise to, above the pad, upright, and slow."""
    near = float(np.exp(-((y - RISE[1]) ** 2) / NEAR**2 - (x - RISE[0]) ** 2))
    upright = max(0.0, float(np.cos(angle)))
    return near * upright * (0.5 + 0.5 * _slow(vx, vy))


class LunarHover(Scene):
    """State: x, y, vx, vy (normalised as in the package), angle (rad), angular velocity, left and right leg contact.

    Actions: main engine (off below 0, 50 to 100 % above), side engines (off within 0.5 of 0).
    """

    state_dim = 8
    action_dim = 2

    def __init__(self, task_id: str, size: int) -> None:
        from gymnasium.envs.box2d.lunar_lander import LunarLander

        super().__init__(task_id, lambda: LunarLander(continuous=True), size, VIEW)
        self._observation = np.zeros(8, dtype=np.float32)
        self._fired = (0.0, 0.0)

    def reset(self, seed: int) -> None:
        self._observation, _ = self._renew().reset(seed=seed)
        self._start(np.random.default_rng(seed))
        self._fired = (0.0, 0.0)

    def _start(self, rng: np.random.Generator) -> None:
        self._place(*(rng.uniform(*np.transpose(START))))

    def _place(self, x: float, y: float) -> None:
        """Moves the lander and its legs; speed and shape stay as they are."""
        dx, dy = (x - float(self._observation[0])) * WIDTH / 2.0, (y - float(self._observation[1])) * HEIGHT / 2.0
        for body in self._env.drawlist:
            body.position = (body.position[0] + dx, body.position[1] + dy)
        self._observation[:2] = x, y

    def step(self, action: np.ndarray) -> RawStep:
        self._observation, _, terminal, _, _ = self._env.step(np.asarray(action, dtype=np.float64))
        main, side = float(action[0]), float(action[1])
        self._fired = ((1.0 + main) / 2.0 if main > 0 else 0.0, side if abs(side) > 0.5 else 0.0)
        if self._ended(bool(terminal)):
            return RawStep(0.0, True)
        return RawStep(self._reward(), False, self._solved())

    def _ended(self, terminal: bool) -> bool:
        """The package's own flag: a crash, out of sight to a side, or asleep on the ground."""
        return terminal

    def _reward(self) -> float:
        x, y, vx, vy, angle = (float(v) for v in self._observation[:5])
        return hover_reward(x, y, vx, vy, angle)

    def _solved(self) -> bool:
        return False

    def state(self) -> np.ndarray:
        return self._observation.copy()

    def paint(self, canvas: Canvas) -> None:
        """Sky, ground, body, legs, and a flame where an engine fired in the last control step."""
        canvas.clear((10, 10, 40), (WIDTH - VIEW) / 2.0, FLOOR)
        for p1, p2, *_ in self._env.sky_polys:
            canvas.polygon((190, 190, 200), [p1, p2, (p2[0], 0.0), (p1[0], 0.0)])
        left, right, pad = self._env.helipad_x1, self._env.helipad_x2, self._env.helipad_y
        canvas.polygon((230, 200, 40), [(left, pad), (right, pad), (right, pad - 0.4), (left, pad - 0.4)])
        for flame in self._flames():
            canvas.polygon((255, 140, 30), flame)
        for body, colour in zip(self._env.drawlist, ((150, 110, 255), (110, 230, 120), (110, 230, 120)), strict=True):
            canvas.body(colour, body)

    def _flames(self) -> list[list[Any]]:
        """Triangles in world coordinates, as long as the engine was strong."""
        main, sideways = self._fired
        at = self._env.lander.transform
        out = []
        if main > 0:
            out.append([at * (-0.35, -0.3), at * (0.35, -0.3), at * (0.0, -0.4 - 1.3 * main)])
        if sideways:
            s = float(np.sign(sideways))  # a positive command fires the engine on the left
            out.append([at * (-0.55 * s, 0.2), at * (-0.55 * s, 0.6), at * (-s * (0.7 + 0.8 * abs(sideways)), 0.4)])
        return out


class LunarLand(LunarHover):
    """The same lander, to be brought to rest on the pad. A lander at rest goes on earning: only a crash or leaving to a side ends the episode."""

    def _ended(self, terminal: bool) -> bool:
        return bool(self._env.game_over) or abs(float(self._observation[0])) >= 1.0

    def _reward(self) -> float:
        x, y, vx, vy, angle, _, left, right = (float(v) for v in self._observation)
        return land_reward(x, y, vx, vy, angle, left + right)

    def _solved(self) -> bool:
        x, _, vx, vy, _, _, left, right = (float(v) for v in self._observation)
        return abs(x) <= PAD and left + right == 2.0 and np.hypot(vx, vy) < REST


class LunarTakeoff(LunarLand):
    """The same lander, at rest on the pad at first; to rise to a height and stay there."""

    def _start(self, rng: np.random.Generator) -> None:
        self._fall(UNFOLD)
        self._place(rng.uniform(-ON_PAD, ON_PAD), DROP)
        for body in self._env.drawlist:
            body.linearVelocity, body.angularVelocity = (0.0, 0.0), 0.0
        self._fall(SETTLE)

    def _fall(self, steps: int) -> None:
        """Control steps without engines."""
        for _ in range(steps):
            self._observation, *_ = self._env.step(np.zeros(2))

    def _reward(self) -> float:
        x, y, vx, vy, angle = (float(v) for v in self._observation[:5])
        return takeoff_reward(x, y, vx, vy, angle)

    def _solved(self) -> bool:
        x, y, vx, vy = (float(v) for v in self._observation[:4])
        return np.hypot(x - RISE[0], y - RISE[1]) < 0.15 and np.hypot(vx, vy) < 0.1


class HoverPilot:
    """Holds the lander at a point: a proportional-derivative loop for height, one for place by tilting, one for the tilt."""

    GRAVITY, THRUST = 10.0, 17.5  # m/s^2; the main engine's at full power
    target = HOVER

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        pass

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        x, y, vx, vy, angle, spin, left, right = (float(v) for v in env.state())
        dx, dy = (self.target[0] - x) * WIDTH / 2, (self.target[1] - y) * HEIGHT / 2  # metres; the package scales place, speed and spin each in its way
        vx, vy, spin = vx * 50 / (WIDTH / 2), vy * 50 / (HEIGHT / 2), spin * 50 / 20
        power = (self.GRAVITY + self.climb(dx, dy, vy)) / (self.THRUST * max(0.5, np.cos(angle)))
        main = 2.0 * power - 1.0 if power > 0.5 else (0.01 if power > 0.3 else -1.0)
        tilt = np.clip(-(0.8 * dx - 1.6 * vx) / self.GRAVITY, -0.3, 0.3)
        side = -(4.0 * (tilt - angle) - 1.5 * spin)
        return np.clip(self.command(main, side, left + right), -1.0, 1.0)

    def climb(self, dx: float, dy: float, vy: float) -> float:
        """Upward acceleration wanted, m/s^2. dx, dy: metres to the target; vy: m/s."""
        return 2.0 * dy - 2.5 * vy

    def command(self, main: float, side: float, legs: float) -> list[float]:
        return [main, side]


class LandPilot(HoverPilot):
    """Comes down the slower the nearer the ground and the farther from the pad's column; engines off once both legs touch."""

    target = (0.0, 0.0)

    def climb(self, dx: float, dy: float, vy: float) -> float:
        height = max(0.0, -dy)
        down = (0.4 + 0.5 * height) * float(np.clip(1.6 - abs(dx), 0.0, 1.0))
        return 4.0 * (-down - vy)

    def command(self, main: float, side: float, legs: float) -> list[float]:
        return [-1.0, 0.0] if legs == 2.0 else [main, side]


class TakeoffPilot(HoverPilot):
    target = RISE


WORLDS = {"lunarlander-hover": LunarHover, "lunarlander-land": LunarLand, "lunarlander-takeoff": LunarTakeoff}
PILOTS = {"lunarlander-hover": HoverPilot, "lunarlander-land": LandPilot, "lunarlander-takeoff": TakeoffPilot}
