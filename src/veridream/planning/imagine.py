"""Imagined rollouts of candidate action sequences from a context of real frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from veridream import spec
from veridream.nn.device import device_of
from veridream.nn.dynamics import Dynamics
from veridream.nn.sampler import Rollout, rollout
from veridream.nn.tokenizer import Tokenizer


@dataclass(frozen=True)
class Context:
    """The last C real frames as the dynamics sees them."""

    z_CLD: Tensor
    prev_action_CA: Tensor  # row t led to frame t; zeros at an episode's first frame
    action_dim: int

    @property
    def mask_A(self) -> Tensor:
        """float32 [16], 1 on the task's own dimensions."""
        return (torch.arange(spec.ACTION_DIM) < self.action_dim).float()


@torch.no_grad()
def encode_context(tokenizer: Tokenizer, frames: Sequence[np.ndarray], prev_actions: Sequence[np.ndarray | None], action_dim: int, most: int) -> Context:
    """The context of the last `most` frames (uint8 [H,W,3]) and the actions [action_dim] that led to them (None: nothing did).

    Raises ValueError on no frames, or lists of unequal length.
    """
    if not frames or len(frames) != len(prev_actions):
        raise ValueError(f"a context needs at least one frame and an action entry for each; got {len(frames)} frames and {len(prev_actions)} actions")
    device = device_of(tokenizer)
    unit = torch.from_numpy(np.stack(frames[-most:])).to(device).float() / 255.0
    action = torch.zeros(len(unit), spec.ACTION_DIM)
    for i, a in enumerate(prev_actions[-most:]):
        if a is not None:
            action[i, :action_dim] = torch.from_numpy(np.asarray(a, dtype=np.float32))
    return Context(tokenizer.encode(unit[None])[0], action.to(device), action_dim)


def imagine(
    dynamics: Dynamics,
    context: Context,
    actions_NHA: np.ndarray,
    *,
    substeps: int,
    tau_ctx: float,
    seeds: int,
    carry: Literal["first", "mean"],
    generator: torch.Generator,
    task_F: Tensor | None = None,
) -> Rollout:
    """Rollouts of N candidate sequences, float32 [N, H, action_dim], from one context and one prefill of it; the N axis is the rollout's batch axis.

    task_F: features of the task's instruction, for the rewards of a dynamics with agent tokens.
    """
    n, horizon, dim = actions_NHA.shape
    if dim != context.action_dim:
        raise ValueError(f"candidates have {dim} action dimensions, the context's task has {context.action_dim}")
    ahead = torch.zeros(n, horizon, spec.ACTION_DIM)
    ahead[..., :dim] = torch.from_numpy(np.ascontiguousarray(actions_NHA, dtype=np.float32))
    past, device = context.prev_action_CA.expand(n, -1, -1), context.z_CLD.device
    action, mask = torch.cat([past, ahead.to(device)], dim=1), context.mask_A.to(device).expand(n, -1)
    task_BF = None if task_F is None else task_F.to(device)[None]
    return rollout(dynamics, context.z_CLD[None], action, mask, horizon, substeps, tau_ctx, seeds, carry, generator, task_BF)
