import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from veridream.stats.auroc import area, auroc, within_group_auroc


def test_perfect_reversed_and_blind_scores():
    label = np.array([0, 0, 1, 1])
    assert auroc(np.array([1.0, 2, 3, 4]), label) == 1.0
    assert auroc(np.array([4.0, 3, 2, 1]), label) == 0.0
    assert auroc(np.ones(4), label) == 0.5


def test_by_hand_with_a_tie():
    """Positives 2, 3 against negatives 1, 2: wins 1 + 0.5 + 1 + 1 of 4."""
    assert auroc(np.array([1.0, 2, 2, 3]), np.array([False, False, True, True])) == 3.5 / 4


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=30))
def test_agrees_with_mann_whitney(rows):
    score, label = np.array(rows, dtype=float).T
    positive, negative = score[label == 1], score[label == 0]
    if len(positive) == 0 or len(negative) == 0:
        assert np.isnan(auroc(score, label))
    else:
        assert auroc(score, label) == pytest.approx(mannwhitneyu(positive, negative).statistic / (len(positive) * len(negative)))


def test_within_group_auroc_is_not_fooled_by_group_identity():
    groups = np.repeat(["a", "b", "c"], 4)
    score = np.array([0.0, 1, 2, 3, 10, 11, 12, 13, 5, 6, 7, 8])
    label = np.array([1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0])  # c has one class only and does not enter
    assert within_group_auroc(score, label, groups) == pytest.approx((0.0 + 1.0) / 2)
    assert np.isnan(within_group_auroc(score, np.zeros(12), groups))


def test_padding_and_bad_labels():
    assert area(np.array([1.0, 2, np.nan]), np.array([0.0, 1, 1])) == 1.0
    with pytest.raises(ValueError, match="0 or 1"):
        auroc(np.arange(3.0), np.array([0, 1, 2]))
