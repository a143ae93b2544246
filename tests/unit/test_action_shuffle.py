import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridream.metrics.action_shuffle import derangement, derangement_within, shuffle_ratio


@given(n=st.integers(2, 60), seed=st.integers(0, 2**32))
def test_a_derangement_is_a_permutation_without_fixed_points(n, seed):
    order = derangement(n, np.random.default_rng(seed))
    assert sorted(order.tolist()) == list(range(n))
    assert (order != np.arange(n)).all()
    assert order.tolist() == derangement(n, np.random.default_rng(seed)).tolist()


def test_all_derangements_of_three_and_four_are_drawn():
    rng = np.random.default_rng(0)
    assert {tuple(derangement(3, rng).tolist()) for _ in range(100)} == {(1, 2, 0), (2, 0, 1)}
    assert len({tuple(derangement(4, rng).tolist()) for _ in range(400)}) == 9


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_sequences_are_an_error(n):
    with pytest.raises(ValueError, match="at least two"):
        derangement(n, np.random.default_rng(0))


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.integers(0, 1000))
def test_actions_come_from_another_sequence_of_the_same_task(tail, seed):
    groups = np.array([*"aabbcc", *tail])
    order = derangement_within(groups, np.random.default_rng(seed))
    assert sorted(order.tolist()) == list(range(len(groups)))
    assert (groups[order] == groups).all()
    assert (order != np.arange(len(groups))).all()


def test_a_task_of_one_sequence_is_named():
    with pytest.raises(ValueError, match=r"lonely.*score\.sequences"):
        derangement_within(["a", "a", "lonely"], np.random.default_rng(0))


def test_ratio_is_undefined_without_error():
    out = shuffle_ratio(np.array([2.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0]))
    assert out[:2].tolist() == [2.0, 1.0] and np.isnan(out[2])
