"""The geometry of a block maze: walls and free cells, a disc that slides along walls, shortest paths."""

import functools
import heapq
import math
from collections import deque
from dataclasses import dataclass

Cell = tuple[int, int]  # column from the left, row from the bottom
Point = tuple[float, float]
SLACK = 1e-9  # unit lengths; how far rounding may leave the disc inside a wall
LATTICE = 32  # nodes a side of the lattice that path lengths are computed on


@dataclass(frozen=True)
class MazeGrid:
    """A maze inside the unit square: a frame of solid wall around a square of cells.

    Attributes:
        rows: the layout from the top row down, "#" wall, "." free; as many columns as rows.
        margin: thickness of the outer wall.
        radius: of the disc that moves in it; narrower than a cell.
    """

    rows: tuple[str, ...]
    margin: float
    radius: float

    @functools.cached_property
    def cell_side(self) -> float:
        return (1 - 2 * self.margin) / len(self.rows)

    @functools.cached_property
    def _free(self) -> frozenset[Cell]:
        n = len(self.rows)
        return frozenset((c, r) for c in range(n) for r in range(n) if self.rows[n - 1 - r][c] == ".")

    def is_free(self, cell: Cell) -> bool:
        """Whether a cell is inside the maze and not wall."""
        return cell in self._free

    def free_cells(self) -> list[Cell]:
        """Every free cell, column by column."""
        return sorted(self._free)

    def centre(self, cell: Cell) -> Point:
        """The middle of a cell, unit coordinates."""
        return self.margin + (cell[0] + 0.5) * self.cell_side, self.margin + (cell[1] + 0.5) * self.cell_side

    def cell_at(self, point: Point) -> Cell:
        """The cell a point lies in; cells beyond the maze for points of the outer wall."""
        return math.floor((point[0] - self.margin) / self.cell_side), math.floor((point[1] - self.margin) / self.cell_side)

    def nearest_wall(self, point: Point) -> tuple[float, Point]:
        """Distance to the nearest wall (0 inside one) and that wall's nearest point, looking one cell around."""
        column, row = self.cell_at(point)
        best, where = math.inf, point
        for c in (column - 1, column, column + 1):
            for r in (row - 1, row, row + 1):
                if not self.is_free((c, r)):
                    left, bottom = self.margin + c * self.cell_side, self.margin + r * self.cell_side
                    x = min(max(point[0], left), left + self.cell_side)
                    y = min(max(point[1], bottom), bottom + self.cell_side)
                    distance = math.hypot(point[0] - x, point[1] - y)
                    if distance < best:
                        best, where = distance, (x, y)
        return best, where

    def move(self, start: Point, step: Point) -> Point:
        """Where the disc's centre ends that tries to move by `step`: it slides along walls and never enters or crosses one.

        The path is walked in pieces of at most half a radius; after each, the disc is pushed out of the walls it touches, deepest first.
        """
        pieces = max(1, math.ceil(math.hypot(*step) / (0.5 * self.radius)))
        here = start
        for _ in range(pieces):
            there = self._pushed_out((here[0] + step[0] / pieces, here[1] + step[1] / pieces))
            if there is None:
                break
            here = there
        return here

    def _pushed_out(self, point: Point) -> Point | None:
        for _ in range(6):
            distance, wall = self.nearest_wall(point)
            if distance >= self.radius - SLACK:
                return point
            if distance == 0.0:
                return None
            grow = self.radius / distance
            point = wall[0] + (point[0] - wall[0]) * grow, wall[1] + (point[1] - wall[1]) * grow
        return None

    def path(self, start: Cell, goal: Cell) -> list[Cell]:
        """A shortest path through free cells from start to goal, both included. Raises ValueError when there is none."""
        came_from: dict[Cell, Cell] = {goal: goal}
        queue = deque([goal])
        while queue and start not in came_from:
            here = queue.popleft()
            for there in neighbours(here):
                if self.is_free(there) and there not in came_from:
                    came_from[there] = here
                    queue.append(there)
        if start not in came_from:
            raise ValueError(f"no path from cell {start} to cell {goal}")
        out = [start]
        while out[-1] != goal:
            out.append(came_from[out[-1]])
        return out

    def distance(self, point: Point, goal: Cell) -> float:
        """Length of the shortest path of the disc from a point to the middle of a cell, unit lengths; continuous in the point.

        Computed on a lattice with diagonal steps and interpolated between its nodes: up to 8 % too long across open floor, up to half a
        cell too short round a corner, exact along a corridor.
        """
        lengths = _lengths(self, goal)
        column, row = point[0] * LATTICE - 0.5, point[1] * LATTICE - 0.5
        c, r = math.floor(column), math.floor(row)
        total = weight = 0.0
        for node, w in (
            ((c, r), (c + 1 - column) * (r + 1 - row)),
            ((c + 1, r), (column - c) * (r + 1 - row)),
            ((c, r + 1), (c + 1 - column) * (row - r)),
            ((c + 1, r + 1), (column - c) * (row - r)),
        ):
            if w > 0.0 and node in lengths:
                total, weight = total + w * lengths[node], weight + w
        if weight == 0.0:
            raise ValueError(f"the disc does not fit at {point}")
        return total / weight


def neighbours(cell: Cell) -> list[Cell]:
    """The four cells beside a cell."""
    return [(cell[0] + 1, cell[1]), (cell[0] - 1, cell[1]), (cell[0], cell[1] + 1), (cell[0], cell[1] - 1)]


@functools.cache
def _nodes(grid: MazeGrid) -> frozenset[Cell]:
    """Lattice nodes near enough to a place where the disc fits: each such place has one within half a lattice diagonal."""
    least = grid.radius - math.sqrt(0.5) / LATTICE
    middles = {(c, r): ((c + 0.5) / LATTICE, (r + 0.5) / LATTICE) for c in range(LATTICE) for r in range(LATTICE)}
    return frozenset(n for n, p in middles.items() if grid.is_free(grid.cell_at(p)) and grid.nearest_wall(p)[0] >= least)


@functools.cache
def _lengths(grid: MazeGrid, goal: Cell) -> dict[Cell, float]:
    """Path length, unit lengths, from every lattice node to the middle of the goal cell."""
    nodes, goal_point = _nodes(grid), grid.centre(goal)
    heap = []
    for n in nodes:
        away = math.hypot((n[0] + 0.5) / LATTICE - goal_point[0], (n[1] + 0.5) / LATTICE - goal_point[1])
        if away <= math.sqrt(0.5) / LATTICE:
            heap.append((away, n))
    heapq.heapify(heap)
    done: dict[Cell, float] = {}
    while heap:
        length, (c, r) = heapq.heappop(heap)
        if (c, r) in done:
            continue
        done[c, r] = length
        for there in ((c + i, r + j) for i in (-1, 0, 1) for j in (-1, 0, 1)):
            if there in nodes and there not in done:
                heapq.heappush(heap, (length + math.hypot(there[0] - c, there[1] - r) / LATTICE, there))
    return done
