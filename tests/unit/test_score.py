import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridream.envs.score import normalised_score
from veridream.params.tasks import ScoreRule, registry, task


def with_rule(**rule):
    return task("cup-catch").model_copy(update={"score": ScoreRule(**rule)})


def test_success_is_one_or_zero():
    t = with_rule(kind="success")
    assert normalised_score(t, 1, 10, 123.0, True) == 1.0
    assert normalised_score(t, 1, 10, 123.0, False) == 0.0


def test_mean_reward_is_over_the_most_that_is_possible():
    t = with_rule(kind="mean_reward", per_step=2.0)
    assert normalised_score(t, 1, 500, 1000.0, False) == 1.0
    assert normalised_score(t, 1, 500, 250.0, False) == 0.25
    assert normalised_score(t, 2, 32, 64.0, False) == 0.5  # 32 agent steps of 4 control steps


def test_an_early_end_costs_the_rest_of_the_horizon():
    t = with_rule(kind="mean_reward", per_step=1.0)
    assert normalised_score(t, 1, 100, 10.0, False) == 0.1  # ended after 10 perfect steps


def test_linear():
    t = with_rule(kind="linear", low=-3.0, high=3.0)
    assert [normalised_score(t, 1, t.horizon, r, False) for r in (-3.0, 0.0, 1.5, 3.0)] == [0.0, 0.5, 0.75, 1.0]


@given(st.sampled_from(sorted(registry())), st.floats(-1e6, 1e6), st.booleans(), st.integers(1, 1000), st.integers(1, 4))
def test_always_in_the_unit_interval(task_id, return_, success, steps, skip):
    assert 0.0 <= normalised_score(task(task_id), skip, steps, return_, success) <= 1.0


@pytest.mark.parametrize("rule", [{"kind": "mean_reward"}, {"kind": "linear", "low": 1.0}, {"kind": "linear", "low": 1.0, "high": 1.0}])
def test_an_incomplete_rule_names_the_task(rule):
    with pytest.raises(ValueError, match="cup-catch"):
        normalised_score(with_rule(**rule), 1, 10, 1.0, False)


def test_bad_numbers_are_refused():
    for return_ in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            normalised_score(task("cup-catch"), 1, 10, return_, False)
    with pytest.raises(ValueError, match="at least 1"):
        normalised_score(task("cup-catch"), 1, 0, 1.0, False)


def test_linear_ends_are_of_a_whole_episode_and_shrink_with_the_horizon():
    t = with_rule(kind="linear", low=-3.0, high=3.0)
    half = t.horizon // 2
    assert normalised_score(t, 1, half, 1.5, False) == pytest.approx(1.0)
    assert normalised_score(t, 1, half, 0.0, False) == pytest.approx(0.5)
    assert normalised_score(t, 2, t.horizon, 3.0, False) == pytest.approx(1.0), "never more than the whole"
