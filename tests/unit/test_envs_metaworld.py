"""The Meta-World adapter without its renderer: names, states, what a reset and a restore put back."""

from types import SimpleNamespace

import numpy as np
import pytest

from veridream.envs import metaworld
from veridream.params.tasks import registry, task


@pytest.fixture
def build(monkeypatch):
    """Makes adapters that draw nothing."""
    monkeypatch.setattr(metaworld, "FrameRenderer", lambda *a: SimpleNamespace(description="nothing", close=lambda: None))
    return lambda task_id: metaworld.make(task(task_id), 32, "fast")


def ours():
    return [t for t in registry().values() if t.domain == "metaworld"]


def test_every_row_has_an_environment_a_policy_and_its_own_instruction():
    from metaworld.env_dict import ENV_CLS_MAP

    assert len(ours()) == 49
    assert {metaworld._of(t.id, ENV_CLS_MAP).__name__ for t in ours()} == {c.__name__ for n, c in ENV_CLS_MAP.items() if n != "shelf-place-v3"}
    for t in ours():
        metaworld.make_expert(t)
    assert len({t.instruction for t in ours()}) == 49
    assert {t.camera for t in ours()} <= set(metaworld.CAMERAS)


def test_an_unknown_task_is_named():
    for name in ("mw-juggle", "push"):
        stranger = task("mw-push").model_copy(update={"id": name})
        with pytest.raises(ValueError, match=name):
            metaworld.make(stranger, 32, "fast")
        with pytest.raises(ValueError, match=name):
            metaworld.make_expert(stranger)


def test_states_hold_hand_objects_and_goal(build):
    for name, dim in (("mw-push", 10), ("mw-drawer-open", 21)):
        raw = build(name)
        raw.reset(3)
        assert raw.state_dim == dim and raw.state().shape == (dim,)
        np.testing.assert_allclose(raw.state()[:3], raw._env.get_endeff_pos(), atol=1e-6)
        np.testing.assert_allclose(raw.state()[-3:], raw._env._target_pos, atol=1e-6)


def test_the_basketball_goal_stays_in_its_hoop(build):
    raw = build("mw-basketball")
    for seed in (1, 2, 1):
        raw.reset(seed)
        for _ in range(2):
            hoop = raw._env.data.body("hooplink").xpos
            np.testing.assert_array_equal(raw._env.data.site("goal").xpos, hoop)
            np.testing.assert_array_equal(raw._env._target_pos, hoop)
            raw.step(np.zeros(4))


def test_a_restore_brings_back_what_the_environment_keeps_in_python_and_in_the_model(build):
    raw = build("mw-bin-picking")
    raw.reset(5)
    before = raw.snapshot()
    assert raw._env._target_to_obj_init is None
    rewards = [raw.step(np.full(4, 0.5)).reward for _ in range(3)]
    assert raw._env._target_to_obj_init is not None
    raw.reset(6)
    raw.step(np.full(4, -0.5))
    raw.restore(before)
    assert raw._env._target_to_obj_init is None
    assert [raw.step(np.full(4, 0.5)).reward for _ in range(3)] == rewards

    raw = build("mw-door-open")
    raw.reset(5)
    before, place = raw.snapshot(), raw._env.model.body("door").pos.copy()
    raw.reset(6)
    assert np.abs(raw._env.model.body("door").pos - place).max() > 1e-3
    raw.restore(before)
    np.testing.assert_array_equal(raw._env.model.body("door").pos, place)


def test_views_of_the_simulator_stay_views(build):
    raw = build("mw-bin-picking")
    raw.reset(0)
    assert metaworld._is_live(raw._env.init_left_pad) and not metaworld._is_plain(raw._env.init_left_pad)
    raw.restore(raw.snapshot())
    raw.step(np.ones(4))
    np.testing.assert_array_equal(raw._env.init_left_pad, raw._env.data.body("leftpad").xpos)


def test_what_is_plain():
    assert metaworld._is_plain({"a": [1, 2.0, None], "b": (np.zeros(2)[:1], np.float64(1.0), "x")})
    assert not metaworld._is_plain({"a": [object()]})
