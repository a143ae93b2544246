"""The shortcut flow-matching objective, as pure functions of a prediction function, latents, noise and indices.

Source: paper Sec. 3 (shortcut forcing with x-prediction). With level s = signal / k_max, z_s = (1 - s) noise + s z, weight w = 0.9 s + 0.1:
    empirical rows          step size 1/k_max           w mean (x1hat - z)^2
    self-consistency rows   step size d = 2^-step       w (1 - s)^2 mean ((x1hat - z_s) / (1 - s) - v)^2
where v averages the two half steps of the same network without gradient: b' = (x1hat(z_s, s, d/2) - z_s) / (1 - s), z' = z_s + b' d/2,
b'' = (x1hat(z', s + d/2, d/2) - z') / (1 - s - d/2), v = (b' + b'') / 2. Rows are weighted by their number.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class HasX1(Protocol):
    @property
    def x1_BTLD(self) -> Tensor: ...


# (z_noisy_BTLD, signal_BT, step_BT, rows) -> prediction for these rows of the batch
Predict = Callable[[Tensor, Tensor, Tensor, slice], HasX1]


class FlowLoss(NamedTuple):
    total: Tensor  # (n_empirical * empirical + n_self * self_consistency) / B
    empirical: Tensor
    self_consistency: Tensor  # 0 when there are no such rows
    out: HasX1  # the prediction for all rows, for heads that share the pass


def level(signal_BT: Tensor, k_max: int, dtype: torch.dtype) -> Tensor:
    """signal / k_max as [B,T,1,1]."""
    return (signal_BT.to(dtype) / k_max)[..., None, None]


def corrupt(z_BTLD: Tensor, noise_BTLD: Tensor, signal_BT: Tensor, k_max: int) -> Tensor:
    """(1 - s) noise + s z."""
    s = level(signal_BT, k_max, z_BTLD.dtype)
    return (1 - s) * noise_BTLD + s * z_BTLD


def weight(signal_BT: Tensor, k_max: int, dtype: torch.dtype) -> Tensor:
    """0.9 s + 0.1, [B,T]."""
    return 0.9 * signal_BT.to(dtype) / k_max + 0.1


def draw_indices(rows: int, frames: int, n_self: int, k_max: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """(signal, step) int64 [rows,frames], independent for every frame. The last n_self rows are self-consistency rows:

    step uniform on 0..log2(k_max)-1 and the level uniform on that step's own grid {0, d, ..., 1-d}. The others take the finest step
    and a level uniform on {0, ..., k_max-1} / k_max.
    """
    finest = int(math.log2(k_max))
    signal = torch.randint(0, k_max, (rows, frames), generator=generator)
    step = torch.full((rows, frames), finest)
    coarse = torch.randint(0, max(finest, 1), (rows, frames), generator=generator)
    grid = torch.bitwise_left_shift(torch.ones_like(coarse), coarse)  # 1/d levels
    on_grid = (torch.rand((rows, frames), generator=generator, dtype=torch.float64) * grid).long() * (k_max // grid)
    own = torch.arange(rows)[:, None] >= rows - n_self
    return torch.where(own, on_grid, signal), torch.where(own, coarse, step)


@torch.no_grad()
def self_consistency_target(predict: Predict, z_s: Tensor, signal_BT: Tensor, step_BT: Tensor, k_max: int, rows: slice) -> Tensor:
    """v [B,T,L,D]: the mean velocity of two half steps d/2 from z_s. step_BT is the index of d; d/2 must be on the grid (step < log2 k_max)."""
    s = level(signal_BT, k_max, z_s.dtype)
    half = 0.5 * torch.exp2(-step_BT.to(z_s.dtype))[..., None, None]
    first = (predict(z_s, signal_BT, step_BT + 1, rows).x1_BTLD - z_s) / (1 - s)
    z_mid = z_s + first * half
    signal_mid = signal_BT + torch.bitwise_right_shift(torch.full_like(step_BT, k_max), step_BT + 1)
    second = (predict(z_mid, signal_mid, step_BT + 1, rows).x1_BTLD - z_mid) / (1 - s - half)
    return 0.5 * (first + second)


def shortcut_loss(predict: Predict, z_BTLD: Tensor, noise_BTLD: Tensor, signal_BT: Tensor, step_BT: Tensor, n_self: int, k_max: int) -> FlowLoss:
    """The objective over a batch whose last n_self rows (0 <= n_self < B) are self-consistency rows (see draw_indices)."""
    b = len(z_BTLD)
    if not 0 <= n_self < b:
        raise ValueError(f"{n_self} self-consistency rows in a batch of {b}; leave at least one empirical row")
    n = b - n_self
    z_s = corrupt(z_BTLD, noise_BTLD, signal_BT, k_max)
    w = weight(signal_BT, k_max, z_BTLD.dtype)
    own = slice(n, b)
    v = self_consistency_target(predict, z_s[own], signal_BT[own], step_BT[own], k_max, own) if n_self else None
    out = predict(z_s, signal_BT, step_BT, slice(0, b))
    empirical = (w[:n] * (out.x1_BTLD[:n] - z_BTLD[:n]).square().mean((2, 3))).mean()
    if v is None:
        return FlowLoss(empirical, empirical, torch.zeros_like(empirical), out)
    # (1 - s)^2 ((x1hat - z_s) / (1 - s) - v)^2 = (x1hat - z_s - (1 - s) v)^2, without the division
    distance = out.x1_BTLD[own] - z_s[own] - (1 - level(signal_BT[own], k_max, z_s.dtype)) * v
    consistent = (w[own] * distance.square().mean((2, 3))).mean()
    return FlowLoss((n * empirical + n_self * consistent) / b, empirical, consistent, out)
