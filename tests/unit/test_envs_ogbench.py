"""OGBench: layouts, lengths of ways, rewards, goals, the players' routes."""

import os

import numpy as np
import pytest

from veridream.envs import ogbench
from veridream.envs.base import AgentEnv
from veridream.envs.experts import make_expert
from veridream.envs.gl import probe_backends
from veridream.envs.ogbench_mazes import MAZES, Maze, cell_ways
from veridream.params.tasks import registry, task

if not os.environ.get("MUJOCO_GL"):
    os.environ["MUJOCO_GL"] = probe_backends()
TASKS = [t.id for t in registry().values() if t.domain == "ogbench"]
CORRIDOR = Maze(("....", "####", "....", "...."), 2.0, (1, 3))


@pytest.mark.parametrize("name", MAZES)
def test_layouts_are_square_whole_and_give_every_start_a_goal(name):
    maze = MAZES[name]
    assert {len(row) for row in maze.rows} == {len(maze.rows)}
    least, most = maze.way
    for start in maze.free:
        ways = cell_ways(maze, start)
        assert set(ways) == maze.free_set, "a cell that cannot be reached"
        assert any(least <= n <= most for n in ways.values())
        for goal in maze.free[::5]:
            assert len(maze.path(start, goal)) == ways[goal] + 1


def test_every_task_but_the_field_has_a_layout():
    assert len(TASKS) == 14 and set(MAZES) == set(TASKS) - {"og-ant"}


def test_no_two_point_layouts_are_alike_and_a_layout_reads_as_it_looks():
    assert len({m.rows for k, m in MAZES.items() if k.startswith("og-point")}) == 7
    assert (0, 3) in CORRIDOR.free_set and (0, 2) not in CORRIDOR.free_set
    assert CORRIDOR.centre((0, 3)).tolist() == [-3.0, 3.0]  # top left
    assert CORRIDOR.cell_at(np.array([-3.9, 3.9])) == (0, 3)
    assert CORRIDOR.cell_at(np.array([-3.0, 1.9])) == (0, 3), "inside a wall: the nearest free cell"


def test_walls_cover_the_wall_cells_and_no_free_one():
    for maze in MAZES.values():
        boxes = np.array(maze.walls())
        cells = [(c, r) for c in range(len(maze.rows)) for r in range(len(maze.rows))]
        for cell in cells:
            away = np.abs(boxes[:, :2] - maze.centre(cell)) < boxes[:, 2:]
            assert away.all(axis=1).any() == (cell not in maze.free_set)


def test_nearness_is_one_at_the_goal_zero_at_the_far_end_and_linear_along_a_corridor():
    line = Maze(("....", "####", "####", "####"), 2.0, (1, 3))
    goal = (0, 3)
    at = [line.near(line.centre((c, 3)), goal) for c in range(4)]
    assert at[0] == 1.0 and np.allclose(np.diff(at), np.diff(at)[0], atol=0.02) and at[3] < 0.15
    steps = np.diff([line.near(line.centre(goal) + np.array([x, 0.0]), goal) for x in np.linspace(0.0, 5.9, 60)])
    assert (steps <= 0.0).all() and steps.min() > -0.03, "no jumps, none upwards"
    assert line.near(line.centre((0, 0)), goal) >= 0.0, "inside a wall"
    spiral = MAZES["og-point-spiral"]
    end = (2, 2)
    assert spiral.near(spiral.centre((3, 0)), end) < spiral.near(spiral.centre((3, 4)), end), "the way counts, not the straight line"


def test_the_reward_is_the_nearness_and_the_goal_ends_nothing():
    t = task("og-point-arena")
    raw = ogbench.make(t, 32, "fast")
    raw.reset(0)
    raw.data.qpos[:] = raw.goal + np.array([2.0, 0.0])
    rewards, success = [], []
    for _ in range(15):
        one = raw.step(np.array([-1.0, 0.0], np.float32))
        rewards.append(one.reward)
        success.append(one.success)
        assert not one.is_terminal
    raw.close()
    assert success.index(True) == 6, "1.2 m at 0.2 m a step"
    assert not success[-1] or np.linalg.norm(raw.xy - raw.goal) < raw.reach
    assert np.argmax(rewards) in (8, 9, 10) and 0.9 < max(rewards) <= 1.0
    assert rewards[0] < rewards[5] < rewards[9]


def test_the_point_does_not_pass_walls():
    raw = ogbench.make(task("og-point-bottleneck"), 32, "fast")
    raw.reset(3)
    maze = raw.maze
    raw.data.qpos[:] = maze.centre((0, 0))
    for _ in range(100):
        raw.step(np.array([1.0, 0.0], np.float32))
    raw.close()
    assert maze.centre((1, 0))[0] - 0.1 < raw.xy[0] < maze.centre((1, 0))[0] + 0.6


def test_on_the_open_field_a_new_goal_follows_each_one():
    raw = ogbench.make(task("og-ant"), 32, "fast")
    raw.reset(1)
    assert 1.5 <= np.linalg.norm(raw.goal - raw.xy) <= 3.5
    raw.goal[:] = raw.xy
    first = raw.step(np.zeros(8, np.float32))
    assert first.success and first.reward > 0.9
    assert 1.4 <= np.linalg.norm(raw.goal - raw.xy) <= 3.6
    assert not raw.step(np.zeros(8, np.float32)).success
    raw.close()


def test_the_ball_decides_in_antball():
    raw = ogbench.make(task("og-antball"), 32, "fast")
    raw.reset(1)
    assert raw.state().shape == (37,) and np.allclose(raw.state()[31:33], raw.ball_xy)
    assert not raw.step(np.zeros(8, np.float32)).success
    raw.data.qpos[15:17] = raw.goal
    assert raw.step(np.zeros(8, np.float32)).success
    raw.close()


@pytest.mark.parametrize("name", ["og-point-maze", "og-ant-spiral", "og-antball"])
def test_players_arrive_within_the_horizon(name):
    env = AgentEnv(task(name), ogbench.make(task(name), 32, "fast"), 32)
    for seed in range(6 if "point" in name else 2):
        rng = np.random.default_rng(seed)
        env.reset(seed)
        player = make_expert(env)
        player.reset(env, rng)
        while True:
            step = env.step(player.act(env, rng))
            if step.is_last or step.success:
                break
        assert step.success, seed
    env.close()


def test_unknown_tasks_are_refused():
    with pytest.raises(ValueError, match="og-point-nowhere"):
        ogbench.make(task("og-point-maze").model_copy(update={"id": "og-point-nowhere"}), 32, "fast")
