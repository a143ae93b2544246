"""mean_ranks against literal ranks and against scipy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from veridream.stats.ranking import mean_ranks


def test_literal():
    assert mean_ranks(np.array([30.0, 10.0, 20.0, 10.0, np.inf, np.inf])).tolist() == [4.0, 1.5, 3.0, 1.5, 5.5, 5.5]


@given(st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), min_size=1, max_size=4))
def test_equals_scipy(rows):
    x = np.array(rows, dtype=np.float64)
    assert (mean_ranks(x) == rankdata(x, axis=-1)).all()
