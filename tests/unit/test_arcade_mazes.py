"""MiniArcade's point mazes: walls that hold, distances along corridors, a player that arrives."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.arcade import episode, made
from veridream.envs.miniarcade import point_maze
from veridream.envs.miniarcade.maze_grid import SLACK
from veridream.envs.miniarcade.point_maze import LAYOUTS, MazeScene, grid_of

MAZES = list(LAYOUTS)
SEEDS = st.integers(0, 2**63 - 1)


@pytest.mark.parametrize("layout", LAYOUTS.values())
def test_every_cell_of_a_maze_can_be_reached(layout):
    grid = grid_of(layout)
    cells = grid.free_cells()
    assert len(cells) >= 18
    assert all(grid.path(cells[0], cell)[-1] == cell for cell in cells)


def test_the_mazes_differ_in_many_cells_even_mirrored():
    for one, two in combinations(LAYOUTS.values(), 2):
        for seen in (two, two[::-1], [row[::-1] for row in two]):
            assert sum(a != b for p, q in zip(one, seen, strict=True) for a, b in zip(p, q, strict=True)) >= 8


@pytest.mark.parametrize("task_id", MAZES)
def test_every_free_cell_reaches_every_other(task_id: str):
    grid = grid_of(LAYOUTS[task_id])
    cells = grid.free_cells()
    assert len({len(grid.path(c, cells[0])) for c in cells}) > 5
    assert max(len(grid.path(a, b)) for a in cells for b in cells) - 1 == dict(zip(MAZES, (14, 13, 14, 20), strict=True))[task_id]


def test_the_mazes_look_alike_but_for_their_walls():
    frames = [made(t) for t in MAZES]
    named = {point_maze.FLOOR, point_maze.WALL, point_maze.GOAL, point_maze.DOT}
    colours = []
    for env in frames:
        env.reset(0)
        colours.append({tuple(int(v) for v in p) for p in env.render().reshape(-1, 3)} & named)
    assert colours == [named] * len(MAZES)
    differing = sum(a != b for top, bottom in zip(LAYOUTS[MAZES[0]], LAYOUTS[MAZES[-1]], strict=True) for a, b in zip(top, bottom, strict=True))
    assert differing >= 12  # of 36 cells


@pytest.mark.parametrize("task_id", MAZES)
@given(seed=SEEDS, hold=st.integers(1, 12), full=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_dot_is_never_inside_a_wall_and_never_crosses_one(task_id: str, seed: int, hold: int, full: bool):
    """Whatever the actions: held long they press into corners, and a step of 4 control steps is far below the thickness of a wall."""
    env = made(task_id)
    rng = np.random.default_rng(seed)
    env.reset(seed)
    grid, before = env.grid, (env.scene.x, env.scene.y)
    for k in range(120):
        if k % hold == 0:
            action = rng.uniform(-1, 1, 2)
            action = np.sign(action) if full else action
        env.step(action)
        here = env.scene.x, env.scene.y
        assert grid.nearest_wall(here)[0] >= point_maze.RADIUS - SLACK
        assert len(grid.path(grid.cell_at(before), grid.cell_at(here))) <= 3  # through cells, not through walls
        assert math.dist(before, here) <= 1.05 * point_maze.SPEED * math.sqrt(2)  # being pushed round a corner may add a little
        before = here


@given(seed=SEEDS, steps=st.floats(0.5, 6.0))
@settings(max_examples=60, deadline=None)
def test_even_very_long_steps_do_not_tunnel(seed: int, steps: float):
    grid = grid_of(LAYOUTS["pygame-point-maze-var4"])
    rng = np.random.default_rng(seed)
    here = grid.centre(grid.free_cells()[rng.integers(len(grid.free_cells()))])
    for _ in range(20):
        angle = rng.uniform(-math.pi, math.pi)
        there = grid.move(here, (steps * grid.cell_side * math.cos(angle), steps * grid.cell_side * math.sin(angle)))
        assert grid.nearest_wall(there)[0] >= point_maze.RADIUS - SLACK
        # a disc moved along a straight line, sliding, gets no farther by the corridors than the step is long (with lattice error)
        assert grid.distance(here, grid.cell_at(there)) <= 1.1 * steps * grid.cell_side + 1.5 * grid.cell_side
        here = there


def test_a_dot_slides_along_a_wall_at_full_speed():
    env = made("pygame-point-maze-var4")
    env.reset(0)
    x, y = env.grid.centre((0, 5))  # top left corner; a wall below, one above
    env._scene = MazeScene(x, y, (5, 0))
    for _ in range(10):
        env.step(np.array([1.0, -1.0]))
    clearance = env.grid.cell_side / 2 - point_maze.RADIUS
    assert env.scene.x == pytest.approx(x + 10 * point_maze.SPEED, abs=1e-9)
    assert env.scene.y == pytest.approx(y - clearance, abs=1e-6)


def test_shortest_distance_is_exact_along_a_corridor_and_continuous():
    grid = grid_of(LAYOUTS["pygame-point-maze-var4"])
    goal = (0, 5)
    assert grid.distance(grid.centre((4, 5)), goal) == pytest.approx(4 * grid.cell_side, abs=1e-9)
    # eight cells by way of (5,5) and (5,3), whose corners are cut
    assert 7.0 * grid.cell_side < grid.distance(grid.centre((4, 3)), goal) <= 8 * grid.cell_side
    rng = np.random.default_rng(0)
    here, worst = grid.centre((2, 1)), 0.0
    for _ in range(3000):
        step = rng.normal(size=2) * 0.002 + np.array([0.002, 0.0])
        there = grid.move(here, (float(step[0]), float(step[1])))
        worst = max(worst, abs(grid.distance(there, goal) - grid.distance(here, goal)) / max(math.hypot(*step), 1e-12))
        here = there if there[0] < 0.9 else grid.centre((2, 1))
    assert worst < 3.0  # no jumps: the field's slope is bounded


def test_maze_rewards_are_progress_in_cells_plus_one_at_the_goal():
    env = made("pygame-point-maze-var4")
    env.reset(0)
    x, y = env.grid.centre((0, 5))
    env._scene = MazeScene(x, y, (4, 5))
    rewards, flags = [], []
    for _ in range(14):
        one = env.step(np.array([1.0, 0.0]))
        rewards.append(one.reward)
        flags.append((one.success, one.is_terminal))
    per_step = point_maze.SPEED / env.grid.cell_side
    assert rewards[0] == pytest.approx(per_step, abs=1e-9)
    reached = flags.index((True, False))
    assert reached == math.ceil((4 * env.grid.cell_side - point_maze.REACHED) / point_maze.SPEED) - 1
    assert rewards[reached] == pytest.approx(per_step + 1, abs=1e-9)
    assert sum(rewards) == pytest.approx(14 * per_step + 1, abs=1e-6)
    assert env.step(np.array([1.0, 0.0])).reward < 0.0  # past the goal: progress is given back,
    assert env.step(np.array([1.0, 0.0])).success  # the flag is not


def test_maze_starts_are_far_from_the_goal_and_wide():
    env = made("pygame-point-maze-var1")
    starts, goals = set(), set()
    for seed in range(200):
        env.reset(seed)
        cell = env.grid.cell_at((env.scene.x, env.scene.y))
        starts.add(cell)
        goals.add(env.scene.goal)
        assert len(env.grid.path(cell, env.scene.goal)) > point_maze.LEAST_PATH
    assert starts == set(env.grid.free_cells())
    assert len(goals) >= 24


@pytest.mark.parametrize("task_id", MAZES)
@pytest.mark.parametrize("frame_skip", [1, 2, 4])
def test_the_maze_player_arrives_within_100_control_steps(task_id: str, frame_skip: int):
    runs = [episode(task_id, seed, "expert", frame_skip, 100 // frame_skip) for seed in range(20)]
    assert all(run.success for run in runs)
    assert max(run.first for run in runs) <= 80
    assert np.mean([episode(task_id, seed, "random", frame_skip, 100 // frame_skip).success for seed in range(20)]) <= 0.3


@pytest.mark.parametrize("task_id", MAZES)
def test_walls_are_pixel_crisp(task_id: str):
    for size in (32, 64, 224):
        env = made(task_id, size)
        env._canvas.begin()
        colours = np.unique(env._canvas.frame().reshape(-1, 3), axis=0).tolist()
        assert colours == [list(point_maze.FLOOR), list(point_maze.WALL)]
