"""A small dynamics and a batch for it, a small tokenizer."""

from typing import Any

import torch

from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer

ARCH = {"width": 16, "heads": 2, "depth": 4, "time_every": 2, "pack": 2, "registers": 2, "k_max": 8, "reward_bins": 11}
AGENTS = {"agents": 2, "task_features": 6, "reward_horizon": 3, "bc_horizon": 2}
TOKENIZER: dict[str, Any] = {"patch": 4, "width": 16, "heads": 2, "encoder_depth": 2, "decoder_depth": 2, "latents": 4, "latent_dim": 3, "init_std": 0.2}


def make_dynamics(seed: int = 0, **changed: int) -> Dynamics:
    """Works on 4 latents of 3 numbers; its zero-initialised heads are filled, so that its outputs say something."""
    torch.manual_seed(seed)
    d = Dynamics({**ARCH, **changed}, latents=4, latent_dim=3)
    zero = ("x1_out.weight", "reward_out.weight", "action_out.weight", "heads.reward.out.weight", "heads.behaviour.out.weight")
    for name, p in d.named_parameters():
        if name in zero:
            torch.nn.init.normal_(p, std=0.3)
    return d


def make_tokenizer(size: int = 8, **changed: Any) -> Tokenizer:
    torch.manual_seed(0)
    return Tokenizer({**TOKENIZER, "time_every": 1, "norm_before_tanh": True, **changed}, size)


def make_batch(b: int = 2, t: int = 5, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """(z, signal, step, action, mask) with three real action dimensions."""
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(b, t, 4, 3, generator=g)
    signal, step = torch.randint(0, 8, (b, t), generator=g), torch.randint(0, 4, (b, t), generator=g)
    action = torch.rand(b, t, 16, generator=g) * 2 - 1
    return z, signal, step, action, (torch.arange(16) < 3).float().expand(b, 16)


def make_task(b: int = 2, seed: int = 0) -> torch.Tensor:
    """Features of b tasks, as many as AGENTS asks for."""
    return torch.randn(b, AGENTS["task_features"], generator=torch.Generator().manual_seed(seed))
