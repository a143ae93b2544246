"""pygame-point-maze: steer a dot through a maze of blocks to a goal. The variants share rules, colours and sizes; only the walls differ.

Motion is first order: the dot's velocity is the action times `SPEED`, in each direction; it slides along walls.
Reward of a control step: the decrease of the shortest-path distance to the goal, in cells, plus 1 when the goal is first reached.
Reaching the goal ends nothing: the flag `success` stays up, the dot moves on, and moving away costs what coming near has earned.
State: [x, y, goal_x, goal_y].
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.game import PIXEL, Game
from veridream.envs.miniarcade.maze_grid import MazeGrid

SPEED = 1.4 * PIXEL  # unit lengths a control step
RADIUS = 2.1 * PIXEL
GOAL_RADIUS = 2.4 * PIXEL
REACHED = 2.0 * PIXEL  # distance of the two middles
MARGIN = 1.0 * PIXEL
LEAST_PATH = 4  # cells between start and goal, at least

FLOOR, WALL, GOAL, DOT = (24, 24, 34), (134, 134, 172), (52, 190, 130), (255, 128, 48)

CHAMBERS = (  # two chambers, one door between them: an H
    "..#...",
    "..#.#.",
    "....#.",
    ".##.#.",
    "..#.#.",
    "..#...",
)
SERPENTINE = (  # one long way from the top left to the bottom right
    "......",
    "#####.",
    "......",
    ".#####",
    "......",
    "...##.",
)
BAYS = (  # three dead-end bays above an open hall
    ".#..#.",
    ".#..#.",
    ".#..#.",
    ".#..#.",
    "......",
    "......",
)
KEEP = (  # a way all round, and a walled chamber inside it with one door
    "......",
    ".####.",
    ".#..#.",
    ".#....",
    ".####.",
    "......",
)
LAYOUTS = {
    "pygame-point-maze-var1": CHAMBERS,
    "pygame-point-maze-var2": BAYS,
    "pygame-point-maze-var3": KEEP,
    "pygame-point-maze-var4": SERPENTINE,
}


def grid_of(layout: tuple[str, ...]) -> MazeGrid:
    """The geometry of a layout with this game's sizes."""
    return MazeGrid(layout, MARGIN, RADIUS)


@dataclass(frozen=True)
class MazeScene:
    x: float
    y: float
    goal: tuple[int, int]  # column from the left, row from the bottom
    success: bool = False
    over: bool = False  # never


class PointMaze(Game[MazeScene]):
    """The game on one layout; see the module."""

    state_dim = 4
    action_dim = 2

    def __init__(self, canvas: Canvas, layout: tuple[str, ...]) -> None:
        self.grid = grid_of(layout)
        super().__init__(canvas)

    def start(self, rng: np.random.Generator) -> MazeScene:
        """A random place in a random free cell, and a goal in the middle of another, at least `LEAST_PATH` cells of way off."""
        cells = self.grid.free_cells()
        here = cells[rng.integers(len(cells))]
        far = [c for c in cells if len(self.grid.path(here, c)) > LEAST_PATH]
        goal = far[rng.integers(len(far))]
        x, y = self.grid.centre(here)
        room = self.grid.cell_side / 2 - RADIUS
        return MazeScene(x + room * rng.uniform(-1, 1), y + room * rng.uniform(-1, 1), goal)

    def advance(self, scene: MazeScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[MazeScene, float]:
        """Moves the dot; the reward is in the module's words."""
        x, y = self.grid.move((scene.x, scene.y), (SPEED * action[0], SPEED * action[1]))
        before, after = self.grid.distance((scene.x, scene.y), scene.goal), self.grid.distance((x, y), scene.goal)
        goal_x, goal_y = self.grid.centre(scene.goal)
        success = scene.success or math.hypot(x - goal_x, y - goal_y) < REACHED
        reward = (before - after) / self.grid.cell_side + float(success and not scene.success)
        return replace(scene, x=x, y=y, success=success), reward

    def observe(self, scene: MazeScene) -> tuple[float, ...]:
        """[x, y, goal_x, goal_y], all in [0, 1]."""
        return scene.x, scene.y, *self.grid.centre(scene.goal)

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Walls and floor."""
        canvas.fill(WALL)
        side = self.grid.cell_side
        for c, r in self.grid.free_cells():
            canvas.rectangle(MARGIN + c * side, MARGIN + r * side, side, side, FLOOR)

    def paint(self, canvas: Canvas, scene: MazeScene) -> None:
        """Goal, then the dot over it."""
        canvas.disc(self.grid.centre(scene.goal), GOAL_RADIUS, GOAL)
        canvas.disc((scene.x, scene.y), RADIUS, DOT)
