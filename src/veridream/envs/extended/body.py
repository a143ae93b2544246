"""What the bodies of the extended control tasks share: the model, the first positions, and rewards that are functions of a `Reading`.

A reward reads positions, velocities and position or velocity sensors alone, with any leading axes: one function serves the running episode
(one moment) and the planner (plans x time).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

HINGE = 3  # mujoco.mjtJoint.mjJNT_HINGE


@dataclass(frozen=True)
class Reading:
    """What is known at a moment, or at many: the leading axes are the same for all."""

    qpos: np.ndarray  # [..., nq]
    qvel: np.ndarray  # [..., nv]
    sensors: Mapping[str, np.ndarray]  # name -> [..., dim], SI units, world frame

    def __getitem__(self, sensor: str) -> np.ndarray:
        return self.sensors[sensor]


def ramp(x: np.ndarray, zero: float, one: float) -> np.ndarray:
    """0 up to `zero`, 1 from `one` on, linear between. With zero > one it falls instead."""
    out: np.ndarray = np.clip((x - zero) / (one - zero), 0.0, 1.0)
    return out


def soft(x: np.ndarray, low: float, margin: float) -> np.ndarray:
    """1 from `low` upward; below it a Gaussian flank, 0.1 at `margin` below."""
    out: np.ndarray = 0.1 ** (np.maximum(low - x, 0.0) / margin) ** 2
    return out


class Body(ABC):
    """A planar body, and in its subclasses a reward on it. Rewards of a control step are in [0, 1]."""

    substeps: int  # physics steps a control step
    coarsening: int = 1  # physics steps in one of the planner; divides substeps
    state_dim: int
    settle: int = 0  # physics steps without actuation between `place` and the first frame
    thick: tuple[str, ...] = ()  # geoms drawn thicker on small frames, where they are about a pixel wide

    @abstractmethod
    def model(self) -> Any:
        """A fresh mujoco.MjModel."""

    @abstractmethod
    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        """Writes the first positions of an episode into data.qpos, which holds the model's default pose."""

    @abstractmethod
    def reward(self, now: Reading) -> np.ndarray:
        """The task's reward, [...]."""

    def plan_reward(self, now: Reading) -> np.ndarray:
        """What a planner maximises, [...]: the reward, where the reward itself shows the way."""
        return self.reward(now)

    @abstractmethod
    def state(self, now: Reading) -> np.ndarray:
        """State [..., state_dim]."""


def build(text: str | bytes, sensors: str = "") -> Any:
    """A mujoco.MjModel from MJCF text with more sensors in it. `./common/*.xml` are the suite's own sky, materials and lights."""
    import mujoco
    from dm_control.suite import common

    text = text.decode() if isinstance(text, bytes) else text
    return mujoco.MjModel.from_xml_string(text.replace("</mujoco>", f"<sensor>{sensors}</sensor></mujoco>"), common.ASSETS)


def suite_model(file: str, sensors: str = "", ground: str | None = None) -> Any:
    """A model of the DeepMind Control Suite. `ground`: the floor to be centred, since it is drawn on the forward side only."""
    from dm_control.suite import common

    model = build(common.read_model(file), sensors)
    if ground is not None:
        model.geom(ground).pos[0] = 0.0
    return model


def draw_hinges(model: Any, data: Any, rng: np.random.Generator, free: float) -> None:
    """As in the suite: limited hinges uniform on their range, unlimited ones on [-free, free] (rad)."""
    for j in range(model.njnt):
        if model.jnt_type[j] == HINGE:
            low, high = model.jnt_range[j] if model.jnt_limited[j] else (-free, free)
            data.qpos[model.jnt_qposadr[j]] = rng.uniform(low, high)


def nudge_hinges(model: Any, data: Any, rng: np.random.Generator, share: float, tilt: float) -> None:
    """Moves limited hinges by up to `share` of half their range from where they are, unlimited ones by up to `tilt` (rad)."""
    for j in range(model.njnt):
        if model.jnt_type[j] == HINGE:
            most = share * np.ptp(model.jnt_range[j]) / 2.0 if model.jnt_limited[j] else tilt
            data.qpos[model.jnt_qposadr[j]] += rng.uniform(-most, most)


def torso_sensors(body: str) -> str:
    """MJCF of the sensors `torso` (position), `up` and `nose` (directions of the body's z and x axes)."""
    frame = f'objtype="xbody" objname="{body}"'
    return f'<framepos name="torso" {frame}/><framezaxis name="up" {frame}/><framexaxis name="nose" {frame}/>'


def height_of(name: str, geom: str) -> str:
    """MJCF of a sensor of a geom's centre."""
    return f'<framepos name="{name}" objtype="geom" objname="{geom}"/>'
