"""PyPI dreamer4 (lucidrains) at our shapes, for benchmarks/world_model.py. Importing this module fails where the package is not installed.

What it adds by default and we have not (perceptual loss, terminal and action losses, more than one reward ahead) is turned off. Its layers are
about twice as large as ours at one width, so it is timed at our depth and at half of it, where the transformers have about our size; the rows say
the parameters of both transformers.
"""

from collections.abc import Callable
from typing import Any

from dreamer4 import DynamicsWorldModel, VideoTokenizer
from measure import turn_about
from torch import nn


def tokenizer(s: Any, share: float) -> nn.Module:
    a, size = s.p.tokenizer.arch, s.p.render.size
    depth = {
        "encoder_depth": max(1, round(share * a.encoder_depth)),
        "decoder_depth": max(1, round(share * a.decoder_depth)),
        "time_block_every": max(a.time_every, 1) if a.time_every else 99,
    }
    heads = {"attn_heads": a.heads, "attn_dim_head": a.width // a.heads}
    shape = {"patch_size": a.patch, "image_height": size, "image_width": size, "num_latent_tokens": a.latents}
    return VideoTokenizer(a.width, a.latent_dim, **shape, **depth, **heads, lpips_loss_weight=0.0)


def dynamics(s: Any, share: float) -> nn.Module:
    a = s.p.dynamics.arch
    shape = {"num_latent_tokens": s.latents, "num_spatial_tokens": s.latents // a.pack, "num_register_tokens": a.registers, "max_steps": a.k_max}
    layers = {"depth": max(1, round(share * a.depth)), "time_block_every": a.time_every, "attn_heads": a.heads, "attn_dim_head": a.width // a.heads}
    heads = {"num_continuous_actions": 16, "multi_token_pred_len": 1, "predict_terminals": False}
    return DynamicsWorldModel(a.width, s.dim, **shape, **layers, **heads, prob_shortcut_train=s.n_self / len(s.z))


def size(module: nn.Module, parts: tuple[str, ...]) -> float:
    """Millions of parameters in some of its parts."""
    return sum(p.numel() for name, p in module.named_parameters() if name.split(".")[0] in parts) / 1e6


def rows(s: Any, train_step: Callable[..., Callable[[], None]], repeats: int) -> list[str]:
    """Train steps, theirs over ours."""
    return [r for share in (1.0, 0.5) for r in (_tokenizer_row(s, train_step, repeats, share), _dynamics_row(s, train_step, repeats, share))]


def _tokenizer_row(s: Any, train_step: Callable[..., Callable[[], None]], repeats: int, share: float) -> str:
    theirs, video = tokenizer(s, share), s.frames.movedim(-1, 1).contiguous()
    pair = turn_about(train_step(s.tokenizer, s.tokenizer_loss(s.tokenizer)), train_step(theirs, lambda: theirs(video)), repeats)
    sizes = f"{size(theirs, ('encoder_transformer', 'decoder')):.2f} M against our {size(s.tokenizer, ('encoder', 'decoder')):.2f} M"
    return f"| tokenizer train step | dreamer4, {sizes} | | | {pair.ratio} | |"


def _dynamics_row(s: Any, train_step: Callable[..., Callable[[], None]], repeats: int, share: float) -> str:
    world = dynamics(s, share)
    batch = {"latents": s.z, "continuous_actions": s.action, "rewards": s.reward, "add_autoregressive_action_loss": False}
    pair = turn_about(train_step(s.dynamics, s.dynamics_loss(s.ours)), train_step(world, lambda: world(**batch)), repeats)
    sizes = f"{size(world, ('transformer',)):.2f} M against our {size(s.dynamics, ('blocks',)):.2f} M"
    return f"| dynamics train step | dreamer4, {sizes} | | | {pair.ratio} | |"
