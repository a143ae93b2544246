"""Curiosity data (paper sec. 5): episodes planned towards where the model's own round-trip residual is high, relative to the predicted motion.

Finished episodes leave their actions in the work folder. A rerun after a kill replays them in the simulator, without planning, and goes
on with the next one; each episode depends on its own seed alone, so the store has the bytes of an undisturbed run.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from veridream import spec
from veridream.data.collection import Policy, record_episode
from veridream.data.replay import claim, collect_resuming
from veridream.envs.base import Env
from veridream.io.episode_store import Episode
from veridream.nn.dynamics import Dynamics
from veridream.params.model import Cem
from veridream.planning.imagine import Context, imagine
from veridream.planning.mpc import Objective

Residual = Callable[[Tensor], Tensor]  # z_BHLD -> u_r_BH


def plan_score(u_norm_NH: np.ndarray, max_share: float) -> np.ndarray:
    """(1 - max_share) * mean + max_share * max over the horizon, [N]."""
    out: np.ndarray = (1.0 - max_share) * u_norm_NH.mean(axis=1) + max_share * u_norm_NH.max(axis=1)
    return out


def predicted_motion(z_last_LD: Tensor, z_hat_NHLD: Tensor) -> Tensor:
    """RMS(z_hat_h - z_hat_{h-1}) [N,H]; step 1 is taken from the last real latent z_last_LD."""
    before = torch.cat([z_last_LD.expand(len(z_hat_NHLD), 1, -1, -1), z_hat_NHLD[:, :-1]], dim=1)
    return (z_hat_NHLD - before).square().mean(dim=(-2, -1)).sqrt()


def curiosity(dynamics: Dynamics, residual: Residual, settings: Cem, max_share: float) -> Objective:
    """plan_score of u_r / max(m, spec.MOTION_FLOOR), m the predicted motion of each step. The seeds' mean latent continues the rollout."""

    def objective(context: Context, candidates: np.ndarray, generator: torch.Generator) -> np.ndarray:
        s = settings
        out = imagine(dynamics, context, candidates, substeps=s.substeps, tau_ctx=s.tau_ctx, seeds=s.seeds, carry="mean", generator=generator)
        m = predicted_motion(context.z_CLD[-1], out.z_BHLD).clamp(min=spec.MOTION_FLOOR)
        return plan_score((residual(out.z_BHLD) / m).cpu().numpy(), max_share)

    return objective


def collect_curiosity(
    env: Env, path: str | Path, params: Mapping[str, Any], policy: Callable[[np.random.Generator], Policy], work: Path, key: Mapping[str, Any]
) -> dict[str, int]:
    """Collects the whole store at `path`; returns {episodes, frames, replayed}.

    Args:
        params: the stage's params (data.collection.store_attrs).
        policy: a fresh policy of one episode, given its generator.
        work: folder of finished episodes' actions.
        key: everything the actions depend on (params, model ids, code); what another key left in `work` is deleted.
    """
    claim(work, key)

    def record(_: int, seed: int) -> Episode:
        return record_episode(env, seed, lambda: (policy(np.random.default_rng([seed, 1])), {}))

    return collect_resuming(env, path, params, work, "collect_curiosity", record)
