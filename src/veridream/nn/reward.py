"""Rewards as classes: two-hot targets on evenly spaced bins of symlog(reward) in [-10, 10] (paper App. F)."""

import torch
import torch.nn.functional as F
from torch import Tensor

LIMIT = 10.0


def symlog(x: Tensor) -> Tensor:
    """sign(x) log(1 + |x|)."""
    return torch.sign(x) * torch.log1p(x.abs())


def symexp(x: Tensor) -> Tensor:
    """Inverse of symlog."""
    return torch.sign(x) * torch.expm1(x.abs())


def bins(n: int, device: torch.device | None = None) -> Tensor:
    """The n bin centres, float32 [n], in symlog units."""
    return torch.linspace(-LIMIT, LIMIT, n, device=device)


def two_hot(reward: Tensor, n: int) -> Tensor:
    """reward [...] -> weights [...,n] on the two bins around symlog(reward), summing to 1; beyond the outermost bin all weight is on it."""
    at = (symlog(reward).clamp(-LIMIT, LIMIT) + LIMIT) * ((n - 1) / (2 * LIMIT))
    low = at.floor().clamp(max=n - 2)
    high_weight = (at - low).to(reward.dtype)
    one_low, one_high = (F.one_hot(i.long(), n).to(reward.dtype) for i in (low, low + 1))
    return one_low * (1 - high_weight)[..., None] + one_high * high_weight[..., None]


def expected_reward(logits_R: Tensor) -> Tensor:
    """logits [...,R] -> reward [...]: symexp of the expected bin, so two_hot and expected_reward are inverse."""
    return symexp((logits_R.softmax(-1) * bins(logits_R.shape[-1], logits_R.device)).sum(-1))


def reward_loss(logits_R: Tensor, reward: Tensor, valid: Tensor) -> Tensor:
    """Mean cross entropy over entries where `valid` (bool, reward's shape); 0 when there are none. Invalid rewards may be NaN."""
    target = two_hot(torch.where(valid, reward, torch.zeros_like(reward)), logits_R.shape[-1])
    each = -(target * logits_R.log_softmax(-1)).sum(-1)
    return torch.where(valid, each, torch.zeros_like(each)).sum() / valid.sum().clamp(min=1)
