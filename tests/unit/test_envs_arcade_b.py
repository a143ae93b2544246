"""MiniArcade, second batch: the rules of each game in closed form, exact snapshots, legible pictures, and players that play."""

import math
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from veridream.envs import miniarcade
from veridream.envs.base import AgentEnv
from veridream.envs.miniarcade import cartpole, chase_evade, coconut_dodge, dungeon_explorer, foraging, whirlpool
from veridream.envs.miniarcade.cartpole import CartScene
from veridream.envs.miniarcade.game import PIXEL
from veridream.envs.miniarcade.point_maze import LAYOUTS, grid_of
from veridream.params.tasks import registry, task

TASKS = [
    "pygame-point-maze-var2",
    "pygame-point-maze-var3",
    *cartpole.VARIANTS,
    "pygame-chase-evade",
    "pygame-coconut-dodge",
    "pygame-dungeon-explorer1",
    "pygame-foraging",
    "pygame-whirlpool",
]


def made(task_id, size=32, quality="fast"):
    return miniarcade.make(task(task_id), size, quality)


def started(task_id, **changes):
    """A game in its scene of seed 0 with changes."""
    env = made(task_id)
    env.reset(0)
    env._scene = replace(env.scene, **changes)
    return env


# --- mazes ---


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


# --- cart-pole ---


def energy(pose):
    _, angle, speed, spin = pose
    lever = cartpole.POLE_MASS * cartpole.HALF_LENGTH
    inertia = 4 / 3 * lever * cartpole.HALF_LENGTH
    moving = 0.5 * (cartpole.CART_MASS + cartpole.POLE_MASS) * speed**2 + lever * speed * spin * math.cos(angle) + 0.5 * inertia * spin**2
    return moving + lever * cartpole.GRAVITY * math.cos(angle)


def test_accelerations_at_rest_are_those_worked_out_by_hand():
    assert cartpole.accelerations((0.0, 0.0, 0.0, 0.0), 12.0) == pytest.approx((0.096 * 12 / 0.1008, -0.12 * 12 / 0.1008))
    # lying to the right: the pole falls like a rod whose end is held, 3 g / 4 h, and the cart feels nothing
    assert cartpole.accelerations((0.0, math.pi / 2, 0.0, 0.0), 0.0) == pytest.approx((0.0, 0.75 * cartpole.GRAVITY / cartpole.HALF_LENGTH))


def test_energy_is_kept_without_friction_and_lost_with_it(monkeypatch):
    start = (0.0, 2.0, 0.0, 0.5)
    after = cartpole.swing(start, 0.0, substeps=240)
    assert energy(after) < energy(start) - 1e-3
    monkeypatch.setattr(cartpole, "DRAG", 0.0)
    monkeypatch.setattr(cartpole, "FRICTION", 0.0)
    pose, off = start, []
    for _ in range(240):
        pose = cartpole.swing(pose, 0.0, substeps=1)
        off.append(abs(energy(pose) - energy(start)))
    assert max(off) < 0.03 * 2 * cartpole.POLE_MASS * cartpole.GRAVITY * cartpole.HALF_LENGTH


def test_momentum_is_the_motors_impulse(monkeypatch):
    monkeypatch.setattr(cartpole, "DRAG", 0.0)

    def momentum(pose):
        return (cartpole.CART_MASS + cartpole.POLE_MASS) * pose[2] + cartpole.POLE_MASS * cartpole.HALF_LENGTH * pose[3] * math.cos(pose[1])

    start = (0.0, 0.3, 0.1, -0.2)
    after = cartpole.swing(start, 3.0, substeps=24)
    assert momentum(after) - momentum(start) == pytest.approx(3.0 * 24 * cartpole.DT, rel=0.02)


def test_the_rail_ends_stop_the_cart():
    env = started("pygame-cartpole-balance", x=1.39, speed=3.0)
    env.step(np.array([1.0]))
    assert (env.scene.x, env.scene.speed) == (cartpole.RAIL, 0.0)


@pytest.mark.parametrize(
    ("x", "angle", "dense", "sparse"), [(0.0, 0.0, 1.0, 1.0), (0.0, math.pi / 2, 0.25, 0.0), (1.4, 0.0, 0.5, 0.0), (0.0, -math.pi, 0.0, 0.0)]
)
def test_cartpole_rewards(x, angle, dense, sparse):
    assert cartpole.CartPole.dense_reward(x, angle) == pytest.approx(dense)
    env = started("pygame-cartpole-balance-sparse", x=x, angle=angle, speed=0.0, spin=0.0)
    assert env.step(np.zeros(1)).reward == sparse


def test_success_is_a_pole_held_for_a_while():
    env = started("pygame-cartpole-balance", x=0.0, angle=0.0, speed=0.0, spin=0.0)
    flags = [env.step(np.zeros(1)).success for _ in range(cartpole.HOLD + 1)]
    assert flags.index(True) == cartpole.HOLD - 1
    env._scene = replace(env.scene, angle=1.0)
    assert env.step(np.zeros(1)).success and env.scene.held == 0


def test_only_tremor_is_pushed_and_how():
    for task_id in cartpole.VARIANTS:
        env = made(task_id)
        env.reset(5)
        pushes = []
        for _ in range(300):
            env.step(np.zeros(1))
            pushes.append(env.scene.push)
        pushed = np.array(pushes) != 0
        if task_id != "pygame-cartpole-tremor":
            assert not pushed.any()
            continue
        assert max(map(abs, pushes)) <= cartpole.PUSH and {math.copysign(1, p) for p in pushes if p} == {1.0, -1.0}
        edges = np.flatnonzero(np.diff(pushed.astype(int)))
        lengths = np.diff(edges)
        first = 0 if pushed[edges[0] + 1] else 1
        assert set(lengths[first::2]) == {cartpole.PUSHED}
        assert lengths[1 - first :: 2].min() >= cartpole.CALM[0] and lengths[1 - first :: 2].max() <= cartpole.CALM[1]


def test_the_balancing_feedback_is_stable():
    for held in (1, 2, 4):
        gain, pose = cartpole.balance_gain(held), (0.2, 0.15, 0.0, 0.0)
        for _ in range(60 // held * 2):
            pose = cartpole.swing(pose, -float(gain @ np.array(pose)), substeps=held * cartpole.SUBSTEPS)
        assert max(map(abs, pose)) < 0.02, held


# --- chase and evade ---


def test_a_catch_gives_one_point_and_a_far_prey():
    env = started("pygame-chase-evade", x=0.5, y=0.5, prey=(0.5 + 3 * PIXEL, 0.5), hunter=(0.1, 0.1))
    one = env.step(np.array([1.0, 0.0]))
    assert (one.reward, env.scene.caught, one.success) == (1.0, 1, False)
    assert math.dist(env.scene.prey, (env.scene.x, env.scene.y)) >= chase_evade.FAR
    assert env.scene.x == pytest.approx(0.5 + chase_evade.SPEED)
    env._scene = replace(env.scene, prey=(env.scene.x, env.scene.y), caught=chase_evade.ENOUGH - 1)
    assert env.step(np.zeros(2)).success


def test_the_hunter_comes_straight_and_being_caught_costs_one():
    env = started("pygame-chase-evade", x=0.3, y=0.5, prey=(0.9, 0.9), hunter=(0.8, 0.5))
    assert env.step(np.zeros(2)).reward == 0.0
    assert env.scene.hunter == pytest.approx((0.8 - chase_evade.HUNT, 0.5))
    env._scene = replace(env.scene, hunter=(0.3 + 4 * PIXEL, 0.5))
    assert env.step(np.zeros(2)).reward == -1.0
    assert env.scene.hunter[0] == chase_evade.HIGH  # the corner farthest off


def test_the_prey_runs_from_the_player_and_stays_in_the_field():
    env = started("pygame-chase-evade", x=0.4, y=0.5, prey=(0.6, 0.5), hunter=(0.1, 0.1))
    env.step(np.zeros(2))
    assert math.dist(env.scene.prey, (0.6, 0.5)) == pytest.approx(chase_evade.RUN)
    assert env.scene.prey[0] > 0.6
    rng = np.random.default_rng(0)
    for _ in range(300):
        env.step(rng.uniform(-1, 1, 2))
        assert all(chase_evade.LOW <= v <= chase_evade.HIGH for v in env.state()[:6].astype(float).round(6))


# --- coconuts ---


def test_a_hit_costs_one_and_dazes():
    above = coconut_dodge.HEAD + coconut_dodge.RADIUS
    env = started("pygame-coconut-dodge", x=0.5, coconuts=((0.5, above, coconut_dodge.SLOWEST),), until=9, row=4, dazed=0)
    assert env.step(np.zeros(1)).reward == -1.0
    assert (env.scene.coconuts, env.scene.row, env.scene.dazed) == ((), 0, coconut_dodge.DAZED)
    places = []
    for _ in range(coconut_dodge.DAZED + 1):
        env.step(np.ones(1))
        places.append(env.scene.x)
    assert places[-2:] == [0.5, pytest.approx(0.5 + coconut_dodge.SPEED)]


def test_a_landing_gives_one_and_ten_in_a_row_are_success():
    low = coconut_dodge.SAND + coconut_dodge.RADIUS
    env = started("pygame-coconut-dodge", x=0.2, coconuts=((0.8, low, 0.03),), until=9, row=coconut_dodge.ENOUGH - 1)
    one = env.step(np.zeros(1))
    assert (one.reward, one.success, env.scene.coconuts) == (1.0, True, ())
    assert not coconut_dodge.CoconutDodge.hits((0.2 + coconut_dodge.REACH + 1e-9, low, 0.03), 0.2)


def test_a_coconut_comes_every_period_and_at_most_three_fly():
    env = made("pygame-coconut-dodge")
    env.reset(1)
    came, aimed = [], 0
    for t in range(600):
        before = env.scene.until
        env.step(np.array([math.sin(t / 9)]))
        if before == 1:
            came.append(t)
            aimed += env.scene.coconuts[-1][0] == env.scene.x
        assert len(env.scene.coconuts) <= coconut_dodge.MOST
        assert np.diff([c for k, c in enumerate(env.state()[3::3]) if env.state()[4 + 3 * k] > 0]).min(initial=0.0) >= 0.0  # lowest first
    assert {b - a for a, b in pairwise(came)} == {coconut_dodge.PERIOD}
    assert 0.3 < aimed / len(came) < 0.7


# --- dungeon ---


def test_the_key_is_within_reach_and_the_treasure_is_not_without_the_door():
    plans, env = set(), made("pygame-dungeon-explorer1")
    for seed in range(150):
        env.reset(seed)
        scene = env.scene
        plans.add((scene.gaps, scene.door))
        start = scene.grid.cell_at((scene.x, scene.y))
        assert scene.key in scene.grid.path(start, scene.key)
        with pytest.raises(ValueError, match="no path"):
            scene.grid.path(start, scene.treasure)
        assert scene.door in replace(scene, open=True).grid.path(start, scene.treasure)
    assert len(plans) >= 60


def test_key_door_and_treasure_pay_once_each():
    env = started("pygame-dungeon-explorer1")
    scene = env.scene
    grid = replace(scene, open=True).grid
    beside = next(c for c in grid.path(scene.key, scene.door) if math.dist(c, scene.door) == 1)
    env._scene = replace(scene, x=grid.centre(beside)[0], y=grid.centre(beside)[1])
    toward = np.sign(np.subtract(scene.door, beside)).astype(float)
    for _ in range(6):  # without the key the door stays shut
        assert env.step(toward).reward == 0.0 or env.scene.has_key
    rewards = []
    for cell, open_first in ((scene.key, False), (beside, False), (scene.treasure, True)):
        x, y = grid.centre(cell)
        env._scene = replace(env.scene, x=x, y=y, has_key=env.scene.has_key and cell != scene.key)
        rewards.append([env.step(toward if cell == beside else np.zeros(2)).reward for _ in range(4)])
        assert env.scene.open == (cell == beside or open_first)
    assert [sum(r) for r in rewards] == [dungeon_explorer.KEY, dungeon_explorer.DOOR, dungeon_explorer.TREASURE]
    assert env.scene.success


# --- foraging ---


def test_the_animal_has_momentum_and_the_pond_is_solid():
    place, velocity = foraging.glide((0.3, 0.3), (0.01, -0.02), (1.0, -0.5), (0.8, 0.8))
    assert velocity == pytest.approx((0.75 * 0.01 + foraging.PUSH, -0.75 * 0.02 - 0.5 * foraging.PUSH))
    assert place == pytest.approx((0.3 + velocity[0], 0.3 + velocity[1]))
    place, velocity = (0.3, 0.5), (0.0, 0.0)
    for _ in range(60):
        place, velocity = foraging.glide(place, velocity, (1.0, 0.1), (0.6, 0.49))
        assert math.dist(place, (0.6, 0.49)) >= foraging.POND_RADIUS + foraging.RADIUS - 1e-9
    assert place[0] > 0.7  # it slid round


def test_berries_are_eaten_ripe_and_grow_again():
    far = {"hawk": (0.9, 0.9), "rest": 10**6}
    env = started("pygame-foraging", x=foraging.ROWS[0][0], y=foraging.ROWS[0][1], ripe=(0.5,) + (0.0,) * 5, paces=(0.125,) * 6, **far)
    rewards = [env.step(np.zeros(2)).reward for _ in range(16)]
    assert [t for t, r in enumerate(rewards) if r == 1.0] == [3, 11]
    assert sum(rewards) == env.scene.eaten == 2
    env._scene = replace(env.scene, eaten=foraging.ENOUGH - 1, ripe=(1.0,) * 6)
    assert env.step(np.zeros(2)).success


def test_the_hawk_strikes_once_and_rests():
    env = started("pygame-foraging", x=0.5, y=0.5, hawk=(0.5 + 3 * PIXEL, 0.5), rest=0, ripe=(0.0,) * 6)
    rewards = [env.step(np.zeros(2)).reward for _ in range(foraging.REST + 1)]
    assert rewards == [-1.0] + [0.0] * foraging.REST
    assert env.scene.rest == 0
    assert env.step(np.zeros(2)).reward == -1.0


def test_the_field_is_half_planted_half_wild():
    fields = []
    env = made("pygame-foraging")
    for seed in range(40):
        env.reset(seed)
        s = env.scene
        fields.append((s.bushes, s.pond))
        assert s.bushes[: len(foraging.ROWS)] == foraging.ROWS
        assert all(math.dist(b, s.pond) >= foraging.POND_RADIUS + foraging.BUSH_RADIUS for b in s.bushes)
        assert all(math.dist(a, b) >= 2 * foraging.BUSH_RADIUS for a, b in combinations(s.bushes, 2))
    assert len(set(fields)) == 40


# --- whirlpool ---


@pytest.mark.parametrize("spin", [1.0, -1.0])
def test_the_current_turns_and_is_drawn_in(spin):
    for r, angle in ((0.2, 0.3), (0.35, 2.0), (0.45, -1.0)):
        x, y = whirlpool.around(r, angle)
        u, v = whirlpool.current((x, y), spin)
        outward = u * math.cos(angle) + v * math.sin(angle)
        round_ = -u * math.sin(angle) + v * math.cos(angle)
        assert outward == pytest.approx(-whirlpool.INFLOW / r)
        assert round_ == pytest.approx(spin * whirlpool.SWIRL / r)


def test_a_drifting_boat_is_swallowed_and_a_rowing_one_can_hold_its_place():
    env = started("pygame-whirlpool", x=0.5 + 9 * PIXEL, y=0.5, buoy=whirlpool.around(13 * PIXEL, 2.0), spin=1.0, row=2)
    rewards = [env.step(np.zeros(2)).reward for _ in range(60)]
    drowned = rewards.index(-1.0)
    # water takes (a^2 - b^2) / (2 INFLOW) from distance a to b; the boat lags behind it and is flung outward a little
    water = (81 - (whirlpool.CORE / PIXEL) ** 2) / (2 * whirlpool.INFLOW / PIXEL**2)
    assert water < drowned < 1.6 * water
    assert env.scene.row == 0
    x, y = 0.5 + 9 * PIXEL, 0.5
    u, v = whirlpool.current((x, y), 1.0)
    env._scene = replace(env.scene, x=x, y=y, vx=0.0, vy=0.0)
    for _ in range(20):
        env.step(np.array([-u, -v]) / whirlpool.SPEED)
    assert math.dist((env.scene.x, env.scene.y), (x, y)) < 1e-6


def test_buoys_count_in_a_row():
    env = started("pygame-whirlpool", x=0.5 + 10 * PIXEL, y=0.5, vx=0.0, vy=0.0)
    for count in range(1, whirlpool.ENOUGH + 1):
        env._scene = replace(env.scene, buoy=(env.scene.x, env.scene.y))
        one = env.step(np.zeros(2))
        assert (one.reward, env.scene.row, one.success) == (1.0, count, count == whirlpool.ENOUGH)
        assert math.dist(env.scene.buoy, (env.scene.x, env.scene.y)) >= whirlpool.FAR


# --- all of them ---


def test_the_rows_are_as_agreed():
    for t in map(task, TASKS):
        assert t.horizon == {"pygame-dungeon-explorer1": 250}.get(t.id, 200 if "maze" in t.id else 500)
        assert t.action_dim == (1 if "cartpole" in t.id or "coconut" in t.id else 2)
        assert t.unseen == (t.id in TASKS[-3:]) and t.partner is None
    said = [t.instruction for t in registry().values() if t.domain == "pygame" and t.partner is None]
    assert len(set(said)) == len(said)


def episode(task_id, seed, player, frame_skip, steps):
    """Return and success of one episode."""
    env = AgentEnv(task(task_id), made(task_id), 32, frame_skip, steps)
    rng, expert = np.random.default_rng(seed), miniarcade.make_expert(env.task)
    env.reset(seed)
    expert.reset(env, rng)
    total = 0.0
    while True:
        one = env.step(expert.act(env, rng) if player == "expert" else rng.uniform(-1, 1, env.action_dim))
        total += one.reward
        if one.is_last:
            return total, one.success


# mean return of 4 episodes of 60 agent steps at frame skip 2: of the player at least, of random actions at most (mazes: test_miniarcade)
PLAY = {
    "pygame-cartpole-balance": (110.0, 60.0),
    "pygame-cartpole-balance-sparse": (115.0, 30.0),
    "pygame-cartpole-swingup": (60.0, 40.0),
    "pygame-cartpole-swingup-sparse": (45.0, 5.0),
    "pygame-cartpole-tremor": (112.0, 60.0),
    "pygame-chase-evade": (5.0, 0.0),
    "pygame-coconut-dodge": (8.0, 2.0),
    "pygame-dungeon-explorer1": (4.0, 1.5),
    "pygame-foraging": (5.0, 1.5),
    "pygame-whirlpool": (6.0, 0.0),
}


@pytest.mark.parametrize("task_id", PLAY)
def test_players_beat_chance(task_id):
    expert, chance = (np.mean([episode(task_id, seed, who, 2, 60)[0] for seed in range(4)]) for who in ("expert", "random"))
    at_least, at_most = PLAY[task_id]
    assert expert >= at_least and chance <= at_most, (expert, chance)


@pytest.mark.parametrize("task_id", TASKS)
def test_the_player_wins(task_id):
    assert np.mean([episode(task_id, seed, "expert", 1, 200)[1] for seed in range(3)]) == 1.0


@pytest.mark.parametrize("task_id", TASKS)
def test_snapshots_continue_bit_for_bit_and_pictures_do_not_depend_on_size(task_id):
    small, large = made(task_id), made(task_id, 224, "full")
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (40, small.action_dim)).astype(np.float32)
    for env in (small, large):
        env.reset(2)
        for a in actions[:20]:
            env.step(a)
    assert np.abs(large.render().reshape(32, 7, 32, 7, 3).mean((1, 3)) - small.render()).mean() < 2.0
    snap, runs = small.snapshot(), []
    for _ in range(2):
        runs.append([(small.step(a), small.state().tobytes(), small.render().tobytes()) for a in actions[20:]])
        small.reset(7)
        small.restore(snap)
    assert runs[0] == runs[1]
    large.restore(snap)
    assert np.array_equal(large.state(), small.state())


@pytest.mark.parametrize("task_id", TASKS)
def test_a_full_action_moves_the_picture(task_id):
    env = made(task_id)
    env.reset(12)
    for _ in range(3):
        env.step(np.zeros(env.action_dim))
    snap, frames = env.snapshot(), []
    for sign in (1.0, -1.0):
        env.restore(snap)
        for _ in range(4):
            env.step(np.full(env.action_dim, sign))
        frames.append(env.render().astype(int))
    assert (np.abs(frames[0] - frames[1]).max(-1) > 40).sum() >= 10


def test_objects_are_four_pixels_across_at_32():
    half = [cartpole.POLE_RADIUS, cartpole.CART_HEIGHT / 2, cartpole.MARK_RADIUS, chase_evade.RADIUS, chase_evade.HALF_HUNTER, coconut_dodge.RADIUS]
    half += [coconut_dodge.HALF_WIDTH, coconut_dodge.HEAD_RADIUS, dungeon_explorer.RADIUS, foraging.RADIUS, foraging.BUSH_RADIUS, foraging.BERRY_RADIUS]
    half += [foraging.POND_RADIUS, whirlpool.RADIUS, whirlpool.CORE, whirlpool.BUOY_RADIUS]
    assert min(half) >= 2 * PIXEL


def test_cart_scenes_are_plain_data():
    assert CartScene(0.0, 0.0, 0.0, 0.0) == replace(CartScene(1.0, 0.0, 0.0, 0.0), x=0.0)


def test_an_unknown_game_is_named():
    with pytest.raises(ValueError, match="MiniArcade has no game 'cup-catch'"):
        miniarcade.make(task("cup-catch"), 32)
    with pytest.raises(ValueError, match="MiniArcade has no game 'cup-catch'"):
        miniarcade.make_expert(task("cup-catch"))
