"""Meta-World tasks: mw-push.

The environment is built directly, without the benchmark's pickled tasks: start and goal are drawn at every reset from the episode's own seed.
(The package draws from numpy's global state unless told otherwise, and its `reset(seed)` ignores the seed.)
"""

import copy
import importlib.metadata
import sys
import warnings
from typing import Any

import numpy as np

from veridream.envs.base import Determinism, Quality, RawStep
from veridream.envs.mujoco_render import Camera, FrameRenderer
from veridream.params.tasks import Task

CAMERAS = {"push-close": Camera(lookat=(0.0, 0.72, 0.06), distance=0.78, azimuth=215.0, elevation=-38.0, fovy=40.0)}
OUT_OF_VIEW = ("pedestal", "right_arm_base_link", "head", "right_l0", "right_l1", "right_l2", "right_l3")  # of the close camera; two thirds of a frame's cost


def make(task: Task, size: int, quality: Quality) -> "MetaWorld":
    """The adapter of a task of this domain."""
    if task.id != "mw-push":
        raise ValueError(f"no adapter for Meta-World task {task.id}")
    from metaworld.envs.sawyer_push_v3 import SawyerPushEnvV3

    return MetaWorld(task, SawyerPushEnvV3(), size, quality)


def _without_far_links(model: Any) -> Any:
    """A copy to draw from, without the meshes of the arm that the close camera cannot see."""
    drawn = copy.deepcopy(model)
    for g in range(drawn.ngeom):
        if model.body(int(model.geom_bodyid[g])).name in OUT_OF_VIEW:
            drawn.geom_rgba[g, 3] = 0.0
    return drawn


class MetaWorld:
    """State: hand x, y, z; gripper opening in [0, 1]; object x, y, z; goal x, y, z (m). Reward of a control step is in [0, 10]."""

    state_dim = 10
    action_dim = 4
    determinism: Determinism = "bitwise"

    def __init__(self, task: Task, env: Any, size: int, quality: Quality) -> None:
        import mujoco

        self._mujoco, self._env = mujoco, env
        env._freeze_rand_vec, env.seeded_rand_vec = False, True  # draw start and goal from env.np_random
        env._set_task_called, env._partially_observable = True, False
        env.max_path_length = sys.maxsize  # the horizon is the wrapper's
        del env.sawyer_observation_space  # cached with the goal hidden
        self._drawn = _without_far_links(env.model) if task.camera in CAMERAS and quality == "fast" else env.model
        self._frames = FrameRenderer(self._drawn, env.data, CAMERAS.get(task.camera, task.camera), size, quality)
        self.versions = {k: importlib.metadata.version(k) for k in ("metaworld", "mujoco", "gymnasium")}
        self.renderer = f"{self._frames.description}; camera {task.camera}"
        self._bits = mujoco.mjtState.mjSTATE_INTEGRATION
        self.observation = np.zeros(39)  # the package's own, for its scripted policy

    def reset(self, seed: int) -> None:
        env = self._env
        self._mujoco.mj_resetData(env.model, env.data)  # the package moves the hand once before it clears the last episode
        env.np_random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        self.observation, _ = env.reset()
        self._mujoco.mj_forward(env.model, env.data)  # the goal was moved after the last one

    def step(self, action: np.ndarray) -> RawStep:
        self.observation, reward, _, _, info = self._env.step(np.asarray(action, dtype=np.float32))
        return RawStep(float(reward), False, bool(info["success"]))

    def render(self) -> np.ndarray:
        return self._frames.render()

    def state(self) -> np.ndarray:
        o = self.observation
        return np.concatenate([o[:7], o[-3:]]).astype(np.float32)

    def snapshot(self) -> Any:
        env = self._env
        state = np.empty(self._mujoco.mj_stateSize(env.model, self._bits))
        self._mujoco.mj_getState(env.model, env.data, state, self._bits)
        python = {k: np.copy(getattr(env, k)) for k in ("_prev_obs", "_target_pos", "obj_init_pos", "init_tcp")}
        return state, python, env.model.site("goal").pos.copy(), env.curr_path_length, self.observation.copy(), env.np_random.bit_generator.state

    def restore(self, snap: Any) -> None:
        env = self._env
        state, python, goal, env.curr_path_length, observation, rng = snap
        env.np_random.bit_generator.state = rng
        self.observation = observation.copy()
        for name, value in python.items():
            setattr(env, name, value.copy())
        env.model.site("goal").pos = goal
        self._mujoco.mj_setState(env.model, env.data, state, self._bits)
        self._mujoco.mj_forward(env.model, env.data)
        self._mujoco.mj_setState(env.model, env.data, state, self._bits)  # forward leaves its own warm start

    def close(self) -> None:
        self._frames.close()
        self._env.close()


class ScriptedPolicy:
    """The package's own scripted policy."""

    def __init__(self, task: Task) -> None:
        from metaworld.policies import SawyerPushV3Policy

        self._policy = {"mw-push": SawyerPushV3Policy}[task.id]()

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        pass

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns whenever a command is clipped
            return np.clip(self._policy.get_action(env.raw.observation), -1.0, 1.0)
