"""What the networks cost, by arithmetic: floating-point operations a frame, and memory of a training step.

Counted are matrix products alone, a multiplication and an addition each; attention counts its whole score matrix, masked or not. A backward pass
costs two forward passes. `tests/unit/test_cost.py` holds the counts against torch's own counter.
"""

from veridream.params.model import DynamicsArch, TokenizerArch
from veridream.spec import ACTION_DIM

STATE_BYTES = 16  # a parameter in training: weight, gradient and Adam's two moments in fp32 (Muon: 12)
ATTENTION_BYTES = 24  # kept for the backward pass a token and number of width, under bf16 autocast: input, norm, q, k, v, turned q and k, output
MLP_BYTES = 27  # the same of a gated layer: input, norm, gate, up, their product


def _attention(width: int, queries: int, keys: int) -> int:
    return 8 * queries * width**2 + 4 * queries * keys * width


def _mlp(width: int, tokens: int) -> int:
    return 6 * tokens * width * int(width * 8 / 3)


def _block(width: int, tokens: int, slots: int, frames: int, kept: int) -> int:
    """`slots` tokens attend over `frames` frames, `kept` tokens pass the gated layer."""
    return _attention(width, tokens, tokens) + (_attention(width, slots, frames) if slots else 0) + _mlp(width, kept)


def encode_flops(a: TokenizerArch, size: int, window: int) -> int:
    """Of one frame in a sequence of `window` frames."""
    patches, pixels = (size // a.patch) ** 2, 3 * a.patch**2
    out = 2 * patches * pixels * a.width + 2 * a.latents * a.width * a.latent_dim
    for i in range(a.encoder_depth):
        slots = a.latents if a.time_every and (i + 1) % a.time_every == 0 else 0
        out += _block(a.width, a.latents + patches, slots, window, a.latents if i == a.encoder_depth - 1 else a.latents + patches)
    return out


def decode_flops(a: TokenizerArch, size: int, window: int) -> int:
    """Of one frame in a sequence of `window` frames."""
    patches, pixels = (size // a.patch) ** 2, 3 * a.patch**2
    out = 2 * patches * pixels * a.width + 2 * a.latents * a.width * a.latent_dim
    for i in range(a.decoder_depth):
        last = i == a.decoder_depth - 1
        slots = a.latents if a.time_every and (i + 1) % a.time_every == 0 and not last else 0
        out += _block(a.width, a.latents + patches, slots, window, patches if last else a.latents + patches)
    return out


def frame_tokens(a: DynamicsArch, latents: int, agents: bool) -> int:
    """Tokens of a frame; with or without its agent tokens."""
    return 2 + latents // a.pack + a.registers + (a.agents if agents else 0)


def dynamics_flops(a: DynamicsArch, latents: int, latent_dim: int, window: int, agents: bool) -> int:
    """Of one frame of a pass, each of whose frames attends over `window` frames; `agents`: with agent tokens and heads, if there are some."""
    agents, spatial, packed = agents and a.agents > 0, latents // a.pack, a.pack * latent_dim
    tokens = frame_tokens(a, latents, agents)
    out = 2 * ACTION_DIM * 2 * a.width + 2 * 2 * a.width**2 + 2 * 2 * spatial * packed * a.width
    for i in range(a.depth):
        last = i == a.depth - 1
        kept = (spatial + a.registers + a.agents if agents else spatial + 1) if last else tokens
        out += _block(a.width, tokens, kept if (i + 1) % a.time_every == 0 else 0, window, kept)
    if agents:
        numbers = a.reward_horizon * a.reward_bins, a.bc_horizon * ACTION_DIM
        return out + sum(_mlp(a.width, 1) + 2 * a.width * n for n in numbers if n)
    return out if a.agents else out + 2 * a.width**2 + 2 * a.width * a.reward_bins


def rollout_flops(a: DynamicsArch, latents: int, latent_dim: int, past: int, substeps: int, seeds: int = 1) -> int:
    """Of one more frame after `past` cached ones: `substeps` passes a seed, and the pass that commits the frame."""
    passes = seeds * substeps * dynamics_flops(a, latents, latent_dim, past + 1, False)
    return passes + dynamics_flops(a, latents, latent_dim, past + 1, True)


def tokenizer_step_flops(a: TokenizerArch, size: int, window: int, recompute: bool = False) -> int:
    """Of one frame in training. LPIPS is not in it."""
    return (4 if recompute else 3) * (encode_flops(a, size, window) + decode_flops(a, size, window))


def dynamics_step_flops(a: DynamicsArch, latents: int, latent_dim: int, window: int, bootstrap_share: float, recompute: bool = False) -> float:
    """Of one frame in training, self-consistency rows running twice more without gradient."""
    return ((4 if recompute else 3) + 2 * bootstrap_share) * dynamics_flops(a, latents, latent_dim, window, True)


def activation_bytes(width: int, tokens: int, blocks: int, time_blocks: int, recompute: bool = False) -> int:
    """Kept for the backward pass by `tokens` tokens of bf16 training; with `recompute` every block keeps its input and one at a time the rest."""
    one = (ATTENTION_BYTES + MLP_BYTES) * width
    if recompute:
        return tokens * (blocks * 4 * width + one + ATTENTION_BYTES * width)
    return tokens * (blocks * one + time_blocks * ATTENTION_BYTES * width)
