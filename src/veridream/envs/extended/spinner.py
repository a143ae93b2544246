"""A planar star: a hub with four hinged legs, two of them below it in any position, that rolls and jumps."""

from typing import Any

import numpy as np

from veridream.envs.extended.body import Body, Reading, build, nudge_hinges, ramp

COLOURS = ("0.85 0.25 0.2 1", "0.9 0.75 0.25 1", "0.3 0.7 0.35 1", "0.85 0.85 0.85 1")  # one a leg: the turning is to be seen

MODEL = """
<mujoco model="planar spinner">
  <include file="./common/skybox.xml"/>
  <include file="./common/visual.xml"/>
  <include file="./common/materials.xml"/>
  <compiler settotalmass="3"/>
  <option timestep="0.005"/>
  <default>
    <geom type="capsule" contype="1" conaffinity="0" friction="1 0.1 0.1"/>
    <motor ctrlrange="-1 1" ctrllimited="true" gear="18"/>
    <default class="leg">
      <joint type="hinge" axis="0 1 0" limited="true" range="-60 60" armature="0.01" stiffness="12" damping="0.3"/>
    </default>
  </default>
  <worldbody>
    <geom name="ground" type="plane" size="120 1 0.5" material="grid" conaffinity="1"/>
    <body name="hub" pos="0 0 0.32">
      <light pos="0 0 3" mode="trackcom"/>
      <joint name="root_x" type="slide" axis="1 0 0"/>
      <joint name="root_z" type="slide" axis="0 0 1"/>
      <joint name="root_y" type="hinge" axis="0 1 0"/>
      <geom name="hub" type="cylinder" fromto="0 -0.05 0 0 0.05 0" size="0.1" density="2000" material="self"/>
      {legs}
    </body>
  </worldbody>
  <sensor>
    <subtreecom name="centre" body="hub"/>
    <subtreelinvel name="velocity" body="hub"/>
  </sensor>
  <actuator>
    <motor joint="leg_0"/>
    <motor joint="leg_1"/>
    <motor joint="leg_2"/>
    <motor joint="leg_3"/>
  </actuator>
</mujoco>
"""

LEG = """
      <body name="leg_{i}" pos="{x:.4f} 0 {z:.4f}" euler="0 {angle} 0" childclass="leg">
        <joint name="leg_{i}"/>
        <geom name="leg_{i}" fromto="0 0 0 0 0 -0.22" size="0.035" rgba="{colour}"/>
      </body>
"""


def legs() -> str:
    """MJCF of the four legs, 45 degrees off the axes."""
    out = []
    for i, colour in enumerate(COLOURS):
        angle = 45 + 90 * i
        x, z = -0.08 * np.sin(np.radians(angle)), -0.08 * np.cos(np.radians(angle))
        out.append(LEG.format(i=i, x=x, z=z, angle=angle, colour=colour))
    return "".join(out)


class Spinner(Body):
    """State: height of the centre of mass (m), angular velocity, the mean over the legs (rad/s, positive when it rolls forward), cosine and sine
    of the hub's angle, forward and upward speed (m/s); then leg angles (4, rad) and velocities (4)."""

    substeps = 4
    state_dim = 14
    settle = 20  # 0.1 s
    TURN = 12.0  # rad/s

    def model(self) -> Any:
        return build(MODEL.format(legs=legs()))

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        nudge_hinges(model, data, rng, share=0.4, tilt=np.pi)
        data.qpos[1] = 0.08

    def state(self, now: Reading) -> np.ndarray:
        angle, velocity = now.qpos[..., 2], now["velocity"]
        head = [now["centre"][..., 2], turn(now), np.cos(angle), np.sin(angle), velocity[..., 0], velocity[..., 2]]
        return np.concatenate([np.stack(head, axis=-1), now.qpos[..., 3:], now.qvel[..., 3:]], axis=-1)


def turn(now: Reading) -> np.ndarray:
    """Angular velocity of the star as a whole, rad/s: the mean over its legs, which a hub that only wobbles does not move far from 0."""
    out: np.ndarray = now.qvel[..., 2] + now.qvel[..., 3:].mean(axis=-1)
    return out


class Spin(Spinner):
    """Turns forward, full at TURN."""

    SIGN = 1.0

    def reward(self, now: Reading) -> np.ndarray:
        return ramp(self.SIGN * turn(now), 0.0, self.TURN)

    def plan_reward(self, now: Reading) -> np.ndarray:
        return ramp(self.SIGN * turn(now), -self.TURN / 2, self.TURN * 1.5)


class SpinBackward(Spin):
    """Turns backward."""

    SIGN = -1.0


class Jump(Spinner):
    """Height of the centre of mass, full at HIGH; half of it only for a star that turns, either way."""

    REST, HIGH = 0.35, 0.8  # m; it rests at about 0.25

    def reward(self, now: Reading) -> np.ndarray:
        return ramp(now["centre"][..., 2], self.REST, self.HIGH) * (1.0 + ramp(np.abs(turn(now)), 0.0, self.TURN)) / 2.0

    def plan_reward(self, now: Reading) -> np.ndarray:
        return ramp(now["centre"][..., 2], 0.1, self.HIGH) ** 2 * (1.0 + ramp(np.abs(turn(now)), 0.0, self.TURN)) / 2.0
