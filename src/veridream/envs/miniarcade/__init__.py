"""MiniArcade: the project's own small games, drawn with pygame-ce in software; no display and no sound card are needed.

Coordinates are those of a unit square, x to the right and y up, whatever the image size. An action of +1 moves right, up or anticlockwise.
"""

import os

from veridream.envs.base import Quality, RawEnv
from veridream.params.tasks import Task


def make(task: Task, size: int, quality: Quality = "fast") -> RawEnv:
    """The game of a task, one control step at a time (no action repeat, no horizon).

    Args:
        task: a row of params/tasks.yaml of domain pygame.
        size: image side, pixels.
        quality: "fast" draws at 4 times the size (at least 256 pixels) and averages down, "full" at 8 times (at least 512).
    Raises:
        ValueError: no game of that name.
        ImportError: pygame-ce is not installed.
    """
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    from veridream.envs.miniarcade.canvas import Canvas
    from veridream.envs.miniarcade.point_maze import LAYOUTS, PointMaze
    from veridream.envs.miniarcade.pong import Pong
    from veridream.envs.miniarcade.reacher_easy import ReacherEasy

    canvas = Canvas(size, quality)
    if task.id in LAYOUTS:
        return PointMaze(canvas, LAYOUTS[task.id])
    if task.id == "pygame-pong":
        return Pong(canvas)
    if task.id == "pygame-reacher-easy":
        return ReacherEasy(canvas)
    raise ValueError(f"MiniArcade has no game {task.id!r}; known: {', '.join([*LAYOUTS, 'pygame-pong', 'pygame-reacher-easy'])}")
