import numpy as np
import pytest

from veridream.envs import bipedal_walker, box2d, lunar_lander
from veridream.envs.bipedal_walker import ground, walk_reward
from veridream.envs.lunar_lander import hover_reward, land_reward, takeoff_reward
from veridream.params.tasks import registry, task

LANDERS, WALKERS = list(lunar_lander.WORLDS), list(bipedal_walker.TERRAINS)


def test_lander_rewards_are_one_at_their_best_and_fall_off():
    assert hover_reward(*lunar_lander.HOVER, 0.0, 0.0, 0.0) == 1.0
    assert land_reward(0.0, 0.0, 0.0, 0.0, 0.0, 2.0) == 1.0
    assert takeoff_reward(*lunar_lander.RISE, 0.0, 0.0, 0.0) == 1.0
    assert land_reward(0.0, 0.0, 0.0, 0.0, 0.0, 0.0) == 0.5  # on the spot, legs in the air
    assert land_reward(0.6, 0.0, 0.0, 0.0, 0.0, 2.0) == pytest.approx(np.exp(-1.0))
    assert takeoff_reward(0.0, 0.8, 0.5, 0.0, 0.0) == pytest.approx(0.75)
    assert land_reward(0.0, 0.0, 0.0, 0.0, np.pi, 2.0) == 0.0


def test_walk_reward_is_a_fifth_for_standing_and_the_rest_for_speed():
    assert walk_reward(0.0, 0.0) == pytest.approx(0.2)
    assert walk_reward(-1.0, 0.0) == pytest.approx(0.2)
    assert walk_reward(bipedal_walker.SPEED, 0.0) == walk_reward(99.0, 0.0) == pytest.approx(1.0)
    assert walk_reward(1.0, np.pi / 2) == pytest.approx(0.0)


@pytest.mark.parametrize("kind", ["flat", "uneven", "rugged", "hills"])
def test_the_ground_begins_level_and_is_the_seeds_own(kind):
    a, b = (ground(kind, np.random.default_rng(s)) for s in (1, 1))
    np.testing.assert_array_equal(a, b)
    assert a.shape == (bipedal_walker.POINTS,) and np.isfinite(a).all()
    np.testing.assert_allclose(a[: bipedal_walker.FLAT], bipedal_walker.LEVEL, atol=1e-9)
    assert (a == ground(kind, np.random.default_rng(2))).all() == (kind == "flat")
    around = np.lib.stride_tricks.sliding_window_view(a, 15)
    assert (around.min(axis=1) > around.mean(axis=1) - bipedal_walker.BELOW).all()  # nowhere below the frame


def test_roughness_orders_the_grounds():
    slopes = {k: np.mean([np.abs(np.diff(ground(k, np.random.default_rng(s)))).mean() for s in range(8)]) for k in ("flat", "uneven", "rugged", "hills")}
    assert slopes["flat"] == 0.0
    assert 2.0 * slopes["uneven"] < slopes["rugged"]
    bends = {k: np.mean([np.abs(np.diff(ground(k, np.random.default_rng(s)), 2)).mean() for s in range(8)]) for k in ("uneven", "hills")}
    assert bends["hills"] < bends["uneven"] and slopes["hills"] > slopes["uneven"]


@pytest.mark.parametrize("name", LANDERS)
def test_pilots_do_what_the_task_asks(name):
    env = box2d.make(task(name), 32, "fast")
    env.reset(3)
    pilot = box2d.make_expert(task(name))

    class View:  # what a pilot reads
        repeat = 2
        state = staticmethod(env.state)

    rewards, solved = [], False
    for _ in range(250):
        action = pilot.act(View, np.random.default_rng(0)).astype(np.float32)
        for _ in range(2):
            one = env.step(action)
            rewards.append(one.reward)
            solved |= one.success
        assert not one.is_terminal
    assert np.mean(rewards[-50:]) > 0.8
    assert min(rewards) >= 0.0 and max(rewards) <= 1.0
    assert solved == (name != "lunarlander-hover")
    env.close()


def test_a_takeoff_begins_at_rest_on_both_legs():
    env = box2d.make(task("lunarlander-takeoff"), 32, "fast")
    for seed in range(4):
        env.reset(seed)
        x, y, vx, vy, angle, _, left, right = env.state()
        assert (left, right) == (1.0, 1.0) and abs(y) < 0.05 and abs(x) < 0.12
        assert max(abs(vx), abs(vy), abs(angle)) < 0.05
    env.close()


@pytest.mark.parametrize("name", WALKERS)
def test_the_camera_follows_the_walker(name):
    env = box2d.make(task(name), 32, "fast")
    env.reset(1)
    orange = np.abs(env.render().astype(int) - bipedal_walker.NEAR_LEG).sum(axis=2) < 90
    columns = np.nonzero(orange)[1]
    assert orange.sum() >= 4 and 6 <= columns.mean() <= 20  # the near leg is seen, left of the middle
    env.close()


def test_unknown_tasks_are_named():
    other = task("lunarlander-hover").model_copy(update={"id": "lunarlander-dive"})
    with pytest.raises(ValueError, match="lunarlander-dive"):
        box2d.make(other, 32, "fast")
    with pytest.raises(ValueError, match="lunarlander-dive"):
        box2d.make_expert(other)


def test_every_task_of_the_domain_has_a_row():
    assert {t.id for t in registry().values() if t.domain == "box2d"} == {*LANDERS, *WALKERS}
