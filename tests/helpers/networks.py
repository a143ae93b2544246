"""A small dynamics and a batch for it."""

import torch

from veridream.nn.dynamics import Dynamics

ARCH = {"width": 16, "heads": 2, "depth": 4, "time_every": 2, "pack": 2, "registers": 2, "k_max": 8, "reward_bins": 11}


def make_dynamics(seed: int = 0, **changed: int) -> Dynamics:
    """Works on 4 latents of 3 numbers; its zero-initialised heads are filled, so that its outputs say something."""
    torch.manual_seed(seed)
    d = Dynamics({**ARCH, **changed}, latents=4, latent_dim=3)
    for p in (d.x1_out.weight, d.reward_out.weight, d.action_out.weight):
        torch.nn.init.normal_(p, std=0.3)
    return d


def make_batch(b: int = 2, t: int = 5, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """(z, signal, step, action, mask) with three real action dimensions."""
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(b, t, 4, 3, generator=g)
    signal, step = torch.randint(0, 8, (b, t), generator=g), torch.randint(0, 4, (b, t), generator=g)
    action = torch.rand(b, t, 16, generator=g) * 2 - 1
    return z, signal, step, action, (torch.arange(16) < 3).float().expand(b, 16)
