import numpy as np
import pytest

from veridream.planning.cem import cem, colour, shift

KW = {"candidates": 64, "elites": 8, "iterations": 8, "init_std": 1.0, "min_std": 0.02}


def quadratic(target):
    return lambda a: -((a - target) ** 2).sum(axis=(1, 2))


def test_finds_the_optimum_of_a_quadratic():
    target = np.array([[0.5, -0.3], [-0.7, 0.1], [0.0, 0.9]], dtype=np.float32)
    plan = cem(quadratic(target), 3, 2, rng=np.random.default_rng(0), **KW)
    np.testing.assert_allclose(plan.actions_HA, target, atol=0.1)
    np.testing.assert_allclose(plan.mean_HA, target, atol=0.1)
    assert plan.actions_HA.dtype == np.float32


def test_stays_within_bounds_when_the_optimum_lies_outside():
    seen = []

    def score(a):
        seen.append((a.min(), a.max()))
        return a.sum(axis=(1, 2))

    plan = cem(score, 4, 1, rng=np.random.default_rng(0), **KW)
    assert min(lo for lo, _ in seen) >= -1.0 and max(hi for _, hi in seen) <= 1.0
    np.testing.assert_allclose(plan.actions_HA, 1.0)


def test_same_generator_same_plan_and_another_seed_another():
    plans = [cem(quadratic(0.2), 3, 2, rng=np.random.default_rng(s), **KW) for s in (1, 1, 2)]
    assert (plans[0].actions_HA == plans[1].actions_HA).all()
    assert (plans[0].actions_HA != plans[2].actions_HA).any()


def test_the_best_ever_sequence_is_kept_even_if_later_iterations_are_worse():
    calls = []

    def score(a):
        calls.append(1)
        return np.arange(len(a), dtype=float) + (100.0 if len(calls) == 1 else 0.0)

    plan = cem(score, 2, 1, candidates=4, elites=2, iterations=3, init_std=1.0, min_std=0.1, rng=np.random.default_rng(0))
    first = np.clip(np.random.default_rng(0).standard_normal((4, 2, 1), dtype=np.float32), -1, 1)
    assert plan.score == 103.0 and plan.best_by_iteration == (103.0,) * 3
    np.testing.assert_array_equal(plan.actions_HA, first[3])


def test_std_floor_keeps_exploring():
    spread = []

    def score(a):
        spread.append(a.std(axis=0).mean())
        return -np.abs(a).sum(axis=(1, 2))

    cem(score, 2, 1, candidates=32, elites=2, iterations=10, init_std=1.0, min_std=0.3, rng=np.random.default_rng(0))
    assert spread[-1] > 0.2


def test_warm_start_is_used_and_shifted():
    mean = np.array([[0.1], [0.2], [0.3]], dtype=np.float32)
    np.testing.assert_array_equal(shift(mean, 2), np.array([[0.3], [0], [0]], dtype=np.float32))
    np.testing.assert_array_equal(shift(mean, 5), np.zeros((3, 1)))
    few = {"candidates": 8, "elites": 2, "iterations": 1, "init_std": 0.01, "min_std": 0.01}
    near = cem(quadratic(0.9), 3, 1, rng=np.random.default_rng(0), init_mean_HA=np.full((3, 1), 0.9), **few)
    np.testing.assert_allclose(near.actions_HA, 0.9, atol=0.03)


@pytest.mark.parametrize("bad", [lambda a: np.full(len(a), np.nan), lambda a: np.zeros(3)])
def test_scores_that_are_not_finite_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="64 finite numbers"):
        cem(bad, 2, 1, rng=np.random.default_rng(0), **KW)


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="elites"):
        cem(quadratic(0), 2, 1, candidates=4, elites=5, iterations=1, init_std=1.0, min_std=0.1, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="warm start"):
        cem(quadratic(0), 2, 1, rng=np.random.default_rng(0), init_mean_HA=np.zeros((3, 1)), **KW)


@pytest.mark.parametrize("horizon", [7, 8])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_coloured_noise_has_the_covariance_of_its_spectrum(horizon, beta):
    n = 40_000
    x = colour(np.random.default_rng(0).standard_normal((n, horizon, 1), dtype=np.float32), beta)
    gain = [max(min(k, horizon - k), 1) ** -beta for k in range(horizon)]
    for lag in range(horizon):
        expected = sum(g * np.cos(2 * np.pi * k * lag / horizon) for k, g in enumerate(gain)) / sum(gain)
        measured = (x * np.roll(x, -lag, axis=1)).mean(axis=(0, 2))
        np.testing.assert_allclose(measured, expected, atol=6 * 2**0.5 / n**0.5)
    assert x.dtype == np.float32


def test_white_noise_is_left_as_it_is_and_redder_plans_are_smoother():
    white = np.random.default_rng(0).standard_normal((500, 16, 2), dtype=np.float32)
    assert colour(white, 0.0) is white
    rough = [float(np.diff(colour(white, b), axis=1).std()) for b in (0.0, 1.0, 2.0)]
    assert rough[0] > rough[1] > rough[2]
    plans = [cem(quadratic(0.2), 3, 2, rng=np.random.default_rng(1), noise_colour=b, **KW) for b in (0.0, 1.0, 1.0)]
    assert (plans[0].actions_HA != plans[1].actions_HA).any() and (plans[1].actions_HA == plans[2].actions_HA).all()
    np.testing.assert_allclose(plans[1].actions_HA, 0.2, atol=0.1)
