"""The suite's bodies that run: cheetah, hopper, quadruped, walker. See dmcontrol_bodies."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from veridream.envs.dmcontrol_adapter import DmControl
from veridream.envs.mujoco_render import Camera


class Cheetah(DmControl):
    """Head: forward speed (m/s) and the torso's height."""

    HEAD = ("speed", "torso_z")
    CLOSE = Camera(lookat=(0.05, 0.0, 0.6), distance=2.1, azimuth=90.0, elevation=-6.0, follow="torso")

    def head(self) -> Sequence[float]:
        return self.data.sensordata[0], self.data.body("torso").xpos[2]

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """Forward speed over that of the full reward, backward too."""
        return np.minimum(qvel_NTQ[..., 0] / 10.0, 1.0)


class Hopper(DmControl):
    """Head: height of the torso over the foot, and forward speed (m/s)."""

    HEAD = ("height", "speed")
    CLOSE = Camera(lookat=(0.0, 0.0, 0.65), distance=2.0, azimuth=90.0, elevation=-6.0, follow="torso")
    coarsening = 2  # 10 ms
    LINKS = (0.05, 0.2, 0.33, 0.32)  # torso to waist, pelvis, thigh, calf
    STAND, HOP = 0.6, 2.0

    def head(self) -> Sequence[float]:
        return self.data.body("torso").xipos[2] - self.data.body("foot").xipos[2], self.data.sensordata[0]

    def height(self, qpos: np.ndarray) -> np.ndarray:
        """Height of the torso's centre of mass over the foot's, of positions [..., 7]."""
        angles = np.cumsum(qpos[..., 2:7], axis=-1)  # of torso, pelvis, thigh, calf, foot with the vertical
        torso, foot = self.model.body("torso").ipos, self.model.body("foot").ipos
        legs = sum(length * np.cos(angles[..., k]) for k, length in enumerate(self.LINKS))
        up = torso[2] * np.cos(angles[..., 0]) - torso[0] * np.sin(angles[..., 0])
        out: np.ndarray = up + legs - foot[2] * np.cos(angles[..., 4]) + foot[0] * np.sin(angles[..., 4])
        return out

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """Standing, with a slope toward it; for the hop times forward speed, with a slope from standing still."""
        height = self.height(qpos_NTQ)
        stand = (height >= self.STAND) + np.clip(height / self.STAND, -1.0, 1.0)
        if self.task_id == "hopper-stand":
            return stand
        return stand * np.clip((sensor_NTS[..., 0] + 0.5) / (self.HOP + 0.5), 0.0, 1.0) + 0.1 * stand


class Quadruped(DmControl):
    """Head: cosine of the torso's tilt (1: upright), and its forward speed (m/s)."""

    HEAD = ("upright", "speed")
    CLOSE = Camera(lookat=(0.0, 0.0, 0.4), distance=3.2, azimuth=90.0, elevation=-25.0, follow="torso", follow_y=True)
    SPEEDS: ClassVar[Mapping[str, float]] = {"quadruped-walk": 0.5, "quadruped-run": 5.0}
    VELOCIMETER = 6  # its first entry in the sensors' data

    def head(self) -> Sequence[float]:
        return self.data.body("torso").xmat[8], self.data.sensordata[self.VELOCIMETER]

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's own reward."""
        x, y = qpos_NTQ[..., 4], qpos_NTQ[..., 5]
        upright = 1.0 - x**2 - y**2
        speed = sensor_NTS[..., self.VELOCIMETER] / self.SPEEDS[self.task_id]
        return upright * np.clip((1.0 + speed) / 2.0, 0.0, 1.0)


class Walker(DmControl):
    """State: torso height (m), forward speed (m/s), torso upright in [-1, 1]; then joint angles (7, rad) and joint velocities (9)."""

    CLOSE = Camera(lookat=(0.0, 0.0, 0.85), distance=2.4, azimuth=90.0, elevation=-6.0, follow="torso", fovy=45.0)
    state_dim = 19
    coarsening = 2  # 5 ms; at 12.5 ms its contacts mislead the plans
    SPEEDS: ClassVar[Mapping[str, float]] = {"walker-walk": 1.0, "walker-run": 8.0}

    def state(self) -> np.ndarray:
        physics = self._env.physics
        head = [physics.torso_height(), physics.horizontal_velocity(), physics.torso_upright()]
        return np.concatenate([head, self.data.qpos[2:], self.data.qvel]).astype(np.float32)

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's own reward, with a wider slope toward standing and walking, so that a fallen walker sees it too."""
        height = qpos_NTQ[..., 0] + 1.3
        upright = (1.0 + np.cos(qpos_NTQ[..., 2])) / 2.0
        standing = np.clip(height / 1.2, 0.0, 1.0) ** 2
        stand = (3.0 * standing + upright) / 4.0
        if self.task_id == "walker-stand":
            return stand
        move = np.clip((sensor_NTS[..., 0] + 0.5) / (self.SPEEDS[self.task_id] + 0.5), 0.0, 1.0)
        return stand * (5.0 * move + 2.0) / 7.0
