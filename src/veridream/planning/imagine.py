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
from veridream.nn.sampler import Rollout, predicted_actions, rollout
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


@torch.no_grad()
def behaviour(
    dynamics: Dynamics, context: Context, horizon: int, *, most: int, substeps: int, tau_ctx: float, generator: torch.Generator, task_F: Tensor
) -> np.ndarray:
    """Actions [horizon, action_dim] float32 that the behaviour-cloning head gives: as many as it predicts at once, dreamed, then as many again.

    most: frames the head looks back on. Raises ValueError for a dynamics without that head.
    """
    if dynamics.arch.bc_horizon == 0:
        raise ValueError("the dynamics has no behaviour-cloning head to start a plan from; set dynamics.arch.bc_horizon, or cem.warm_start to last_plan")
    plan: list[np.ndarray] = []
    while sum(map(len, plan)) < horizon:
        context = Context(context.z_CLD[-most:], context.prev_action_CA[-most:], context.action_dim)
        action_LA = predicted_actions(dynamics, context.z_CLD[None], context.prev_action_CA[None], context.mask_A[None], tau_ctx, generator, task_F[None])[0]
        chunk = action_LA[:, : context.action_dim].float().cpu().numpy()[: horizon - sum(map(len, plan))]
        plan.append(chunk)
        dreamed = imagine(dynamics, context, chunk[None], substeps=substeps, tau_ctx=tau_ctx, seeds=1, carry="first", generator=generator).z_BHLD[0]
        led_to = torch.nn.functional.pad(torch.from_numpy(chunk), (0, spec.ACTION_DIM - context.action_dim)).to(dreamed.device)
        context = Context(torch.cat([context.z_CLD, dreamed]), torch.cat([context.prev_action_CA, led_to]), context.action_dim)
    return np.concatenate(plan)
