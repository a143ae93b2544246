"""A planar giraffe: a trunk on a front and a back leg, and a long neck that nods."""

from typing import Any

import numpy as np

from veridream.envs.extended.body import Body, Reading, build, height_of, nudge_hinges, ramp, torso_sensors
from veridream.envs.extended.planar import animal

PARTS = """
      <geom name="trunk" fromto="-0.42 0 0 0.42 0 0.08" size="0.12"/>
      <geom name="tail" fromto="-0.5 0 0 -0.62 0 -0.3" size="0.025" rgba="0.45 0.28 0.12 1"/>
      <body name="back_thigh" pos="-0.4 0 -0.02">
        <joint name="back_hip" range="-50 50" stiffness="400" damping="10"/>
        <geom name="back_thigh" fromto="0 0 0 0.07 0 -0.5" size="0.06"/>
        <body name="back_shin" pos="0.07 0 -0.5">
          <joint name="back_knee" range="-40 70" stiffness="400" damping="8"/>
          <geom name="back_shin" fromto="0 0 0 -0.09 0 -0.45" size="0.045"/>
          <body name="back_foot" pos="-0.09 0 -0.45">
            <joint name="back_ankle" range="-40 40" stiffness="120" damping="3"/>
            <geom name="back_foot" fromto="-0.04 0 -0.03 0.11 0 -0.03" size="0.045" rgba="0.45 0.28 0.12 1"/>
          </body>
        </body>
      </body>
      <body name="front_thigh" pos="0.4 0 0.02">
        <joint name="front_hip" range="-50 50" stiffness="400" damping="10"/>
        <geom name="front_thigh" fromto="0 0 0 -0.06 0 -0.52" size="0.06"/>
        <body name="front_shin" pos="-0.06 0 -0.52">
          <joint name="front_knee" range="-40 70" stiffness="400" damping="8"/>
          <geom name="front_shin" fromto="0 0 0 0.05 0 -0.47" size="0.045"/>
          <body name="front_foot" pos="0.05 0 -0.47">
            <joint name="front_ankle" range="-40 40" stiffness="120" damping="3"/>
            <geom name="front_foot" fromto="-0.05 0 -0.03 0.1 0 -0.03" size="0.045" rgba="0.45 0.28 0.12 1"/>
          </body>
        </body>
      </body>
      <body name="neck" pos="0.42 0 0.1">
        <joint name="neck" range="-35 45" stiffness="150" damping="5"/>
        <geom name="neck" fromto="0 0 0 0.3 0 0.85" size="0.065" density="400"/>
        <geom name="head" fromto="0.3 0 0.87 0.5 0 0.8" size="0.07" density="400"/>
        <geom name="horn" fromto="0.29 0 0.92 0.26 0 1.03" size="0.025" density="400" rgba="0.45 0.28 0.12 1"/>
      </body>
"""
GEARS = {"back_hip": 200, "back_knee": 160, "back_ankle": 60, "front_hip": 200, "front_knee": 160, "front_ankle": 60, "neck": 50}


class GiraffeRun(Body):
    """Runs forward with the head high and the trunk level; a sixth of the reward is for the pose alone.

    State: height of the head (m), forward speed (m/s), height of the trunk (m), trunk upright and nose up, both in [-1, 1]; then joint
    angles (7, rad) and velocities (10).
    """

    substeps = 4
    coarsening = 2  # 10 ms
    state_dim = 22
    settle = 40  # 0.2 s
    TOP = 5.0  # m/s
    HEAD = 1.8  # m; it is at 1.9 m when the giraffe stands

    def model(self) -> Any:
        model = animal("giraffe", 20, 120, 1.1, "0.9 0.68 0.25", 'armature="0.1"', PARTS, GEARS)
        return build(model, torso_sensors("trunk") + height_of("head", "head"))

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        data.qpos[1] = 0.05
        nudge_hinges(model, data, rng, share=0.3, tilt=0.08)

    def state(self, now: Reading) -> np.ndarray:
        head = [now["head"][..., 2], now["velocity"][..., 0], now["torso"][..., 2], now["up"][..., 2], now["nose"][..., 2]]
        return np.concatenate([np.stack(head, axis=-1), now.qpos[..., 3:], now.qvel], axis=-1)

    def reward(self, now: Reading) -> np.ndarray:
        return self._pose(now, 1.0, 0.2) * (1.0 + 5.0 * ramp(now["velocity"][..., 0], 0.0, self.TOP)) / 6.0

    def plan_reward(self, now: Reading) -> np.ndarray:
        return self._pose(now, 0.2, -1.0) ** 2 * (1.0 + 3.0 * ramp(now["velocity"][..., 0], -1.0, self.TOP)) / 4.0

    def _pose(self, now: Reading, low: float, tipped: float) -> np.ndarray:
        return ramp(now["head"][..., 2], low, self.HEAD) * ramp(now["up"][..., 2], tipped, 0.8)
