import pytest
from scipy.stats import binomtest

from veridream.stats.rates import wilson


@pytest.mark.parametrize(("k", "n"), [(308, 350), (0, 7), (7, 7), (350, 350), (1, 3)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_equals_scipy(k, n, confidence):
    low, high = binomtest(k, n).proportion_ci(confidence, "wilson")
    assert wilson(k, n, confidence) == pytest.approx((low, high), abs=1e-12)


def test_a_rate_of_one_keeps_a_width():
    low, high = wilson(350, 350)
    assert 0.98 < low < 1.0 and high == 1.0


@pytest.mark.parametrize(("k", "n", "confidence"), [(1, 0, 0.95), (2, 1, 0.95), (-1, 3, 0.95), (1, 2, 1.0)])
def test_what_is_no_rate_is_refused(k, n, confidence):
    with pytest.raises(ValueError):
        wilson(k, n, confidence)
