"""What every environment adapter offers, and the wrapper that turns simulator control steps into agent steps.

An adapter (`RawEnv`, one module a domain) knows one simulator and one control step. `AgentEnv` adds, once for all domains, the action
repeat (`task.action_repeat * frame_skip` control steps an agent step), the horizon, and the checks of actions, frames and states.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from veridream.params.tasks import Task

Determinism = Literal["bitwise", "tolerant"]
Quality = Literal["fast", "full"]
MAX_SEED = 2**63


class SimulatorMissing(RuntimeError):
    """A package or a rendering backend that a task needs is not there; the text holds the remedy."""


class NotSupported(RuntimeError):
    """The simulator cannot do this (for example save and restore its whole state)."""


@dataclass(frozen=True)
class Step:
    """What one agent step (or a reset) led to. `reward` is 0.0 after a reset."""

    reward: float
    is_terminal: bool  # the simulator's own end flag: no more steps are possible
    is_last: bool  # terminal, or the horizon is reached
    success: bool  # the task's success at any control step since the reset


@dataclass(frozen=True)
class RawStep:
    """What one control step of a simulator led to."""

    reward: float
    is_terminal: bool
    success: bool = False


@runtime_checkable
class RawEnv(Protocol):
    """One simulator, one control step at a time. Adapters keep their own random state; the global numpy RNG is neither read nor written."""

    state_dim: int
    action_dim: int
    versions: dict[str, str]  # package -> version, of everything that can change a frame or a state
    renderer: str  # backend, quality and camera of the frames
    determinism: Determinism

    def reset(self, seed: int) -> None: ...

    def step(self, action: np.ndarray) -> RawStep: ...  # float32 [action_dim] in [-1, 1]

    def render(self) -> np.ndarray: ...  # uint8 [size, size, 3]

    def state(self) -> np.ndarray: ...  # float32 [state_dim]

    def snapshot(self) -> Any: ...

    def restore(self, snap: Any) -> None: ...

    def close(self) -> None: ...


class Env(Protocol):
    """An agent's view: one step is `task.action_repeat * frame_skip` control steps."""

    task: Task
    frame_skip: int
    horizon: int  # agent steps
    state_dim: int
    action_dim: int
    versions: dict[str, str]
    renderer: str
    determinism: Determinism

    def reset(self, seed: int) -> Step: ...

    def step(self, action: np.ndarray) -> Step: ...

    def render(self) -> np.ndarray: ...

    def state(self) -> np.ndarray: ...

    def snapshot(self) -> Any: ...

    def restore(self, snap: Any) -> None: ...

    def close(self) -> None: ...


def repeat_action(raw: RawEnv, action: np.ndarray, times: int) -> RawStep:
    """Up to `times` control steps with one action. Stops at the end flag; sums rewards; success if any control step had it."""
    reward, success, terminal = 0.0, False, False
    for _ in range(times):
        one = raw.step(action)
        reward += float(one.reward)
        success |= bool(one.success)
        if one.is_terminal:
            terminal = True
            break
    return RawStep(reward, terminal, success)


class AgentEnv:
    """An `Env` over a `RawEnv`.

    Args:
        task: the registry row; its action_dim must be the adapter's.
        raw: the adapter.
        size: image side, pixels.
        frame_skip: extra repeat on top of the task's own.
        max_steps: cap of the horizon, agent steps; None for the task's own alone.
    """

    def __init__(self, task: Task, raw: RawEnv, size: int, frame_skip: int = 1, max_steps: int | None = None) -> None:
        if raw.action_dim != task.action_dim:
            raise ValueError(f"task {task.id}: params/tasks.yaml says action_dim {task.action_dim}, the simulator has {raw.action_dim}")
        if frame_skip < 1 or (max_steps is not None and max_steps < 1):
            raise ValueError(f"task {task.id}: frame_skip and max_steps are at least 1; got {frame_skip} and {max_steps}")
        self.task, self.raw, self.size, self.frame_skip = task, raw, size, frame_skip
        self.horizon = task.horizon if max_steps is None else min(task.horizon, max_steps)
        self.repeat = task.action_repeat * frame_skip
        self.state_dim, self.action_dim = raw.state_dim, raw.action_dim
        self.versions, self.renderer, self.determinism = raw.versions, raw.renderer, raw.determinism
        self._taken = 0
        self._ended = True
        self._success = False

    def reset(self, seed: int) -> Step:
        """Starts the episode of that seed. The same seed gives the same episode, whatever happened before."""
        if not 0 <= seed < MAX_SEED:
            raise ValueError(f"seed {seed} is outside [0, 2**63)")
        self.raw.reset(int(seed))
        self._taken, self._ended, self._success = 0, False, False
        return Step(0.0, False, False, False)

    def step(self, action: np.ndarray) -> Step:
        """One agent step.

        Args:
            action: float [action_dim], clipped to [-1, 1].
        Raises:
            ValueError: wrong shape, or not finite.
            RuntimeError: the episode has ended, or none was started.
        """
        if self._ended:
            raise RuntimeError(f"{self.task.id}: step after the end of the episode; call reset(seed) first")
        action = np.asarray(action, dtype=np.float32)
        if action.shape != (self.action_dim,):
            raise ValueError(f"{self.task.id}: action has shape {action.shape}, expected ({self.action_dim},)")
        if not np.isfinite(action).all():
            raise ValueError(f"{self.task.id}: action is not finite: {action.tolist()}")
        one = repeat_action(self.raw, np.clip(action, -1.0, 1.0), self.repeat)
        if not np.isfinite(one.reward):
            raise ValueError(f"{self.task.id}: reward is not finite ({one.reward}) at agent step {self._taken}")
        self._taken += 1
        self._success |= one.success
        self._ended = one.is_terminal or self._taken >= self.horizon
        return Step(one.reward, one.is_terminal, self._ended, self._success)

    def render(self) -> np.ndarray:
        """The current frame, uint8 [size, size, 3], a copy of its own."""
        frame = self.raw.render()
        if frame.shape != (self.size, self.size, 3) or frame.dtype != np.uint8:
            raise ValueError(f"{self.task.id}: frame is {frame.dtype} {frame.shape}, expected uint8 ({self.size}, {self.size}, 3)")
        return np.array(frame)

    def state(self) -> np.ndarray:
        """The low-dimensional state, float32 [state_dim]; `task.coverage.dims` index into it."""
        state = np.asarray(self.raw.state(), dtype=np.float32)
        if state.shape != (self.state_dim,) or not np.isfinite(state).all():
            raise ValueError(f"{self.task.id}: state is {state.tolist()}, expected {self.state_dim} finite numbers")
        return state

    def snapshot(self) -> Any:
        """Everything that `restore` needs to continue from here bit for bit. Raises NotSupported."""
        return self.raw.snapshot(), self._taken, self._ended, self._success

    def restore(self, snap: Any) -> None:
        """Back to a snapshot of this same environment. Raises NotSupported."""
        raw, self._taken, self._ended, self._success = snap
        self.raw.restore(raw)

    def close(self) -> None:
        """Frees the simulator and its rendering context."""
        self.raw.close()
