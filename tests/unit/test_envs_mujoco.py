"""Gymnasium's MuJoCo tasks: rewards, falls, frames of the present, action ranges, the closed forms of the planner."""

import numpy as np
import pytest

from veridream.envs import mujoco_gym
from veridream.envs.mujoco_gym import GymMujoco
from veridream.envs.score import normalised_score
from veridream.params.tasks import registry, task


@pytest.fixture(scope="module")
def opened():
    """Raw adapters of tasks, each made once; a test begins with a reset."""
    made: dict[str, GymMujoco] = {}

    def make(task_id: str) -> GymMujoco:
        if task_id not in made:
            made[task_id] = mujoco_gym.make(task(task_id), 16, "fast")
        return made[task_id]

    yield make
    for raw in made.values():
        raw.close()


def test_the_table_and_the_registry_name_the_same_tasks():
    rows = [t for t in registry().values() if t.domain == "mujoco"]
    assert set(mujoco_gym.TASKS) == {t.id for t in rows} and len(rows) == 6
    assert len({t.instruction for t in rows}) == 6


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match="mujoco-humanoid"):
        mujoco_gym.make(task("mujoco-ant").model_copy(update={"id": "mujoco-humanoid"}), 16, "fast")


def test_a_step_is_worth_its_distance_less_its_effort(opened):
    raw = opened("mujoco-halfcheetah")
    raw.reset(3)
    action = np.array([0.5, -0.25, 1.0, 0.0, -1.0, 0.75], np.float32)
    x = raw.data.qpos[0]
    one = raw.step(action)
    assert one.reward == pytest.approx((raw.data.qpos[0] - x) / 0.05 - 0.1 * np.square(action).sum())


@pytest.mark.parametrize("task_id", ["mujoco-hopper", "mujoco-walker", "mujoco-inverted-pendulum", "mujoco-ant"])
def test_a_fall_costs_the_healthy_reward_and_ends_nothing(opened, task_id):
    raw = opened(task_id)
    raw.reset(0)
    raw.data.qpos[1 if raw.model.nq == 2 else 2] = 1.1  # an angle, or the ant's height
    if task_id == "mujoco-ant":
        raw.data.qpos[2] = 3.0
    one = raw.step(np.zeros(raw.action_dim, np.float32))
    assert not one.is_terminal and one.reward < 0.9


def test_actions_span_the_actuators_range(opened):
    raw = opened("mujoco-inverted-pendulum")
    raw.reset(0)
    raw.step(np.array([-1.0], np.float32))
    assert raw.data.ctrl[0] == -3.0


def test_a_frame_shows_the_state_it_stands_beside(opened):
    raw = opened("mujoco-reacher")
    raw.reset(5)
    for _ in range(4):
        raw.step(np.array([1.0, -1.0], np.float32))
    lagging = raw.data.body("fingertip").xpos.copy()
    raw.render()
    np.testing.assert_array_equal(raw.data.body("fingertip").xpos, lagging)  # the simulation is left alone
    np.testing.assert_allclose(raw._shown.body("fingertip").xpos[:2], raw.head(), atol=1e-9)


def test_the_planner_counts_effort(opened):
    raw = opened("mujoco-reacher")
    raw.reset(1)
    still, effort = raw.planner().returns(np.stack([np.zeros((3, 2)), np.full((3, 2), 1e-3)]), repeat=2)
    assert still < 0.0
    hard = raw.planner().returns(np.full((1, 3, 2), 1.0), repeat=2)[0]
    assert hard < still - raw.control_cost * 3 * 2 * 2.0 + 1.0
    assert effort == pytest.approx(still, abs=0.01)


def test_score_ends(opened):
    for t in registry().values():
        if t.domain == "mujoco":
            assert normalised_score(t, 1, t.horizon, t.score.low, False) == 0.0
            assert normalised_score(t, 1, t.horizon, t.score.high, False) == 1.0
