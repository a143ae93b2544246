import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, rankdata, spearmanr

from veridream.stats.correlation import partial, partial_spearman, pooled, rank_correlation, spearman, within, within_group_spearman
from veridream.stats.grouping import pad

small = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30)


def test_monotone_and_reversed():
    x = np.array([1.0, 2, 3, 4])
    assert spearman(x, x**3) == pytest.approx(1.0)
    assert spearman(x, -x) == pytest.approx(-1.0)


def test_ties_by_hand():
    """Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: rho = 4.5 / sqrt(4.5 * 5)."""
    assert spearman(np.array([1.0, 2, 2, 3]), np.array([1.0, 2, 3, 4])) == pytest.approx(4.5 / np.sqrt(4.5 * 5))


@given(small)
def test_agrees_with_scipy(pairs):
    x, y = np.array(pairs, dtype=float).T
    ours = spearman(x, y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


def test_constant_and_tiny_inputs_are_undefined():
    assert np.isnan(spearman(np.ones(5), np.arange(5.0)))
    assert np.isnan(spearman(np.arange(2.0), np.arange(2.0)))
    assert np.isnan(partial_spearman(np.arange(5.0), np.ones(5), np.arange(5.0)))


def test_nan_pairs_do_not_enter():
    x, y = np.array([1.0, 2, 3, 4, np.nan]), np.array([2.0, 1, 4, np.nan, 0])
    assert spearman(x, y) == pytest.approx(spearmanr([1, 2, 3], [2, 1, 4]).statistic)


def test_within_group_rho_is_blind_to_differences_between_groups():
    """Pooled +: the groups' means rise together. Within: each group falls."""
    groups = np.repeat(["a", "b", "c"], 10)
    base = np.repeat([0.0, 100, 200], 10)
    ramp = np.tile(np.arange(10.0), 3)
    assert spearman(base + ramp, base - ramp) > 0.7
    assert within_group_spearman(base + ramp, base - ramp, groups) == pytest.approx(-1.0)


def test_groups_where_it_is_undefined_do_not_enter():
    groups = np.repeat(["a", "b"], 4)
    x = np.array([1.0, 2, 3, 4, 7, 7, 7, 7])
    y = np.arange(8.0)
    assert within_group_spearman(x, y, groups) == pytest.approx(1.0)
    assert np.isnan(within_group_spearman(np.ones(8), y, groups))


def test_partial_correlation_against_regression_of_ranks():
    g = np.random.default_rng(0)
    z = g.normal(size=300)
    x, y = z + 0.5 * g.normal(size=300), z + 0.5 * g.normal(size=300)
    assert spearman(x, y) > 0.6
    rx, ry, rz = (rankdata(v) for v in (x, y, z))
    residual = [r - np.polyval(np.polyfit(rz, r, 1), rz) for r in (rx, ry)]
    assert partial_spearman(x, y, z) == pytest.approx(pearsonr(*residual).statistic, abs=1e-10)
    assert abs(partial_spearman(x, y, z)) < 0.15


def test_nothing_is_left_when_the_third_variable_is_one_of_the_two():
    x = np.arange(10.0)
    assert np.isnan(partial_spearman(x, np.random.default_rng(0).random(10), x))


def test_padded_blocks_give_the_same_numbers_in_any_batch_shape():
    g = np.random.default_rng(1)
    groups = np.array(list("aaabbbbccccc"))
    x, y, z = g.random((3, 12))
    bx, by, bz = pad(groups, x, y, z)
    assert pooled(bx, by) == pytest.approx(spearman(x, y))
    assert within(bx, by) == pytest.approx(within_group_spearman(x, y, groups))
    assert partial(bx, by, bz) == pytest.approx(partial_spearman(x, y, z))
    stacked = [np.stack([v, v]) for v in (bx, by)]
    np.testing.assert_allclose(pooled(*stacked), [spearman(x, y)] * 2)
    assert rank_correlation(np.zeros((4, 2, 6)), np.zeros((4, 2, 6))).shape == (4, 2)
