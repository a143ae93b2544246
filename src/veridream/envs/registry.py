"""Makes the environment of a task. Each domain's module, and with it the simulator, is imported on first use only."""

from typing import get_args

from veridream.envs.base import AgentEnv, Quality, RawEnv, SimulatorMissing
from veridream.params.tasks import Task, task

NEEDS_GL = ("dmcontrol", "metaworld")


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
    if t.domain in NEEDS_GL:
        from veridream.envs import gl

        gl.require()
    try:
        return _adapter(t, size, quality)
    except ImportError as e:
        raise SimulatorMissing(f"task {t.id} ({t.domain}) needs a package that is not installed ({e}); install requirements/lock.txt") from e


def _adapter(t: Task, size: int, quality: Quality) -> RawEnv:
    """Plain imports, not import strings: the code digest of a stage follows them."""
    match t.domain:
        case "dmcontrol":
            from veridream.envs import dmcontrol

            return dmcontrol.make(t, size, quality)
        case "metaworld":
            from veridream.envs import metaworld

            return metaworld.make(t, size, quality)
        case "box2d":
            from veridream.envs import box2d

            return box2d.make(t, size, quality)
        case "atari":
            from veridream.envs import atari

            return atari.make(t, size, quality)
        case "pygame":
            from veridream.envs import miniarcade

            return miniarcade.make(t, size, quality)
