"""Dropout whose masks are a hash of (row's key, position, call): no state, so resume is exact and a row's mask is the same in any part of a batch.

torch's own dropout takes its numbers from a global generator, one after another: a kill, another number of processes or activations computed
again would change them. Integer arithmetic on 64 bits does not know order; it compiles, and runs on any device.
"""

from typing import NamedTuple

import torch
from torch import Tensor

MIX = (-4658895280553007687, -7723592293110705685)  # multipliers of the splitmix64 finaliser, as signed numbers
GOLDEN = -7046029254386353131
BITS = 31  # of the hash that are compared with p


class Dropout(NamedTuple):
    """What a pass in training needs: the share that is dropped, in [0, 1), and a key a row, int64 [B]."""

    p: float
    key_B: Tensor

    def at(self, call: int) -> "Dropout":
        """The dropout of another place in the network: other masks of the same rows."""
        return Dropout(self.p, _mixed(self.key_B + (call + 1) * 0x9E3779B97F4A7))


def _mixed(x: Tensor) -> Tensor:
    for shift, factor in zip((30, 27), MIX, strict=True):
        x = (x ^ (x >> shift)) * factor
    return x ^ (x >> 31)


def drop(x_B: Tensor, dropout: Dropout | None) -> Tensor:
    """x [B,...] with a share p of its numbers set to zero and the others divided by 1 - p; x itself without dropout."""
    if dropout is None:
        return x_B
    position = torch.arange(x_B[0].numel(), device=x_B.device) * GOLDEN
    hashed = _mixed(dropout.key_B[:, None] + position).reshape(x_B.shape)
    kept = (hashed & (2**BITS - 1)) >= round(dropout.p * 2**BITS)
    return torch.where(kept, x_B / (1 - dropout.p), torch.zeros_like(x_B))
