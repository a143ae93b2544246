"""MiniArcade's games of prey, coconuts, dungeon, berries and whirlpool: their rules in closed form; of the mazes and cart-poles too, players and pictures."""

import math
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from helpers.arcade import episode, made, mean_total, started
from veridream.envs import miniarcade
from veridream.envs.miniarcade import cartpole, chase_evade, coconut_dodge, dungeon_explorer, foraging, whirlpool
from veridream.envs.miniarcade.game import PIXEL
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


# mean return of 4 episodes of 60 agent steps at frame skip 2: of the player at least, of random actions at most (mazes: test_arcade_mazes)
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
    expert, chance = (mean_total(task_id, who, 4, 2, 60) for who in ("expert", "random"))
    at_least, at_most = PLAY[task_id]
    assert expert >= at_least and chance <= at_most, (expert, chance)


@pytest.mark.parametrize("task_id", TASKS)
def test_the_player_wins(task_id):
    assert np.mean([episode(task_id, seed, "expert", 1, 200).success for seed in range(3)]) == 1.0


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


def test_an_unknown_game_is_named():
    with pytest.raises(ValueError, match="MiniArcade has no game 'cup-catch'"):
        miniarcade.make(task("cup-catch"), 32)
    with pytest.raises(ValueError, match="MiniArcade has no game 'cup-catch'"):
        miniarcade.make_expert(task("cup-catch"))
