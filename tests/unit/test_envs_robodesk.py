"""The RoboDesk adapter without its renderer: names, rewards, what did and did not move, the script's steps."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from veridream.envs import robodesk
from veridream.params.tasks import registry, task


@pytest.fixture
def build(monkeypatch):
    """Makes adapters that draw nothing."""
    monkeypatch.setattr(robodesk, "FrameRenderer", lambda *a: SimpleNamespace(description="nothing", close=lambda: None))
    return lambda task_id: robodesk.make(task(task_id), 32, "fast")


def test_rows_and_adapter_name_the_same_tasks():
    rows = [t for t in registry().values() if t.domain == "robodesk"]
    assert {t.id for t in rows} == set(robodesk.TASKS)
    assert {t.camera for t in rows} <= set(robodesk.CAMERAS)
    stranger = task("rd-push-red").model_copy(update={"id": "rd-juggle"})
    for make in (lambda: robodesk.make(stranger, 32, "fast"), lambda: robodesk.make_expert(stranger)):
        with pytest.raises(ValueError, match="rd-juggle"):
            make()


def test_the_name_that_the_package_asks_for_is_lent_only_while_it_is_imported(monkeypatch):
    marker = object()
    monkeypatch.setitem(sys.modules, "gym", marker)
    monkeypatch.delitem(sys.modules, "robodesk", raising=False)
    monkeypatch.delitem(sys.modules, "robodesk.robodesk", raising=False)
    robodesk._package()
    assert sys.modules["gym"] is marker


def test_a_pressed_button_is_a_success_and_pays_a_quarter_more(build):
    raw = build("rd-push-green")
    raw.reset(0)
    light = raw.model.joint("green_light").qposadr[0]
    reach = 1.0 - np.linalg.norm(raw.hand() - raw.place("green_button"))
    for depth, success in ((-0.0045, False), (-0.0046, True)):
        raw.data.qpos[light] = depth
        reward = raw._env._get_task_reward("push_green", "dense_reward")
        assert bool(raw._env._get_task_reward("push_green", "success")) is success
        assert reward == pytest.approx(0.75 * reach + 0.25 * success)


def test_a_moved_block_costs_its_share_of_the_slide_reward(build):
    raw = build("rd-open-slide")
    raw.reset(1)
    full = raw._env._get_task_reward("open_slide", "dense_reward")
    raw._env.original_pos["ball"] = raw._env.original_pos["ball"] + 0.02
    assert full - raw._env._get_task_reward("open_slide", "dense_reward") == pytest.approx(0.1 * 0.34)
    raw.reset(1)
    assert raw._env._get_task_reward("open_slide", "dense_reward") == pytest.approx(full)


def test_states_name_the_places_of_things(build):
    raw = build("rd-open-drawer")
    raw.reset(2)
    state = raw.state()
    np.testing.assert_allclose(state[:3], raw.hand(), atol=1e-6)
    np.testing.assert_allclose(state[5:8], raw.place("flat_block"), atol=1e-6)
    assert -0.11 < state[14] <= 0.0 <= state[15] < 0.21


def test_a_script_steps_toward_its_target_by_at_most_one():
    script = robodesk.Script(lambda raw: np.array([1.0, 0.0, 0.005]))
    env = SimpleNamespace(raw=SimpleNamespace(tip=lambda: np.zeros(3)))
    rng = np.random.default_rng(0)
    script.reset(env, rng)
    np.testing.assert_allclose(script.act(env, rng), [1.0, 0.0, 0.5, 0.0, -1.0])
