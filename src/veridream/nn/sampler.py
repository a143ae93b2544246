"""Sampling the next frames: K Euler substeps of the shortcut flow, context corruption, one shared prefill, cached time attention.

Source: paper Sec. 2 and App. F. Start z ~ N(0, I) at level 0; at level i/K: z += (x1hat - z) / (1 - i/K) / K. Context frames are
(1 - tau_ctx) z + tau_ctx noise, the noise drawn once a frame, so keys and values of past frames never change and are cached.
"""

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from veridream.nn.blocks import PastKeys
from veridream.nn.device import normal
from veridream.nn.dynamics import Dynamics, DynamicsOut
from veridream.nn.reward import expected_reward


class Rollout(NamedTuple):
    z_BHLD: Tensor  # the carried latents: the frames the rollout continued from
    samples_BHSLD: Tensor  # every seed's sample of each frame, given the carried past
    flow_delta_BHK: Tensor  # RMS change of x1hat from substep to substep, mean over seeds; K - 1 entries
    reward_BH: Tensor  # predicted reward of the transition into each carried frame; NaN where it needs a task that was not given


def context_signal(tau_ctx: float, k_max: int) -> int:
    """Signal index of a context frame corrupted by tau_ctx: the nearest level, at most the highest one training visits (k_max - 1)."""
    if not 0.0 <= tau_ctx <= 1.0:
        raise ValueError(f"tau_ctx is {tau_ctx}, it must lie in [0, 1]")
    return min(round((1 - tau_ctx) * k_max), k_max - 1)


def _check_substeps(substeps: int, k_max: int) -> None:
    if substeps < 1 or substeps & (substeps - 1) or substeps > k_max:
        raise ValueError(f"substeps is {substeps}; it must be a power of two and at most k_max ({k_max})")


def _full(like_BT: tuple[int, int], value: int, device: torch.device) -> Tensor:
    return torch.full(like_BT, value, dtype=torch.int64, device=device)


class _Context:
    """Corrupts and commits context frames."""

    def __init__(self, dynamics: Dynamics, tau_ctx: float, generator: torch.Generator):
        self.dynamics, self.tau, self.generator = dynamics, tau_ctx, generator
        self.signal = context_signal(tau_ctx, dynamics.k_max)

    def commit(self, z_BTLD: Tensor, prev_action_BTA: Tensor, mask_BA: Tensor, cache: PastKeys) -> Tensor:
        """Appends the frames to the cache; predicted reward [B,T] of the transitions into them."""
        return expected_reward(self.read(z_BTLD, prev_action_BTA, mask_BA, cache).reward_logits_BTR)

    def read(self, z_BTLD: Tensor, prev_action_BTA: Tensor, mask_BA: Tensor, cache: PastKeys) -> DynamicsOut:
        """Appends the frames to the cache; all that the network says of them."""
        noise = normal(z_BTLD.shape, self.generator, z_BTLD)
        z = (1 - self.tau) * z_BTLD + self.tau * noise
        bt = (z.shape[0], z.shape[1])
        signal, step = _full(bt, self.signal, z.device), _full(bt, self.dynamics.finest, z.device)
        return self.dynamics.extend(z, signal, step, prev_action_BTA, mask_BA, cache, commit=True)


@torch.no_grad()
def rollout(
    dynamics: Dynamics,
    z_context_BCLD: Tensor,
    prev_action_BTA: Tensor,
    action_mask_BA: Tensor,
    horizon: int,
    substeps: int,
    tau_ctx: float,
    seeds: int,
    carry: Literal["first", "mean"],
    generator: torch.Generator,
    task_BF: Tensor | None = None,
) -> Rollout:
    """Open-loop rollout of `horizon` frames after C context frames under given actions.

    prev_action_BTA holds C + horizon rows: row t is the action that led to frame t. At each frame `seeds` samples are drawn from the
    same carried past; the past then grows by the first sample or by their mean. All noise comes from `generator`.
    A single context (one row of z_context) may serve many rows of actions: candidate plans, one prefill, one context noise.
    task_BF: features of each row's instruction, as many rows as contexts; only a dynamics with agent tokens takes them, for its rewards.
    """
    b, c = prev_action_BTA.shape[0], z_context_BCLD.shape[1]
    _check_substeps(substeps, dynamics.k_max)
    if prev_action_BTA.shape[1] != c + horizon:
        raise ValueError(f"prev_action has {prev_action_BTA.shape[1]} rows for {c} context frames and a horizon of {horizon}; it needs their sum")
    if carry not in ("first", "mean") or seeds < 1:
        raise ValueError(f"carry must be 'first' or 'mean' and seeds at least 1, got {carry!r} and {seeds}")
    context = _Context(dynamics, tau_ctx, generator)
    shared = len(z_context_BCLD)  # 1: all rows continue one context, which is run once
    if shared not in (1, b) or not torch.equal(prev_action_BTA[:, :c], prev_action_BTA[:shared, :c].expand(b, -1, -1)):
        raise ValueError(f"{shared} contexts for {b} rows of actions; give one each, or one whose context actions all rows share")
    cache = dynamics.new_cache(shared) if task_BF is None else dynamics.new_cache(shared, task_BF)
    context.commit(z_context_BCLD, prev_action_BTA[:shared, :c], action_mask_BA[:shared], cache)
    cache = cache.repeat(b) if shared < b else cache
    mask_SA = action_mask_BA.repeat_interleave(seeds, dim=0)
    carried, samples, deltas, rewards = [], [], [], []
    for t in range(c, c + horizon):
        action = prev_action_BTA[:, t : t + 1]
        noise = normal((b * seeds, 1, *z_context_BCLD.shape[2:]), generator, z_context_BCLD)
        past = cache if task_BF is None else dynamics.without_agents(cache)
        z, delta = _sample_frame(dynamics, noise, action.repeat_interleave(seeds, dim=0), mask_SA, substeps, past.repeat(seeds))
        z = z.unflatten(0, (b, seeds))  # [B,S,1,L,D]
        nxt = z[:, 0] if carry == "first" else z.mean(dim=1)
        rewards.append(context.commit(nxt, action, action_mask_BA, cache))
        carried.append(nxt)
        samples.append(z.transpose(1, 2))
        deltas.append(delta.unflatten(0, (b, seeds)).mean(dim=1)[:, None])
    return Rollout(torch.cat(carried, 1), torch.cat(samples, 1), torch.cat(deltas, 1), torch.cat(rewards, 1))


def _sample_frame(dynamics: Dynamics, z: Tensor, action: Tensor, mask: Tensor, substeps: int, cache: PastKeys) -> tuple[Tensor, Tensor]:
    """(sample [R,1,L,D], RMS changes of x1hat [R,K-1]) for R rows that start from noise z [R,1,L,D]."""
    deltas: list[Tensor] = []
    before: Tensor | None = None
    for i in range(substeps):
        signal = _full((z.shape[0], 1), i * dynamics.k_max // substeps, z.device)
        step = _full((z.shape[0], 1), int(math.log2(substeps)), z.device)
        x1 = dynamics.step_frame(z, signal, step, action, mask, cache, commit=False).x1_BTLD
        if before is not None:
            deltas.append((x1 - before).square().mean(dim=(1, 2, 3)).sqrt())
        z, before = euler(z, x1, i, substeps), x1
    return z, torch.stack(deltas, dim=1) if deltas else z.new_zeros(z.shape[0], 0)


def euler(z: Tensor, x1: Tensor, i: int, substeps: int) -> Tensor:
    """Substep i of K: z + (x1 - z) / (1 - i/K) / K = z + (x1 - z) / (K - i); the last one lands on x1."""
    return z + (x1 - z) / (substeps - i)


@torch.no_grad()
def predict_next(
    dynamics: Dynamics, z_BTLD: Tensor, prev_action_BTA: Tensor, action_mask_BA: Tensor, substeps: int, tau_ctx: float, generator: torch.Generator
) -> Tensor:
    """Teacher-forced one-step predictions z_hat_BTLD: frame t >= 1 sampled given the true frames 0..t-1. Row 0 is z itself.

    Two calls with generators in the same state share all noise, so they differ by their actions only. All times run in one pass.
    """
    _check_substeps(substeps, dynamics.k_max)
    bt = (z_BTLD.shape[0], z_BTLD.shape[1])
    cache = dynamics.new_cache(bt[0])
    _Context(dynamics, tau_ctx, generator).commit(z_BTLD, prev_action_BTA, action_mask_BA, cache)
    z = normal(z_BTLD.shape, generator, z_BTLD)
    for i in range(substeps):
        signal, step = _full(bt, i * dynamics.k_max // substeps, z.device), _full(bt, int(math.log2(substeps)), z.device)
        z = euler(z, dynamics.alternatives(z, signal, step, prev_action_BTA, action_mask_BA, cache).x1_BTLD, i, substeps)
    return torch.cat([z_BTLD[:, :1], z[:, 1:]], dim=1)


@torch.no_grad()
def predicted_actions(
    dynamics: Dynamics, z_BTLD: Tensor, prev_action_BTA: Tensor, action_mask_BA: Tensor, tau_ctx: float, generator: torch.Generator, task_BF: Tensor
) -> Tensor:
    """The behaviour-cloning head's next actions [B,L,A] after frames z_BTLD, corrupted as a rollout's context is. Raises ValueError without that head."""
    out = _Context(dynamics, tau_ctx, generator).read(z_BTLD, prev_action_BTA, action_mask_BA, dynamics.new_cache(len(z_BTLD), task_BF))
    if out.heads is None or out.heads.action_BTLA is None:
        raise ValueError("the dynamics has no behaviour-cloning head; set dynamics.arch.bc_horizon")
    return out.heads.action_BTLA[:, -1]
