"""Gymnasium's MuJoCo environments (v5): ant, half-cheetah, hopper, walker, inverted pendulum, reacher.

Episodes do not end when a body falls: all episodes of the paper's data have their task's full length. A fallen body loses the reward for being
healthy instead. Frames and states show the same moment, where the package's own picture is one physics step behind.
"""

import copy
import importlib.metadata
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from veridream.envs.base import Determinism, Quality, RawStep
from veridream.envs.mujoco_planner import Planned
from veridream.envs.mujoco_render import Camera, FrameRenderer
from veridream.params.tasks import Task

THICK_BELOW, THICKEST = 64, 1.8  # frames smaller than this (pixels) show thin things thicker, up to this factor


def make(task: Task, size: int, quality: Quality) -> "GymMujoco":
    """The adapter of a task of this domain."""
    if task.id not in TASKS:
        raise ValueError(f"no adapter for MuJoCo task {task.id}")
    from gymnasium.envs.mujoco.ant_v5 import AntEnv
    from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
    from gymnasium.envs.mujoco.hopper_v5 import HopperEnv
    from gymnasium.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv
    from gymnasium.envs.mujoco.reacher_v5 import ReacherEnv
    from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

    env: Any = {
        "mujoco-ant": AntEnv,
        "mujoco-halfcheetah": HalfCheetahEnv,
        "mujoco-hopper": HopperEnv,
        "mujoco-inverted-pendulum": InvertedPendulumEnv,
        "mujoco-reacher": ReacherEnv,
        "mujoco-walker": Walker2dEnv,
    }[task.id]()  # without the package's time limit, which is a wrapper
    return TASKS[task.id](task, env, size, quality)


class GymMujoco(Planned):
    """State: what `HEAD` names, then generalised positions and velocities."""

    HEAD: ClassVar[tuple[str, ...]] = ()
    THIN: ClassVar[tuple[str, ...]] = ()  # geoms drawn thicker at small sizes
    DARK: ClassVar[bool] = False  # the model has no light but the camera's; that one is then made brighter
    CLOSE: ClassVar[Camera]  # the task's camera where it is called ...-close; else one of the model's
    determinism: Determinism = "bitwise"

    def __init__(self, task: Task, env: Any, size: int, quality: Quality) -> None:
        import mujoco

        self._mujoco, self._env = mujoco, env
        self.task_id = task.id
        self.model, self.data = env.model, env.data
        self.substeps = int(env.frame_skip)
        low, high = self.model.actuator_ctrlrange.T
        self.action_dim = int(self.model.nu)
        self.action_middle, self.action_half = (high + low) / 2.0, (high - low) / 2.0
        self.state_dim = len(self.HEAD) + self.model.nq + self.model.nv
        drawn, note = self._drawn(size)
        self._shown = mujoco.MjData(drawn)
        camera = self.CLOSE if task.camera.endswith("-close") else task.camera
        self._frames = FrameRenderer(drawn, self._shown, camera, size, quality)
        self.versions = {k: importlib.metadata.version(k) for k in ("gymnasium", "mujoco")}
        self.renderer = f"{self._frames.description}; camera {task.camera}{note}"

    def _drawn(self, size: int) -> tuple[Any, str]:
        """A copy of the model to draw, and a note for the store where it differs from the one that is simulated."""
        drawn, note = copy.deepcopy(self.model), ""
        if self.DARK:
            drawn.vis.headlight.ambient[:], drawn.vis.headlight.diffuse[:] = 0.4, 0.6
            note += "; brighter headlight"
        factor = float(np.clip(THICK_BELOW / size, 1.0, THICKEST))
        if factor > 1.0 and self.THIN:
            for name in self.THIN:
                drawn.geom_size[drawn.geom(name).id, 0] *= factor
            note += f"; {', '.join(self.THIN)} drawn {factor:g} times as thick"
        return drawn, note

    def reset(self, seed: int) -> None:
        self._env.reset(seed=seed)

    def step(self, action: np.ndarray) -> RawStep:
        control = self.action_middle + self.action_half * np.asarray(action, dtype=np.float64)
        _, reward, _, _, _ = self._env.step(control)
        return RawStep(float(reward), False, False)

    def render(self) -> np.ndarray:
        model, shown = self.model, self._shown
        shown.qpos[:] = self.data.qpos
        self._mujoco.mj_kinematics(model, shown)
        self._mujoco.mj_comPos(model, shown)
        self._mujoco.mj_camlight(model, shown)
        return self._frames.render()

    @abstractmethod
    def head(self) -> Sequence[float]:
        """The values that `HEAD` names; the first two span the coverage maps. Functions of positions and velocities alone."""

    def state(self) -> np.ndarray:
        return np.concatenate([self.head(), self.data.qpos, self.data.qvel]).astype(np.float32)

    def snapshot(self) -> Any:
        return copy.copy(self.data), self._env.np_random.bit_generator.state

    def restore(self, snap: Any) -> None:
        data, self._env.np_random.bit_generator.state = snap
        self.data = self._env.data = copy.copy(data)

    def close(self) -> None:
        self._frames.close()
        self._env.close()


class Ant(GymMujoco):
    """Head: speed along x, which is paid, and along y (m/s)."""

    HEAD = ("speed_x", "speed_y")
    CLOSE = Camera(lookat=(0.0, 0.0, 0.4), distance=3.0, azimuth=90.0, elevation=-40.0, follow="torso", follow_y=True)
    control_cost = 0.2

    def head(self) -> Sequence[float]:
        return self.data.qvel[0], self.data.qvel[1]

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's own reward without the cost of contacts."""
        low, high = self._env._healthy_z_range
        height = qpos_NTQ[..., 2]
        return qvel_NTQ[..., 0] + ((height >= low) & (height <= high))


class Runner(GymMujoco):
    """A planar body that runs along x. Head: height of the torso (m) and forward speed (m/s)."""

    HEAD = ("torso_z", "speed")
    START_Z = 0.0  # height of the torso where its joint is at 0

    def head(self) -> Sequence[float]:
        return self.data.qpos[1] + self.START_Z, self.data.qvel[0]


class HalfCheetah(Runner):
    """It cannot be unhealthy."""

    CLOSE = Camera(lookat=(0.05, 0.0, 0.6), distance=2.1, azimuth=90.0, elevation=-6.0, follow="torso")
    START_Z = 0.7
    control_cost = 0.1

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """Forward speed."""
        speed: np.ndarray = qvel_NTQ[..., 0]
        return speed


class Upright(Runner):
    """Hopper and walker: healthy while the torso is high and upright enough."""

    CLOSE = Camera(lookat=(0.0, 0.0, 0.75), distance=2.1, azimuth=90.0, elevation=-6.0, follow="torso")
    coarsening = 2  # 4 ms
    control_cost = 1e-3

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's own reward."""
        (z_low, z_high), (a_low, a_high) = self._env._healthy_z_range, self._env._healthy_angle_range
        z, angle = qpos_NTQ[..., 1], qpos_NTQ[..., 2]
        healthy = (z > z_low) & (z < z_high) & (angle > a_low) & (angle < a_high)
        return qvel_NTQ[..., 0] + healthy


class InvertedPendulum(GymMujoco):
    """Head: the cart's position (m) and the pole's angle (rad; 0: upright). The reward is 1 while the angle is within 0.2 of it."""

    HEAD = ("cart_x", "angle")
    THIN = ("cpole",)
    CLOSE = Camera(lookat=(0.0, 0.0, 0.1), distance=2.8, azimuth=90.0, elevation=0.0)
    DARK = True
    HEALTHY = 0.2

    def head(self) -> Sequence[float]:
        return self.data.qpos[0], self.data.qpos[1]

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's own reward, and upright, slow, in the middle of the rail."""
        x, angle = qpos_NTQ[..., 0], qpos_NTQ[..., 1]
        return (np.abs(angle) <= self.HEALTHY) - angle**2 - 0.1 * x**2 - 0.01 * qvel_NTQ[..., 1] ** 2


class Reacher(GymMujoco):
    """Head: the fingertip's x and y (m). The target's position and speed are among the generalised ones."""

    HEAD = ("tip_x", "tip_y")
    THIN = ("link0", "link1", "fingertip", "target")
    CLOSE = Camera(lookat=(0.0, 0.0, 0.0), distance=0.6, azimuth=90.0, elevation=-90.0)
    DARK = True
    LINKS = (0.1, 0.11)
    control_cost = 0.3

    def tip(self, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x and y of the fingertip, of positions [..., 4]."""
        a, b = qpos[..., 0], qpos[..., 0] + qpos[..., 1]
        return self.LINKS[0] * np.cos(a) + self.LINKS[1] * np.cos(b), self.LINKS[0] * np.sin(a) + self.LINKS[1] * np.sin(b)

    def head(self) -> Sequence[float]:
        x, y = self.tip(self.data.qpos)
        return float(x), float(y)

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """Minus the distance, as the task has it."""
        x, y = self.tip(qpos_NTQ)
        out: np.ndarray = -np.hypot(x - qpos_NTQ[..., 2], y - qpos_NTQ[..., 3])
        return out


TASKS: dict[str, type[GymMujoco]] = {
    "mujoco-ant": Ant,
    "mujoco-halfcheetah": HalfCheetah,
    "mujoco-hopper": Upright,
    "mujoco-inverted-pendulum": InvertedPendulum,
    "mujoco-reacher": Reacher,
    "mujoco-walker": Upright,
}
