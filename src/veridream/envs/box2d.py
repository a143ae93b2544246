"""Box2D tasks, on gymnasium's LunarLander and BipedalWalker with rewards, terrains and pictures of our own.

The package's picture costs 10 ms and shows the lander 2 pixels wide at 32x32. The world is made anew at every reset.
"""

from veridream.envs import bipedal_walker, lunar_lander
from veridream.envs.base import Quality, RawEnv
from veridream.envs.experts import Expert
from veridream.params.tasks import Task


def make(task: Task, size: int, quality: Quality) -> RawEnv:
    """The adapter of a task of this domain. The quality is ignored: there is nothing to leave out."""
    if task.id in lunar_lander.WORLDS:
        return lunar_lander.WORLDS[task.id](task.id, size)
    if task.id in bipedal_walker.TERRAINS:
        return bipedal_walker.Walker(task.id, size)
    raise ValueError(f"no adapter for Box2D task {task.id}")


def make_expert(task: Task) -> Expert:
    """The scripted pilot or walker of a task of this domain."""
    if task.id in lunar_lander.PILOTS:
        return lunar_lander.PILOTS[task.id]()
    if task.id in bipedal_walker.TERRAINS:
        return bipedal_walker.Gait()
    raise ValueError(f"no expert for Box2D task {task.id}")
