"""MiniArcade: exact physics, exact snapshots, legible pictures, and players that play."""

import math
import os
import pickle
import random
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridream.envs import miniarcade
from veridream.envs.base import AgentEnv, RawEnv
from veridream.envs.miniarcade import point_maze, pong, reacher_easy
from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.experts import inverse_kinematics, make_expert
from veridream.envs.miniarcade.game import PIXEL
from veridream.envs.miniarcade.maze_grid import SLACK
from veridream.envs.miniarcade.point_maze import LAYOUTS, MazeScene, grid_of
from veridream.envs.miniarcade.pong import Pong, PongScene
from veridream.envs.miniarcade.reacher_easy import ReacherScene
from veridream.params.tasks import task

TASKS = ["pygame-point-maze-var1", "pygame-pong", "pygame-point-maze-var4", "pygame-reacher-easy"]  # the others have files of their own
MAZES = list(LAYOUTS)
SEEDS = st.integers(0, 2**63 - 1)


@pytest.fixture(params=TASKS)
def game(request: pytest.FixtureRequest) -> RawEnv:
    return miniarcade.make(task(request.param), 32)


def play(env: RawEnv, seed: int, steps: int) -> list[bytes]:
    """Frames, states and rewards of an episode of random actions."""
    rng = np.random.default_rng(seed)
    env.reset(seed)
    out = [env.render().tobytes(), env.state().tobytes()]
    for _ in range(steps):
        one = env.step(rng.uniform(-1, 1, env.action_dim).astype(np.float32))
        out += [env.render().tobytes(), env.state().tobytes(), np.float64(one.reward).tobytes()]
        if one.is_terminal:
            break
    return out


def episode(task_id: str, seed: int, player: str, frame_skip: int, steps: int) -> tuple[float, bool, int]:
    """Return, success, and the control steps until success (or the end) of one episode."""
    env = AgentEnv(task(task_id), miniarcade.make(task(task_id), 32), 32, frame_skip, steps)
    rng, expert = np.random.default_rng(seed), make_expert(env.task)
    env.reset(seed)
    expert.reset(env, rng)
    total, taken, first = 0.0, 0, None
    while True:
        one = env.step(expert.act(env, rng) if player == "expert" else rng.uniform(-1, 1, env.action_dim))
        total, taken = total + one.reward, taken + frame_skip
        first = taken if one.success and first is None else first
        if one.is_last:
            return total, one.success, first or taken


# --- the same seed, the same bits ---


def test_an_episode_is_a_function_of_its_seed(game: RawEnv):
    first = play(game, 5, 40)
    other = miniarcade.make(task(TASKS[0]), 32)  # a second game drawn in between disturbs nothing
    play(other, 6, 3)
    assert play(game, 6, 40) != first
    assert play(game, 5, 40) == first


def test_the_global_random_state_is_neither_read_nor_written(game: RawEnv):
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    before = pickle.dumps((np.random.get_state(), random.getstate()))  # noqa: NPY002
    first = play(game, 7, 30)
    assert pickle.dumps((np.random.get_state(), random.getstate())) == before  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    random.seed(2)
    assert play(game, 7, 30) == first


def test_two_processes_draw_the_same_bits():
    code = "import sys, hashlib; sys.path.insert(0, 'tests/unit'); import test_miniarcade as t\n"
    code += "print(hashlib.sha256(b''.join(t.play(t.miniarcade.make(t.task('pygame-pong'), 32), 3, 60))).hexdigest())"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    hashes = {subprocess.run([sys.executable, "-c", code], env=env, cwd=root, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(hashes) == 1


@pytest.mark.parametrize("at", [0, 7, 33])
def test_a_snapshot_continues_bit_for_bit(game: RawEnv, at: int):
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (60, game.action_dim)).astype(np.float32)
    game.reset(2)  # of pong, a seed whose rally draws from the random stream after the snapshot
    for a in actions[:at]:
        game.step(a)
    snap = game.snapshot()

    def rest(env: RawEnv) -> list[bytes]:
        return [b"".join((np.float64(env.step(a).reward).tobytes(), env.state().tobytes(), env.render().tobytes())) for a in actions[at : at + 25]]

    first = rest(game)
    game.reset(99)
    game.restore(snap)
    assert rest(game) == first
    game.restore(pickle.loads(pickle.dumps(snap)))
    assert rest(game) == first


def test_a_snapshot_holds_the_random_stream():
    env = miniarcade.make(task("pygame-pong"), 32)
    env.reset(0)
    snap = env.snapshot()
    serves = []
    for _ in range(2):
        env.restore(snap)
        while env.scene.points == (0, 0):
            env.step(np.array([-1.0]))
        serves.append(env.scene)  # after a point a new serve was drawn
    assert serves[0] == serves[1]


def test_misuse_is_told(game: RawEnv):
    with pytest.raises(RuntimeError, match=r"call reset\(seed\) first"):
        game.step(np.zeros(game.action_dim))
    with pytest.raises(ValueError, match="MiniArcade has no game 'cup-catch'"):
        miniarcade.make(task("cup-catch"), 32)
    with pytest.raises(ValueError, match="no scripted MiniArcade player for task 'cup-catch'"):
        make_expert(task("cup-catch"))


def test_importing_the_package_imports_no_pygame():
    code = "import sys, veridream.envs.miniarcade.experts; sys.exit('pygame' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True)


# --- mazes ---


@pytest.mark.parametrize("task_id", MAZES)
def test_every_free_cell_reaches_every_other(task_id: str):
    grid = grid_of(LAYOUTS[task_id])
    cells = grid.free_cells()
    assert len({len(grid.path(c, cells[0])) for c in cells}) > 5
    assert max(len(grid.path(a, b)) for a in cells for b in cells) - 1 == dict(zip(MAZES, (14, 13, 14, 20), strict=True))[task_id]


def test_the_mazes_look_alike_but_for_their_walls():
    frames = [miniarcade.make(task(t), 32) for t in MAZES]
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
    env = miniarcade.make(task(task_id), 32)
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
    env = miniarcade.make(task("pygame-point-maze-var4"), 32)
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
    env = miniarcade.make(task("pygame-point-maze-var4"), 32)
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
    env = miniarcade.make(task("pygame-point-maze-var1"), 32)
    starts, goals = set(), set()
    for seed in range(200):
        env.reset(seed)
        cell = env.grid.cell_at((env.scene.x, env.scene.y))
        starts.add(cell)
        goals.add(env.scene.goal)
        assert len(env.grid.path(cell, env.scene.goal)) > point_maze.LEAST_PATH
    assert starts == set(env.grid.free_cells())
    assert len(goals) >= 24


# --- pong ---


def scene_of(**changes: Any) -> PongScene:
    scene = PongScene(ball_x=0.5, ball_y=0.5, ball_vx=-pong.BALL_SPEED, ball_vy=0.0, paddle=0.5, opponent=0.5, error=0.0, pause=0)
    return replace(scene, **changes)


def test_the_ball_comes_back_from_a_paddle_at_the_mirrored_place():
    x = pong.LEFT_PLANE + 0.25 * pong.BALL_SPEED
    after = Pong._fly(scene_of(ball_x=x), np.random.default_rng(0))
    assert (after.ball_x, after.ball_y) == (pytest.approx(pong.LEFT_PLANE + 0.75 * pong.BALL_SPEED), 0.5)
    assert (after.ball_vx, after.ball_vy) == (pong.BALL_SPEED, 0.0)


def test_where_the_paddle_is_hit_decides_the_slope():
    x = pong.LEFT_PLANE + 0.5 * pong.BALL_SPEED
    for share in (-1.0, -0.5, 0.5, 0.99):
        after = Pong._fly(scene_of(ball_x=x, paddle=0.5 - share * pong.REACH), np.random.default_rng(0))
        assert after.ball_vy == pytest.approx(share * pong.STEEPEST)
    missed = Pong._fly(scene_of(ball_x=x, paddle=0.5 - 1.01 * pong.REACH), np.random.default_rng(0))
    assert missed.ball_vx < 0


def test_the_long_sides_reflect():
    after = Pong._fly(scene_of(ball_y=1 - pong.BALL_RADIUS - 0.01, ball_vy=0.03), np.random.default_rng(0))
    assert after.ball_y == pytest.approx(1 - pong.BALL_RADIUS - 0.02)
    assert after.ball_vy == -0.03


def test_a_game_ends_at_three_points_of_either_side():
    env = miniarcade.make(task("pygame-pong"), 32)
    env.reset(0)
    rewards = []
    while True:
        env._scene = env.scene if env.scene.pause else scene_of(ball_x=-0.05, points=env.scene.points)
        one = env.step(np.zeros(1))
        rewards.append(one.reward)
        if one.is_terminal:
            break
    assert sum(rewards) == -3.0 and sorted(set(rewards)) == [-1.0, 0.0]
    assert not one.success
    with pytest.raises(RuntimeError, match="the game is over"):
        env.step(np.zeros(1))
    env._scene = scene_of(ball_x=1.05, ball_vx=pong.BALL_SPEED, points=(2, 2))
    one = env.step(np.zeros(1))
    assert (one.reward, one.is_terminal, one.success) == (1.0, True, True)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_pong_stays_in_its_court(seed: int):
    env = miniarcade.make(task("pygame-pong"), 32)
    rng = np.random.default_rng(seed)
    env.reset(seed)
    for _ in range(150):
        one = env.step(rng.uniform(-1, 1, 1))
        s = env.scene
        assert pong.BALL_RADIUS - 1e-12 <= s.ball_y <= 1 - pong.BALL_RADIUS + 1e-12
        assert all(pong.HALF_HEIGHT <= p <= 1 - pong.HALF_HEIGHT for p in (s.paddle, s.opponent))
        assert env.state().min() >= -0.05 and env.state().max() <= 1.0
        if one.is_terminal:
            break


# --- reacher ---


@given(angle1=st.floats(-math.pi, 3.14), angle2=st.floats(-3.1, 3.1))
def test_inverse_kinematics_undoes_the_arm(angle1: float, angle2: float):
    _, tip = reacher_easy.joints(angle1, angle2)
    for pose in inverse_kinematics(tip):
        assert math.dist(reacher_easy.joints(*pose)[1], tip) < 1e-6


def test_reacher_reward_is_one_inside_and_decays_outside():
    env = miniarcade.make(task("pygame-reacher-easy"), 32)
    env.reset(0)
    _, tip = reacher_easy.joints(0.3, 0.8)
    for away, reward in ((0.0, 1.0), (0.9 * reacher_easy.TARGET_RADIUS, 1.0), (reacher_easy.TARGET_RADIUS + 0.1, 0.3 / math.e)):
        env._scene = ReacherScene(0.3, 0.8, (tip[0] + away, tip[1]))
        one = env.step(np.zeros(2))
        assert one.reward == pytest.approx(reward)
        assert one.success == (reward == 1.0)
    env._scene = ReacherScene(3.1, 0.0, (0.9, 0.5))
    env.step(np.array([1.0, -0.5]))
    assert env.scene.angle1 == pytest.approx(3.1 + reacher_easy.TURN - 2 * math.pi)
    assert env.scene.angle2 == pytest.approx(-0.5 * reacher_easy.TURN)


# --- players ---


@pytest.mark.parametrize("task_id", MAZES)
@pytest.mark.parametrize("frame_skip", [1, 2, 4])
def test_the_maze_player_arrives_within_100_control_steps(task_id: str, frame_skip: int):
    runs = [episode(task_id, seed, "expert", frame_skip, 100 // frame_skip) for seed in range(20)]
    assert all(success for _, success, _ in runs)
    assert max(first for *_, first in runs) <= 80
    assert np.mean([episode(task_id, seed, "random", frame_skip, 100 // frame_skip)[1] for seed in range(20)]) <= 0.3


@pytest.mark.parametrize(("task_id", "expert_at_least", "random_at_most"), [("pygame-pong", 1.0, -1.0), ("pygame-reacher-easy", 70.0, 20.0)])
def test_players_beat_chance(task_id: str, expert_at_least: float, random_at_most: float):
    """Mean return of 16 episodes of 100 control steps at frame skip 2 for the arm, of whole games for pong."""
    steps = 100 if task_id == "pygame-pong" else 50
    expert, chance = (np.mean([episode(task_id, seed, who, 2, steps)[0] for seed in range(16)]) for who in ("expert", "random"))
    assert expert >= expert_at_least
    assert chance <= random_at_most


@pytest.mark.parametrize("task_id", TASKS)
def test_a_player_is_a_function_of_state_and_generator(task_id: str):
    assert episode(task_id, 4, "expert", 2, 30) == episode(task_id, 4, "expert", 2, 30)


@pytest.mark.parametrize("task_id", [*MAZES, "pygame-reacher-easy"])
def test_a_restless_player_keeps_moving_and_a_resting_one_stops(task_id: str):
    for restless in (True, False):
        env = AgentEnv(task(task_id), miniarcade.make(task(task_id), 32), 32, 2)
        rng, expert = np.random.default_rng(0), make_expert(env.task, restless)
        env.reset(11)
        expert.reset(env, rng)
        moved = []
        for _ in range(60):
            before = env.render().astype(int)
            env.step(expert.act(env, rng))
            moved.append(bool((np.abs(env.render() - before) > 8).any()))
        assert np.mean(moved[40:]) > 0.9 if restless else not any(moved[45:])


# --- pictures ---


def test_frames_are_fresh_uint8_arrays_of_every_size():
    for t in TASKS:
        for size in (8, 32, 64, 100, 224):
            env = miniarcade.make(task(t), size)
            env.reset(1)
            one, two = env.render(), env.render()
            assert one.shape == (size, size, 3) and one.dtype == np.uint8 and one.flags.c_contiguous
            assert not np.shares_memory(one, two) and (one == two).all()


@pytest.mark.parametrize("task_id", TASKS)
def test_the_picture_does_not_depend_on_its_size(task_id: str):
    small, large = miniarcade.make(task(task_id), 32), miniarcade.make(task(task_id), 224, "full")
    small.reset(3)
    large.reset(3)
    blocks = large.render().reshape(32, 7, 32, 7, 3).mean((1, 3))
    assert np.abs(blocks - small.render()).mean() < 2.0


@pytest.mark.parametrize("task_id", MAZES)
def test_walls_are_pixel_crisp(task_id: str):
    for size in (32, 64, 224):
        env = miniarcade.make(task(task_id), size)
        env._canvas.begin()
        colours = np.unique(env._canvas.frame().reshape(-1, 3), axis=0).tolist()
        assert colours == [list(point_maze.FLOOR), list(point_maze.WALL)]


def extent(canvas: Canvas) -> list[float]:
    """Height and width, in pixels, of what was painted in white on black, from its column and row sums."""
    ink = canvas.frame()[..., 0] / 255.0
    return [float(ink.max(1).sum()), float(ink.max(0).sum())]


def test_objects_are_four_pixels_across_at_32():
    white = (255, 255, 255)
    canvas = Canvas(32, "fast")
    sizes = {}
    for name, radius in (("dot", point_maze.RADIUS), ("goal", point_maze.GOAL_RADIUS), ("ball", pong.BALL_RADIUS), ("target", reacher_easy.TARGET_RADIUS)):
        for at in (0.5, 0.5 + PIXEL / 2, 0.41):
            canvas.fill((0, 0, 0))
            canvas.disc((at, at), radius, white)
            sizes[name, at] = min(extent(canvas))
    canvas.fill((0, 0, 0))
    canvas.rectangle(pong.EDGE, 0.4, pong.WIDTH, 2 * pong.HALF_HEIGHT, white, rounding=PIXEL)
    sizes["paddle", 0.4] = min(extent(canvas))
    canvas.fill((0, 0, 0))
    canvas.capsule((0.3, 0.5), (0.3 + reacher_easy.UPPER, 0.5), reacher_easy.LINK_RADIUS, white)
    sizes["link", 0.5] = min(extent(canvas))
    assert min(sizes.values()) >= 3.95, sizes


def test_one_agent_step_moves_the_picture():
    """About 1.2 to 1.5 pixels of 32 a control step: at frame skip 2 a full action changes many pixels by much."""
    for task_id in TASKS:
        env = miniarcade.make(task(task_id), 32)
        env.reset(12)
        for _ in range(6):
            env.step(np.zeros(env.action_dim))
        before = env.render().astype(int)
        changed = []
        for sign in (1.0, -1.0):
            snap = env.snapshot()
            for _ in range(2):
                env.step(np.full(env.action_dim, sign))
            changed.append(int((np.abs(env.render() - before).max(-1) > 40).sum()))
            env.restore(snap)
        assert max(changed) >= 12, (task_id, changed)


def test_up_is_up_and_right_is_right():
    env = miniarcade.make(task("pygame-point-maze-var4"), 32)
    env.reset(0)
    env._scene = MazeScene(*env.grid.centre((0, 5)), (5, 0))
    frame = env.render()
    assert tuple(frame[3, 3]) == point_maze.DOT  # column 0 of the top row: top left of the picture
    assert tuple(frame[28, 28]) == point_maze.GOAL
    env = miniarcade.make(task("pygame-pong"), 32)
    env.reset(0)
    low = env.scene.paddle
    env.step(np.array([1.0]))
    assert env.scene.paddle == pytest.approx(low + pong.PADDLE_SPEED)


GOLDEN = {
    "pygame-point-maze-var1": (
        "323242 62627f 354d51 3b4954",
        "262633 323242 414156 414156",
        "373749 777799 414156 414156",
        "473b44 7f6f80 303040 39394b",
    ),
    "pygame-pong": (
        "154e2d 104b28 104b28 104a28",
        "829f8e 2d5d2a 2d5d2a 104a28",
        "154e2d 104b28 104b28 406c73",
        "104a28 104b28 104b28 295c4f",
    ),
    "pygame-point-maze-var4": (
        "4a4a61 414156 465e66 3b4954",
        "4a4a61 414156 414156 303040",
        "373749 5d5d78 5d5d78 62627f",
        "473b44 433335 6a6a8a 434358",
    ),
    "pygame-reacher-easy": (
        "3e1a4a 3e1b4b 3e1b4a 3e1a4a",
        "3e1a4a 4d5484 8e8951 462f46",
        "3e1a4a 471f4f 471f50 3e1a4a",
        "3e1a4a 3e1a4a 3e1a4a 3e1a4a",
    ),
}


@pytest.mark.parametrize("task_id", TASKS)
def test_golden_thumbnails(task_id: str):
    """4 x 4 means of the frame that seed 2024 starts with, 6 hex digits a block: a change of look or of start states is deliberate."""
    env = miniarcade.make(task(task_id), 32)
    env.reset(2024)
    means = np.rint(env.render().reshape(4, 8, 4, 8, 3).mean((1, 3))).astype(int)
    golden = np.array([[[int(block[k : k + 2], 16) for k in (0, 2, 4)] for block in row.split()] for row in GOLDEN[task_id]])
    assert np.abs(means - golden).max() <= 1, [" ".join("".join(f"{v:02x}" for v in b) for b in row) for row in means]
