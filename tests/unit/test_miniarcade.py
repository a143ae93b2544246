"""MiniArcade as a whole: the same seed, the same bits; exact snapshots; legible pictures; players that are functions of what they see."""

import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

from helpers.arcade import episode, made, trace
from veridream.envs.base import AgentEnv, RawEnv
from veridream.envs.miniarcade import point_maze, pong, reacher_easy
from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.experts import make_expert
from veridream.envs.miniarcade.game import PIXEL
from veridream.envs.miniarcade.point_maze import LAYOUTS, MazeScene
from veridream.params.tasks import task

TASKS = ["pygame-point-maze-var1", "pygame-pong", "pygame-point-maze-var4", "pygame-reacher-easy"]  # the others have files of their own
MAZES = list(LAYOUTS)


@pytest.fixture(params=TASKS)
def game(request: pytest.FixtureRequest) -> RawEnv:
    return made(request.param)


# --- the same seed, the same bits ---


def test_an_episode_is_a_function_of_its_seed(game: RawEnv):
    first = trace(game, 5, 40)
    other = made(TASKS[0])  # a second game drawn in between disturbs nothing
    trace(other, 6, 3)
    assert trace(game, 6, 40) != first
    assert trace(game, 5, 40) == first


def test_the_global_random_state_is_neither_read_nor_written(game: RawEnv):
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    before = pickle.dumps((np.random.get_state(), random.getstate()))  # noqa: NPY002
    first = trace(game, 7, 30)
    assert pickle.dumps((np.random.get_state(), random.getstate())) == before  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    random.seed(2)
    assert trace(game, 7, 30) == first


def test_two_processes_draw_the_same_bits():
    code = "import hashlib; from helpers.arcade import made, trace\n"
    code += "print(hashlib.sha256(b''.join(trace(made('pygame-pong'), 3, 60))).hexdigest())"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    hashes = {subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)}
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
    env = made("pygame-pong")
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
        made("cup-catch")
    with pytest.raises(ValueError, match="no scripted MiniArcade player for task 'cup-catch'"):
        make_expert(task("cup-catch"))


def test_importing_the_package_imports_no_pygame():
    code = "import sys, veridream.envs.miniarcade.experts; sys.exit('pygame' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True)


@pytest.mark.parametrize("task_id", TASKS)
def test_a_player_is_a_function_of_state_and_generator(task_id: str):
    assert episode(task_id, 4, "expert", 2, 30) == episode(task_id, 4, "expert", 2, 30)


@pytest.mark.parametrize("task_id", [*MAZES, "pygame-reacher-easy"])
def test_a_restless_player_keeps_moving_and_a_resting_one_stops(task_id: str):
    for restless in (True, False):
        env = AgentEnv(task(task_id), made(task_id), 32, 2)
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
            env = made(t, size)
            env.reset(1)
            one, two = env.render(), env.render()
            assert one.shape == (size, size, 3) and one.dtype == np.uint8 and one.flags.c_contiguous
            assert not np.shares_memory(one, two) and (one == two).all()


@pytest.mark.parametrize("task_id", TASKS)
def test_the_picture_does_not_depend_on_its_size(task_id: str):
    small, large = made(task_id), made(task_id, 224, "full")
    small.reset(3)
    large.reset(3)
    blocks = large.render().reshape(32, 7, 32, 7, 3).mean((1, 3))
    assert np.abs(blocks - small.render()).mean() < 2.0


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
        env = made(task_id)
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
    env = made("pygame-point-maze-var4")
    env.reset(0)
    env._scene = MazeScene(*env.grid.centre((0, 5)), (5, 0))
    frame = env.render()
    assert tuple(frame[3, 3]) == point_maze.DOT  # column 0 of the top row: top left of the picture
    assert tuple(frame[28, 28]) == point_maze.GOAL
    env = made("pygame-pong")
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
    env = made(task_id)
    env.reset(2024)
    means = np.rint(env.render().reshape(4, 8, 4, 8, 3).mean((1, 3))).astype(int)
    golden = np.array([[[int(block[k : k + 2], 16) for k in (0, 2, 4)] for block in row.split()] for row in GOLDEN[task_id]])
    assert np.abs(means - golden).max() <= 1, [" ".join("".join(f"{v:02x}" for v in b) for b in row) for row in means]
