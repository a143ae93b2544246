"""The transformer block both networks are built of: space attention, optional causal time attention, SwiGLU; pre-norm, residual.

Source: paper Sec. 3 and App. F.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from veridream.nn.attention import Attention, attend, causal_mask
from veridream.nn.dropout import Dropout, drop

EPS = 1e-6


class RMSNorm(nn.Module):
    """x / RMS(x) * scale over the last axis."""

    def __init__(self, width: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * self.scale


class SwiGLU(nn.Module):
    """Gated feed-forward layer of hidden width int(8/3 * width)."""

    def __init__(self, width: int):
        super().__init__()
        self.hidden = int(width * 8 / 3)
        self.gate_up = nn.Linear(width, 2 * self.hidden)
        self.down = nn.Linear(self.hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


class PastKeys:
    """Time-attention keys and values of committed frames, one entry a time layer: [B, slots, heads, frames, head_dim].

    `task_BF`: features of each row's task, for networks with agent tokens; None leaves those tokens out.
    """

    def __init__(self, task_BF: Tensor | None = None) -> None:
        self.task_BF = task_BF
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}
        self.frames = 0

    def repeat(self, n: int) -> "PastKeys":
        """A cache whose batch holds every row n times, in a row: rows of seed or candidate samples that share one prefill."""
        out = PastKeys(None if self.task_BF is None else self.task_BF.repeat_interleave(n, dim=0))
        out.keys = {i: k.repeat_interleave(n, dim=0) for i, k in self.keys.items()}
        out.values = {i: v.repeat_interleave(n, dim=0) for i, v in self.values.items()}
        out.frames = self.frames
        return out

    def extend(self, layer: int, k: Tensor, v: Tensor, commit: bool) -> tuple[Tensor, Tensor]:
        """(past + new keys, past + new values); stores them with commit."""
        if layer in self.keys:
            k, v = torch.cat([self.keys[layer], k], dim=-2), torch.cat([self.values[layer], v], dim=-2)
        if commit:
            self.keys[layer], self.values[layer] = k, v
        return k, v


class Block(nn.Module):
    """x += space(norm x); x[slots] += time(norm x[slots]) if the block has time attention; x += SwiGLU(norm x).

    `window`: frames that time attention looks at, its own included; 0: all.
    """

    def __init__(self, width: int, heads: int, time: bool, window: int = 0):
        super().__init__()
        self.window = window
        self.norm_space, self.space = RMSNorm(width), Attention(width, heads)
        self.time = Attention(width, heads) if time else None
        self.norm_time = RMSNorm(width) if time else None
        self.norm_mlp, self.mlp = RMSNorm(width), SwiGLU(width)

    def forward(
        self,
        x_BTNW: Tensor,
        space_mask: Tensor | None,
        time_slots: slice = slice(None),
        keep: slice = slice(None),
        dropout: Dropout | None = None,
    ) -> Tensor:
        """x_BTNW -> same shape, or only the tokens `keep` (a last block need not finish tokens nobody reads).

        `time_slots`: which of the kept tokens take part in time attention; the others pass it untouched.
        `dropout`: of what space attention, time attention and the gated layer add, each with masks of its own.
        """
        of_space, of_time, of_mlp = (None, None, None) if dropout is None else (dropout.at(i) for i in range(3))
        x_BTNW = self._space(x_BTNW, space_mask, of_space)[:, :, keep]
        if self.time is not None:
            x_BTNW = self._time(x_BTNW, time_slots, 0, causal_mask(x_BTNW.shape[1], 0, x_BTNW.device, self.window), None, 0, False, of_time)
        return x_BTNW + drop(self.mlp(self.norm_mlp(x_BTNW)), of_mlp)

    def with_past(
        self,
        x_BTNW: Tensor,
        first: int,
        mask: Tensor | None,
        past: PastKeys,
        layer: int,
        commit: bool,
        keep: slice = slice(None),
        space_mask: Tensor | None = None,
    ) -> Tensor:
        """As forward with all tokens in space and time, the frames at times first.. also looking at `past`. mask bool [T, past + T] or None."""
        x_BTNW = self._space(x_BTNW, space_mask)[:, :, keep]
        if self.time is not None:
            x_BTNW = self._time(x_BTNW, slice(None), first, mask, past, layer, commit)
        return x_BTNW + self.mlp(self.norm_mlp(x_BTNW))

    def _space(self, x: Tensor, mask: Tensor | None, dropout: Dropout | None = None) -> Tensor:
        return x + drop(self.space(self.norm_space(x), mask), dropout)

    def _time(
        self,
        x: Tensor,
        slots: slice,
        first: int,
        mask: Tensor | None,
        past: PastKeys | None,
        layer: int,
        commit: bool,
        dropout: Dropout | None = None,
    ) -> Tensor:
        assert self.time is not None and self.norm_time is not None
        part = x[:, :, slots]
        q, k, v = self.time.project(self.norm_time(part).transpose(1, 2), first)  # [B,slots,heads,T,head_dim]
        if past is not None:
            k, v = past.extend(layer, k, v, commit)
        part = part + drop(self.time.merge(attend(q, k, v, mask)).transpose(1, 2), dropout)
        if part.shape[2] == x.shape[2]:
            return part
        return torch.cat([x[:, :, : slots.start or 0], part, x[:, :, slots.stop :]], dim=2)


def run_block(
    block: nn.Module,
    x_BTNW: Tensor,
    space_mask: Tensor | None,
    recompute: bool,
    time_slots: slice = slice(None),
    keep: slice = slice(None),
    dropout: Dropout | None = None,
) -> Tensor:
    """block(...); with `recompute` its activations are not kept for the backward pass but computed again there. The numbers are the same."""
    if recompute and torch.is_grad_enabled():
        return checkpoint(block, x_BTNW, space_mask, time_slots, keep, dropout, use_reentrant=False, preserve_rng_state=False)
    return block(x_BTNW, space_mask, time_slots, keep, dropout)
