"""Meta-World tasks: `mw-NAME` is the package's environment `NAME-v3`.

The environments are built directly, without the benchmark's pickled tasks: starts and goals are drawn at every reset from the episode's own
seed. (The package draws from numpy's global state unless told otherwise, and its `reset(seed)` ignores the seed.) What a reset writes into
the model (places of bodies and sites) and what the environments remember in Python between steps is put back at a reset and at a restore.
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

CAMERAS = {
    "push-close": Camera(lookat=(0.0, 0.72, 0.06), distance=0.78, azimuth=215.0, elevation=-38.0, fovy=40.0),
    "table": Camera(lookat=(0.0, 0.70, 0.11), distance=0.95, azimuth=215.0, elevation=-34.0, fovy=40.0),  # from beyond the table, at the robot
    "side": Camera(lookat=(0.0, 0.66, 0.14), distance=1.05, azimuth=155.0, elevation=-30.0, fovy=40.0),  # along the table's edge; the arm comes from the left
    "front": Camera(lookat=(0.0, 0.72, 0.17), distance=1.1, azimuth=130.0, elevation=-28.0, fovy=40.0),  # what moves from side to side at the back
    "left": Camera(lookat=(-0.10, 0.62, 0.08), distance=1.1, azimuth=130.0, elevation=-34.0, fovy=40.0),
    "right": Camera(lookat=(0.17, 0.62, 0.08), distance=1.1, azimuth=150.0, elevation=-48.0, fovy=40.0),
    "door": Camera(lookat=(-0.02, 0.68, 0.14), distance=1.25, azimuth=125.0, elevation=-38.0, fovy=40.0),
}
FAR_LINKS = ("pedestal", "right_arm_base_link", "head", "right_l0", "right_l1", "right_l2", "right_l3")  # two thirds of a frame's cost
BASE_LINKS = ("pedestal", "right_arm_base_link", "head", "right_l0", "right_l1")
OUT_OF_VIEW = {"push-close": FAR_LINKS, "side": BASE_LINKS, "front": BASE_LINKS, "right": BASE_LINKS[1:]}  # camera -> bodies that it cannot see
SHORT_STATE = (0, 1, 2, 3, 4, 5, 6)  # mw-push: its puck has no side that matters, and there is no second object
WOODEN = ("mw-push-back", "mw-sweep", "mw-sweep-into")  # tasks whose wooden cube is lost on the wooden table at small sizes: drawn yellow
YELLOW = (0.95, 0.85, 0.1, 1.0)
BORROWED = {"mw-push-back": "mw-pick-place", "mw-soccer": "mw-sweep-into"}  # their own policies fail on some or most seeds; these solve them
ROW = 18  # numbers of the package's observation that belong to one moment
PLAIN = (bool, int, float, str, np.generic, type(None))


def make(task: Task, size: int, quality: Quality) -> "MetaWorld":
    """The adapter of a task of this domain."""
    from metaworld.env_dict import ENV_CLS_MAP

    return MetaWorld(task, _of(task.id, ENV_CLS_MAP)(), size, quality)


def make_expert(task: Task) -> "ScriptedPolicy":
    """The package's scripted policy for a task of this domain."""
    from metaworld.policies import ENV_POLICY_MAP

    return ScriptedPolicy(_of(BORROWED.get(task.id, task.id), ENV_POLICY_MAP)())


def _of(task_id: str, table: dict[str, Any]) -> Any:
    name = f"{task_id.removeprefix('mw-')}-v3"
    if not task_id.startswith("mw-") or name not in table:
        raise ValueError(f"no adapter for Meta-World task {task_id}")
    return table[name]


def _without(model: Any, bodies: tuple[str, ...]) -> Any:
    """A copy to draw from, without the meshes of bodies that the camera cannot see."""
    drawn = copy.deepcopy(model)
    for g in range(drawn.ngeom):
        if model.body(int(model.geom_bodyid[g])).name in bodies:
            drawn.geom_rgba[g, 3] = 0.0
    return drawn


def _paint(model: Any, geom: str, colour: tuple[float, ...]) -> None:
    """Gives the body of a geometry one colour. The physics is the same."""
    of_body = model.geom_bodyid == model.geom_bodyid[model.geom(geom).id]
    model.geom_matid[of_body] = -1
    model.geom_rgba[of_body] = colour


def _is_live(array: np.ndarray) -> bool:
    """Whether an array looks into the simulator's own memory, and so changes as it runs."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return not array.flags.owndata


def _is_plain(value: Any) -> bool:
    """Whether a value is numbers, text and arrays of its own, alone or in lists, tuples and dicts."""
    if isinstance(value, np.ndarray):
        return not _is_live(value)
    if isinstance(value, list | tuple | dict):
        return all(_is_plain(v) for v in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, PLAIN)


class MetaWorld:
    """State: hand x, y, z; gripper opening in [0, 1]; object x, y, z and quaternion; the same of a second object, or zeros; goal x, y, z (m).

    mw-push: hand, gripper opening, object x, y, z, goal. The reward of a control step is in [0, 10].
    """

    action_dim = 4
    determinism: Determinism = "bitwise"

    def __init__(self, task: Task, env: Any, size: int, quality: Quality) -> None:
        import mujoco

        self._mujoco, self._env = mujoco, env
        env._freeze_rand_vec, env.seeded_rand_vec = False, True  # draw start and goal from env.np_random
        env._set_task_called, env._partially_observable = True, False
        env.max_path_length = sys.maxsize  # the horizon is the wrapper's
        del env.sawyer_observation_space  # cached with the goal hidden
        self._entries = np.array(SHORT_STATE if task.id == "mw-push" else range(ROW))
        self.state_dim = len(self._entries) + 3
        if task.id in WOODEN:
            _paint(env.model, "objGeom", YELLOW)
        hidden = OUT_OF_VIEW.get(task.camera, ()) if quality == "fast" else ()
        drawn = _without(env.model, hidden) if hidden else env.model
        self._frames = FrameRenderer(drawn, env.data, CAMERAS.get(task.camera, task.camera), size, quality)
        self.versions = {k: importlib.metadata.version(k) for k in ("metaworld", "mujoco", "gymnasium")}
        self.renderer = f"{self._frames.description}; camera {task.camera}{'; cube painted' if task.id in WOODEN else ''}"
        self._bits = mujoco.mjtState.mjSTATE_INTEGRATION
        self.observation = np.zeros(2 * ROW + 3)  # the package's own, for its scripted policy
        self._fresh = self._memory()

    def reset(self, seed: int) -> None:
        env, mujoco = self._env, self._mujoco
        self._remember(self._fresh)
        mujoco.mj_resetData(env.model, env.data)  # the package moves the hand once before it clears the last episode
        mujoco.mj_forward(env.model, env.data)
        env.np_random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        env.reset()
        ridden = env.model.site_bodyid > 0  # some environments write a world position over a site's place in its body
        env.model.site_pos[ridden] = self._fresh[2][ridden]
        mujoco.mj_forward(env.model, env.data)  # bodies and sites were moved after the last one
        now = env._get_curr_obs_combined_no_goal()
        env._prev_obs = now
        self.observation = np.concatenate([now, now, env._get_pos_goal()])

    def step(self, action: np.ndarray) -> RawStep:
        self.observation, reward, _, _, info = self._env.step(np.asarray(action, dtype=np.float32))
        return RawStep(float(reward), False, bool(info["success"]))

    def render(self) -> np.ndarray:
        return self._frames.render()

    def state(self) -> np.ndarray:
        o = self.observation
        return np.concatenate([o[self._entries], o[-3:]]).astype(np.float32)

    def snapshot(self) -> Any:
        env = self._env
        state = np.empty(self._mujoco.mj_stateSize(env.model, self._bits))
        self._mujoco.mj_getState(env.model, env.data, state, self._bits)
        return state, self._memory(), self.observation.copy(), env.np_random.bit_generator.state

    def restore(self, snap: Any) -> None:
        env = self._env
        state, memory, observation, env.np_random.bit_generator.state = snap
        self.observation = observation.copy()
        self._remember(memory)
        self._mujoco.mj_setState(env.model, env.data, state, self._bits)
        self._mujoco.mj_forward(env.model, env.data)
        self._mujoco.mj_setState(env.model, env.data, state, self._bits)  # forward leaves its own warm start

    def _memory(self) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        """What the environment keeps outside the simulator's state: attributes of its own, places of bodies, places of sites.

        Views into the simulator's memory are kept as what they are: they follow its state.
        """
        env = self._env
        own = copy.deepcopy({k: v for k, v in vars(env).items() if _is_plain(v)})
        views = {k: v for k, v in vars(env).items() if isinstance(v, np.ndarray) and _is_live(v)}
        return own | views, env.model.body_pos.copy(), env.model.site_pos.copy()

    def _remember(self, memory: tuple[dict[str, Any], np.ndarray, np.ndarray]) -> None:
        attributes, self._env.model.body_pos[:], self._env.model.site_pos[:] = memory
        for name, value in attributes.items():
            setattr(self._env, name, copy.deepcopy(value) if _is_plain(value) else value)

    def close(self) -> None:
        self._frames.close()
        self._env.close()


class ScriptedPolicy:
    """Acts on the package's own observation."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        pass

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns whenever a command is clipped
            return np.clip(self._policy.get_action(env.raw.observation), -1.0, 1.0)
