"""RoboDesk tasks: a robot arm at a desk with a drawer, a sliding door, three buttons, two blocks, a ball and a bin.

The package's own environment runs the physics and computes reward and success; its camera, which draws a frame at every step, is switched off.
One control step is 20 ms. The arm is slow (about 9 cm/s along an axis), so that an agent step is five of them.
"""

import importlib.metadata
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from veridream.envs.base import Determinism, Quality, RawStep
from veridream.envs.mujoco_render import Camera, FrameRenderer
from veridream.params.tasks import Task

CAMERAS = {
    "buttons": Camera(lookat=(-0.22, 0.66, 0.86), distance=1.05, azimuth=90.0, elevation=-42.0, fovy=45.0),
    "drawer": Camera(lookat=(0.0, 0.48, 0.86), distance=1.4, azimuth=155.0, elevation=-22.0, fovy=45.0),
    "slide": Camera(lookat=(0.0, 0.70, 0.92), distance=1.25, azimuth=50.0, elevation=-32.0, fovy=45.0),
    "bin": Camera(lookat=(0.26, 0.60, 0.76), distance=1.4, azimuth=110.0, elevation=-45.0, fovy=45.0),
}
TASKS = {
    "rd-flat-block-in-bin": "flat_block_in_bin",
    "rd-open-drawer": "open_drawer",
    "rd-open-slide": "open_slide",
    "rd-push-blue": "push_blue",
    "rd-push-green": "push_green",
    "rd-push-red": "push_red",
}
BLOCKS = ("flat_block", "upright_block", "ball")
SLIDERS = ("drawer_joint", "slide_joint", "red_button", "green_button", "blue_button")


def make(task: Task, size: int, quality: Quality) -> "RoboDesk":
    """The adapter of a task of this domain."""
    return RoboDesk(task, _package()(task=_name(task), reward="dense", episode_length=None), size, quality)


def make_expert(task: Task) -> "Script":
    """A script of our own for a task of this domain."""
    name = _name(task)
    if name.startswith("push_"):
        return Script(press(name.removeprefix("push_")))
    return Script({"open_drawer": pull_drawer, "open_slide": push_slide, "flat_block_in_bin": bin_block}[name])


def _name(task: Task) -> str:
    if task.id not in TASKS:
        raise ValueError(f"no adapter for RoboDesk task {task.id}")
    return TASKS[task.id]


def _package() -> Any:
    """The package's environment class. It imports gym, for a base class and spaces that gymnasium has too: that is lent under the old name meanwhile."""
    import gymnasium

    lent = {"gym": gymnasium}
    kept = {k: sys.modules.pop(k) for k in lent if k in sys.modules}
    sys.modules.update(lent)
    try:
        from robodesk import RoboDesk as Environment
    finally:
        for k in lent:
            del sys.modules[k]
        sys.modules.update(kept)
    return Environment


class RoboDesk:
    """State: hand x, y, z (m); finger opening (m); wrist angle (rad); flat block, upright block, ball x, y, z (m); five slides (m).

    The slides are drawer (0 to -0.48), door (0 to 0.6), red, green and blue button (0 to -0.005, and a little further).
    The reward of a control step is in [0, 1].
    """

    state_dim = 19
    action_dim = 5  # hand x, y, z by up to 1 cm; wrist; finger opening
    determinism: Determinism = "bitwise"

    def __init__(self, task: Task, env: Any, size: int, quality: Quality) -> None:
        import mujoco

        self._mujoco, self._env = mujoco, env
        env._get_obs = dict  # it would draw a frame
        self.model, self.data = env.physics.model.ptr, env.physics.data.ptr
        self._frames = FrameRenderer(self.model, self.data, CAMERAS.get(task.camera, task.camera), size, quality)
        self.versions = {k: importlib.metadata.version(k) for k in ("robodesk", "dm_control", "mujoco", "gymnasium")}
        self.renderer = f"{self._frames.description}; camera {task.camera}"
        self._bits = mujoco.mjtState.mjSTATE_INTEGRATION
        self._sliders = [self.model.joint(name).qposadr[0] for name in SLIDERS]

    def reset(self, seed: int) -> None:
        env = self._env
        outside = np.random.get_state()  # noqa: NPY002 - the package draws from numpy's global state: lent to it, and put back
        try:
            np.random.seed(np.random.SeedSequence(seed).generate_state(8))  # noqa: NPY002
            env.reset()
        finally:
            np.random.set_state(outside)  # noqa: NPY002
        env.original_pos = {k: np.array(v) for k, v in env.original_pos.items()}  # views of the current places: nothing would ever have moved

    def step(self, action: np.ndarray) -> RawStep:
        _, reward, _, _ = self._env.step(np.asarray(action, dtype=np.float64))
        return RawStep(float(reward), False, bool(self._env._get_task_reward(self._env.task, "success")))

    def render(self) -> np.ndarray:
        return self._frames.render()

    def state(self) -> np.ndarray:
        q = self.data.qpos
        blocks = [self.place(name) for name in BLOCKS]
        return np.concatenate([self.hand(), [q[7], q[6]], *blocks, q[self._sliders]]).astype(np.float32)

    def hand(self) -> np.ndarray:
        """Where the middle between the fingers is, x, y, z (m)."""
        return np.array(self.data.site("end_effector").xpos)

    def tip(self) -> np.ndarray:
        """Where the fingertips are, x, y, z (m): 5 cm further along the hand, which points away from the robot when high up, and down when low."""
        return self.hand() + 0.05 * self.data.site("end_effector").xmat.reshape(3, 3)[:, 2]

    def place(self, body: str) -> np.ndarray:
        """Where a body is, x, y, z (m)."""
        return np.array(self.data.body(body).xpos)

    def snapshot(self) -> Any:
        state = np.empty(self._mujoco.mj_stateSize(self.model, self._bits))
        self._mujoco.mj_getState(self.model, self.data, state, self._bits)
        return state, dict(self._env.original_pos), self._env.num_steps

    def restore(self, snap: Any) -> None:
        state, original, self._env.num_steps = snap
        self._env.original_pos = dict(original)
        self._mujoco.mj_setState(self.model, self.data, state, self._bits)
        self._mujoco.mj_step1(self.model, self.data)  # the package leaves each step with positions and velocities up to date
        self._mujoco.mj_setState(self.model, self.data, state, self._bits)
        self._env.physics_copy.data.qpos[:] = self.data.qpos  # where its inverse kinematics starts

    def close(self) -> None:
        self._frames.close()


class Script:
    """Moves the closed fingertips to where a rule says that they should be now, x, y, z (m)."""

    def __init__(self, rule: Callable[[RoboDesk], np.ndarray]) -> None:
        self._rule = rule

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        pass

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        step = np.clip((self._rule(env.raw) - env.raw.tip()) / 0.01, -1.0, 1.0)
        return np.array([*step, 0.0, -1.0])


def _by_way(target: np.ndarray, tip: np.ndarray, way: np.ndarray, free: float = 0.03) -> np.ndarray:
    """The target, or off it along `way` (m) as long as the fingertips are more than `free` (m) aside of the line through it."""
    off = (tip - target) - way * float((tip - target) @ way) / float(way @ way)
    return target + way * float(np.clip(10.0 * (np.linalg.norm(off) - free), 0.0, 1.0))


def press(colour: str) -> Callable[[RoboDesk], np.ndarray]:
    """The rule of a button: above it, then down on it."""
    return lambda raw: _by_way(raw.place(f"{colour}_button") + [0.0, 0.0, -0.03], raw.tip(), np.array([0.0, 0.0, 0.12]), free=0.02)


def pull_drawer(raw: RoboDesk) -> np.ndarray:
    """Down behind the handle's bar, then toward the robot. (Near the robot the arm soon cannot fold any further, and the drawer stays half open.)"""
    tip, bar = raw.tip(), raw.place("drawer") + [0.0, -0.36, 0.01]
    reach = tip - raw.hand()
    if tip[1] > bar[1] and tip[2] < bar[2] and abs(tip[0] - bar[0]) < 0.06:
        return np.array([bar[0], tip[1] - 0.05, bar[2] - 0.03])
    return np.array([bar[0], max(bar[1] + 0.045, 0.51) + reach[1], bar[2] - 0.035])


def push_slide(raw: RoboDesk) -> np.ndarray:
    """From the front to the left of the door's handle, then to the right."""
    tip, bar = raw.tip(), raw.place("slide") + [0.0, -0.11, 0.0]
    if tip[0] < bar[0] and abs(tip[1] - bar[1]) < 0.03 and abs(tip[2] - bar[2]) < 0.06:
        return bar + [0.05, 0.01, 0.0]
    return _by_way(bar + [-0.04, 0.01, 0.0], tip, np.array([0.0, -0.10, 0.0]))


def bin_block(raw: RoboDesk) -> np.ndarray:
    """Shoves the flat block along the desk until it is in front of the bin, then over the edge."""
    tip, block = raw.tip(), raw.place("flat_block")
    up = np.array([0.0, 0.0, 0.05])
    low = tip[2] < block[2] + 0.02
    if block[0] < 0.275:
        if low and tip[0] < block[0] - 0.07 and abs(tip[1] - block[1]) < 0.03:
            return block + [0.05, 0.0, 0.0]
        return _by_way(block + [-0.11, 0.0, 0.0], tip, up, free=0.04)
    if low and tip[1] > block[1] + 0.02 and abs(tip[0] - block[0]) < 0.08:
        return np.array([max(block[0], 0.36), block[1] - 0.05, block[2]])
    return _by_way(block + [0.0, 0.06, 0.0], tip, up, free=0.05)
