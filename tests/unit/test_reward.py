"""Two-hot rewards."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from veridream.nn.reward import bins, expected_reward, reward_loss, symexp, symlog, two_hot


@given(st.floats(-1e4, 1e4, width=32))
def test_symexp_inverts_symlog(x):
    t = torch.tensor(x, dtype=torch.float64)
    assert torch.allclose(symexp(symlog(t)), t, rtol=1e-9, atol=1e-9)


def test_two_hot_literally():
    weights = two_hot(torch.tensor([0.0, math.expm1(2.5), -1e9]), 5)  # bins -10, -5, 0, 5, 10
    assert torch.allclose(weights, torch.tensor([[0, 0, 1, 0, 0], [0, 0, 0.5, 0.5, 0], [1.0, 0, 0, 0, 0]]), atol=1e-5)


@given(st.floats(-2e4, 2e4, width=32), st.sampled_from([5, 41, 255]))
def test_expected_reward_inverts_two_hot(reward, n):
    weights = two_hot(torch.tensor([reward], dtype=torch.float64), n)
    assert float(weights.sum()) == pytest.approx(1.0)
    back = expected_reward(weights.float().clamp(min=1e-30).log())
    assert float(symlog(back)) == pytest.approx(float(symlog(torch.tensor(reward))), abs=2e-3)


def test_loss_masks_invalid_rewards_even_when_they_are_nan():
    logits = torch.randn(2, 3, 11, requires_grad=True)
    reward = torch.tensor([[float("nan"), 0.5, 1.0], [0.0, -1.0, float("nan")]])
    valid = reward.isfinite()
    loss = reward_loss(logits, reward, valid)
    by_hand = -(two_hot(reward[valid], 11) * logits[valid].log_softmax(-1)).sum(-1).mean()
    assert torch.allclose(loss, by_hand)
    loss.backward()
    assert logits.grad.isfinite().all() and not logits.grad[~valid].any()
    assert reward_loss(logits, reward, torch.zeros_like(valid)).item() == 0.0


def test_zero_is_a_bin_of_an_odd_number():
    assert float(bins(41)[20]) == 0.0
