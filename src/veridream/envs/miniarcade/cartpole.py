"""pygame-cartpole-*: a cart on a rail carries a pole; the action pushes the cart. Five tasks share equations, sizes and picture.

balance starts near upright, swingup hanging. A -sparse twin rewards the balanced zone alone. tremor is balance while the pole's tip is
pushed to the left or right now and then; the disc above stands off the middle by the push.
Cart (mass M) and uniform rod (mass m, half-length h, angle a from upright, positive to the right) obey, with g of `GRAVITY`,
    (M + m) x'' + m h cos(a) a'' = F + P - DRAG x' + m h sin(a) a'^2
    m h cos(a) x'' + 4/3 m h^2 a'' = m g h sin(a) + 2 h cos(a) P - FRICTION a'
F the motor's force, P the push on the tip: semi-implicit Euler, `SUBSTEPS` a control step. The rail's ends stop the cart.
Balanced: the angle within `BALANCED` and the cart within `CENTRE` of the middle (the light piece of the rail).
Reward of a control step: sparse 1 if balanced, else 0; dense ((1 + cos a) / 2)^2, times 1 within `CENTRE`, falling to 0.5 at the ends.
`success`: balanced for `HOLD` control steps in a row. State: [x (m), a (rad, in [-pi, pi)), x' (m/s), a' (rad/s), P (N)].
"""

import math
from dataclasses import dataclass

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.experts import hold
from veridream.envs.miniarcade.game import PIXEL, Game
from veridream.envs.miniarcade.reacher_easy import wrap

GRAVITY = 9.81  # m/s^2
CART_MASS, POLE_MASS = 1.0, 0.2  # kg
HALF_LENGTH = 0.6  # m, of the pole
MOTOR = 12.0  # N at an action of 1
DRAG, FRICTION = 0.1, 0.002  # N s/m of the cart, N m s of the hinge
SUBSTEPS = 8
DT = 1 / (15 * SUBSTEPS)  # s; 15 control steps a second
RAIL = 1.4  # m from the middle to either end
CENTRE, BALANCED, HOLD = 0.6, 0.2, 60  # m, rad, control steps
PUSH = 0.15  # N, the strongest push
PUSHED, CALM = 4, (6, 18)  # control steps a push lasts, and the rest between two at least and below

METRE = 9 * PIXEL
HINGE = 0.5  # height of the rail
POLE_RADIUS, CART_WIDTH, CART_HEIGHT, MARK_RADIUS = 2.0 * PIXEL, 7 * PIXEL, 4.4 * PIXEL, 2.2 * PIXEL
WALL, BEAM, MIDDLE, CART, POLE, MARK = (222, 226, 230), (126, 130, 140), (176, 196, 182), (34, 48, 96), (226, 108, 28), (206, 34, 62)

Pose = tuple[float, float, float, float]  # x, a, x', a'


@dataclass(frozen=True)
class Rules:
    hanging: bool = False
    sparse: bool = False
    tremor: bool = False


VARIANTS = {
    "pygame-cartpole-balance": Rules(),
    "pygame-cartpole-balance-sparse": Rules(sparse=True),
    "pygame-cartpole-swingup": Rules(hanging=True),
    "pygame-cartpole-swingup-sparse": Rules(hanging=True, sparse=True),
    "pygame-cartpole-tremor": Rules(tremor=True),
}


def accelerations(pose: Pose, force: float, push: float = 0.0) -> tuple[float, float]:
    """x'' (m/s^2) and a'' (rad/s^2) by the two equations of the module."""
    _, angle, speed, spin = pose
    sine, cosine, lever = math.sin(angle), math.cos(angle), POLE_MASS * HALF_LENGTH
    cart = force + push - DRAG * speed + lever * sine * spin**2
    pole = lever * GRAVITY * sine + 2 * HALF_LENGTH * cosine * push - FRICTION * spin
    total, inertia = CART_MASS + POLE_MASS, 4 / 3 * lever * HALF_LENGTH
    determinant = total * inertia - (lever * cosine) ** 2
    return (inertia * cart - lever * cosine * pole) / determinant, (total * pole - lever * cosine * cart) / determinant


def swing(pose: Pose, force: float, push: float = 0.0, substeps: int = SUBSTEPS) -> Pose:
    """The pose some substeps later; the angle is not wrapped."""
    x, angle, speed, spin = pose
    for _ in range(substeps):
        of_cart, of_pole = accelerations((x, angle, speed, spin), force, push)
        speed, spin = speed + of_cart * DT, spin + of_pole * DT
        x, angle = x + speed * DT, angle + spin * DT
        if abs(x) > RAIL:
            x, speed = math.copysign(RAIL, x), 0.0
    return x, angle, speed, spin


@dataclass(frozen=True)
class CartScene:
    x: float
    angle: float
    speed: float
    spin: float
    push: float = 0.0
    until: int = 0  # control steps until the push begins or ends
    held: int = 0  # control steps in a row that it is balanced
    success: bool = False
    over: bool = False  # never


class CartPole(Game[CartScene]):
    """The game under one set of rules; see the module."""

    state_dim = 5
    action_dim = 1

    def __init__(self, canvas: Canvas, rules: Rules) -> None:
        self.rules = rules
        super().__init__(canvas)

    def start(self, rng: np.random.Generator) -> CartScene:
        """Cart near the middle; pole near upright or, to be swung up, near hanging; both moving a little."""
        angle = wrap(math.pi + rng.uniform(-0.6, 0.6)) if self.rules.hanging else float(rng.uniform(-0.15, 0.15))
        x, speed, spin = (float(v) for v in rng.uniform(-0.3, 0.3, 3))
        return CartScene(x, angle, speed, spin, until=int(rng.integers(*CALM)) if self.rules.tremor else 0)

    def advance(self, scene: CartScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[CartScene, float]:
        """Swings on; the reward is in the module's words."""
        push, until = self._push(scene, rng) if self.rules.tremor else (0.0, 0)
        x, angle, speed, spin = swing((scene.x, scene.angle, scene.speed, scene.spin), MOTOR * action[0], push)
        angle = wrap(angle)
        balanced = abs(angle) <= BALANCED and abs(x) <= CENTRE
        held = scene.held + 1 if balanced else 0
        reward = float(balanced) if self.rules.sparse else self.dense_reward(x, angle)
        return CartScene(x, angle, speed, spin, push, until, held, scene.success or held >= HOLD), reward

    @staticmethod
    def _push(scene: CartScene, rng: np.random.Generator) -> tuple[float, int]:
        """The push of this control step, and how long it will last."""
        if scene.until > 0:
            return scene.push, scene.until - 1
        if scene.push != 0.0:
            return 0.0, int(rng.integers(*CALM))
        return PUSH * float(rng.uniform(0.4, 1.0)) * (1.0 if rng.random() < 0.5 else -1.0), PUSHED - 1

    @staticmethod
    def dense_reward(x: float, angle: float) -> float:
        """At most 1: upright, inside the middle piece of the rail."""
        return (0.5 + 0.5 * math.cos(angle)) ** 2 * (1 - 0.5 * max(0.0, abs(x) - CENTRE) / (RAIL - CENTRE))

    def observe(self, scene: CartScene) -> tuple[float, ...]:
        """[x, a, x', a', P]."""
        return scene.x, scene.angle, scene.speed, scene.spin, scene.push

    def paint_backdrop(self, canvas: Canvas) -> None:
        """The wall and the rail, its middle piece lighter."""
        canvas.fill(WALL)
        half = RAIL * METRE + CART_WIDTH / 2
        canvas.rectangle(0.5 - half, HINGE - PIXEL, 2 * half, 2 * PIXEL, BEAM)
        canvas.rectangle(0.5 - CENTRE * METRE, HINGE - PIXEL, 2 * CENTRE * METRE, 2 * PIXEL, MIDDLE)

    def paint(self, canvas: Canvas, scene: CartScene) -> None:
        """Cart, pole over it, and the mark of the push where there are pushes."""
        x, length = 0.5 + scene.x * METRE, 2 * HALF_LENGTH * METRE
        canvas.rectangle(x - CART_WIDTH / 2, HINGE - CART_HEIGHT / 2, CART_WIDTH, CART_HEIGHT, CART, rounding=0.8 * PIXEL)
        canvas.capsule((x, HINGE), (x + length * math.sin(scene.angle), HINGE + length * math.cos(scene.angle)), POLE_RADIUS, POLE)
        canvas.disc((x, HINGE), 1.0 * PIXEL, WALL)
        if self.rules.tremor:
            canvas.disc((0.5 + 11 * PIXEL * scene.push / PUSH, 1 - 2.8 * PIXEL), MARK_RADIUS, MARK)


def balance_gain(held: int) -> np.ndarray:
    """Feedback [4], N by (x, a, x', a'), that keeps the pole upright when each force lasts `held` control steps: linear-quadratic optimal."""
    small = 1e-5

    def slope(direction: np.ndarray, force: float) -> np.ndarray:
        ends = [swing((s * direction[0], s * direction[1], s * direction[2], s * direction[3]), s * force, substeps=held * SUBSTEPS) for s in (small, -small)]
        return (np.array(ends[0]) - np.array(ends[1])) / (2 * small)

    a = np.stack([slope(unit, 0.0) for unit in np.eye(4)], axis=1)
    b = slope(np.zeros(4), 1.0)[:, None]
    cost = value = np.diag([2.0, 6.0, 0.2, 0.2])
    gain = np.zeros((1, 4))
    for _ in range(300):
        gain = np.linalg.solve(0.02 + b.T @ value @ b, b.T @ value @ a)
        value = cost + a.T @ value @ (a - b @ gain)
    return gain[0]


class CartPolePlayer:
    """Pumps energy into a low pole by moving the cart against its swing, catches it near upright, then sways inside the middle piece."""

    SWAY, PERIOD = 0.25, 40  # m, control steps
    FALL = math.sqrt(GRAVITY / (4 / 3 * HALF_LENGTH))  # 1/s, the rate at which a standing pole falls
    CATCH, NEAR = 0.45, 0.7  # rad, of a + a' / FALL and of a
    PUMP, STRONGEST = 15.0, 8.0  # m/s^2 a joule that is missing, m/s^2

    def __init__(self) -> None:
        self.gain, self.phase = np.zeros(4), 0.0

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Draws where in its sway it begins."""
        self.gain, self.phase = balance_gain(hold(env)), float(rng.uniform(-math.pi, math.pi))

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action, float32 [1]."""
        x, angle, speed, spin, _ = map(float, env.state())
        held, turn = hold(env), 2 * math.pi / self.PERIOD
        self.phase += turn * held
        if abs(angle) < self.NEAR and abs(angle + spin / self.FALL) < self.CATCH:
            wanted, _ = self._sway(self.phase, turn)
            _, force = self._sway(self.phase + 0.5 * turn * held, turn)
            force -= float(self.gain @ (np.array([x, angle, speed, spin]) - wanted))
        else:
            force = self._pump(x, angle, speed, spin)
        return np.array([min(max(force / MOTOR, -1.0), 1.0)], dtype=np.float32)

    def _sway(self, phase: float, turn: float) -> tuple[np.ndarray, float]:
        """Pose [4] and force of the sway at a phase: the pole leans as the linearised equations ask for."""
        rate = turn / (SUBSTEPS * DT)  # rad/s
        lean = -(rate**2) * self.SWAY / (GRAVITY + 4 / 3 * HALF_LENGTH * rate**2)
        sine, cosine = math.sin(phase), math.cos(phase)
        force = -(rate**2) * ((CART_MASS + POLE_MASS) * self.SWAY + POLE_MASS * HALF_LENGTH * lean) * sine
        return np.array([self.SWAY * sine, lean * sine, self.SWAY * rate * cosine, lean * rate * cosine]), force

    def _pump(self, x: float, angle: float, speed: float, spin: float) -> float:
        """The force whose acceleration of the cart brings the pole's energy to that of standing still upright."""
        lever = POLE_MASS * HALF_LENGTH
        inertia = 4 / 3 * lever * HALF_LENGTH
        energy = 0.5 * inertia * spin**2 + lever * GRAVITY * (math.cos(angle) - 1)
        side = 1.0 if spin * math.cos(angle) >= 0 else -1.0
        cart = min(max(self.PUMP * energy, -self.STRONGEST), self.STRONGEST) * side - 2.0 * x - speed
        pole = (lever * GRAVITY * math.sin(angle) - lever * cart * math.cos(angle)) / inertia
        return (CART_MASS + POLE_MASS) * cart + lever * (pole * math.cos(angle) - spin**2 * math.sin(angle))
