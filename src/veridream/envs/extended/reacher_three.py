"""A planar arm of three links, seen from above, and a round target."""

from typing import Any

import numpy as np

from veridream.envs.extended.body import Body, Reading, build, ramp

LINKS = (0.1, 0.09, 0.08)  # m
TIP = 0.012  # radius, m

MODEL = """
<mujoco model="three-link planar reacher">
  <include file="./common/skybox.xml"/>
  <include file="./common/visual.xml"/>
  <include file="./common/materials.xml"/>
  <option timestep="0.01"><flag contact="disable"/></option>
  <default>
    <geom density="500"/>
    <default class="link">
      <joint type="hinge" axis="0 0 1" damping="0.01"/>
      <geom type="capsule" size="0.013" material="self"/>
    </default>
    <motor gear="0.05" ctrlrange="-1 1" ctrllimited="true"/>
  </default>
  <worldbody>
    <light pos="0 0 1"/>
    <geom name="ground" type="plane" size="0.4 0.4 10" material="grid"/>
    <body name="target" pos="0 0 0.005">
      <joint name="target_x" type="slide" axis="1 0 0"/>
      <joint name="target_y" type="slide" axis="0 1 0"/>
      <geom name="target" type="cylinder" size="{target} 0.003" rgba="0.85 0.2 0.2 1"/>
    </body>
    <geom name="root" type="cylinder" fromto="0 0 0 0 0 0.05" size="0.018" material="decoration"/>
    <body name="upper" pos="0 0 0.03" childclass="link">
      <joint name="shoulder"/>
      <geom name="upper" fromto="0 0 0 {a} 0 0"/>
      <body name="middle" pos="{a} 0 0">
        <joint name="elbow" limited="true" range="-160 160"/>
        <geom name="middle" fromto="0 0 0 {b} 0 0"/>
        <body name="hand" pos="{b} 0 0">
          <joint name="wrist" limited="true" range="-160 160"/>
          <geom name="hand" fromto="0 0 0 {c} 0 0"/>
          <geom name="tip" type="sphere" pos="{c} 0 0.005" size="{tip}" rgba="0.95 0.85 0.3 1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder"/>
    <motor joint="elbow"/>
    <motor joint="wrist"/>
  </actuator>
</mujoco>
"""


class ReacherThree(Body):
    """Reward 1 while the tip touches the target, else 0.

    State: tip x, y; target x, y (m); cosines and sines of the joint angles (3 + 3); joint velocities (3, rad/s).
    """

    substeps = 2
    state_dim = 13
    thick = ("upper", "middle", "hand", "tip")
    TARGET: float  # radius, m

    def model(self) -> Any:
        a, b, c = LINKS
        return build(MODEL.format(target=self.TARGET, tip=TIP, a=a, b=b, c=c), '<framepos name="tip" objtype="geom" objname="tip"/>')

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        """Joint order: target x, y, then shoulder, elbow, wrist."""
        angle, radius = rng.uniform(-np.pi, np.pi), rng.uniform(0.06, 0.22)
        data.qpos[:2] = radius * np.cos(angle), radius * np.sin(angle)
        data.qpos[2] = rng.uniform(-np.pi, np.pi)
        data.qpos[3:] = rng.uniform(-2.5, 2.5, 2)

    def state(self, now: Reading) -> np.ndarray:
        angle = now.qpos[..., 2:]
        return np.concatenate([now["tip"][..., :2], now.qpos[..., :2], np.cos(angle), np.sin(angle), now.qvel[..., 2:]], axis=-1)

    def reward(self, now: Reading) -> np.ndarray:
        return (self._distance(now) <= self.TARGET + TIP).astype(np.float64)

    def plan_reward(self, now: Reading) -> np.ndarray:
        """And nearness, at two scales."""
        distance = self._distance(now)
        return self.reward(now) + 0.4 * ramp(distance, 0.4, 0.0) + 0.4 * np.exp(-((distance / 0.05) ** 2))

    def _distance(self, now: Reading) -> np.ndarray:
        out: np.ndarray = np.linalg.norm(now["tip"][..., :2] - now.qpos[..., :2], axis=-1)
        return out


class Easy(ReacherThree):
    TARGET = 0.05


class Hard(ReacherThree):
    TARGET = 0.015
