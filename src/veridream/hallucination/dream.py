"""One batch of sequences through the world model: reconstruction, open-loop rollout under the true actions, and the raw predictors."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from veridream.hallucination.predictors import flow_instability, inter_seed_variance, round_trip_residual
from veridream.nn.device import device_of
from veridream.nn.dynamics import Dynamics
from veridream.nn.sampler import predict_next, rollout
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Score


@dataclass(frozen=True)
class Batch:
    """Sequences of T = context + horizon frames as they enter the model."""

    frames_BTHWC: Tensor  # float32 in [0, 1]
    prev_action_BTA: Tensor  # float32, row t led to frame t
    shuffled_BTA: Tensor | None  # the same of another sequence of the task; None: no action-shuffle ratio wanted
    mask_BA: Tensor  # float32, 1 for the task's own action dimensions


@dataclass(frozen=True)
class Dream:
    """What the model made of a batch. Frames are clamped to [0, 1]; numpy, float32."""

    z_BTLD: np.ndarray  # Enc(o), all T frames
    recon_BTHWC: np.ndarray  # Dec(Enc(o)), all T frames
    z_hat_BHLD: np.ndarray  # carried latents of the rollout: the first seed's samples
    model_BHHWC: np.ndarray  # their frames
    u_r_BH: np.ndarray
    u_f_BH: np.ndarray
    u_s_BH: np.ndarray
    shuffle_errors: np.ndarray | None  # [2, B]: mean squared one-step latent error under shuffled and true actions


def to_batch(frames: np.ndarray, actions: np.ndarray, mask: np.ndarray, shuffled: np.ndarray | None = None) -> Batch:
    """uint8 frames [B,T,H,W,3] and float32 actions [B,T,16], masks [B,16] as a batch."""
    unit = torch.from_numpy(np.ascontiguousarray(frames)).float() / 255.0
    return Batch(unit, torch.from_numpy(actions), None if shuffled is None else torch.from_numpy(shuffled), torch.from_numpy(mask))


@torch.no_grad()
def dream(tokenizer: Tokenizer, dynamics: Dynamics, batch: Batch, score: Score, horizon: int, seed: int) -> Dream:
    """Rolls out `horizon` frames after the first score.context ones. All noise comes from `seed`.

    The first of score.seeds samples is carried on (a true sample path); u_r is taken on the seeds' mean. Raises ValueError when the
    batch does not hold context + horizon frames.
    """
    c = score.context
    if batch.frames_BTHWC.shape[1] != c + horizon:
        raise ValueError(f"{batch.frames_BTHWC.shape[1]} frames for a context of {c} and a horizon of {horizon}")
    device = device_of(dynamics)
    action, mask = batch.prev_action_BTA.to(device), batch.mask_BA.to(device)
    z = tokenizer.encode_long(batch.frames_BTHWC.to(device))
    recon = tokenizer.decode_long(z).clamp(0.0, 1.0)
    noise = torch.Generator().manual_seed(seed)
    out = rollout(dynamics, z[:, :c], action, mask, horizon, score.substeps, score.tau_ctx, score.seeds, "first", noise)
    model = tokenizer.decode_long(torch.cat([z[:, :c], out.z_BHLD], dim=1))[:, c:].clamp(0.0, 1.0)
    return Dream(
        z.cpu().numpy(),
        recon.cpu().numpy(),
        out.z_BHLD.cpu().numpy(),
        model.cpu().numpy(),
        round_trip_residual(tokenizer, out.samples_BHSLD.mean(dim=2)).cpu().numpy(),
        flow_instability(out.flow_delta_BHK).cpu().numpy(),
        inter_seed_variance(out.samples_BHSLD).cpu().numpy(),
        _shuffle_errors(dynamics, z, batch, score, seed),
    )


def _shuffle_errors(dynamics: Dynamics, z: Tensor, batch: Batch, score: Score, seed: int) -> np.ndarray | None:
    """Teacher-forced one-step errors, mean over frames 1..T-1; both passes share all noise, so they differ by the actions only."""
    if batch.shuffled_BTA is None:
        return None
    errors = []
    for action in (batch.shuffled_BTA, batch.prev_action_BTA):
        noise = torch.Generator().manual_seed(seed + 1)
        z_hat = predict_next(dynamics, z, action.to(z.device), batch.mask_BA.to(z.device), score.shuffle_substeps, score.tau_ctx, noise)
        errors.append((z_hat[:, 1:] - z[:, 1:]).square().mean(dim=(1, 2, 3)))
    return torch.stack(errors).cpu().numpy()
