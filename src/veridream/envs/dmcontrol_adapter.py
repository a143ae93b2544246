"""What the tasks on DeepMind Control Suite models share, whatever body they move. One control step is the suite's own `Environment.step`."""

import copy
import importlib.metadata
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from veridream.envs.base import Determinism, Quality, RawStep
from veridream.envs.mujoco_planner import Planned
from veridream.envs.mujoco_render import Camera, FrameRenderer
from veridream.params.tasks import Task

SOLVED = 0.9  # a control step's reward from which on the task counts as solved
THICK_BELOW, THICKEST = 64, 1.8  # frames smaller than this (pixels) show thin things thicker, up to this factor


class DmControl(Planned):
    """An adapter of one body of the suite.

    A body names the first entries of its state in `HEAD` and computes them in `head`; generalised positions and velocities follow. (A body may
    override `state` instead, and then says its `state_dim`.) `plan_rewards` is what its CEM expert maximises.
    """

    HEAD: ClassVar[tuple[str, ...]] = ()
    THIN: ClassVar[tuple[str, ...]] = ()  # geoms drawn thicker at small sizes
    CLOSE: ClassVar[Camera]  # the task's camera where it is called ...-close; else one of the model's
    state_dim: int
    drawn_at_reset = ("geom_pos", "site_pos")  # targets are geoms or sites of the world
    determinism: Determinism = "bitwise"

    def __init__(self, task: Task, env: Any, size: int, quality: Quality) -> None:
        import mujoco

        self._mujoco = mujoco
        self._env = env
        self.task_id = task.id
        self.model, self.data = env.physics.model.ptr, env.physics.data.ptr
        self.substeps = int(env._n_sub_steps)
        spec = env.action_spec()
        self.action_dim = int(spec.shape[0])
        self.action_middle, self.action_half = (spec.maximum + spec.minimum) / 2.0, (spec.maximum - spec.minimum) / 2.0
        if self.HEAD:
            self.state_dim = len(self.HEAD) + self.model.nq + self.model.nv
        drawn, note = self._drawn(size)
        camera = self.CLOSE if task.camera.endswith("-close") else task.camera
        self._frames = FrameRenderer(drawn, self.data, camera, size, quality)
        self.versions = {k: importlib.metadata.version(k) for k in ("dm_control", "mujoco")}
        self.renderer = f"{self._frames.description}; camera {task.camera}{note}"
        self._bits = mujoco.mjtState.mjSTATE_INTEGRATION

    def _drawn(self, size: int) -> tuple[Any, str]:
        """The model that is drawn, and a note for the store where it differs from the one that is simulated.

        Things of one or two centimetres are less than a pixel wide at small sizes, and are drawn thicker there.
        """
        factor = float(np.clip(THICK_BELOW / size, 1.0, THICKEST))
        if factor == 1.0 or not self.THIN:
            return self.model, ""
        self._env.reset()  # the suite sets sizes of targets in the model at a reset
        drawn = copy.deepcopy(self.model)
        for name in self.THIN:
            drawn.geom_size[drawn.geom(name).id, 0] *= factor
        return drawn, f"; {', '.join(self.THIN)} drawn {factor:g} times as thick"

    def reset(self, seed: int) -> None:
        self._env.task.random.seed(np.random.SeedSequence(seed).generate_state(4))
        self.data.qacc_warmstart[:] = 0.0
        self._env.reset()

    def step(self, action: np.ndarray) -> RawStep:
        one = self._env.step(self.action_middle + self.action_half * np.asarray(action, dtype=np.float64))
        if one.reward is None:
            raise RuntimeError("the simulator reset itself: step after its last step")
        return RawStep(float(one.reward), bool(one.last()), float(one.reward) > SOLVED)

    def render(self) -> np.ndarray:
        return self._frames.render()

    def head(self) -> Sequence[float]:
        """The values that `HEAD` names; the first two span the coverage maps. None where a body has a `state` of its own."""
        return ()

    def state(self) -> np.ndarray:
        return np.concatenate([self.head(), self.data.qpos, self.data.qvel]).astype(np.float32)

    def snapshot(self) -> Any:
        state = np.empty(self._mujoco.mj_stateSize(self.model, self._bits))
        self._mujoco.mj_getState(self.model, self.data, state, self._bits)
        derived = {k: getattr(self.data, k).copy() for k in ("qacc", "act_dot", "sensordata")}
        placed = {k: getattr(self.model, k).copy() for k in self.drawn_at_reset}
        return state, derived, placed, self._env._step_count, self._env._reset_next_step, self._env.task.random.get_state()

    def restore(self, snap: Any) -> None:
        state, derived, placed, self._env._step_count, self._env._reset_next_step, rng = snap
        self._env.task.random.set_state(rng)
        for name, value in placed.items():
            getattr(self.model, name)[:] = value
        self._mujoco.mj_setState(self.model, self.data, state, self._bits)
        self._mujoco.mj_step1(self.model, self.data)  # the suite leaves each step with positions and velocities up to date
        self._mujoco.mj_setState(self.model, self.data, state, self._bits)
        for name, value in derived.items():
            getattr(self.data, name)[:] = value

    def close(self) -> None:
        self._frames.close()
