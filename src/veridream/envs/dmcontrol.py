"""DeepMind Control Suite tasks: cup-catch, its recoloured variant, walker-walk.

One control step is the suite's own `Environment.step`. Planning (see `Planner`) integrates the same model in compiled code, in a data
structure of its own, so that it neither renders nor touches the running episode.
"""

import copy
import importlib.metadata
from typing import Any

import numpy as np

from veridream.envs.base import Determinism, Quality, RawStep
from veridream.envs.mujoco_render import Camera, FrameRenderer
from veridream.params.tasks import Task

CAMERAS = {
    "cup-close": Camera(lookat=(0.0, 0.0, 0.45), distance=1.0, azimuth=90.0, elevation=0.0, fovy=45.0),
    "walker-close": Camera(lookat=(0.0, 0.0, 0.85), distance=2.4, azimuth=90.0, elevation=-6.0, follow="torso", fovy=45.0),
}
SOLVED = 0.9  # a control step's reward from which on the task counts as solved
VARIANT_COLOURS = {"ball": (0.1, 0.95, 0.9, 1.0), "cup": (0.85, 0.15, 0.75, 1.0), "ground": (0.75, 0.7, 0.35, 1.0), "sky": (235, 225, 190)}


def make(task: Task, size: int, quality: Quality) -> "DmControl":
    """The adapter of a task of this domain."""
    from dm_control.suite import ball_in_cup, walker

    if task.id == "walker-walk":
        return Walker(task, walker.walk(time_limit=float("inf"), random=0), size, quality)
    if task.id not in ("cup-catch", "cup-catch-var1"):
        raise ValueError(f"no adapter for dm_control task {task.id}")
    env = ball_in_cup.catch(time_limit=float("inf"), random=0)
    if task.id == "cup-catch-var1":
        _recolour_cup(env.physics.model.ptr)
    return CupCatch(task, env, size, quality)


def _recolour_cup(model: Any) -> None:
    """The visual variant: other colours of ball, cup, string, ground and sky; the physics is the same."""
    ground, ball = model.geom("ground").id, model.geom("ball").id
    for g in range(model.ngeom):
        colour = "ground" if g == ground else "ball" if g == ball else "cup"
        model.geom_matid[g] = -1
        model.geom_rgba[g] = VARIANT_COLOURS[colour]
    model.tendon_rgba[:] = VARIANT_COLOURS["cup"]
    for t in range(model.ntex):
        if model.tex_type[t] == 2:  # the sky box
            start, n = int(model.tex_adr[t]), int(model.tex_width[t] * model.tex_height[t])
            model.tex_data[start : start + 3 * n] = np.tile(np.array(VARIANT_COLOURS["sky"], np.uint8), n)


class DmControl:
    """What the tasks of the suite share. `state` and `plan_rewards` are the task's own."""

    state_dim: int
    coarsening: int  # physics steps of the simulator in one of the planner; divides those of a control step
    determinism: Determinism = "bitwise"

    def __init__(self, task: Task, env: Any, size: int, quality: Quality) -> None:
        import mujoco

        self._mujoco = mujoco
        self._env = env
        self.model, self.data = env.physics.model.ptr, env.physics.data.ptr
        self.action_dim = int(env.action_spec().shape[0])
        drawn, note = self._drawn(size)
        self._frames = FrameRenderer(drawn, self.data, CAMERAS.get(task.camera, task.camera), size, quality)
        self.versions = {k: importlib.metadata.version(k) for k in ("dm_control", "mujoco")}
        self.renderer = f"{self._frames.description}; camera {task.camera}{note}"
        self._bits = mujoco.mjtState.mjSTATE_INTEGRATION
        self._plan: Planner | None = None

    def _drawn(self, size: int) -> tuple[Any, str]:
        """The model that is drawn, and a note for the store where it differs from the one that is simulated."""
        return self.model, ""

    def reset(self, seed: int) -> None:
        self._env.task.random.seed(np.random.SeedSequence(seed).generate_state(4))
        self.data.qacc_warmstart[:] = 0.0
        self._env.reset()

    def step(self, action: np.ndarray) -> RawStep:
        one = self._env.step(np.asarray(action, dtype=np.float64))
        if one.reward is None:
            raise RuntimeError("the simulator reset itself: step after its last step")
        return RawStep(float(one.reward), bool(one.last()), float(one.reward) > SOLVED)

    def render(self) -> np.ndarray:
        return self._frames.render()

    def snapshot(self) -> Any:
        state = np.empty(self._mujoco.mj_stateSize(self.model, self._bits))
        self._mujoco.mj_getState(self.model, self.data, state, self._bits)
        derived = {k: getattr(self.data, k).copy() for k in ("qacc", "act_dot", "sensordata")}
        return state, derived, self._env._step_count, self._env._reset_next_step, self._env.task.random.get_state()

    def restore(self, snap: Any) -> None:
        state, derived, self._env._step_count, self._env._reset_next_step, rng = snap
        self._env.task.random.set_state(rng)
        self._mujoco.mj_setState(self.model, self.data, state, self._bits)
        self._mujoco.mj_step1(self.model, self.data)  # the suite leaves each step with positions and velocities up to date
        self._mujoco.mj_setState(self.model, self.data, state, self._bits)
        for name, value in derived.items():
            getattr(self.data, name)[:] = value

    def close(self) -> None:
        self._frames.close()

    def planner(self) -> "Planner":
        """Integrates many action sequences from the current state; made on first use."""
        if self._plan is None:
            self._plan = Planner(self)
        return self._plan

    def state(self) -> np.ndarray:
        raise NotImplementedError

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """What a planner maximises, [N, T], one value a control step. May be denser than the task's reward."""
        raise NotImplementedError


class CupCatch(DmControl):
    """State: cup x, z; ball x, z (m, world frame); their velocities (m/s)."""

    state_dim = 8
    coarsening = 5  # 10 ms
    CUP_Z, BALL_Z, TARGET_Z = 0.6, 0.2, 0.55  # heights of the bodies and of the cup's inside at joint position 0

    def _drawn(self, size: int) -> tuple[Any, str]:
        """At small sizes ball, cup and string are drawn thicker than they are: the ball is 2 pixels wide at 32 else."""
        factor = float(np.clip(64 / size, 1.0, 1.8))
        if factor == 1.0:
            return self.model, ""
        drawn = copy.deepcopy(self.model)
        for g in range(drawn.ngeom):
            if g != drawn.geom("ground").id:
                drawn.geom_size[g, 0] *= factor
        drawn.tendon_width[:] *= factor
        return drawn, f"; ball, cup and string drawn {factor:g} times as thick"

    def state(self) -> np.ndarray:
        q, v = self.data.qpos, self.data.qvel
        return np.array([q[0], q[1] + self.CUP_Z, q[2], q[3] + self.BALL_Z, v[0], v[1], v[2], v[3]], dtype=np.float32)

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The catch itself, and before it: near the cup's inside, from above rather than from below the rim."""
        cup_x, cup_z, ball_x, ball_z = np.moveaxis(qpos_NTQ, -1, 0)
        dx = np.abs(ball_x - cup_x)
        dz = (ball_z + self.BALL_Z) - (cup_z + self.TARGET_Z)
        caught = (dx < 0.025) & (np.abs(dz) < 0.025)
        above = np.clip((dz + 0.3) / 0.4, 0.0, 1.0)
        inside = np.exp(-((dx / 0.08) ** 2) - (np.maximum(dz - 0.05, 0.0) / 0.15) ** 2) * (dz > -0.03)
        return caught + 0.3 * inside + 0.15 * above - 0.1 * dx


class Walker(DmControl):
    """State: torso height (m), forward speed (m/s), torso upright in [-1, 1]; then joint angles (7, rad) and joint velocities (9)."""

    state_dim = 19
    coarsening = 2  # 5 ms; at 12.5 ms its contacts mislead the plans

    def state(self) -> np.ndarray:
        physics = self._env.physics
        head = [physics.torso_height(), physics.horizontal_velocity(), physics.torso_upright()]
        return np.concatenate([head, self.data.qpos[2:], self.data.qvel]).astype(np.float32)

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """The task's own reward, with a wider slope toward standing and walking, so that a fallen walker sees it too."""
        height = qpos_NTQ[..., 0] + 1.3
        upright = (1.0 + np.cos(qpos_NTQ[..., 2])) / 2.0
        standing = np.clip(height / 1.2, 0.0, 1.0) ** 2
        stand = (3.0 * standing + upright) / 4.0
        move = np.clip((sensor_NTS[..., 0] + 0.5) / 1.5, 0.0, 1.0)
        return stand * (5.0 * move + 2.0) / 7.0


class Planner:
    """Batched integration of a task's model: the simulator's own equations, with a longer time step."""

    def __init__(self, raw: DmControl) -> None:
        from mujoco import rollout

        self._raw, self._rollout = raw, rollout
        self._model = copy.deepcopy(raw.model)
        self._model.opt.timestep *= raw.coarsening
        self._data = raw._mujoco.MjData(self._model)
        self._substeps = raw._env._n_sub_steps // raw.coarsening
        self._bits = raw._mujoco.mjtState.mjSTATE_FULLPHYSICS

    def returns(self, action_NHA: np.ndarray, repeat: int) -> np.ndarray:
        """Planning return [N] of N sequences of H agent steps from the environment's current state; repeat: control steps an agent step."""
        raw = self._raw
        start = np.empty(raw._mujoco.mj_stateSize(raw.model, self._bits))
        raw._mujoco.mj_getState(raw.model, raw.data, start, self._bits)
        n = len(action_NHA)
        control = np.repeat(np.asarray(action_NHA, dtype=np.float64), repeat * self._substeps, axis=1)
        warm = np.tile(raw.data.qacc_warmstart, (n, 1))
        state, sensor = self._rollout.rollout(self._model, self._data, np.tile(start, (n, 1)), control, initial_warmstart=warm)
        last = slice(self._substeps - 1, None, self._substeps)
        nq, nv = raw.model.nq, raw.model.nv
        qpos, qvel = state[:, last, 1 : 1 + nq], state[:, last, 1 + nq : 1 + nq + nv]
        out: np.ndarray = raw.plan_rewards(qpos, qvel, sensor[:, last]).sum(axis=1)
        return out
