"""MiniArcade's games of lasso, coins, rocks, hawk, highway, lander, hockey and stars: their rules in closed form, their players, their pictures."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers.arcade import episode, made, started
from veridream.envs import miniarcade
from veridream.envs.miniarcade import air_hockey, bird_attack, coinrun, cowboy, highway, landing, rocket_collect, spaceship
from veridream.envs.miniarcade.game import PIXEL
from veridream.envs.score import normalised_score
from veridream.params.tasks import task

TASKS = [
    "pygame-air-hockey",
    "pygame-bird-attack",
    "pygame-coinrun",
    "pygame-cowboy",
    "pygame-highway",
    "pygame-landing",
    "pygame-rocket-collect",
    "pygame-spaceship",
]


def game(name: str) -> Any:
    return started(f"pygame-{name}")


def run(env: Any, *actions: tuple[float, ...]) -> list[float]:
    return [env.step(np.array(a)).reward for a in actions]


# --- cowboy ---


def test_a_throw_straight_up_takes_the_steer_or_the_bull_in_its_way():
    for bull_x, worth in ((0.1, 1.0), (0.5, -1.0)):
        env = game("cowboy")
        up = math.pi / 2
        env._scene = cowboy.CowboyScene(up, up, cowboy.HOME, 0, (0.5, 0.0), (bull_x, 0.0))
        assert cowboy.outcome(up, 0, (0.5, 0.0), (bull_x, 0.0)) == worth
        rewards = run(env, (0.0, 1.0), *[(0.0, -1.0)] * 12)
        assert sorted(rewards, key=abs)[-1] == worth and sum(map(abs, rewards)) == 1.0
        assert env.scene.flight == 0 and env.scene.reach == cowboy.HOME


def test_a_throw_flies_on_while_the_arm_turns_and_success_is_a_lead():
    env = game("cowboy")
    up = math.pi / 2
    env._scene = cowboy.CowboyScene(up, up, cowboy.HOME, 0, (0.5, 0.0), (0.1, 0.0), points=cowboy.HERD - 1)
    rewards = run(env, (0.0, 1.0), *[(1.0, 0.0)] * 8)
    assert sum(rewards) == 1.0 and env.scene.success
    assert env.scene.arm == cowboy.ARM_MOST


# --- coinrun ---


def test_a_jump_is_a_parabola_and_crosses_a_gap():
    gaps = (6 * PIXEL, 19 * PIXEL)
    motion, heights = (4 * PIXEL, 0.0, 0.0), []
    for k in range(11):
        motion = coinrun.move(motion, 1.0, k == 0, gaps)
        heights.append(motion[1])
    assert heights[:3] == pytest.approx([coinrun.JUMP, 2 * coinrun.JUMP - coinrun.GRAVITY, 3 * coinrun.JUMP - 3 * coinrun.GRAVITY])
    assert motion[1:] == (0.0, 0.0) and motion[0] == pytest.approx(4 * PIXEL + 11 * coinrun.RUN)
    assert coinrun.gap_under(motion[0], gaps) is None


def test_a_step_into_a_gap_is_a_fall_and_costs_one():
    env = game("coinrun")
    first = env.scene.gaps[0]
    env._scene = replace(env.scene, x=first - 0.5 * PIXEL, y=0.0, vy=0.0, coin=(0.9, coinrun.HIGH))
    rewards = run(env, *[(1.0, -1.0)] * 9)
    assert sum(rewards) == -1.0
    assert env.scene.y == 0.0 and min(abs(env.scene.x - x) for x in coinrun.islands(env.scene.gaps)) < 8 * coinrun.RUN


def test_a_coin_is_worth_one_and_ten_are_a_success():
    env = game("coinrun")
    x = coinrun.islands(env.scene.gaps)[1]
    env._scene = replace(env.scene, x=x, y=0.0, vy=0.0, coin=(x, coinrun.LOW), coins=coinrun.PURSE - 1)
    one = env.step(np.zeros(2))
    assert (one.reward, one.success) == (1.0, True)
    assert abs(env.scene.coin[0] - x) > coinrun.APART
    env._scene = replace(env.scene, coin=(x, coinrun.HIGH))
    assert run(env, (0.0, -1.0)) == [0.0]  # a high one needs a jump
    assert sum(run(env, *[(0.0, 1.0)] * 5)) == 1.0


# --- spaceship ---


def rock(x: float, y: float) -> spaceship.Rock:
    return spaceship.Rock(x, y, 0.0, 0.0, 3 * PIXEL)


def test_a_bolt_takes_a_rock_and_a_rock_hurts_the_ship():
    env = game("spaceship")
    away = rock(0.9, 0.1)
    env._scene = spaceship.SpaceshipScene(0.2, 0.5, (0.5, 0.5), (rock(0.5 + 6 * PIXEL, 0.5), away, away))
    rewards = run(env, *[(0.0, 0.0)] * 3)
    assert sum(rewards) == 1.0 and env.scene.points == 1
    assert env.scene.bolt[0] < 0.52  # the next one has left the nose
    env._scene = spaceship.SpaceshipScene(0.2, 0.5, (0.9, 0.9), (rock(0.2, 0.5), away, away))
    assert run(env, (0.0, 0.0)) == [-1.0]
    assert env.scene.hurt == spaceship.HURT
    env._scene = spaceship.SpaceshipScene(0.2, 0.5, (0.9, 0.9), (rock(0.2, 0.5 + 6 * PIXEL), away, away))
    assert run(env, (0.0, 0.0)) == [0.0]


# --- bird-attack ---


def test_the_hawk_turns_at_the_sides_and_at_the_bush():
    env = game("bird-attack")
    env._scene = bird_attack.BirdScene(1 - bird_attack.TURN_AT, 0.9, bird_attack.SPEED, 0.1, 0.0, 0.5)
    run(env, (0.0,))
    assert (env.scene.x, env.scene.vx) == (pytest.approx(1 - bird_attack.TURN_AT - bird_attack.SPEED), -bird_attack.SPEED)
    env._scene = bird_attack.BirdScene(0.5 - 6 * PIXEL, bird_attack.LOWEST + 3 * PIXEL, bird_attack.SPEED, 0.95, 0.0, 0.5)
    assert run(env, (0.0,)) == [-1.0]
    assert env.scene.vx < 0 and env.scene.hurt == bird_attack.HURT
    assert run(env, (0.0,)) == [0.0]


def test_a_rabbit_is_caught_from_near_the_ground_alone():
    for y, worth in ((bird_attack.LOWEST, 1.0), (bird_attack.LOWEST + 5 * PIXEL, 0.0)):
        env = game("bird-attack")
        env._scene = bird_attack.BirdScene(0.8, y, bird_attack.SPEED, 0.85, 0.0, 0.45, points=bird_attack.PREY - 1)
        one = env.step(np.zeros(1))
        assert (one.reward, one.success) == (worth, worth == 1.0)


# --- highway ---


def test_speed_pays_and_the_traffic_does_not():
    env = game("highway")
    far = ((highway.LANES[0], 5.0), (highway.LANES[1], 5.5), (highway.LANES[2], 6.0))
    env._scene = highway.HighwayScene(0.5, highway.FASTEST, 0.0, far)
    assert run(env, (0.0, 1.0)) == [pytest.approx(1.0)]
    env._scene = highway.HighwayScene(0.5, highway.TRAFFIC, 0.0, far)
    assert run(env, (0.0, 0.0)) == [pytest.approx(0.0)]
    assert run(env, *[(0.0, -1.0)] * 40)[-1] == 0.0
    assert env.scene.cars == far  # out of sight, the traffic waits for a slow car


def test_a_crash_costs_and_stops_and_an_overtaken_car_counts():
    env = game("highway")
    behind = ((highway.LANES[0], 3.0), (highway.LANES[2], 4.0))
    env._scene = highway.HighwayScene(0.5, highway.FASTEST, 0.0, ((0.5, highway.OWN_Y + 2 * highway.HALF_LENGTH), *behind))
    assert sum(run(env, *[(0.0, 1.0)] * 2)) < -highway.CRASH + 2
    assert env.scene.hurt > 0 and env.scene.speed < highway.TRAFFIC
    env._scene = highway.HighwayScene(0.5, highway.FASTEST, 0.0, ((highway.LANES[0], highway.OWN_Y + 0.5 * PIXEL), *behind), passed=highway.PASSED - 1)
    one = env.step(np.array([0.0, 1.0]))
    assert (env.scene.passed, one.success, one.reward) == (highway.PASSED, True, pytest.approx(1.0))


# --- landing ---


def lander(**changes: Any) -> landing.LandingScene:
    return replace(landing.LandingScene(0.5, landing.REST + 0.2 * PIXEL, 0.0, -0.5 * PIXEL, 0.5), **changes)


def test_a_fall_is_a_parabola_and_its_reward_is_the_height_lost():
    env = game("landing")
    env._scene = lander(y=0.8, vy=0.0)
    rewards = run(env, *[(0.0, 0.0)] * 5)
    assert env.scene.y == pytest.approx(0.8 - landing.GRAVITY * 15)
    assert sum(rewards) == pytest.approx(landing.GRAVITY * 15)


@pytest.mark.parametrize(
    ("changes", "worth"),
    [({}, 1.0), ({"vy": -1.2 * landing.SOFT_Y}, -1.0), ({"vx": 1.2 * landing.SOFT_X}, -1.0), ({"pad": 0.5 + landing.PAD_HALF}, -1.0)],
)
def test_a_landing_is_soft_and_on_the_pad(changes: dict[str, float], worth: float):
    env = game("landing")
    env._scene = lander(landings=landing.LANDINGS - 1, **changes)
    one = env.step(np.zeros(2))
    assert one.reward == pytest.approx(worth, abs=0.1) and one.success == (worth > 0) and not one.is_terminal
    resting = env.scene.x
    assert run(env, *[(1.0, 1.0)] * (landing.PAUSE - 1)) == [0.0] * (landing.PAUSE - 1)
    assert env.scene.x == resting
    assert run(env, (0.0, 0.0)) == [0.0] and env.scene.y > 0.75  # the next round


# --- air hockey ---


def hockey(**changes: Any) -> air_hockey.HockeyScene:
    return replace(air_hockey.HockeyScene((0.5, 0.5), (0.0, 0.0), (0.2, 0.5), (air_hockey.RIVAL_HOME, 0.5), 0.0, 0), **changes)


def test_a_mallet_at_speed_sends_a_resting_puck_off_faster_than_itself():
    at, speed = (0.5 - 0.9 * air_hockey.CONTACT, 0.5), 0.7 * PIXEL
    puck, velocity, met = air_hockey.strike((0.5, 0.5), (0.0, 0.0), at, (speed, 0.0))
    assert met and velocity == (pytest.approx((1 + air_hockey.ELASTIC) * speed), 0.0)
    assert puck == (pytest.approx(at[0] + air_hockey.CONTACT), 0.5)
    assert air_hockey.strike((0.5, 0.5), (0.0, 0.0), (0.3, 0.5), (speed, 0.0))[2] is False


def test_rails_reflect_and_goals_count():
    _, velocity = air_hockey.slide((air_hockey.HIGH - 0.01, 0.1), (0.05, 0.0))
    assert velocity[0] == pytest.approx(-air_hockey.ELASTIC * air_hockey.KEPT * 0.05)
    for x, vx, worth in ((air_hockey.HIGH - 0.01, 0.05, 1.0), (air_hockey.LOW + 0.01, -0.05, -1.0)):
        env = game("air-hockey")
        env._scene = hockey(puck=(x, 0.5), velocity=(vx, 0.0), mallet=(0.4, 0.1), rival=(0.6, 0.9), goals=(air_hockey.LEAD - 1, 0))
        one = env.step(np.zeros(2))
        assert (one.reward, one.success, env.scene.pause) == (worth, worth > 0, air_hockey.PAUSE)


def test_a_puck_that_nobody_touches_comes_back_to_the_middle():
    env = game("air-hockey")
    env._scene = hockey(puck=(0.45, 0.9), quiet=air_hockey.QUIET - 1)
    assert run(env, (0.0, 0.0)) == [0.0]
    assert env.scene.puck[0] == 0.5 and env.scene.quiet == 0


# --- rocket-collect ---


def test_the_rocket_glides_bounces_and_collects():
    env = game("rocket-collect")
    env._scene = rocket_collect.RocketScene(0.3, 0.5, PIXEL, 0.0, 0.0, (0.9, 0.5))
    rewards = run(env, (0.0, 0.0), (0.0, -1.0))
    kept = 1 - rocket_collect.DRAG
    assert env.scene.x == pytest.approx(0.3 + PIXEL * (kept + kept**2))
    assert sum(rewards) == pytest.approx(env.scene.x - 0.3)
    run(env, (0.0, 1.0))
    assert env.scene.vx == pytest.approx(PIXEL * kept**3 + rocket_collect.THRUST)
    env._scene = rocket_collect.RocketScene(1 - rocket_collect.EDGE, 0.5, PIXEL, 0.0, 0.0, (0.2, 0.5))
    run(env, (0.0, 0.0))
    assert env.scene.vx == pytest.approx(-rocket_collect.BOUNCE * kept * PIXEL)
    env._scene = rocket_collect.RocketScene(0.5, 0.5, PIXEL, 0.0, 0.0, (0.5 + 5 * PIXEL, 0.5), stars=rocket_collect.STARS - 1)
    one = env.step(np.zeros(2))
    assert (one.reward, one.success) == (pytest.approx(1 + kept * PIXEL), True)


# --- all of them ---


def score(task_id: str, seed: int, player: str) -> float:
    """The normalised score of one whole episode at frame skip 2."""
    row = task(task_id)
    steps = row.horizon // 2
    run = episode(task_id, seed, player, 2, steps)
    return normalised_score(row, 2, steps, run.total, run.success)


@pytest.mark.parametrize("task_id", TASKS)
def test_players_beat_chance_by_far(task_id: str):
    expert = np.mean([score(task_id, seed, "expert") for seed in range(2)])
    chance = np.mean([score(task_id, seed, "random") for seed in range(4)])
    assert expert >= 0.5
    assert chance <= 0.5 * expert


@pytest.mark.parametrize("task_id", TASKS)
def test_the_picture_follows_the_action_and_not_its_size(task_id: str):
    small, large = made(task_id), made(task_id, 224, "full")
    ends = []
    for sign in (1.0, -1.0):
        for env in (small, large):
            env.reset(3)
            for _ in range(4):
                env.step(np.full(env.action_dim, sign))
        ends.append(small.render().astype(int))
        blocks = large.render().reshape(32, 7, 32, 7, 3).mean((1, 3))
        assert np.abs(blocks - ends[-1]).mean() < 2.5
    assert (np.abs(ends[0] - ends[1]).max(-1) > 40).sum() >= 12


def test_moving_things_are_four_pixels_across_at_32():
    across = {
        "loop": 2 * cowboy.LOOP_RADIUS,
        "animal": 2 * cowboy.HALF_HEIGHT,
        "runner": 2 * coinrun.HALF,
        "coin": 2 * coinrun.COIN_RADIUS,
        "bolt": 2 * spaceship.BOLT_RADIUS,
        "rock": 2 * spaceship.SMALL,
        "ship": 2 * spaceship.RADIUS,
        "hawk": 2 * bird_attack.RADIUS,
        "rabbit": 2 * bird_attack.RABBIT_RADIUS,
        "car": 2 * highway.HALF_WIDTH,
        "lander": 2 * landing.HALF,
        "pad": 2 * landing.PAD_HALF,
        "puck": 2 * air_hockey.PUCK_RADIUS,
        "mallet": 2 * air_hockey.MALLET_RADIUS,
        "rocket": 2 * rocket_collect.RADIUS,
        "star": 2 * rocket_collect.STAR_RADIUS,
    }
    assert min(across.values()) >= 4 * PIXEL, across


def test_every_game_has_its_own_ground():
    grounds = []
    for task_id in [*TASKS, "pygame-pong", "pygame-reacher-easy", "pygame-point-maze-var1"]:
        colours, counts = np.unique(game(task_id.removeprefix("pygame-")).render().reshape(-1, 3), axis=0, return_counts=True)
        grounds.append(colours[np.argmax(counts)].astype(int))
    apart = [np.abs(a - b).max() for k, a in enumerate(grounds) for b in grounds[:k]]
    assert min(apart) >= 12, grounds


def test_an_unknown_game_is_named():
    strange = task("pygame-landing").model_copy(update={"id": "pygame-chess"})
    with pytest.raises(ValueError, match="pygame-chess"):
        miniarcade.make(strange, 32)
    with pytest.raises(ValueError, match="pygame-chess"):
        miniarcade.make_expert(strange)
