"""Agent tokens and the heads that read them: several rewards ahead, and the actions of the data (behaviour cloning).

Source: paper Sec. 5 and App. F. A head pools the agent tokens of a frame by one learned query, then a gated layer and a projection. The
reward head's gradient reaches the whole network; the behaviour head reads detached tokens, so imitation never bends the world model.
Entry l of a reward prediction at frame t is the reward of the transition into frame t + l; entry l of an action prediction is the action
that leads from frame t + l to frame t + l + 1.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from veridream.nn.blocks import RMSNorm, SwiGLU
from veridream.params.model import DynamicsArch
from veridream.spec import ACTION_DIM

QUERY_STD = 0.02  # initial std of the pooling query


class HeadsOut(NamedTuple):
    reward_logits_BTKR: Tensor  # two-hot classes of the rewards of the transitions into frames t .. t + K - 1
    action_BTLA: Tensor | None  # in [-1, 1]; of the L next transitions; None without a behaviour head


class Head(nn.Module):
    """Agent tokens [B,T,N,width] -> [B,T,numbers]; zero at initialisation."""

    def __init__(self, width: int, numbers: int):
        super().__init__()
        self.query = nn.Parameter(torch.randn(width) * QUERY_STD)
        self.norm, self.norm_mlp = RMSNorm(width), RMSNorm(width)
        self.mlp = SwiGLU(width)
        self.out = nn.Linear(width, numbers)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, agent_BTNW: Tensor) -> Tensor:
        x = self.norm(agent_BTNW)
        share = (x @ self.query / x.shape[-1] ** 0.5).softmax(dim=-1)
        pooled = (share[..., None] * x).sum(dim=-2)
        return self.out(pooled + self.mlp(self.norm_mlp(pooled)))


class Heads(nn.Module):
    """Everything that is read from the agent tokens."""

    def __init__(self, arch: DynamicsArch):
        super().__init__()
        self.arch = arch
        self.reward = Head(arch.width, arch.reward_horizon * arch.reward_bins)
        self.behaviour = Head(arch.width, arch.bc_horizon * ACTION_DIM) if arch.bc_horizon else None

    def forward(self, agent_BTNW: Tensor) -> HeadsOut:
        rewards = self.reward(agent_BTNW).unflatten(-1, (self.arch.reward_horizon, self.arch.reward_bins))
        if self.behaviour is None:
            return HeadsOut(rewards, None)
        return HeadsOut(rewards, self.behaviour(agent_BTNW.detach()).unflatten(-1, (self.arch.bc_horizon, ACTION_DIM)).tanh())


def ahead(values: Tensor, n: int, first: int = 0) -> tuple[Tensor, Tensor]:
    """(out [B,T,n,...], inside bool [T,n]) of values [B,T,...]: out[:, t, l] = values[:, t + first + l], zero where that lies beyond the window."""
    t = values.shape[1]
    at = torch.arange(t, device=values.device)[:, None] + first + torch.arange(n, device=values.device)
    inside = at < t
    out = values[:, at.clamp(max=t - 1)]
    return torch.where(inside.reshape(1, t, n, *[1] * (values.ndim - 2)), out, torch.zeros_like(out)), inside


def imitation_loss(action_BTLA: Tensor, prev_action_BTA: Tensor, mask_BA: Tensor) -> Tensor:
    """Mean squared error of predicted actions over a task's own dimensions and over the transitions inside the window; 0 when there are none.

    Padded dimensions may hold anything.
    """
    real = mask_BA[:, None, None, :].bool()
    target, inside = ahead(prev_action_BTA, action_BTLA.shape[2], first=1)
    counted = (inside[None, :, :, None] & real).expand_as(action_BTLA)
    error = torch.where(counted, action_BTLA - torch.where(counted, target, torch.zeros_like(target)).clamp(-1, 1), torch.zeros_like(action_BTLA))
    return error.square().sum() / counted.sum().clamp(min=1)
