"""The dynamics: a block-causal transformer that predicts the clean latents of every frame from noisy ones, actions and the past.

Source: paper Sec. 3 and App. F. A frame is one action token, one shortcut token (signal level and step size), latents/pack spatial
tokens and some registers. Space attention joins the tokens of a frame in every block; causal time attention runs per token slot in
every time_every-th block. Signal levels are indices 0..k_max-1: there is no index for "clean", which training would never visit;
a clean context carries the highest trained level (see sampler.context_signal). The reward of the transition into a frame is read from
that frame's first register, or, with agent tokens (arch.agents), from those: they are made from the task's instruction, look at all tokens
and are looked at by none, so a pass without a task leaves them out and predicts the same frames.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from veridream.nn.attention import Layout, alternatives_mask, causal_mask
from veridream.nn.blocks import Block, PastKeys, RMSNorm, run_block
from veridream.nn.heads import Heads, HeadsOut
from veridream.params.model import DynamicsArch
from veridream.spec import ACTION_DIM

TOKEN_STD = 0.2  # initial std of learned tokens and embeddings
ACTION_STD = 1e-3  # initial std of the action MLP's last layer


class DynamicsOut(NamedTuple):
    x1_BTLD: Tensor  # predicted clean latents
    reward_logits_BTR: Tensor  # two-hot classes of the reward of the transition into the frame; NaN from a pass without a task where agents carry them
    heads: HeadsOut | None = None  # everything the agent tokens say


class Dynamics(nn.Module):
    """`arch` is dynamics.arch of the params (a mapping or the model); `latents` x `latent_dim` is the tokenizer's frame."""

    def __init__(self, arch: DynamicsArch | Mapping[str, Any], latents: int, latent_dim: int):
        super().__init__()
        a = arch if isinstance(arch, DynamicsArch) else DynamicsArch.model_validate(dict(arch))
        if latents % a.pack:
            raise ValueError(f"dynamics.arch.pack ({a.pack}) does not divide the {latents} latents")
        self.arch, self.latents, self.latent_dim = a, latents, latent_dim
        self.k_max, self.finest = a.k_max, int(math.log2(a.k_max))  # step index `finest` is the size 1/k_max
        self.recompute = False  # of activations in the backward pass
        packed = a.pack * latent_dim
        self.layout = Layout(action=1, shortcut=1, spatial=latents // a.pack, register=a.registers, agent=a.agents)
        self.read = slice(self.layout["spatial"].start, self.layout["register"].start + 1)  # of the last block, without agents
        self.read_agents = slice(self.layout["spatial"].start, self.layout["agent"].stop)
        self.action_base = self._learned(1)
        self.action_in = nn.Linear(ACTION_DIM, 2 * a.width)
        self.action_out = nn.Linear(2 * a.width, a.width)
        nn.init.normal_(self.action_out.weight, std=ACTION_STD)
        nn.init.zeros_(self.action_out.bias)
        self.signal_embedding = nn.Embedding(a.k_max, a.width // 2)
        self.step_embedding = nn.Embedding(self.finest + 1, a.width - a.width // 2)
        for e in (self.signal_embedding, self.step_embedding):
            nn.init.normal_(e.weight, std=TOKEN_STD)
        self.spatial_in = nn.Linear(packed, a.width)
        self.spatial_position = self._learned(latents // a.pack)
        self.register_token = self._learned(a.registers)
        time = [(i + 1) % a.time_every == 0 for i in range(a.depth)]
        self.blocks: Sequence[Block] = nn.ModuleList(Block(a.width, a.heads, t, a.time_window) for t in time)  # type: ignore[assignment]
        self.x1_out = nn.Linear(a.width, packed)
        nn.init.zeros_(self.x1_out.weight)
        nn.init.zeros_(self.x1_out.bias)
        if a.agents:
            self._build_agents()
        else:
            self._build_reward()

    def _build_reward(self) -> None:
        a = self.arch
        self.reward_norm = RMSNorm(a.width)
        self.reward_in = nn.Linear(a.width, a.width)
        self.reward_out = nn.Linear(a.width, a.reward_bins)
        nn.init.zeros_(self.reward_out.weight)
        nn.init.zeros_(self.reward_out.bias)

    def _build_agents(self) -> None:
        a, world = self.arch, ("action", "shortcut", "spatial", "register")
        self.agent_in = nn.Linear(a.task_features, a.agents * a.width)
        self.heads = Heads(a)
        self.agent_mask: Tensor
        self.register_buffer("agent_mask", self.layout.mask({**dict.fromkeys(world, world), "agent": (*world, "agent")}), persistent=False)

    def _learned(self, n: int) -> nn.Parameter:
        return nn.Parameter(torch.randn(n, self.arch.width) * TOKEN_STD)

    def _tokens(self, z_BTLD: Tensor, signal_BT: Tensor, step_BT: Tensor, prev_action_BTA: Tensor, action_mask_BA: Tensor, task_BF: Tensor | None) -> Tensor:
        """The frame tokens [B,T,N,width], agent tokens last if a task is given. Padded action dimensions are dropped whatever they hold."""
        b, t = z_BTLD.shape[:2]
        if task_BF is not None and not self.arch.agents:
            raise ValueError("a task was given to a dynamics without agent tokens (dynamics.arch.agents)")
        real = action_mask_BA[:, None, :].bool()
        action = torch.where(real, prev_action_BTA, torch.zeros_like(prev_action_BTA)).clamp(-1, 1)
        action = self.action_base + self.action_out(nn.functional.silu(self.action_in(action)))
        shortcut = torch.cat([self.signal_embedding(signal_BT), self.step_embedding(step_BT)], dim=-1)
        packed = z_BTLD.reshape(b, t, self.latents // self.arch.pack, self.arch.pack * self.latent_dim)
        spatial = self.spatial_in(packed) + self.spatial_position
        register = self.register_token.expand(b, t, -1, -1)
        parts = [action[:, :, None], shortcut[:, :, None], spatial, register]
        if task_BF is not None:
            parts.append(self.agent_in(task_BF).unflatten(-1, (self.arch.agents, -1))[:, None].expand(b, t, -1, -1))
        return torch.cat(parts, dim=2)

    def _masked(self, task_BF: Tensor | None) -> tuple[Tensor | None, slice]:
        """The space mask of a pass, and the tokens read of the last block."""
        return (None, self.read) if task_BF is None else (self.agent_mask, self.read_agents)

    def _heads(self, x_BTNW: Tensor, task_BF: Tensor | None) -> DynamicsOut:
        """x_BTNW holds the spatial tokens and the first register; with a task all registers and the agent tokens."""
        b, t = x_BTNW.shape[:2]
        spatial = self.latents // self.arch.pack
        x1 = self.x1_out(x_BTNW[:, :, :spatial]).reshape(b, t, self.latents, self.latent_dim)
        if task_BF is not None:
            heads = self.heads(x_BTNW[:, :, -self.arch.agents :])
            return DynamicsOut(x1, heads.reward_logits_BTKR[:, :, 0], heads)
        if self.arch.agents:
            return DynamicsOut(x1, x1.new_full((b, t, self.arch.reward_bins), math.nan))
        first = x_BTNW[:, :, spatial]
        return DynamicsOut(x1, self.reward_out(nn.functional.silu(self.reward_in(self.reward_norm(first)))))

    def forward(
        self, z_BTLD: Tensor, signal_BT: Tensor, step_BT: Tensor, prev_action_BTA: Tensor, action_mask_BA: Tensor, task_BF: Tensor | None = None
    ) -> DynamicsOut:
        """Predictions for all frames at once.

        Args:
            z_BTLD: noisy latents.
            signal_BT: int64 in 0..k_max-1; the level is signal / k_max.
            step_BT: int64 in 0..log2 k_max; the step size is 2^-step.
            prev_action_BTA: the action that led to each frame; zeros at an episode's first frame. Padded dimensions may hold anything.
            action_mask_BA: 1 on real action dimensions.
            task_BF: features of each row's instruction (data.instructions); None leaves agent tokens and their heads out.
        """
        x = self._tokens(z_BTLD, signal_BT, step_BT, prev_action_BTA, action_mask_BA, task_BF)
        mask, read = self._masked(task_BF)
        for block in self.blocks[:-1]:
            x = run_block(block, x, mask, self.recompute)
        return self._heads(run_block(self.blocks[-1], x, mask, self.recompute, keep=read), task_BF)

    def new_cache(self, batch: int, task_BF: Tensor | None = None) -> PastKeys:
        """An empty cache of past frames. `batch` is for the reader: rows are fixed by the first commit. task_BF: as in forward."""
        return PastKeys(task_BF)

    def without_agents(self, cache: PastKeys) -> PastKeys:
        """The same past for passes without a task, which need no agent tokens: the denoising substeps of a rollout that predicts rewards."""
        out = PastKeys()
        out.frames = cache.frames
        for i in cache.keys:
            slots = self.read.stop - self.read.start if i == len(self.blocks) - 1 else self.layout["agent"].start
            out.keys[i], out.values[i] = cache.keys[i][:, :slots], cache.values[i][:, :slots]
        return out

    def extend(
        self, z_BTLD: Tensor, signal_BT: Tensor, step_BT: Tensor, prev_action_BTA: Tensor, action_mask_BA: Tensor, cache: PastKeys, commit: bool
    ) -> DynamicsOut:
        """forward() for T more frames after those in `cache`; commit appends them. Equals the uncached pass over all frames to rounding."""
        t, past = z_BTLD.shape[1], cache.frames
        far = 0 < self.arch.time_window <= past
        mask = None if t == 1 and not far else causal_mask(t, past, z_BTLD.device, self.arch.time_window)
        return self._cached(z_BTLD, signal_BT, step_BT, prev_action_BTA, action_mask_BA, past, mask, cache, commit)

    def step_frame(
        self, z_B1LD: Tensor, signal_B1: Tensor, step_B1: Tensor, prev_action_B1A: Tensor, action_mask_BA: Tensor, cache: PastKeys, commit: bool
    ) -> DynamicsOut:
        """extend() by one frame."""
        return self.extend(z_B1LD, signal_B1, step_B1, prev_action_B1A, action_mask_BA, cache, commit)

    def alternatives(self, z_BTLD: Tensor, signal_BT: Tensor, step_BT: Tensor, prev_action_BTA: Tensor, action_mask_BA: Tensor, cache: PastKeys) -> DynamicsOut:
        """One pass that treats every frame t as the next frame after the committed frames 0..t-1 of a cache of the same T frames."""
        t = z_BTLD.shape[1]
        if cache.frames != t:
            raise ValueError(f"{t} alternatives need a cache of {t} committed frames, it holds {cache.frames}")
        mask = alternatives_mask(t, z_BTLD.device, self.arch.time_window)
        return self._cached(z_BTLD, signal_BT, step_BT, prev_action_BTA, action_mask_BA, 0, mask, cache, False)

    def _cached(
        self,
        z: Tensor,
        signal: Tensor,
        step: Tensor,
        action: Tensor,
        action_mask: Tensor,
        first: int,
        mask: Tensor | None,
        cache: PastKeys,
        commit: bool,
    ) -> DynamicsOut:
        x = self._tokens(z, signal, step, action, action_mask, cache.task_BF)
        space_mask, read = self._masked(cache.task_BF)
        for i, block in enumerate(self.blocks):
            x = block.with_past(x, first, mask, cache, i, commit, read if i == len(self.blocks) - 1 else slice(None), space_mask)
        if commit:
            cache.frames += z.shape[1]
        return self._heads(x, cache.task_BF)
