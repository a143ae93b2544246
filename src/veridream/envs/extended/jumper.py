"""A planar frog: a trunk, a folded hind leg of three parts, and a short arm."""

from typing import Any

import numpy as np

from veridream.envs.extended.body import Body, Reading, build, nudge_hinges, ramp, torso_sensors
from veridream.envs.extended.planar import animal

PARTS = """
      <geom name="trunk" fromto="-0.17 0 -0.02 0.15 0 0.07" size="0.085"/>
      <geom name="head" type="sphere" pos="0.25 0 0.11" size="0.085"/>
      <geom name="eye" type="sphere" pos="0.27 0 0.2" size="0.035" rgba="0.95 0.9 0.6 1"/>
      <body name="thigh" pos="-0.16 0 -0.02">
        <joint name="hip" range="-30 80"/>
        <geom name="thigh" fromto="0 0 0 0.16 0 -0.13" size="0.045"/>
        <body name="shin" pos="0.16 0 -0.13">
          <joint name="knee" range="-105 20"/>
          <geom name="shin" fromto="0 0 0 -0.2 0 -0.1" size="0.036"/>
          <body name="foot" pos="-0.2 0 -0.1">
            <joint name="ankle" range="-25 90" stiffness="12"/>
            <geom name="foot" fromto="0 0 0 0.19 0 -0.02" size="0.03" rgba="0.85 0.6 0.25 1"/>
          </body>
        </body>
      </body>
      <body name="arm" pos="0.14 0 0">
        <joint name="shoulder" range="-50 50" stiffness="12"/>
        <geom name="arm" fromto="0 0 0 0.07 0 -0.26" size="0.03" rgba="0.85 0.6 0.25 1"/>
      </body>
"""
GEARS = {"hip": 36, "knee": 36, "ankle": 20, "shoulder": 12}
JOINT = 'armature="0.01" stiffness="30" damping="0.8"'
CENTRE = '<subtreecom name="centre" body="trunk"/>'


class JumperJump(Body):
    """Height of the centre of mass, full at TOP, while the back is up.

    State: height of the centre of mass (m), its upward speed (m/s), forward speed (m/s), trunk upright and nose up, both in [-1, 1]; then
    joint angles (4, rad) and velocities (7).
    """

    substeps = 4
    state_dim = 16
    settle = 20  # 0.1 s
    REST, TOP = 0.45, 1.1  # m; it rests at about 0.3

    def model(self) -> Any:
        model = animal("jumper", 4, 60, 0.33, "0.45 0.75 0.3", JOINT, PARTS, GEARS, CENTRE)
        return build(model, torso_sensors("trunk"))

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        data.qpos[1] = 0.05
        nudge_hinges(model, data, rng, share=0.25, tilt=0.15)

    def state(self, now: Reading) -> np.ndarray:
        head = [now["centre"][..., 2], now["velocity"][..., 2], now["velocity"][..., 0], now["up"][..., 2], now["nose"][..., 2]]
        return np.concatenate([np.stack(head, axis=-1), now.qpos[..., 3:], now.qvel], axis=-1)

    def reward(self, now: Reading) -> np.ndarray:
        return ramp(now["centre"][..., 2], self.REST, self.TOP) * (1.0 + now["up"][..., 2]) / 2.0

    def plan_reward(self, now: Reading) -> np.ndarray:
        return ramp(now["centre"][..., 2], 0.1, self.TOP) ** 2 * (2.0 + now["up"][..., 2]) / 3.0
