"""The three label-free predictors of hallucination (paper sec. 4), raw, one value a sequence and rollout step. Torch in, torch out.

u_r  round-trip residual: RMS(z_hat - Enc(Dec(z_hat))), z_hat the mean of the N seed samples, each frame decoded and encoded alone
u_f  flow instability: mean over the second half of the RMS changes of x1hat from substep to substep
u_s  inter-seed variance: unbiased variance over the N seeds, mean over the latent's elements
"""

import torch
from torch import Tensor

from veridream.nn.tokenizer import Tokenizer


@torch.no_grad()
def round_trip_residual(tokenizer: Tokenizer, z_BHLD: Tensor) -> Tensor:
    """u_r [B,H] of latents z_BHLD.

    A frame is decoded and re-encoded by itself, without temporal context, whatever the tokenizer was trained with. Decoded pixels are
    clamped to [0, 1] before they are encoded again: the encoder has never seen others, and an image cannot hold them.
    """
    b, h = z_BHLD.shape[:2]
    z = z_BHLD.reshape(b * h, 1, *z_BHLD.shape[2:])
    again = tokenizer.encode(tokenizer.decode(z).clamp(0.0, 1.0))
    return (z - again).square().mean(dim=(1, 2, 3)).sqrt().reshape(b, h)


def flow_instability(flow_delta_BHK: Tensor) -> Tensor:
    """u_f [B,H] of the K - 1 changes between substeps: the mean of entries floor((K - 1) / 2) and later. Raises ValueError for K = 1."""
    n = flow_delta_BHK.shape[-1]
    if n < 1:
        raise ValueError("flow instability needs at least two denoising substeps (score.substeps)")
    return flow_delta_BHK[..., n // 2 :].mean(dim=-1)


def inter_seed_variance(samples_BHSLD: Tensor) -> Tensor:
    """u_s [B,H] of N seed samples. Raises ValueError for one seed."""
    if samples_BHSLD.shape[2] < 2:
        raise ValueError("inter-seed variance needs at least two seeds (score.seeds)")
    return samples_BHSLD.var(dim=2, unbiased=True).mean(dim=(-2, -1))
