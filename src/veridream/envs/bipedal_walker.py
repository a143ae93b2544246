"""Five tasks of the two-legged walker: the same body on flat, uneven, rugged, hilly ground and on a course of obstacles.

Ground and start are drawn from the episode's seed. The camera follows the walker; the striped ground shows how it moves.
"""

import itertools
from typing import Any

import numpy as np

from veridream.envs.base import RawStep
from veridream.envs.polygons import Canvas, Colour, Scene

TERRAINS = {  # how each task's ground is made
    "bipedal-walker-flat": "flat",
    "bipedal-walker-uneven": "uneven",
    "bipedal-walker-rugged": "rugged",
    "bipedal-walker-hills": "hills",
    "bipedal-walker-obstacles": "obstacles",  # the package's own course of stumps, pits and stairs
}
ROUGHNESS = {"flat": 0.0, "uneven": 1.0, "rugged": 3.0}  # in units of the package's own
POINTS, STEP, LEVEL = 400, 14 / 30.0, 400 / 30.0 / 4  # ground: points, metres between them, height of the flat part
FLAT = 20  # points of flat ground at the start
FRICTION = 2.5
SHIFT = 1.0  # metres; the start is moved by up to so much
SPEED = 3.0  # m/s at which the reward is at its best
FAR = 10.0  # metres; whoever gets so far has solved the task
VIEW, AHEAD, BELOW = 6.4, 0.42, 1.5  # metres seen; the walker's place in the frame; metres of the frame below the ground
SKY: Colour = (150, 195, 240)
GROUND: tuple[Colour, Colour] = ((60, 120, 55), (105, 165, 75))
BLOCK: Colour = (95, 90, 105)
FAR_LEG: Colour = (120, 45, 30)
NEAR_LEG: Colour = (250, 130, 40)
HULL: Colour = (75, 40, 150)


def walk_reward(speed: float, angle: float) -> float:
    """Reward in [0, 1] of one control step: a fifth for the hull being level, the rest for going forward. m/s, radians."""
    level = max(0.0, float(np.cos(angle)))
    return level * (0.2 + 0.8 * float(np.clip(speed / SPEED, 0.0, 1.0)))


def ground(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Heights [POINTS] of the ground in metres, `STEP` apart; level over the first `FLAT` points.

    flat, uneven, rugged: the package's random slopes times a roughness. hills: three sine waves, each with a slope of its own.
    """
    if kind == "hills":
        x = STEP * np.arange(POINTS)
        length, phase = rng.uniform((14.0, 9.0, 6.0), (20.0, 14.0, 9.0)), rng.uniform(0.0, 2.0 * np.pi, 3)
        slope = rng.uniform((0.12, 0.08, 0.04), (0.22, 0.16, 0.10))
        wave = (slope * length / (2.0 * np.pi) * np.sin(2.0 * np.pi * x[:, None] / length + phase)).sum(axis=1)
        ramp = np.clip((np.arange(POINTS) - FLAT) / 12.0, 0.0, 1.0)
        return np.asarray(LEVEL + ramp * wave)
    y, lean = LEVEL, 0.0
    out: list[float] = []
    for i, noise in enumerate(rng.uniform(-1.0, 1.0, POINTS)):
        lean = 0.8 * lean + ROUGHNESS[kind] * (0.01 * np.sign(LEVEL - y) + (noise / 30.0 if i > FLAT else 0.0))
        y += lean
        out.append(y)
    return np.array(out)


class Walker(Scene):
    """State: metres from the start, hull's height above the ground (m), then the package's 24 (hull, joints, foot contacts, range finder).

    Actions: torques of hip and knee of one leg, then of the other.
    """

    state_dim = 26
    action_dim = 4

    def __init__(self, task_id: str, size: int) -> None:
        from gymnasium.envs.box2d.bipedal_walker import BipedalWalker

        self._kind = TERRAINS[task_id]
        super().__init__(task_id, lambda: BipedalWalker(hardcore=self._kind == "obstacles"), size, VIEW, ", follows the walker")
        self._observation = np.zeros(24, dtype=np.float32)
        self._x, self._y = np.zeros(0), np.zeros(0)  # the ground
        self._blocks: list[list[Any]] = []
        self._start = 0.0

    def reset(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        env = self._renew()
        if self._kind != "obstacles":
            heights = ground(self._kind, rng)
            env._generate_terrain = lambda hardcore: _lay(env, heights)
        self._observation, _ = env.reset(seed=seed)
        shift = float(rng.uniform(-SHIFT, SHIFT))
        for body in [env.hull, *env.legs]:
            body.position = (body.position[0] + shift, body.position[1])
        self._x, self._y = np.array(env.terrain_x), np.array(env.terrain_y)
        shapes = [fixture.shape.vertices for body in env.terrain for fixture in body.fixtures]
        self._blocks = [corners for corners in shapes if len(corners) > 2]
        self._start = float(env.hull.position[0])

    def step(self, action: np.ndarray) -> RawStep:
        self._observation, *_ = self._env.step(np.asarray(action, dtype=np.float64))
        hull = self._env.hull
        if self._env.game_over or hull.position[0] < 0:
            return RawStep(0.0, True)
        reward = walk_reward(float(hull.linearVelocity[0]), float(hull.angle))
        return RawStep(reward, False, float(hull.position[0]) - self._start >= FAR)

    def state(self) -> np.ndarray:
        x, y = (float(v) for v in self._env.hull.position)
        return np.concatenate([[x - self._start, y - np.interp(x, self._x, self._y)], self._observation]).astype(np.float32)

    def paint(self, canvas: Canvas) -> None:
        """Sky, striped ground, blocks, and the walker: far leg, hull, near leg. The camera's height is the mean height of the ground around."""
        env = self._env
        x = float(env.hull.position[0])
        left = x - AHEAD * VIEW
        floor = float(np.interp(np.linspace(x - 3.0, x + 4.0, 15), self._x, self._y).mean()) - BELOW
        canvas.clear(SKY, left, floor)
        for i in range(max(0, int(left / STEP)), min(len(self._x) - 1, int((left + VIEW) / STEP) + 1)):
            x0, x1, y0, y1 = self._x[i], self._x[i + 1], self._y[i], self._y[i + 1]
            canvas.polygon(GROUND[i // 2 % 2], [(x0, y0), (x1, y1), (x1, floor), (x0, floor)])
        for corners in self._blocks:
            if left - 3.0 < corners[0][0] < left + VIEW + 3.0:
                canvas.polygon(BLOCK, corners)
        for colour, bodies in ((FAR_LEG, env.legs[:2]), (HULL, [env.hull]), (NEAR_LEG, env.legs[2:])):
            for body in bodies:
                canvas.body(colour, body)


def _lay(env: Any, height_V: np.ndarray) -> None:
    """Puts our ground where the package would make its own."""
    env.terrain_x, env.terrain_y = list(STEP * np.arange(len(height_V))), list(height_V)
    corners = [(float(x), float(y)) for x, y in zip(env.terrain_x, env.terrain_y, strict=True)]
    body = env.world.CreateStaticBody()
    for a, b in itertools.pairwise(corners):
        body.CreateEdgeFixture(vertices=[a, b], density=0.0, friction=FRICTION)
    env.terrain, env.terrain_poly = [body], []


class Gait:
    """A gait of two strokes a step: the free leg swings for a fixed time, then reaches down until its foot touches; then the legs change roles.

    Joints are driven to target angles. The standing leg's hip holds the hull level; the swinging leg is set farther out the faster
    the walker goes, which catches it.
    """

    CONTROL = 0.02  # seconds a control step

    def __init__(self, numbers: dict[str, float] | None = None) -> None:
        self._n = {**NUMBERS, **(numbers or {})}
        self._swinging, self._age, self._down = 0, 0.0, False

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        self._swinging, self._age, self._down = 0, 0.0, False

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        n = self._n
        s = env.state()[2:]
        lean, spin, speed = float(s[0]), float(s[1]) * 25.0, float(s[2]) / 0.12  # rad, rad/s, m/s
        legs = s[4:14].reshape(2, 5)  # hip, its speed, knee, its speed, contact
        self._age += env.repeat * self.CONTROL
        if not self._down and self._age >= n["swing"]:
            self._down = True
        elif self._down and (legs[self._swinging, 4] or self._age >= n["limit"]):
            self._swinging, self._age, self._down = 1 - self._swinging, 0.0, False
        free, stand = self._swinging, 1 - self._swinging
        action = np.zeros((2, 2))
        stroke = "down" if self._down else "up"
        hip = n[f"{stroke}_hip"] + n["catch"] * (speed - n["speed"]) - lean
        action[free] = self._drive(legs[free], hip, n[f"{stroke}_knee"])
        action[stand, 0] = n["level"] * (lean - n["lean"]) + n["level_spin"] * spin - n["push"]
        action[stand, 1] = self._drive(legs[stand], 0.0, n[f"{stroke}_stand"])[1]
        return np.clip(action.reshape(4), -1.0, 1.0)

    def _drive(self, leg: np.ndarray, hip: float, knee: float) -> np.ndarray:
        """Torques [2] of hip and knee towards target angles (rad)."""
        n = self._n
        return np.array([n["hip"] * (hip - leg[0]) - n["hip_damp"] * leg[1], n["knee"] * (knee - leg[2]) - n["knee_damp"] * leg[3]])


NUMBERS = {  # angles in rad, gains in torque per rad or per unit of joint speed, speed in m/s, times in seconds; set by hand
    "swing": 0.25,
    "limit": 0.7,
    "up_hip": 0.7,
    "up_knee": -0.4,
    "up_stand": 0.3,
    "down_hip": 0.35,
    "down_knee": 0.5,
    "down_stand": 0.6,
    "catch": 0.1,
    "speed": 2.0,
    "level": 1.2,
    "lean": 0.0,
    "level_spin": 0.15,
    "push": 0.2,
    "hip": 1.5,
    "hip_damp": 0.2,
    "knee": 2.0,
    "knee_damp": 0.2,
}
