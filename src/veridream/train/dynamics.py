"""Training of the dynamics on cached latents (paper Sec. 3, App. F): shortcut forcing and the reward head."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from veridream.data.corpus import Corpus
from veridream.data.latents import LatentCache
from veridream.data.windows import WindowIndex, sample_windows, window_keys
from veridream.nn.dynamics import Dynamics, DynamicsOut
from veridream.nn.flow import draw_indices, shortcut_loss
from veridream.nn.reward import reward_loss
from veridream.params.model import DynamicsTrain
from veridream.train.engine import StepLoss
from veridream.train.parallel import part
from veridream.train.seeding import derive, generator


def self_rows(step: int, first: int, batch: int, share: float) -> int:
    """Self-consistency rows of a step: none before step `first`, then the share, leaving at least one empirical row."""
    return min(round(share * batch), batch - 1) if step >= first else 0


@dataclass
class DynamicsLoss:
    """Step -> this process's part of the losses. A pure function of (seed, step) and the model's weights."""

    dynamics: Dynamics
    latents: LatentCache
    corpus: Corpus  # actions and rewards
    windows: WindowIndex
    weights: Mapping[str, float]  # task -> probability
    train: DynamicsTrain
    bootstrap_from: int  # first step with self-consistency rows
    stream: str
    seed: int

    def __call__(self, step: int) -> StepLoss:
        ids = sample_windows(self.windows, self.weights, self.train.batch, derive(self.stream, self.seed), step)
        whole, t = self.windows.take(ids), self.windows.T
        n_all_self = self_rows(step, self.bootstrap_from, len(ids), self.train.bootstrap_share)
        n_all = len(ids) - n_all_self
        rng = generator(f"{self.stream} noise", self.seed, step)
        noise = torch.randn((len(ids), t, *self.latents.shape), generator=rng)
        signal, size = draw_indices(len(ids), t, n_all_self, self.dynamics.k_max, rng)

        rows = np.concatenate([part().rows(n_all), n_all + part().rows(n_all_self)])  # self-consistency rows stay last
        batch, n_self = self.windows.take(ids[rows]), len(part().rows(n_all_self))
        z = torch.from_numpy(self.latents.windows(batch, t))
        action, mask = torch.from_numpy(self.corpus.actions(batch, t)), torch.from_numpy(self.corpus.mask(batch))

        def predict(z_noisy: Tensor, signal_BT: Tensor, step_BT: Tensor, which: slice) -> DynamicsOut:
            out: DynamicsOut = self.dynamics(z_noisy, signal_BT, step_BT, action[which], mask[which])
            return out

        flow = shortcut_loss(predict, z, noise[rows], signal[rows], size[rows], n_self, self.dynamics.k_max)
        assert isinstance(flow.out, DynamicsOut)
        all_valid = torch.from_numpy(self.corpus.reward_mask(whole, t)) > 0
        reward = reward_loss(flow.out.reward_logits_BTR, torch.from_numpy(self.corpus.rewards(batch, t)), all_valid[rows])
        own, own_empirical, own_self = len(rows) / len(ids), (len(rows) - n_self) / n_all, n_self / max(1, n_all_self)
        own_valid = float(all_valid[rows].sum() / all_valid.sum().clamp(min=1))
        metrics = {"flow_empirical": own_empirical * float(flow.empirical.detach()), "flow_self": own_self * float(flow.self_consistency.detach())}
        return StepLoss({"flow": own * flow.total, "reward": own_valid * reward}, window_keys(batch), {"reward": self.train.reward_weight}, metrics)
