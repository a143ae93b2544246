"""Which device a network stands on, and noise that is the same on every device."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def device_of(module: nn.Module) -> torch.device:
    """The device of its parameters."""
    return next(module.parameters()).device


def normal(shape: Sequence[int], generator: torch.Generator, like: Tensor) -> Tensor:
    """Standard normal numbers from the generator, drawn where the generator lives, in the dtype and on the device of `like`."""
    return torch.randn(tuple(shape), generator=generator, dtype=like.dtype, device=generator.device).to(like.device)
