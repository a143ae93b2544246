import numpy as np
import pytest

from veridream.stats.strata import percentile_interval, resampled_means


def test_the_interval_covers_the_mean_as_often_as_it_says():
    """500 samples of 350 prompts in seven domains of different means, as in the benchmark."""
    rng, hit, sims = np.random.default_rng(5), 0, 500
    strata = np.repeat(np.arange(7), 50)
    centre = np.linspace(4.0, 9.0, 7)
    for _ in range(sims):
        values = rng.normal(centre[strata], 2.0)
        draws = resampled_means(values[:, None], strata, None, 250, rng)
        low, high = percentile_interval(draws, 0.95)
        hit += bool(low[0] <= centre.mean() <= high[0])
    assert 0.93 <= hit / sims <= 0.97


def test_strata_keep_their_share():
    values = np.concatenate([np.zeros(10), np.ones(10)])[:, None]
    rng = np.random.default_rng(0)
    assert (resampled_means(values, ["a"] * 10 + ["b"] * 10, None, 200, rng) == 0.5).all()
    assert resampled_means(values, ["a"] * 20, None, 200, rng).std() > 0.05


def test_clusters_are_drawn_together():
    rng = np.random.default_rng(1)
    centre = rng.normal(size=20)
    values = np.repeat(centre, 5)[:, None]
    apart = resampled_means(values, ["a"] * 100, None, 2000, rng).std()
    together = resampled_means(values, ["a"] * 100, np.repeat(np.arange(20), 5), 2000, rng).std()
    assert together == pytest.approx(centre.std() / np.sqrt(20), rel=0.1)
    assert together > 1.8 * apart


def test_bad_input_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="lies in two strata"):
        resampled_means(np.zeros((2, 1)), ["a", "b"], ["x", "x"], 5, rng)
    with pytest.raises(ValueError, match="not finite"):
        resampled_means(np.full((2, 1), np.nan), ["a", "b"], None, 5, rng)
    with pytest.raises(ValueError, match="0 rows"):
        resampled_means(np.zeros((0, 1)), [], None, 5, rng)
