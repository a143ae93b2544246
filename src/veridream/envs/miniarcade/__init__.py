"""MiniArcade: the project's own small games, drawn with pygame-ce in software; no display and no sound card are needed.

Coordinates are those of a unit square, x to the right and y up, whatever the image size. An action of +1 moves right, up or anticlockwise.
"""

import os
from typing import Any

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
    from veridream.envs.miniarcade import games
    from veridream.envs.miniarcade.canvas import Canvas

    game, _ = games.named(task.id)
    env: RawEnv = game(Canvas(size, quality))
    return env


def make_expert(task: Task) -> Any:
    """The scripted player of a game. Raises ValueError for an unknown one."""
    from veridream.envs.miniarcade import games

    _, player = games.named(task.id)
    return player()
