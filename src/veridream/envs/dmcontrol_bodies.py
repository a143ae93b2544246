"""The suite's bodies that stand or hang or swim in one place (those that run: dmcontrol_runners).

A body says what its state begins with, where its camera stands, and what its planner maximises. Planning rewards are closed forms in
generalised positions and velocities, close to the task's own and denser, so that a short plan has a slope to follow where the task itself
pays nothing yet. Angles are in radians, lengths in metres; the planar bodies move in x and z.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from veridream.envs.dmcontrol_adapter import THICK_BELOW, THICKEST, DmControl
from veridream.envs.mujoco_render import Camera

GRAVITY = 9.81


def bump(distance: np.ndarray, radius: float, margin: float) -> np.ndarray:
    """1 within `radius`, 0.1 at `margin` beyond it, as the suite's default tolerance."""
    beyond = np.maximum(distance - radius, 0.0) / margin
    return np.exp(np.log(0.1) * beyond**2)


class Acrobot(DmControl):
    """Head: the tip. It scores at 2 m above the shoulder."""

    HEAD = ("tip_x", "tip_z")
    THIN = ("upper_arm", "lower_arm")
    CLOSE = Camera(lookat=(0.0, 0.0, 2.1), distance=5.3, azimuth=90.0, elevation=0.0)
    SHOULDER_Z, TOP, TOP_ENERGY = 2.0, 4.0, 2.0 * GRAVITY  # energy of the two arms of 1 kg and 1 m, upright and at rest

    def _drawn(self, size: int) -> tuple[Any, str]:
        self.model.site_group[self.model.site("target").id] = 0  # else hidden
        return super()._drawn(size)

    def head(self) -> Sequence[float]:
        tip = self.data.site("tip").xpos
        return tip[0], tip[2]

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's reward, height of the tip, and energy near that of the balance."""
        a, b = qpos_NTQ[..., 0], qpos_NTQ.sum(axis=-1)
        va, vb = qvel_NTQ[..., 0], qvel_NTQ.sum(axis=-1)
        tip_z = np.cos(a) + np.cos(b)
        distance = np.hypot(np.sin(a) + np.sin(b), self.TOP - self.SHOULDER_Z - tip_z)
        energy = (4 / 3 * va**2 + vb**2 / 3 + va * vb * np.cos(a - b)) / 2 + GRAVITY * (1.5 * np.cos(a) + 0.5 * np.cos(b))
        return bump(distance, 0.2, 1.0) + 0.05 * tip_z - 0.01 * np.abs(energy - self.TOP_ENERGY)


class Cartpole(DmControl):
    """Head: the cart, and the cosine of the pole's angle (1: upright)."""

    HEAD = ("cart_x", "pole_up")
    THIN = ("pole_1",)
    CLOSE = Camera(lookat=(0.0, 0.0, 1.05), distance=3.3, azimuth=90.0, elevation=0.0)
    ROOM = 0.25  # the cart's distance from the middle within which the sparse tasks score
    UPRIGHT = 0.995  # and the cosine of the angle
    LIGHT = (1.0, 0.85, 0.4, 1.0)

    def _drawn(self, size: int) -> tuple[Any, str]:
        """The pole is drawn lighter: a step moves it by a tenth of a pixel at small sizes, which its own colour hardly shows."""
        pole = self.model.geom("pole_1").id
        self.model.geom_matid[pole], self.model.geom_rgba[pole] = -1, self.LIGHT
        drawn, note = super()._drawn(size)
        return drawn, f"; lighter pole{note}"

    def head(self) -> Sequence[float]:
        return self.data.qpos[0], np.cos(self.data.qpos[1])

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """Upright, in the middle, slow, and energy near that of the balance (pole of 1 m); for the sparse tasks their own reward too."""
        x, up, spin = qpos_NTQ[..., 0], np.cos(qpos_NTQ[..., 1]), qvel_NTQ[..., 1]
        energy = spin**2 / 6.0 + GRAVITY * (up - 1.0) / 2.0
        out = (1 + up) / 2 * (1 + bump(np.abs(x), 0.0, 2.0)) / 2 * (1 + bump(np.abs(spin), 0.0, 5.0)) / 2
        out += -0.1 * np.abs(energy) - 0.3 * x**2 - 0.03 * qvel_NTQ[..., 0] ** 2
        if self.task_id.endswith("sparse"):
            out += (np.abs(x) <= self.ROOM) & (up >= self.UPRIGHT)
        return out


class CupCatch(DmControl):
    """State: cup x, z; ball x, z (m, world frame); their velocities (m/s)."""

    CLOSE = Camera(lookat=(0.0, 0.0, 0.45), distance=1.0, azimuth=90.0, elevation=0.0, fovy=45.0)
    state_dim = 8
    coarsening = 5  # 10 ms
    CUP_Z, BALL_Z, TARGET_Z = 0.6, 0.2, 0.55  # heights of the bodies and of the cup's inside at joint position 0

    def _drawn(self, size: int) -> tuple[Any, str]:
        """At small sizes ball, cup and string are drawn thicker than they are: the ball is 2 pixels wide at 32 else."""
        factor = float(np.clip(THICK_BELOW / size, 1.0, THICKEST))
        if factor == 1.0:
            return self.model, ""
        drawn = copy.deepcopy(self.model)
        for g in range(drawn.ngeom):
            if g != drawn.geom("ground").id:
                drawn.geom_size[g, 0] *= factor
        drawn.tendon_width[:] *= factor
        return drawn, f"; ball, cup and string drawn {factor:g} times as thick"

    def state(self) -> np.ndarray:
        q, v = self.data.qpos, self.data.qvel
        return np.array([q[0], q[1] + self.CUP_Z, q[2], q[3] + self.BALL_Z, v[0], v[1], v[2], v[3]], dtype=np.float32)

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The catch itself, and before it: near the cup's inside, from above rather than from below the rim."""
        cup_x, cup_z, ball_x, ball_z = np.moveaxis(qpos_NTQ, -1, 0)
        dx = np.abs(ball_x - cup_x)
        dz = (ball_z + self.BALL_Z) - (cup_z + self.TARGET_Z)
        caught = (dx < 0.025) & (np.abs(dz) < 0.025)
        above = np.clip((dz + 0.3) / 0.4, 0.0, 1.0)
        inside = np.exp(-((dx / 0.08) ** 2) - (np.maximum(dz - 0.05, 0.0) / 0.15) ** 2) * (dz > -0.03)
        return caught + 0.3 * inside + 0.15 * above - 0.1 * dx


class Finger(DmControl):
    """Head: the fingertip; the spinner's tip and the target, both relative to the spinner's hinge."""

    HEAD = ("fingertip_x", "fingertip_z", "spinner_x", "spinner_z", "target_x", "target_z")
    CLOSE = Camera(lookat=(-0.06, 0.0, 0.4), distance=1.12, azimuth=90.0, elevation=0.0)
    BASE, HINGE = np.array([-0.2, 0.4]), np.array([0.2, 0.4])
    UPPER, LOWER, ARM = 0.18, 0.161, 0.13  # of the finger, and from the hinge to the spinner's tip
    FAST = 15.0  # rad/s: the spin that scores

    def head(self) -> Sequence[float]:
        tip = self.data.geom("fingertip").xpos
        return (*tip[[0, 2]], *(self.data.site("tip").xpos[[0, 2]] - self.HINGE), *self._target())

    def _target(self) -> np.ndarray:
        target: np.ndarray = self.model.site_pos[self.model.site("target").id][[0, 2]] - self.HINGE
        return target

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """Spin over the one that scores, or the spinner's tip in and near the target; and the fingertip within reach of the spinner."""
        upper = qpos_NTQ[..., 0] + np.pi / 2.0
        lower = upper + qpos_NTQ[..., 1]
        x = self.BASE[0] + self.UPPER * np.sin(upper) + self.LOWER * np.sin(lower)
        z = self.BASE[1] - self.UPPER * np.cos(upper) - self.LOWER * np.cos(lower)
        near = -np.maximum(np.hypot(x - self.HINGE[0], z - self.HINGE[1]) - self.ARM, 0.0)
        if self.task_id == "finger-spin":
            return np.clip(-qvel_NTQ[..., 2] / self.FAST, -1.0, 1.0) + 0.5 * near
        target, radius = self._target(), float(self.model.site("target").size[0])
        hinge = qpos_NTQ[..., 2]
        miss = np.hypot(-self.ARM * np.sin(hinge) - target[0], self.ARM * np.cos(hinge) - target[1])
        return (miss <= radius) + 0.5 * (1.0 - miss / (2 * self.ARM)) + 0.5 * near


class Fish(DmControl):
    """Head: the fish's x and y, and the target."""

    HEAD = ("fish_x", "fish_y", "target_x", "target_y", "target_z")
    CLOSE = Camera(lookat=(0.0, 0.0, 0.12), distance=1.15, azimuth=90.0, elevation=-60.0)
    coarsening = 2  # 8 ms
    LARGER = 1.6
    MOUTH, RADII = 0.0745, 0.045  # how far the mouth is ahead of the torso; sum of the radii of mouth and target

    def _drawn(self, size: int) -> tuple[Any, str]:
        """The fish is a sixth of the room it swims in, and thin: its parts are drawn larger at small sizes."""
        if size > THICK_BELOW:
            return self.model, ""
        drawn = copy.deepcopy(self.model)
        for g in range(drawn.ngeom):
            if drawn.geom_bodyid[g] != 0:
                drawn.geom_size[g] *= self.LARGER
        return drawn, f"; the fish's parts drawn {self.LARGER:g} times as large"

    def _target(self) -> np.ndarray:
        target: np.ndarray = self.model.geom_pos[self.model.geom("target").id]
        return target

    def head(self) -> Sequence[float]:
        return (*self.data.qpos[:2], *self._target())

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's own reward, and a slope toward the target from anywhere."""
        w, x, y, z = np.moveaxis(qpos_NTQ[..., 3:7], -1, 0)
        ahead = np.stack([2 * (x * y - w * z), 1 - 2 * (x**2 + z**2), 2 * (y * z + w * x)], axis=-1)
        distance = np.linalg.norm(qpos_NTQ[..., :3] + self.MOUTH * ahead - self._target(), axis=-1)
        upright = 1.0 - x**2 - y**2
        return (7.0 * bump(distance, self.RADII, 2 * self.RADII) + upright) / 8.0 - distance


class Pendulum(DmControl):
    """Head: the angle, wrapped to [-pi, pi] (0: upright), and the angular velocity (rad/s)."""

    HEAD = ("angle", "angular_velocity")
    CLOSE = Camera(lookat=(0.0, 0.0, 0.6), distance=1.45, azimuth=90.0, elevation=0.0)
    LENGTH = 0.5
    UPRIGHT = float(np.cos(np.deg2rad(8.0)))

    def head(self) -> Sequence[float]:
        angle = self.data.qpos[0]
        return np.arctan2(np.sin(angle), np.cos(angle)), self.data.qvel[0]

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's own reward, and energy near that of the balance, which a weak motor reaches swing by swing."""
        up, spin = np.cos(qpos_NTQ[..., 0]), qvel_NTQ[..., 0]
        energy = (self.LENGTH * spin) ** 2 / 2.0 + GRAVITY * self.LENGTH * (up - 1.0)
        return (up >= self.UPRIGHT) * (1.0 - np.minimum(np.abs(spin) / 10.0, 0.5)) + 0.1 * up - 0.1 * np.abs(energy)


class Reacher(DmControl):
    """Head: the finger, and the target (x and y)."""

    HEAD = ("finger_x", "finger_y", "target_x", "target_y")
    THIN = ("arm", "hand", "finger")
    CLOSE = Camera(lookat=(0.0, 0.0, 0.0), distance=0.64, azimuth=90.0, elevation=-90.0)
    LINK = 0.12
    FINGER = 0.01  # its radius

    def _target(self) -> np.ndarray:
        target: np.ndarray = self.model.geom_pos[self.model.geom("target").id][:2]
        return target

    def head(self) -> Sequence[float]:
        return (*self.data.geom("finger").xpos[:2], *self._target())

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """Within the target, and a slope toward it."""
        a, b = qpos_NTQ[..., 0], qpos_NTQ.sum(axis=-1)
        target = self._target()
        miss = np.hypot(self.LINK * (np.cos(a) + np.cos(b)) - target[0], self.LINK * (np.sin(a) + np.sin(b)) - target[1])
        radius = float(self.model.geom("target").size[0]) + self.FINGER
        return (miss <= radius) - 3.0 * miss
