import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridream.envs.behaviours import NOISES, TRANSFORMS, make_behaviour

ENV = SimpleNamespace(action_dim=3)


class Constant:
    """An expert that plays (0.5, -0.4, 0.2) times the number of the step, starting at 1."""

    def reset(self, env, rng):
        self.n = 0

    def act(self, env, rng):
        self.n += 1
        return np.array([0.5, -0.4, 0.2]) * min(self.n, 2)


def never():
    raise AssertionError("the expert was made")


def draw(name, kind, steps=400):
    """Actions and parameters of the first seed whose episode is of that kind."""
    for seed in range(200):
        b = make_behaviour(name, ENV, Constant, np.random.default_rng(seed))
        if b.parameters["kind"] == kind:
            return np.array([b.act() for _ in range(steps)], dtype=np.float64), b.parameters
    raise AssertionError(f"{kind} was never drawn")


def clean(steps=400):
    return np.array([[0.5, -0.4, 0.2]] + [[1.0, -0.8, 0.4]] * (steps - 1))


def test_noop_and_random_need_no_expert():
    noop = make_behaviour("noop", ENV, never, np.random.default_rng(0))
    np.testing.assert_array_equal(noop.act(), np.zeros(3, np.float32))
    a = np.array([make_behaviour("random", ENV, never, np.random.default_rng(s)).act() for s in range(500)])
    assert a.dtype == np.float32 and np.abs(a).max() <= 1 and abs(a.mean()) < 0.06 and a.std() == pytest.approx(3**-0.5, abs=0.03)


def test_expert_is_passed_through():
    b = make_behaviour("expert", ENV, Constant, np.random.default_rng(0))
    np.testing.assert_allclose([b.act() for _ in range(4)], clean(4), atol=1e-6)


def test_scale_multiplies_by_one_factor():
    a, p = draw("transformed", "scale")
    np.testing.assert_allclose(a, clean() * p["strength"], atol=1e-6)


def test_flip_changes_the_sign_of_the_drawn_dimensions_only():
    a, p = draw("transformed", "flip")
    signs = np.where(np.isin(np.arange(3), p["dims"]), -1.0, 1.0)
    assert 1 <= len(p["dims"]) <= 3
    np.testing.assert_allclose(a, clean() * signs, atol=1e-6)


def test_dropout_zeroes_single_dimensions_at_the_drawn_rate():
    a, p = draw("transformed", "dropout")
    gone = a == 0
    np.testing.assert_allclose(a[~gone], clean()[~gone], atol=1e-6)
    assert gone.mean() == pytest.approx(p["strength"], abs=0.06)
    assert len({tuple(r) for r in gone.tolist()}) > 2


def test_zero_zeroes_whole_actions_at_the_drawn_rate():
    a, p = draw("transformed", "zero")
    gone = (a == 0).all(axis=1)
    np.testing.assert_allclose(a[~gone], clean()[~gone], atol=1e-6)
    assert gone.mean() == pytest.approx(p["strength"], abs=0.08)


def test_repeat_plays_the_previous_action_again():
    class Ramp(Constant):
        def act(self, env, rng):
            self.n += 1
            return np.full(3, self.n / 1000)

    for seed in range(200):
        b = make_behaviour("transformed", ENV, Ramp, np.random.default_rng(seed))
        if b.parameters["kind"] == "repeat":
            break
    a = np.array([b.act()[0] for _ in range(400)], dtype=np.float64)
    fresh = np.isclose(a, np.arange(1, 401) / 1000, atol=1e-6)
    previous = np.concatenate([[0.0], a[:-1]])
    np.testing.assert_allclose(a[~fresh], previous[~fresh], atol=1e-6)
    assert (~fresh).mean() == pytest.approx(b.parameters["strength"], abs=0.08)


def test_gaussian_noise_is_white_with_the_drawn_spread():
    class Still(Constant):
        def act(self, env, rng):
            return np.zeros(3)

    for seed in range(400):
        b = make_behaviour("noise", ENV, Still, np.random.default_rng(seed))
        if b.parameters["kind"] == "gaussian" and b.parameters["sigma"] < 0.3:
            break
    x = np.array([b.act() for _ in range(3000)], dtype=np.float64)
    assert x.std() == pytest.approx(b.parameters["sigma"], rel=0.05)
    assert abs(np.corrcoef(x[:-1, 0], x[1:, 0])[0, 1]) < 0.06


def test_ou_noise_has_its_stationary_spread_and_memory():
    class Still(Constant):
        def act(self, env, rng):
            return np.zeros(3)

    for seed in range(400):
        b = make_behaviour("noise", ENV, Still, np.random.default_rng(seed))
        if b.parameters["kind"] == "ou" and b.parameters["sigma"] < 0.3:
            break
    x = np.array([b.act() for _ in range(6000)], dtype=np.float64)
    assert x.std() == pytest.approx(b.parameters["sigma"], rel=0.12)
    assert np.corrcoef(x[:-1, 0], x[1:, 0])[0, 1] == pytest.approx(1 - b.parameters["theta"], abs=0.05)


def test_mix_is_convex():
    a, p = draw("noise", "mix")
    noise = (a - (1 - p["weight"]) * clean()) / p["weight"]
    assert np.abs(noise).max() <= 1 + 1e-5
    assert noise.std() == pytest.approx(3**-0.5, abs=0.04)


@given(st.integers(0, 2**32), st.sampled_from(["transformed", "noise"]))
def test_parameters_come_from_the_generator_alone_and_are_json(seed, name):
    one, two = (make_behaviour(name, ENV, Constant, np.random.default_rng(seed)) for _ in range(2))
    assert one.parameters == two.parameters == json.loads(json.dumps(one.parameters))
    assert one.parameters["kind"] in (TRANSFORMS if name == "transformed" else NOISES)
    a, b = (np.array([x.act() for _ in range(5)]) for x in (one, two))
    np.testing.assert_array_equal(a, b)
    assert a.dtype == np.float32 and np.abs(a).max() <= 1


def test_every_kind_is_drawn():
    for name, kinds in (("transformed", TRANSFORMS), ("noise", NOISES)):
        assert {make_behaviour(name, ENV, Constant, np.random.default_rng(s)).parameters["kind"] for s in range(60)} == set(kinds)


WEIGHTS = {"expert": 0.3, "noise": 0.25, "random": 0.25, "transformed": 0.15, "noop": 0.05}
SWITCHING = {"shortest": 5, "longest": 12, "weights": WEIGHTS}
PLAYED = SimpleNamespace(action_dim=3, task=SimpleNamespace(id="a-task", expert="scripted"))
UNPLAYED = SimpleNamespace(action_dim=3, task=SimpleNamespace(id="a-task", expert=None))


def switched(seed, steps, env=PLAYED, factory=Constant, switching=SWITCHING):
    """(actions, what acted, parameters) of an episode."""
    b = make_behaviour("switched", env, factory, np.random.default_rng(seed), switching)
    out = [(b.act(), b.acting) for _ in range(steps)]
    return np.array([a for a, _ in out]), [name for _, name in out], b.parameters


def test_segments_say_what_acted_in_each_step():
    _, acted, p = switched(0, 1500)
    lengths = [s["steps"] for s in p["segments"]]
    assert [s["behaviour"] for s in p["segments"] for _ in range(s["steps"])] == acted
    assert sum(lengths) == 1500 and set(lengths[:-1]) <= set(range(5, 13)) and len(set(lengths)) > 4
    assert set(acted) == set(WEIGHTS)


def test_each_segment_is_the_behaviour_it_names():
    actions, acted, p = switched(1, 1500)
    start = 0
    for s in p["segments"]:
        a = actions[start : start + s["steps"]].astype(np.float64)
        if s["behaviour"] == "noop":
            assert not a.any()
        if s["behaviour"] == "expert":  # begun anew: the first action is that of its first step
            np.testing.assert_allclose(a, clean(len(a)), atol=1e-6)
        if s.get("kind") == "flip":
            np.testing.assert_allclose(a, clean(len(a)) * np.where(np.isin(np.arange(3), s["dims"]), -1.0, 1.0), atol=1e-6)
        if s["behaviour"] == "random":
            assert len(np.unique(a)) == a.size
        assert ("kind" in s) == (s["behaviour"] in ("transformed", "noise"))
        start += s["steps"]
    assert set(acted) == set(WEIGHTS)


def test_the_share_of_the_steps_is_the_weight():
    _, acted, _ = switched(2, 40_000)
    for name, weight in WEIGHTS.items():
        assert acted.count(name) / 40_000 == pytest.approx(weight, abs=0.03)


def test_a_task_without_an_expert_switches_between_noop_and_random():
    _, acted, _ = switched(0, 6000, UNPLAYED, never)
    assert set(acted) == {"noop", "random"} and acted.count("noop") / 6000 == pytest.approx(0.05 / 0.3, abs=0.05)


def test_the_expert_is_made_once_an_episode():
    made = []

    def factory():
        made.append(1)
        return Constant()

    _, acted, _ = switched(0, 200, factory=factory)
    assert len(made) == 1 and acted.count("expert") > 20


@given(st.integers(0, 2**32))
def test_a_switched_episode_comes_from_the_generator_alone_and_is_json(seed):
    (a, names, p), (b, again, q) = switched(seed, 40), switched(seed, 40)
    np.testing.assert_array_equal(a, b)
    assert names == again and p == q == json.loads(json.dumps(p))
    assert a.dtype == np.float32 and np.abs(a).max() <= 1


@pytest.mark.parametrize(
    "env, switching, said",
    [
        (PLAYED, None, "a-task: switched behaviour without its params; give collect.switched"),
        (PLAYED, {**SWITCHING, "shortest": 13}, "segments of 13 to 12 steps"),
        (UNPLAYED, {**SWITCHING, "weights": {"expert": 0.5, "noise": 0.5}}, "a-task: it has no expert, and collect.switched.weights"),
    ],
)
def test_bad_switching_is_refused(env, switching, said):
    with pytest.raises(ValueError, match=said):
        switched(0, 1, env, switching=switching)


def test_unknown_behaviours_are_named():
    with pytest.raises(ValueError, match="curiosity"):
        make_behaviour("curiosity", ENV, Constant, np.random.default_rng(0))
