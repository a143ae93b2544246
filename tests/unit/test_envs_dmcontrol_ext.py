"""The extended control tasks: rewards in closed form, first positions, the planner, named errors."""

import numpy as np
import pytest

from veridream.envs import dmcontrol_ext
from veridream.envs.experts import SimulatorPlanner
from veridream.envs.extended import cheetah, giraffe, jumper, reacher_three, spinner, swings, walkers
from veridream.envs.extended.body import Reading, ramp, soft
from veridream.envs.registry import make
from veridream.params.tasks import registry, task

ROWS = [t for t in registry().values() if t.domain == "dmcontrol-ext"]


def xyz(x=0.0, z=0.0):
    return np.array([x, 0.0, z])


def sensed(qpos=(), qvel=(), **sensors):
    return Reading(np.array(qpos, float), np.array(qvel, float), sensors)


def test_rows_bodies_and_cameras_belong_together():
    assert {t.id for t in ROWS} == set(dmcontrol_ext.BODIES) and len(ROWS) == 16
    assert {t.camera for t in ROWS} == set(dmcontrol_ext.CAMERAS)
    assert len({t.instruction for t in ROWS}) == 16
    assert all((t.horizon, t.action_repeat, t.score.per_step) == (500, 2, 2.0) for t in ROWS)
    for body in dmcontrol_ext.BODIES.values():
        assert body.substeps % body.coarsening == 0


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match="cheetah-fly"):
        dmcontrol_ext.make(task("cheetah-jump").model_copy(update={"id": "cheetah-fly"}), 32, "fast")


def test_ramp_and_soft():
    np.testing.assert_allclose(ramp(np.array([-1.0, 0.0, 1.0, 2.0, 3.0]), 0.0, 2.0), [0, 0, 0.5, 1, 1])
    np.testing.assert_allclose(ramp(np.array([1.0, 0.75, 0.0]), 1.0, 0.5), [0, 0.5, 1])
    np.testing.assert_allclose(soft(np.array([2.0, 1.2, 0.6, 0.0]), 1.2, 0.6), [1, 1, 0.1, 1e-4])


@pytest.mark.parametrize(
    ("body", "speed", "reward"),
    [(cheetah.RunBackward, -8.0, 1.0), (cheetah.RunBackward, -2.0, 0.25), (cheetah.RunBackward, 5.0, 0.0)],
)
def test_cheetah_backward(body, speed, reward):
    assert body().reward(sensed(torso_subtreelinvel=xyz(speed))) == pytest.approx(reward)


@pytest.mark.parametrize(
    ("body", "front", "back", "speed", "reward"),
    [
        (cheetah.RunBack, 0.45, 0.1, 4.0, 1.0),
        (cheetah.RunBack, 0.45, 0.1, 0.0, 0.2),  # the pose alone
        (cheetah.RunBack, 0.30, 0.1, 4.0, 0.5),
        (cheetah.RunBack, 0.1, 0.45, 4.0, 0.0),  # the wrong feet
        (cheetah.RunBack, 0.9, 0.9, 4.0, 0.0),  # on its back
        (cheetah.RunFront, 0.1, 0.45, 4.0, 1.0),
        (cheetah.RunFront, 0.45, 0.1, 4.0, 0.0),
    ],
)
def test_cheetah_on_one_pair_of_feet(body, front, back, speed, reward):
    now = sensed(front_foot=xyz(0, front), back_foot=xyz(0, back), torso_subtreelinvel=xyz(speed))
    assert body().reward(now) == pytest.approx(reward)


@pytest.mark.parametrize(("front", "back", "up", "reward"), [(0.6, 0.9, 1, 1), (0.6, 0.375, 1, 0.5), (0.9, 0.1, 1, 0), (0.9, 0.9, -1, 0)])
def test_cheetah_jump_is_the_lower_foot(front, back, up, reward):
    now = sensed(front_foot=xyz(0, front), back_foot=xyz(0, back), up=xyz(0, up))
    assert cheetah.Jump().reward(now) == pytest.approx(reward)


def test_walkers_are_the_suites_rewards_with_the_speed_turned_round():
    from dm_control.suite import hopper, walker

    class Walks:
        def __init__(self, speed):
            self._speed = speed

        def torso_height(self):
            return 0.9

        def torso_upright(self):
            return 0.5

        def horizontal_velocity(self):
            return self._speed

    class Hops:
        def __init__(self, speed):
            self._speed = speed

        def height(self):
            return 0.7

        def speed(self):
            return self._speed

    for v in (-9.0, -3.0, -0.4, 0.0, 2.0):
        now = sensed(torso=xyz(0, 0.9), up=xyz(0, 0.5), torso_subtreelinvel=xyz(v), torso_centre=xyz(0, 0.8), foot_centre=xyz(0, 0.1))
        for body, top in ((walkers.WalkBackward, 1), (walkers.RunBackward, 8)):
            assert body().reward(now) == pytest.approx(walker.PlanarWalker(top, random=0).get_reward(Walks(-v)))
        assert walkers.HopBackward().reward(now) == pytest.approx(hopper.Hopper(hopping=True, random=0).get_reward(Hops(-v)))
    assert walkers.HopBackward().reward(sensed(torso_subtreelinvel=xyz(-9.0), torso_centre=xyz(0, 0.5), foot_centre=xyz())) == 0.0


def test_cup_spin_wants_one_way_round_on_a_taut_string():
    body = swings.CupSpin()

    def at(radius, angle, omega):  # about the string's end, angle from +x counter-clockwise
        x, z = radius * np.cos(angle), radius * np.sin(angle)
        return sensed([0.1, 0.05, 0.1 + x, 0.05 + body.STRING_Z - body.BALL_Z + z], [0.3, -0.2, 0.3 - omega * z, -0.2 + omega * x])

    for angle in (0.0, 1.0, -2.5):
        assert body.turn(at(0.3, angle, 4.0)) == pytest.approx(4.0)
        assert body.reward(at(0.3, angle, 9.0)) == pytest.approx(1.0)
        assert body.reward(at(0.3, angle, 4.5)) == pytest.approx(0.5)
        assert body.reward(at(0.3, angle, -9.0)) == 0.0
        assert body.reward(at(0.1, angle, 9.0)) == pytest.approx(0.0)  # slack


def test_pendulum_spin_either_way():
    for omega, reward in ((8.0, 1.0), (-8.0, 1.0), (4.0, 0.5), (0.0, 0.0)):
        assert swings.PendulumSpin().reward(sensed([1.0], [omega])) == pytest.approx(reward)
    np.testing.assert_allclose(swings.PendulumSpin().state(sensed([2.0 * np.pi + 0.5], [3.0])), [0.5, 3.0, np.sin(0.5), np.cos(0.5)])


def test_reacher_touch():
    for body, reach in ((reacher_three.Easy, 0.062), (reacher_three.Hard, 0.027)):
        assert body().reward(sensed([0.1, 0.0, 0, 0, 0], tip=np.array([0.1, reach - 1e-6, 0.03]))) == 1.0
        assert body().reward(sensed([0.1, 0.0, 0, 0, 0], tip=np.array([0.1, reach + 1e-6, 0.03]))) == 0.0


def test_giraffe_jumper_spinner():
    run = giraffe.GiraffeRun()
    assert run.reward(sensed(head=xyz(0, 1.9), velocity=xyz(5.0), up=xyz(0, 1.0))) == pytest.approx(1.0)
    assert run.reward(sensed(head=xyz(0, 1.9), velocity=xyz(-1.0), up=xyz(0, 1.0))) == pytest.approx(1.0 / 6.0)
    assert run.reward(sensed(head=xyz(0, 0.5), velocity=xyz(5.0), up=xyz(0, 1.0))) == 0.0
    assert run.reward(sensed(head=xyz(0, 1.9), velocity=xyz(5.0), up=xyz(0, 0.1))) == 0.0  # reared up
    jump = jumper.JumperJump()
    assert jump.reward(sensed(centre=xyz(0, 1.1), up=xyz(0, 1.0))) == pytest.approx(1.0)
    assert jump.reward(sensed(centre=xyz(0, 1.1), up=xyz(0, -1.0))) == 0.0
    assert jump.reward(sensed(centre=xyz(0, 0.3), up=xyz(0, 1.0))) == 0.0
    spin = [0.0, 0.0, 6.0, 0.0, 0.0, 0.0, 0.0]
    still = sensed(qvel=np.zeros(7), centre=xyz(0, 0.9))
    assert spinner.Spin().reward(sensed(qvel=spin)) == pytest.approx(0.5)
    assert spinner.SpinBackward().reward(sensed(qvel=spin)) == 0.0
    assert spinner.Jump().reward(still) == pytest.approx(0.5)
    assert spinner.Jump().reward(sensed(qvel=spin, centre=xyz(0, 0.9))) == pytest.approx(0.75)


def test_rewards_of_plans_are_those_of_moments():
    """A batch [plans, time] gives what each of its moments gives."""
    rng = np.random.default_rng(0)
    qpos, qvel = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4, 4)) * 3
    body = swings.CupSpin()
    whole = body.plan_reward(Reading(qpos, qvel, {}))
    for i, t in np.ndindex(3, 4):
        assert whole[i, t] == pytest.approx(float(body.plan_reward(Reading(qpos[i, t], qvel[i, t], {}))))


@pytest.mark.parametrize("task_id", ["jumper-jump", "reacher-three-easy"])
def test_the_planner_plays_the_same_episode_as_the_simulator(task_id, monkeypatch):
    """With the reward itself as what is planned for: the planner's returns are those of the snapshot planner, and nothing is disturbed."""
    env = make(task_id, 32, frame_skip=1)
    body = type(env.raw.body)
    monkeypatch.setattr(body, "plan_reward", body.reward)
    env.reset(3)
    before = env.state()
    plans = np.random.default_rng(0).uniform(-1, 1, (8, 6, env.action_dim))
    fast, slow = env.raw.planner().returns(plans, env.repeat), SimulatorPlanner(env.raw).returns(plans, env.repeat)
    np.testing.assert_array_equal(env.state(), before)
    np.testing.assert_allclose(fast, slow, atol=0.5)  # its sensors lag one physics step
    env.close()


def test_first_positions_stay_in_bounds():
    env = make("reacher-three-hard", 32)
    for seed in range(20):
        env.reset(seed)
        assert 0.05 < np.hypot(*env.state()[2:4]) < 0.23
    env.close()
    env = make("giraffe-run", 32)
    for seed in range(5):
        env.reset(seed)
        assert 1.5 < env.state()[0] < 2.3  # the head is up
    env.close()


def test_closing_one_environment_leaves_anothers_frames_alone():
    env = make("pendulum-spin", 32)
    env.reset(1)
    before = env.render()
    other = make("pendulum-spin", 32)
    other.reset(2)
    other.render()
    env.render()  # its context is current while the other one is closed
    other.close()
    np.testing.assert_array_equal(env.render(), before)
    env.close()
