import numpy as np
import pytest
from scipy.stats import kendalltau

from veridream.stats.kendall import tau_b
from veridream.stats.pairwise import bradley_terry, elo, win_matrix, win_rates


def test_wins_ties_and_absent_items():
    wins = win_matrix(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, np.nan], [9.0, 9.0, 9.0]]))
    assert wins.tolist() == [[0, 1.5, 0], [0.5, 0, 0], [3, 2, 0]]
    rates = win_rates(wins)
    assert rates[0, 1] == 0.75 and rates[2, 1] == 1.0 and np.isnan(rates[0, 0])


def test_a_planted_ranking_is_recovered():
    rng, true = np.random.default_rng(2), np.array([1.2, 0.4, -0.3, -1.3])
    wins = np.zeros((4, 4))
    for i in range(4):
        for j in range(i):
            n = rng.binomial(2000, 1 / (1 + np.exp(true[j] - true[i])))
            wins[i, j], wins[j, i] = n, 2000 - n
    strengths = bradley_terry(wins, list("abcd"))
    assert strengths == pytest.approx(true - true.mean(), abs=0.12)
    points = elo(strengths, anchor=3)
    assert points[3] == 800 and (np.diff(points) < 0).all()
    assert points[0] - points[1] == pytest.approx(400 / np.log(10) * (strengths[0] - strengths[1]))


def test_two_models_have_the_closed_form():
    strengths = bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]), ["a", "b"])
    assert strengths[0] - strengths[1] == pytest.approx(np.log(3))


@pytest.mark.parametrize("wins", [[[0, 1], [0, 0]], [[0, 5, 3, 2], [5, 0, 4, 1], [0, 0, 0, 2], [0, 0, 2, 0]]])
def test_models_that_never_win_against_the_rest_are_named(wins):
    names = list("abcd")[: len(wins)]
    with pytest.raises(ValueError, match="won nothing against the other models"):
        bradley_terry(np.array(wins, dtype=float), names)


def test_tau_b_equals_scipy_with_and_without_ties():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.integers(0, 6, 12), rng.integers(0, 6, 12)
        assert tau_b(x, y) == pytest.approx(kendalltau(x, y, variant="b").statistic, abs=1e-12)
    assert np.isnan(tau_b(np.zeros(3), np.arange(3)))
    for bad in (([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 2.0])):
        with pytest.raises(ValueError):
            tau_b(*map(np.array, bad))
