"""Makes the environment of a task. Each domain's module, and with it the simulator, is imported on first use only."""

from importlib import import_module
from typing import Any, get_args

from veridream.envs import gl
from veridream.envs.base import AgentEnv, Quality, RawEnv, SimulatorMissing
from veridream.params.tasks import Task, task
from veridream.spec import DOMAIN_MODULES


def make(task_id: str, size: int, quality: Quality = "fast", frame_skip: int = 1, max_steps: int | None = None) -> AgentEnv:
    """The environment of a task of params/tasks.yaml.

    Args:
        task_id: for example "cup-catch".
        size: image side, pixels.
        quality: "fast" leaves out shadows, reflections and multisampling where the renderer has them.
        frame_skip: extra action repeat on top of the task's own.
        max_steps: cap of the horizon, agent steps.
    Raises:
        UnknownTask: names the nearest task.
        SimulatorMissing: a package or rendering backend is not there; names the remedy.
        ValueError: size or quality out of range.
    """
    t = task(task_id)
    if size < 8:
        raise ValueError(f"render size is {size}; at least 8 pixels are needed")
    if quality not in get_args(Quality):
        raise ValueError(f"render quality is {quality!r}; known: {', '.join(get_args(Quality))}")
    return AgentEnv(t, _raw(t, size, quality), size, frame_skip, max_steps)


def _raw(t: Task, size: int, quality: Quality) -> RawEnv:
    if "gl" in t.needs:
        gl.require()
    raw: RawEnv = domain_module(t).make(t, size, quality)
    return raw


def domain_module(t: Task) -> Any:
    """The module of the task's domain: make(task, size, quality) and make_expert(task). Raises SimulatorMissing."""
    try:
        return import_module(DOMAIN_MODULES[t.domain])
    except ImportError as e:
        raise SimulatorMissing(f"task {t.id} ({t.domain}) needs a package that is not installed ({e}); install requirements/lock.txt") from e
