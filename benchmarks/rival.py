"""PyPI dreamer4 (lucidrains) at our shapes, for benchmarks/world_model.py. Importing this module fails where the package is not installed.

Its layers hold space or time attention, never both, so equal depth gives it less to compute; what it adds by default and we have not (perceptual
loss, terminal and action losses, more than one reward ahead) is turned off. The rows say both parameter counts.
"""

from collections.abc import Callable
from typing import Any

import torch
from dreamer4 import DynamicsWorldModel, VideoTokenizer
from measure import turn_about
from torch import nn


def tokenizer(s: Any) -> nn.Module:
    a, size = s.p.tokenizer.arch, s.p.render.size
    depth = {"encoder_depth": a.encoder_depth, "decoder_depth": a.decoder_depth, "time_block_every": max(a.time_every, 1) if a.time_every else 99}
    heads = {"attn_heads": a.heads, "attn_dim_head": a.width // a.heads}
    shape = {"patch_size": a.patch, "image_height": size, "image_width": size, "num_latent_tokens": a.latents}
    return VideoTokenizer(a.width, a.latent_dim, **shape, **depth, **heads, lpips_loss_weight=0.0)


def dynamics(s: Any) -> nn.Module:
    a = s.p.dynamics.arch
    shape = {"num_latent_tokens": s.latents, "num_spatial_tokens": s.latents // a.pack, "num_register_tokens": a.registers, "max_steps": a.k_max}
    layers = {"depth": a.depth, "time_block_every": a.time_every, "attn_heads": a.heads, "attn_dim_head": a.width // a.heads}
    heads = {"num_continuous_actions": 16, "multi_token_pred_len": 1, "predict_terminals": False}
    return DynamicsWorldModel(a.width, s.dim, **shape, **layers, **heads, prob_shortcut_train=s.n_self / len(s.z))


def parameters(ours: nn.Module, theirs: nn.Module) -> str:
    return ", ".join(f"{sum(p.numel() for p in m.parameters()) / 1e6:.2f} M" for m in (ours, theirs))


def rows(s: Any, train_step: Callable[..., Callable[[], None]], repeats: int) -> list[str]:
    """Train steps, theirs over ours."""
    theirs, video = tokenizer(s), s.frames.movedim(-1, 1).contiguous()
    pair = turn_about(train_step(s.tokenizer, s.tokenizer_loss(s.tokenizer)), train_step(theirs, lambda: theirs(video)), repeats)
    out = [f"| tokenizer train step ({parameters(s.tokenizer, theirs)}) | dreamer4 | | | {pair.ratio} | |"]
    world = dynamics(s)
    batch = {"latents": s.z, "continuous_actions": s.action, "rewards": s.reward, "add_autoregressive_action_loss": False}
    torch.manual_seed(0)
    pair = turn_about(train_step(s.dynamics, s.dynamics_loss(s.ours)), train_step(world, lambda: world(**batch)), repeats)
    return [*out, f"| dynamics train step ({parameters(s.dynamics, world)}) | dreamer4 | | | {pair.ratio} | |"]
