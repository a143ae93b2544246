"""ManiSkill3 tasks: arms that push, pick, stack and reach on a table; cart-pole, hopper, ant and a quadruped. Optional.

They need the package mani_skill, which is not part of the pinned environment, and a Vulkan device; tasks that need `assets` also need a
download. What is missing is said with its remedy (`SimulatorMissing`). The simulator runs on the CPU, one environment at a time; frames come
from the task's own camera for people, nearer. It keeps contacts that no state holds, so there are no snapshots.
"""

import functools
import importlib.metadata
import importlib.util
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veridream.envs import gl
from veridream.envs.base import Determinism, NotSupported, Quality, RawStep, SimulatorMissing
from veridream.envs.mujoco_render import shrink
from veridream.params.tasks import Task

PACKAGES = "python3 -m venv .venv-maniskill && .venv-maniskill/bin/pip install -r requirements/maniskill.txt"
DRIVER = "on Debian 12, as root, with the suite bookworm-backports among the sources: apt-get install -y libvulkan1 mesa-vulkan-drivers/bookworm-backports"
PROBE = "import sapien; sapien.Scene(); sapien.render.RenderCameraComponent(8, 8)"
RESOLUTION = {"fast": 64, "full": 256}  # pixels; a smaller frame is drawn at least this large and averaged down

POLE = 7  # the pole's angle in the cart-pole's state: 0 upright, turns wrapped to [-pi, pi]
POSITION, POSE = "pd_ee_delta_pos", "pd_ee_delta_pose"  # the hand's motion: 3 or 6 numbers, and the gripper
JOINTS = "pd_joint_delta_pos"


@dataclass(frozen=True)
class Setup:
    """How a task is made.

    Attributes:
        env: id in the package's registry.
        control: the package's control mode.
        focus: the actor or link whose place begins the state.
        robot: the package's robot id, where it is not the task's own.
        rule: "package" for the package's own reward and success; else one of the rules in maniskill_rules.
        model: YCB object, for picking and pushing one.
        asset: folder under the package's data folder, and name in its downloader, of what must be downloaded first.
        eye, target: camera (m); eye None for the task's own place.
        fov: its field of view, rad; None for the task's own.
    """

    env: str
    control: str
    focus: str
    robot: str | None = None
    rule: str = "package"
    model: str | None = None
    asset: tuple[str, str] | None = None
    eye: tuple[float, float, float] | None = (0.6, 0.55, 0.5)
    target: tuple[float, float, float] = (0.06, 0.0, 0.1)
    fov: float | None = 0.85


def _ycb(model: str, rule: str = "package") -> Setup:
    return Setup("PickSingleYCB-v1", POSITION, "obj", "panda", rule, model, ("assets/mani_skill2_ycb", "ycb"))


XARM: dict[str, Any] = {"robot": "xarm6_robotiq", "asset": ("robots/xarm6", "xarm6")}
RAIL: dict[str, Any] = {"eye": (0.0, -3.5, 1.1), "target": (0.0, 0.0, 1.1), "fov": 1.0}  # the whole rail of the cart-pole
OWN_CAMERA: dict[str, Any] = {"eye": None, "fov": None}
SETUPS = {
    "ms-ant-run": Setup("MS-AntRun-v1", JOINTS, "torso", **OWN_CAMERA),
    "ms-ant-walk": Setup("MS-AntWalk-v1", JOINTS, "torso", **OWN_CAMERA),
    "ms-anymal-reach": Setup("AnymalC-Reach-v1", JOINTS, "root", asset=("robots/anymal_c", "anymal_c"), eye=(-1.2, 1.5, 2.0), target=(1.2, 0.0, 0.3), fov=1.0),
    "ms-cartpole-balance": Setup("MS-CartpoleBalance-v1", JOINTS, "cart", **RAIL),
    "ms-cartpole-balance-sparse": Setup("MS-CartpoleBalance-v1", JOINTS, "cart", rule="upright", **RAIL),
    "ms-cartpole-swingup": Setup("MS-CartpoleSwingUp-v1", JOINTS, "cart", **RAIL),
    "ms-cartpole-swingup-sparse": Setup("MS-CartpoleSwingUp-v1", JOINTS, "cart", rule="upright", **RAIL),
    "ms-hopper-hop": Setup("MS-HopperHop-v1", JOINTS, "torso", eye=None, fov=0.5),
    "ms-hopper-stand": Setup("MS-HopperStand-v1", JOINTS, "torso", eye=None, fov=0.5),
    "ms-lift-peg": Setup("LiftPegUpright-v1", POSE, "peg"),
    "ms-pick-apple": _ycb("013_apple"),
    "ms-pick-banana": _ycb("011_banana"),
    "ms-pick-baseball": _ycb("055_baseball"),
    "ms-pick-can": _ycb("005_tomato_soup_can"),
    "ms-pick-cube": Setup("PickCube-v1", POSITION, "cube"),
    "ms-pick-cube-eepose": Setup("PickCube-v1", POSE, "cube"),
    "ms-pick-cube-so": Setup("PickCubeSO100-v1", JOINTS, "cube", eye=(-0.2, 0.25, 0.25), target=(-0.48, 0.0, 0.05)),
    "ms-pick-cube-xarm6": Setup("PickCube-v1", POSITION, "cube", **XARM),
    "ms-pick-fork": _ycb("030_fork"),
    "ms-pick-hammer": _ycb("048_hammer"),
    "ms-pick-knife": _ycb("032_knife"),
    "ms-pick-mug": _ycb("025_mug"),
    "ms-pick-orange": _ycb("017_orange"),
    "ms-pick-screwdriver": _ycb("043_phillips_screwdriver"),
    "ms-pick-sponge": _ycb("026_sponge"),
    "ms-pick-spoon": _ycb("031_spoon"),
    "ms-pick-tennis-ball": _ycb("056_tennis_ball"),
    "ms-place-sphere": Setup("PlaceSphere-v1", POSITION, "obj"),
    "ms-poke-cube": Setup("PokeCube-v1", POSE, "cube"),
    "ms-pull-cube": Setup("PullCube-v1", POSITION, "obj"),
    "ms-pull-cube-tool": Setup("PullCubeTool-v1", POSE, "cube"),
    "ms-push-banana": _ycb("011_banana", rule="push"),
    "ms-push-cube": Setup("PushCube-v1", POSITION, "obj"),
    "ms-reach": Setup("PickCube-v1", POSITION, "tcp", rule="reach"),
    "ms-reach-eepose": Setup("PickCube-v1", POSE, "tcp", rule="reach"),
    "ms-reach-xarm6": Setup("PickCube-v1", POSITION, "tcp", rule="reach", **XARM),
    "ms-stack-cube": Setup("StackCube-v1", POSITION, "cubeA"),
}


def make(task: Task, size: int, quality: Quality) -> "ManiSkill":
    """The adapter of a task of this domain. Raises SimulatorMissing where the package, the Vulkan device or a download is not there."""
    if task.id not in SETUPS:
        raise ValueError(f"no adapter for ManiSkill task {task.id}")
    setup = SETUPS[task.id]
    require(task.id, setup)
    return ManiSkill(task, setup, size, quality)


def make_expert(task: Task) -> Any:
    """No task of this domain has an expert here: the package's planners need a NumPy older than the pipeline's."""
    raise ValueError(f"no expert for ManiSkill task {task.id}")


def require(task_id: str, setup: Setup) -> None:
    """Raises SimulatorMissing, with the remedy, if the task cannot run here."""
    if importlib.util.find_spec("mani_skill") is None:
        raise SimulatorMissing(f"task {task_id} needs mani_skill 3.0.1, in an environment of its own: {PACKAGES}")
    why = vulkan()
    if why is not None:
        raise SimulatorMissing(f"task {task_id} needs a Vulkan device (a GPU's driver, or Mesa 25 or newer for the CPU): {why}; {DRIVER}")
    if setup.asset is not None:
        from mani_skill import ASSET_DIR

        folder, name = setup.asset
        if not (Path(ASSET_DIR) / folder).exists():
            raise SimulatorMissing(f"task {task_id} needs a download, over the network: python -m mani_skill.utils.download_asset {name}")


@functools.cache
def vulkan() -> str | None:
    """None if a scene with a camera can be made here, else why not. Tried in a child process: a broken driver kills it."""
    return gl.try_backend(os.environ.get("MUJOCO_GL", ""), PROBE)


class ManiSkill:
    """State: place of the task's focus (3, m), place of the goal where there is one (3, m; else zeros), joint positions and velocities.

    Reward of a control step: the package's normalised dense reward, at most 1, clipped to [-1, 1], or the task's own rule.
    """

    determinism: Determinism = "tolerant"

    def __init__(self, task: Task, setup: Setup, size: int, quality: Quality) -> None:
        from veridream.envs import maniskill_rules

        self._id, self._setup = task.id, setup
        self._factor = max(1, math.ceil(RESOLUTION[quality] / size))
        self._env = maniskill_rules.build(setup, size * self._factor, shadows=quality == "full")
        self.action_dim = int(np.prod(self._env.single_action_space.shape))
        self.versions = {k: importlib.metadata.version(k) for k in ("mani_skill", "sapien", "torch", "gymnasium")}
        self.renderer = f"sapien vulkan {quality} {self._factor}x{self._factor} samples a pixel; camera {task.camera}"
        self.state_dim = len(self.state())

    def reset(self, seed: int) -> None:
        self._env.reset(seed=int(np.random.SeedSequence(seed).generate_state(1)[0]))

    def step(self, action: np.ndarray) -> RawStep:
        _, reward, _, _, info = self._env.step(np.asarray(action, dtype=np.float32))
        success = info.get("success")
        return RawStep(float(np.clip(float(reward), -1.0, 1.0)), False, bool(success) if success is not None else False)

    def render(self) -> np.ndarray:
        frame = self._env.render_rgb_array()
        return shrink(np.asarray(frame.cpu().numpy()[0, ..., :3], dtype=np.uint8), self._factor)

    def state(self) -> np.ndarray:
        env, robot = self._env, self._env.agent.robot
        goal = next((getattr(env, k) for k in ("goal_site", "goal_region", "goal") if hasattr(env, k)), None)
        focus = self._focus().pose.p
        parts = [focus, goal.pose.p if goal is not None else focus * 0.0, robot.get_qpos(), robot.get_qvel()]
        state = np.concatenate([p.cpu().numpy()[0] for p in parts]).astype(np.float32)
        if self._setup.focus == "cart":
            state[POLE] = (state[POLE] + math.pi) % (2.0 * math.pi) - math.pi
        return state

    def _focus(self) -> Any:
        name, agent = self._setup.focus, self._env.agent
        if name == "root":
            return agent.robot
        if name == "tcp":
            return agent.tcp
        return agent.robot.links_map[name] if name in agent.robot.links_map else getattr(self._env, name)

    def snapshot(self) -> Any:
        raise NotSupported(f"{self._id}: the simulator keeps contacts that its state does not hold")

    def restore(self, snap: Any) -> None:
        raise NotSupported(f"{self._id}: the simulator keeps contacts that its state does not hold")

    def close(self) -> None:
        self._env.close()
