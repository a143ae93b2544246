"""Multi-head attention over short token sequences: rotary positions, normalised queries and keys, masks by named token groups.

Source: paper App. F (RoPE, QK-norm, block-causal attention). The rotation is a true rotation: the two channels of a pair turn by
the same angle, so a score depends on the difference of two positions only.
"""

import functools
import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROPE_BASE = 10_000.0
MAX_TEMPERATURE = 100.0
NORM_EPS = 1e-12
SHORT = 16  # key counts up to which the plain softmax product beats the fused kernel on a CPU


class Layout:
    """Named, ordered groups of tokens of one frame: Layout(latent=8, patch=16)["patch"] is the slice 8..24."""

    def __init__(self, **counts: int):
        self.counts = counts
        self.size = sum(counts.values())
        self._slices: dict[str, slice] = {}
        at = 0
        for name, n in counts.items():
            self._slices[name] = slice(at, at + n)
            at += n

    def __getitem__(self, name: str) -> slice:
        return self._slices[name]

    def mask(self, sees: Mapping[str, Sequence[str]]) -> Tensor:
        """Bool [N,N], true where the row's token may look at the column's token. `sees` names, for every group, the groups it looks at."""
        if set(sees) != set(self.counts):
            raise ValueError(f"a mask needs a rule for each of {sorted(self.counts)}, got {sorted(sees)}")
        out = torch.zeros(self.size, self.size, dtype=torch.bool)
        for row, columns in sees.items():
            for column in columns:
                out[self[row], self[column]] = True
        return out


@functools.cache
def _turns(first: int, last: int, half: int, dtype: torch.dtype) -> Tensor:
    """Unit complex numbers [last-first,half]: the turn of channel pair i at each position. Computed in float64."""
    frequency = ROPE_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(first, last, dtype=torch.float64)[:, None] * frequency
    return torch.polar(torch.ones_like(angle), angle).to(dtype)


@functools.cache
def _cos_sin(first: int, last: int, half: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosine and sine [last-first,half] of the same turns, on a device."""
    frequency = ROPE_BASE ** (-torch.arange(half, dtype=torch.float64, device=device) / half)
    angle = torch.arange(first, last, dtype=torch.float64, device=device)[:, None] * frequency
    return angle.cos().to(dtype), angle.sin().to(dtype)


def rotate(x: Tensor, first: int = 0) -> Tensor:
    """Rotary position embedding: x [...,N,head_dim] at positions first, first+1, ...; channels 2i and 2i+1 turn together, as one complex number.

    Complex numbers are the faster way on a CPU; compilers and GPUs get the same turn written out in real numbers.
    """
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        tables = _cos_sin.__wrapped__ if torch.compiler.is_compiling() else _cos_sin  # a compiler keeps no cache of its own making
        cos, sin = tables(first, first + x.shape[-2], x.shape[-1] // 2, x.dtype, x.device)
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    turns = _turns(first, first + x.shape[-2], x.shape[-1] // 2, pairs.dtype)
    return torch.view_as_real(pairs * turns).flatten(-2)


def causal_mask(queries: int, past: int = 0, device: torch.device | None = None, window: int = 0) -> Tensor:
    """Bool [queries, past + queries]: query i sees all `past` keys and the new keys 0..i; with a window only the last so many of them, its own included."""
    mask = torch.ones(queries, past + queries, dtype=torch.bool, device=device).tril(past)
    return mask.triu(past - window + 1) if window else mask


def alternatives_mask(frames: int, device: torch.device | None = None, window: int = 0) -> Tensor:
    """Bool [frames, 2*frames]: query t sees the past keys 0..t-1 of the first half and itself in the second half.

    Every query is an alternative to the committed frame of its own time: one pass gives a teacher-forced prediction at each time.
    """
    past = torch.ones(frames, frames, dtype=torch.bool, device=device).tril(-1)
    past = past.triu(1 - window) if window else past
    return torch.cat([past, torch.eye(frames, dtype=torch.bool, device=device)], dim=1)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q k^T) v. q [...,Q,d], k and v [...,M,d], mask bool [Q,M] (true = may look) or None. A masked value never enters the result."""
    if k.shape[-2] > SHORT:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)
    logits = q @ k.transpose(-1, -2)
    if mask is not None:
        logits = logits.masked_fill(~mask, float("-inf"))
    return logits.softmax(dim=-1) @ v


class Attention(nn.Module):
    """Self-attention over the second last axis. Logits are temperature * cosine(q, k), the temperature learned per head (QK-norm)."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        if width % heads or (width // heads) % 2:
            raise ValueError(f"width {width} over {heads} heads must give an even head dimension")
        self.heads = heads
        self.head_dim = width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.log_temperature = nn.Parameter(torch.full((heads, 1, 1), math.log(math.sqrt(self.head_dim))))

    def project(self, x: Tensor, first: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """x [...,N,width] at positions first.. -> q, k, v [...,heads,N,head_dim]; q and k unit vectors, turned; q carries the temperature."""
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, self.head_dim)).movedim(-4, -2)  # [...,3,heads,N,head_dim]
        qk, v = qkv[..., :2, :, :, :], qkv[..., 2, :, :, :]
        qk = qk.float() if qk.element_size() < 4 else qk  # under autocast: angles and norms need the digits
        qk = rotate(qk * torch.rsqrt(qk.square().sum(-1, keepdim=True) + NORM_EPS), first)
        return qk[..., 0, :, :, :] * self.log_temperature.exp().clamp(max=MAX_TEMPERATURE), qk[..., 1, :, :, :], v

    def merge(self, heads: Tensor) -> Tensor:
        """[...,heads,N,head_dim] -> [...,N,width] through the output projection."""
        return self.out(heads.transpose(-2, -3).flatten(-2))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """x [...,N,width], mask bool [N,N] or None -> [...,N,width]."""
        q, k, v = self.project(x)
        return self.merge(attend(q, k, v, mask))
