import numpy as np
import pytest

from veridream.stats import correlation
from veridream.stats.bootstrap import align, columns_ci, fraction_above, hierarchical_ci, mean, paired_ci, resample
from veridream.stats.grouping import pad


def rng(seed=0):
    return np.random.default_rng(seed)


def test_padding_keeps_groups_rows_and_drops_nan_rows():
    (a, b) = pad(["y", "x", "y", "x", "y"], np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 2, np.nan, 4, 5]))
    np.testing.assert_array_equal(a, [[2, 4], [1, 5]])
    np.testing.assert_array_equal(b, [[2, 4], [1, 5]])


def test_padding_refuses_uneven_and_empty_input():
    with pytest.raises(ValueError, match="2 group labels"):
        pad(["a", "b"], np.zeros(3))
    with pytest.raises(ValueError, match="no row"):
        pad(["a"], np.array([np.nan]))


def test_value_is_that_of_the_sample_and_a_constant_has_no_width():
    assert hierarchical_ci(np.full(6, 3.0), list("aabbcc"), resamples=50, rng=rng()) == (3.0, 3.0, 3.0, 6)
    values = np.array([1.0, 2, 3, 10])
    assert hierarchical_ci(values, list("aabb"), resamples=50, rng=rng()).value == 4.0
    assert hierarchical_ci(values, list("aabb"), np.median, resamples=50, rng=rng()).value == 2.5


def test_same_generator_same_interval():
    values = rng(1).normal(size=40)
    a, b = (hierarchical_ci(values, ["abcd"[i % 4] for i in range(40)], resamples=200, rng=rng(5)) for _ in range(2))
    assert a == b
    assert a.low < a.value < a.high


def test_resampled_rows_stay_in_their_group_and_sizes_follow_the_drawn_group():
    (block,) = pad(list("aabbb"), np.array([1.0, 2, 11, 12, 13]))
    (draws,) = (np.concatenate(c) for c in zip(*resample([block], 300, rng()), strict=True))
    assert draws.shape == (300, 2, 3)
    for g in draws.reshape(-1, 3):
        real = g[np.isfinite(g)]
        assert set(real) <= {1.0, 2.0} if len(real) == 2 else set(real) <= {11.0, 12.0, 13.0}


def test_interval_covers_the_truth_of_a_known_hierarchy_about_as_often_as_it_says():
    """30 tasks with mean ~ N(0, 1) and 5 sequences each ~ N(mean, 0.5): the grand mean is 0."""
    hits, trials, g = 0, 150, rng(3)
    groups = np.repeat(np.arange(30), 5).astype(str)
    for _ in range(trials):
        values = np.repeat(g.normal(size=30), 5) + 0.5 * g.normal(size=150)
        ci = hierarchical_ci(values, groups, resamples=200, confidence=0.9, rng=g)
        hits += ci.low <= 0.0 <= ci.high
    assert 0.83 <= hits / trials <= 0.97


def test_interval_over_tasks_is_wider_than_one_over_sequences_alone():
    g = rng(4)
    values = np.repeat(g.normal(size=10), 20) + 0.1 * g.normal(size=200)
    tasks = hierarchical_ci(values, np.repeat(np.arange(10), 20).astype(str), resamples=400, rng=rng())
    alone = hierarchical_ci(values, np.full(200, "one"), resamples=400, rng=rng())
    assert tasks.high - tasks.low > 3 * (alone.high - alone.low)


def test_correlation_interval_holds_its_value():
    g = rng(6)
    x = g.normal(size=200)
    y = x + g.normal(size=200)
    groups = np.array(["abcde"[i % 5] for i in range(200)])
    for statistic in (correlation.pooled, correlation.within):
        ci = columns_ci([x, y], groups, statistic, 300, 0.95, rng())
        assert ci.low < ci.value < ci.high and ci.low > 0.4 and ci.n == 200


def test_chunking_changes_nothing_but_the_draws_stay_as_many(monkeypatch):
    import veridream.stats.bootstrap as b

    monkeypatch.setattr(b, "BLOCK", 10)
    (block,) = pad(list("aabb"), np.arange(4.0))
    assert sum(len(c[0]) for c in b.resample([block], 7, rng())) == 7


def test_mostly_undefined_statistics_have_no_interval():
    ci = columns_ci([np.ones(9), np.arange(9.0)], ["a"] * 9, correlation.pooled, 50, 0.95, rng())
    assert np.isnan([ci.value, ci.low, ci.high]).all() and ci.n == 9


def test_paired_differences_follow_the_ids_not_the_order():
    ci = paired_ci(["s1", "s2", "s3"], np.array([1.0, 2, 3]), ["s3", "s1", "s2"], np.array([2.0, 0, 1]), list("aab"), resamples=50, rng=rng())
    assert ci == (1.0, 1.0, 1.0, 3)
    assert align([1, 2], [2, 1]).tolist() == [1, 0]


def test_paired_comparison_refuses_other_or_repeated_sequences():
    with pytest.raises(ValueError, match="same sequences"):
        align(["a"], ["b"])
    with pytest.raises(ValueError, match="twice"):
        align(["a", "a"], ["a", "b"])


def test_share_above_a_threshold_ignores_padding():
    block = np.array([[1.0, -1.0, np.nan], [2.0, 3.0, np.nan]])
    assert fraction_above(0.0)(block) == 0.75
    assert mean(block) == 1.25


def test_confidence_is_a_probability():
    with pytest.raises(ValueError, match="confidence"):
        hierarchical_ci(np.ones(2), ["a", "b"], confidence=95.0, rng=rng())
