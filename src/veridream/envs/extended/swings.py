"""The suite's ball in a cup and its pendulum, rewarded for turning round and round."""

from typing import Any

import numpy as np

from veridream.envs.extended.body import Body, Reading, ramp, suite_model

GRAVITY = 9.81


class CupSpin(Body):
    """The hanging ball circles the cup, counter-clockwise as seen, on a taut string.

    State: cup x, z; ball x, z (m, world frame); their velocities (m/s); the ball's angular velocity about the string's end (rad/s).
    """

    substeps = 10
    coarsening = 5  # 10 ms
    state_dim = 9
    thick = ("cup_part_0", "cup_part_1", "cup_part_2", "cup_part_3", "cup_part_4", "ball")
    CUP_Z, BALL_Z, STRING_Z = 0.6, 0.2, 0.492  # heights of the bodies and of the string's end on the cup at joint position 0
    STRING = 0.3  # m
    TOP = 9.0  # rad/s; a ball that just passes over the top has 5.7 there and 12.8 at the bottom

    def model(self) -> Any:
        return suite_model("ball_in_cup.xml")

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        """The ball on a slack string somewhere below the cup."""
        angle, radius = rng.uniform(-1.4, 1.4), rng.uniform(0.12, 0.28)
        data.qpos[2] = radius * np.sin(angle)
        data.qpos[3] = self.STRING_Z - radius * np.cos(angle) - self.BALL_Z

    def state(self, now: Reading) -> np.ndarray:
        q, v = now.qpos, now.qvel
        head = [q[..., 0], q[..., 1] + self.CUP_Z, q[..., 2], q[..., 3] + self.BALL_Z, *np.moveaxis(v, -1, 0), self.turn(now)]
        return np.stack(head, axis=-1)

    def _relative(self, now: Reading) -> tuple[np.ndarray, np.ndarray]:
        """Ball minus string's end, [2, ...]: positions (m) and velocities (m/s), x and z."""
        q, v = now.qpos, now.qvel
        return np.stack([q[..., 2] - q[..., 0], q[..., 3] + self.BALL_Z - q[..., 1] - self.STRING_Z]), np.stack([v[..., 2] - v[..., 0], v[..., 3] - v[..., 1]])

    def turn(self, now: Reading) -> np.ndarray:
        """Angular velocity, rad/s; positive counter-clockwise. A ball within 5 cm counts as at 5 cm."""
        (x, z), (vx, vz) = self._relative(now)
        out: np.ndarray = (x * vz - z * vx) / np.maximum(x**2 + z**2, 0.05**2)
        return out

    def reward(self, now: Reading) -> np.ndarray:
        (x, z), _ = self._relative(now)
        return ramp(self.turn(now), 0.0, self.TOP) * ramp(np.hypot(x, z), 0.1, 0.25)

    def plan_reward(self, now: Reading) -> np.ndarray:
        """And the ball's energy, which a swing has to gather first."""
        (_, z), (vx, vz) = self._relative(now)
        energy = 0.5 * (vx**2 + vz**2) + GRAVITY * z
        return self.reward(now) + 0.5 * ramp(energy, -GRAVITY * self.STRING, 2.0 * GRAVITY * self.STRING)


class PendulumSpin(Body):
    """Turns at full speed, either way round.

    State: angle from upright in (-pi, pi] (rad), angular velocity (rad/s), sine and cosine of the angle.
    """

    substeps = 1
    state_dim = 4
    thick = ("pole", "mass")
    LENGTH = 0.5  # m
    TOP = 8.0  # rad/s

    def model(self) -> Any:
        return suite_model("pendulum.xml")

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        data.qpos[0] = rng.uniform(-np.pi, np.pi)

    def state(self, now: Reading) -> np.ndarray:
        s, c = np.sin(now.qpos[..., 0]), np.cos(now.qpos[..., 0])
        return np.stack([np.arctan2(s, c), now.qvel[..., 0], s, c], axis=-1)

    def reward(self, now: Reading) -> np.ndarray:
        return ramp(np.abs(now.qvel[..., 0]), 0.0, self.TOP)

    def plan_reward(self, now: Reading) -> np.ndarray:
        """And its energy, which a swing has to gather first."""
        rest = GRAVITY * self.LENGTH
        energy = 0.5 * (self.LENGTH * now.qvel[..., 0]) ** 2 + rest * np.cos(now.qpos[..., 0])
        return self.reward(now) + 0.5 * ramp(energy, -rest, 2.0 * rest)
