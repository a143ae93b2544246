"""pygame-dungeon-explorer1: four rooms seen from above. Find the key, unlock the door with it, take the treasure behind it.

Every episode draws which room one starts in, which way round the rooms are joined, where the two gaps, the locked door, the key and the
treasure are: the room of the treasure has the door alone. The explorer's velocity is the action times `SPEED`, in each direction; walls and
the locked door stop it, and it slides along them. With the key in hand (shown on the explorer) a touch opens the door, for good.
Reward: `KEY` for the key, `DOOR` for the door, `TREASURE` for the treasure; each can be had once, and nothing ends. `success`: treasure taken.
State: [x, y, key_x, key_y, has key, door_x, door_y, door open, treasure_x, treasure_y, treasure taken], the flags 0 or 1.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.experts import MazePlayer, drive, hold
from veridream.envs.miniarcade.game import PIXEL, Game
from veridream.envs.miniarcade.maze_grid import Cell, MazeGrid

SPEED = 1.4 * PIXEL  # unit lengths a control step
RADIUS = 2.2 * PIXEL  # of the explorer
MARGIN = 1 * PIXEL
REACHED = 2.6 * PIXEL  # distance of two middles at which a thing is taken
TOUCH = 0.4 * PIXEL  # gap between explorer and door that still is a touch
KEY, DOOR, TREASURE = 1.0, 1.0, 3.0

FLOOR, WALL, BOLTED, BOLT = (92, 76, 64), (34, 26, 30), (190, 96, 36), (60, 30, 14)
METAL, CHEST, LID, EXPLORER = (250, 216, 70), (206, 40, 84), (255, 170, 190), (96, 214, 236)

SIDE = 5  # cells: two a room, one for the wall between
CORNERS = ((0, 0), (3, 0), (3, 3), (0, 3))  # the lower left cells of the four rooms, anticlockwise
WALLS = (((2, 0), (2, 1)), ((3, 2), (4, 2)), ((2, 3), (2, 4)), ((0, 2), (1, 2)))  # the cells between a room and the next


def room(number: int) -> list[Cell]:
    """The four cells of a room."""
    column, row = CORNERS[number % 4]
    return [(column + i, row + j) for i in (0, 1) for j in (0, 1)]


@functools.cache
def grid_of(gaps: frozenset[Cell]) -> MazeGrid:
    """The geometry with these cells of the walls free."""
    free = {cell for k in range(4) for cell in room(k)} | gaps
    rows = ["".join("." if (c, r) in free else "#" for c in range(SIDE)) for r in reversed(range(SIDE))]
    return MazeGrid(tuple(rows), MARGIN, RADIUS)


@dataclass(frozen=True)
class DungeonScene:
    x: float
    y: float
    gaps: frozenset[Cell]  # the free cells of the walls, without the door's
    key: Cell
    door: Cell
    treasure: Cell
    has_key: bool = False  # stays after the door is open
    open: bool = False
    success: bool = False  # treasure taken
    over: bool = False  # never

    @property
    def grid(self) -> MazeGrid:
        """The walls as they are now."""
        return grid_of(self.gaps | {self.door}) if self.open else grid_of(self.gaps)


class DungeonExplorer(Game[DungeonScene]):
    """The game; see the module."""

    state_dim = 11
    action_dim = 2

    def start(self, rng: np.random.Generator) -> DungeonScene:
        """Draws the dungeon; the module says what. Rooms count onward from the first, in the direction drawn."""
        first, onward = int(rng.integers(4)), 1 if rng.random() < 0.5 else -1
        rooms = [(first + onward * k) % 4 for k in range(4)]
        between = [WALLS[k if onward == 1 else (k - 1) % 4] for k in rooms]  # a room and the next
        gaps = frozenset(wall[rng.integers(2)] for wall in between[:2])
        door = between[2 + rng.integers(2)][rng.integers(2)]
        key, treasure = (room(k)[rng.integers(4)] for k in (rooms[1 + rng.integers(2)], rooms[3]))
        x, y = grid_of(gaps).centre(room(first)[rng.integers(4)])
        slack = grid_of(gaps).cell_side / 2 - RADIUS
        return DungeonScene(x + slack * float(rng.uniform(-1, 1)), y + slack * float(rng.uniform(-1, 1)), gaps, key, door, treasure)

    def advance(self, scene: DungeonScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[DungeonScene, float]:
        """Walks; then takes the key, opens the door or takes the treasure where it can."""
        x, y = scene.grid.move((scene.x, scene.y), (SPEED * action[0], SPEED * action[1]))
        after, reward = replace(scene, x=x, y=y), 0.0
        if not scene.has_key and self._near(after, scene.key):
            after, reward = replace(after, has_key=True), reward + KEY
        if scene.has_key and not scene.open and self._at_door(after):
            after, reward = replace(after, open=True), reward + DOOR
        if not scene.success and self._near(after, scene.treasure):
            after, reward = replace(after, success=True), reward + TREASURE
        return after, reward

    @staticmethod
    def _near(scene: DungeonScene, cell: Cell) -> bool:
        x, y = scene.grid.centre(cell)
        return (scene.x - x) ** 2 + (scene.y - y) ** 2 < REACHED**2

    @staticmethod
    def _at_door(scene: DungeonScene) -> bool:
        x, y = scene.grid.centre(scene.door)
        half = scene.grid.cell_side / 2
        aside, above = max(abs(scene.x - x) - half, 0.0), max(abs(scene.y - y) - half, 0.0)
        return aside**2 + above**2 <= (RADIUS + TOUCH) ** 2

    def observe(self, scene: DungeonScene) -> tuple[float, ...]:
        """[x, y, key_x, key_y, has key, door_x, door_y, door open, treasure_x, treasure_y, treasure taken]."""
        key, door, treasure = (scene.grid.centre(c) for c in (scene.key, scene.door, scene.treasure))
        return scene.x, scene.y, *key, float(scene.has_key), *door, float(scene.open), *treasure, float(scene.success)

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Solid wall; the rooms differ from episode to episode only by the gaps."""
        canvas.fill(WALL)
        grid = grid_of(frozenset())
        for c, r in grid.free_cells():
            canvas.rectangle(MARGIN + c * grid.cell_side, MARGIN + r * grid.cell_side, grid.cell_side, grid.cell_side, FLOOR)

    def paint(self, canvas: Canvas, scene: DungeonScene) -> None:
        """Gaps, door, treasure, key, explorer."""
        side = scene.grid.cell_side
        for c, r in [*sorted(scene.gaps), scene.door]:
            shut = (c, r) == scene.door and not scene.open
            canvas.rectangle(MARGIN + c * side, MARGIN + r * side, side, side, BOLTED if shut else FLOOR)
        if not scene.open:
            canvas.disc(scene.grid.centre(scene.door), 1.2 * PIXEL, BOLT)
        if not scene.success:
            x, y = scene.grid.centre(scene.treasure)
            canvas.rectangle(x - 2.4 * PIXEL, y - 2.2 * PIXEL, 4.8 * PIXEL, 4.4 * PIXEL, CHEST)
            canvas.rectangle(x - 2.4 * PIXEL, y + 0.6 * PIXEL, 4.8 * PIXEL, 1.6 * PIXEL, LID)
        if not scene.has_key:
            self._paint_key(canvas, *scene.grid.centre(scene.key))
        canvas.disc((scene.x, scene.y), RADIUS, EXPLORER)
        if scene.has_key and not scene.open:
            canvas.disc((scene.x, scene.y), 1.2 * PIXEL, METAL)

    @staticmethod
    def _paint_key(canvas: Canvas, x: float, y: float) -> None:
        """A ring, a shaft to the right, a tooth."""
        canvas.rectangle(x, y - 0.6 * PIXEL, 2.6 * PIXEL, 1.2 * PIXEL, METAL)
        canvas.rectangle(x + 1.4 * PIXEL, y - 2.0 * PIXEL, 1.2 * PIXEL, 2.0 * PIXEL, METAL)
        canvas.disc((x - 0.6 * PIXEL, y), 2.0 * PIXEL, METAL)
        canvas.disc((x - 0.6 * PIXEL, y), 0.8 * PIXEL, FLOOR)


class DungeonPlayer:
    """Walks shortest paths to the key, the door, the treasure; with the treasure taken, to one random cell of a room after another."""

    def __init__(self) -> None:
        self.away: Cell | None = None

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        """Forgets where it strolled."""
        self.away = None

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        """The action toward the next waypoint, float32 [2]. Reads the walls off the game itself."""
        scene: DungeonScene = env.raw.scene
        target = scene.key if not scene.has_key else scene.door if not scene.open else scene.treasure
        if scene.success:
            if self.away is None or DungeonExplorer._near(scene, self.away):
                self.away = room(int(rng.integers(4)))[rng.integers(4)]
            target = self.away
        grid = grid_of(scene.gaps | {scene.door}) if scene.has_key else scene.grid
        path = grid.path(grid.cell_at((scene.x, scene.y)), target)
        x, y = grid.centre(MazePlayer.straight_ahead(path))
        return drive([x - scene.x, y - scene.y], SPEED, hold(env))
