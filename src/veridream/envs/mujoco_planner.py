"""Batched integration of a MuJoCo task's model in compiled code, in a data structure of its own: it neither renders nor touches the episode."""

import copy
from typing import Any, Protocol

import numpy as np


class Planned(Protocol):
    """What the planner asks of an adapter."""

    model: Any  # mujoco.MjModel and MjData of the running episode
    data: Any
    substeps: int  # physics steps a control step
    coarsening: int  # physics steps of the simulator in one of the planner; divides `substeps`
    action_middle: np.ndarray  # control = middle + half * action
    action_half: np.ndarray
    control_cost: float  # what the sum of the squared controls costs, a control step
    drawn_at_reset: tuple[str, ...]  # arrays of the model that an episode draws anew, such as "geom_pos"

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray: ...


class Planner:
    """The simulator's own equations, with a longer time step; semi-implicit Euler where the model asks for Runge-Kutta, at a quarter of the cost."""

    def __init__(self, raw: Planned) -> None:
        import mujoco
        from mujoco import rollout

        self._mujoco, self._raw, self._rollout = mujoco, raw, rollout
        self._model = copy.deepcopy(raw.model)
        self._model.opt.timestep *= raw.coarsening
        if self._model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
            self._model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self._data = mujoco.MjData(self._model)
        self._substeps = raw.substeps // raw.coarsening
        self._bits = mujoco.mjtState.mjSTATE_FULLPHYSICS

    def returns(self, action_NHA: np.ndarray, repeat: int) -> np.ndarray:
        """Planning return [N] of N sequences of H agent steps from the environment's current state; repeat: control steps an agent step."""
        raw = self._raw
        for name in raw.drawn_at_reset:
            getattr(self._model, name)[:] = getattr(raw.model, name)
        start = np.empty(self._mujoco.mj_stateSize(raw.model, self._bits))
        self._mujoco.mj_getState(raw.model, raw.data, start, self._bits)
        n = len(action_NHA)
        control_NHA = raw.action_middle + raw.action_half * np.asarray(action_NHA, dtype=np.float64)
        control = np.repeat(control_NHA, repeat * self._substeps, axis=1)
        warm = np.tile(raw.data.qacc_warmstart, (n, 1))
        state, sensor = self._rollout.rollout(self._model, self._data, np.tile(start, (n, 1)), control, initial_warmstart=warm)
        last = slice(self._substeps - 1, None, self._substeps)
        nq, nv = raw.model.nq, raw.model.nv
        qpos, qvel = state[:, last, 1 : 1 + nq], state[:, last, 1 + nq : 1 + nq + nv]
        out: np.ndarray = raw.plan_rewards(qpos, qvel, sensor[:, last]).sum(axis=1)
        if raw.control_cost:
            out = out - raw.control_cost * repeat * np.square(control_NHA).sum(axis=(1, 2))
        return out
