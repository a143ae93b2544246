"""Batched integration of a MuJoCo task's model in compiled code, in a data structure of its own: it neither renders nor touches the episode."""

import copy
from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class Planned(ABC):
    """The half of an adapter that its CEM expert plans with. An adapter derives from it, sets these attributes and says what is maximised."""

    model: Any  # mujoco.MjModel and MjData of the running episode
    data: Any
    substeps: int  # physics steps a control step
    action_middle: Any = 0.0  # control = middle + half * action; numbers, or arrays [action_dim]
    action_half: Any = 1.0
    coarsening: int = 1  # physics steps of the simulator in one of the planner; divides `substeps`
    control_cost: float = 0.0  # of the sum of the squared controls, a control step: the task's own, or less where it would let no plan move
    drawn_at_reset: tuple[str, ...] = ()  # arrays of the model that an episode draws anew, such as "geom_pos"
    _plan: "Planner | None" = None

    def planner(self) -> "Planner":
        """Integrates many action sequences from the current state; made on first use."""
        if self._plan is None:
            self._plan = Planner(self)
        return self._plan

    @abstractmethod
    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        """What a planner maximises besides the cost of control, [N, T], one value a control step. May be denser than the task's reward."""


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
