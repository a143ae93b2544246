"""Layouts of the OGBench tasks as text, and the lengths of the shortest ways in them.

World frame: metres, origin in the middle of the layout, x to the right and y up, in the text as in the frame.
"""

import functools
import heapq
import math
from collections import deque
from dataclasses import dataclass

import numpy as np

Cell = tuple[int, int]  # column from the left, row from the bottom
NODES = 4  # lattice nodes a side of a cell, for the lengths of ways


@dataclass(frozen=True)
class Maze:
    """A square layout.

    Attributes:
        rows: from the top row down, "#" wall, "." free; as many columns as rows.
        unit: side of a cell, m.
        way: least and most cells between a start and its goal.
    """

    rows: tuple[str, ...]
    unit: float
    way: tuple[int, int]

    @functools.cached_property
    def side(self) -> float:
        """Of the whole layout without its outer wall, m."""
        return len(self.rows) * self.unit

    @functools.cached_property
    def free(self) -> tuple[Cell, ...]:
        """Every free cell, column by column."""
        n = len(self.rows)
        return tuple((c, r) for c in range(n) for r in range(n) if self.rows[n - 1 - r][c] == ".")

    @functools.cached_property
    def free_set(self) -> frozenset[Cell]:
        return frozenset(self.free)

    def centre(self, cell: Cell) -> np.ndarray:
        """Middle of a cell, [x, y] in m."""
        return (np.array(cell) + 0.5) * self.unit - self.side / 2

    def cell_at(self, xy: np.ndarray) -> Cell:
        """The free cell that a place lies in, or the nearest one for a place inside a wall."""
        c, r = (math.floor(v) for v in (np.asarray(xy, dtype=float) + self.side / 2) / self.unit)
        if (c, r) in self.free_set:
            return c, r
        return min(self.free, key=lambda cell: float(np.abs(self.centre(cell) - xy).max()))

    def walls(self) -> list[tuple[float, float, float, float]]:
        """Boxes (x, y, half width, half height) in m: one a run of wall cells in a row, and the four outer walls, a unit thick."""
        n, u, half = len(self.rows), self.unit, self.side / 2
        out = [(x, y, u / 2, half + u) for x, y in ((-half - u / 2, 0.0), (half + u / 2, 0.0))]
        out += [(x, y, half, u / 2) for x, y in ((0.0, -half - u / 2), (0.0, half + u / 2))]
        for r in range(n):
            c = 0
            while c < n:
                end = c
                while end < n and (end, r) not in self.free_set:
                    end += 1
                if end > c:
                    x, y = (c + end) / 2 * u - half, (r + 0.5) * u - half
                    out.append((x, y, (end - c) * u / 2, u / 2))
                c = end + 1
        return out

    def path(self, start: Cell, goal: Cell) -> list[Cell]:
        """A shortest path through free cells, both ends included. Raises ValueError when there is none."""
        ways = cell_ways(self, goal)
        if start not in ways:
            raise ValueError(f"no way from cell {start} to cell {goal}")
        out = [start]
        while out[-1] != goal:
            out.append(min((c for c in beside(out[-1]) if c in ways), key=lambda c: ways[c]))
        return out

    def draw(self, rng: np.random.Generator) -> tuple[Cell, Cell]:
        """A start and a goal, `way` cells apart."""
        start = self.free[rng.integers(len(self.free))]
        least, most = self.way
        ways = cell_ways(self, start)
        goals = [c for c in self.free if least <= ways.get(c, 0) <= most]
        return start, goals[rng.integers(len(goals))]

    def near(self, xy: np.ndarray, goal: Cell) -> float:
        """How near the goal is: 1 in the middle of its cell, 0 at the place of the layout with the longest way to it. Continuous along ways.

        The length of a way is computed on a lattice with diagonal steps and interpolated between its nodes; exact in the goal's own cell.
        """
        length = _lengths(self, goal)
        longest = float(length[np.isfinite(length)].max())
        straight = np.asarray(xy, dtype=float) - self.centre(goal)
        if np.abs(straight).max() <= self.unit / 2:
            return 1.0 - math.hypot(*straight) / longest
        n = len(length)
        at = np.clip((np.asarray(xy, dtype=float) + self.side / 2) / self.side * n - 0.5, 0.0, n - 1.0)
        low = np.minimum(at.astype(int), n - 2)
        total = weight = 0.0
        for i in (0, 1):
            for j in (0, 1):
                x, y = int(low[0]) + i, int(low[1]) + j
                w = (1.0 - abs(at[0] - x)) * (1.0 - abs(at[1] - y))
                if w > 0.0 and np.isfinite(length[x, y]):
                    total, weight = total + w * float(length[x, y]), weight + w
        if weight == 0.0:  # deep inside a wall
            x, y = min(np.argwhere(np.isfinite(length)).tolist(), key=lambda node: math.hypot(node[0] - at[0], node[1] - at[1]))
            total, weight = float(length[x, y]), 1.0
        return max(0.0, 1.0 - total / weight / longest)


def beside(cell: Cell) -> list[Cell]:
    """The four cells beside a cell."""
    return [(cell[0] + 1, cell[1]), (cell[0] - 1, cell[1]), (cell[0], cell[1] + 1), (cell[0], cell[1] - 1)]


@functools.cache
def cell_ways(maze: Maze, goal: Cell) -> dict[Cell, int]:
    """Cells of way from every cell that has one to the goal cell."""
    ways = {goal: 0}
    queue = deque([goal])
    while queue:
        here = queue.popleft()
        for there in beside(here):
            if there in maze.free_set and there not in ways:
                ways[there] = ways[here] + 1
                queue.append(there)
    return ways


@functools.cache
def _lengths(maze: Maze, goal: Cell) -> np.ndarray:
    """Length [N, N] (m; infinite in walls) of the shortest way from each lattice node, by column and row, to the middle of the goal cell."""
    n = len(maze.rows) * NODES
    step = maze.unit / NODES
    out = np.full((n, n), np.inf)
    heap = []
    for i in range(goal[0] * NODES, (goal[0] + 1) * NODES):
        for j in range(goal[1] * NODES, (goal[1] + 1) * NODES):
            away = step * math.hypot(i + 0.5 - (goal[0] + 0.5) * NODES, j + 0.5 - (goal[1] + 0.5) * NODES)
            heap.append((away, i, j))
    heapq.heapify(heap)
    while heap:
        length, i, j = heapq.heappop(heap)
        if out[i, j] <= length:
            continue
        out[i, j] = length
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            there, corners = (i + di, j + dj), ((i + di, j), (i, j + dj))  # no diagonal step past a corner of a wall
            if all((p // NODES, q // NODES) in maze.free_set for p, q in (there, *corners)) and not np.isfinite(out[there]):
                heapq.heappush(heap, (length + step * math.hypot(di, dj), *there))
    return out


POINT = {  # for the point: cells of 2 m
    "og-point-maze": ("...#...", ".#.#.#.", ".#...#.", ".###.#.", "...#.#.", "##.#.#.", ".....#."),
    "og-point-arena": (".......",) * 7,
    "og-point-bottleneck": ("..###..", "..###..", "..###..", ".......", "..###..", "..###..", "..###.."),  # an H
    "og-point-circle": ("##...##", "#.....#", "..###..", "..###..", "..###..", "#.....#", "##...##"),
    "og-point-spiral": (".......", "######.", ".....#.", ".###.#.", ".#...#.", ".#####.", "......."),
    "og-point-var1": (".......", ".#.#.#.", ".......", ".#.#.#.", ".......", ".#.#.#.", "......."),  # pillars
    "og-point-var2": ("...#...", ".......", "...#...", "#.###.#", "...#...", "...#...", "......."),  # four rooms
}
ANT = {  # for the ant, which is larger: cells of 3 m
    "og-ant-maze": ("...#.", ".#.#.", ".#...", ".###.", "....."),
    "og-ant-arena": (".....",) * 5,
    "og-ant-bottleneck": ("..#..", "..#..", ".....", "..#..", "..#.."),
    "og-ant-circle": (".....", ".###.", ".###.", ".###.", "....."),
    "og-ant-spiral": (".....", "####.", "...#.", ".###.", "....."),
    "og-antball": ("....",) * 4,
}
MAZES = {
    **{k: Maze(rows, 2.0, (4, 16)) for k, rows in POINT.items()},
    **{k: Maze(rows, 3.0, (2, 4)) for k, rows in ANT.items()},
}
