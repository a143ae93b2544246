"""Training of the dynamics on cached latents (paper Sec. 3, App. F): shortcut forcing, the reward head, and with agent tokens behaviour cloning."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from veridream.data.corpus import Corpus
from veridream.data.instructions import task_features
from veridream.data.latents import LatentCache
from veridream.data.windows import WindowIndex, Windows, sample_windows, window_keys
from veridream.nn.dynamics import Dynamics, DynamicsOut
from veridream.nn.flow import draw_indices, shortcut_loss
from veridream.nn.heads import ahead, imitation_loss
from veridream.nn.reward import reward_loss
from veridream.params.model import DynamicsTrain
from veridream.train.gradients import StepLoss
from veridream.train.parallel import Part, part
from veridream.train.seeding import derive, generator

CPU = torch.device("cpu")


def self_rows(step: int, first: int, batch: int, share: float) -> int:
    """Self-consistency rows of a step: none before step `first`, then the share, leaving at least one empirical row."""
    return min(round(share * batch), batch - 1) if step >= first else 0


@dataclass
class DynamicsLoss:
    """(step, part) -> that part of the losses; the whole batch outside torchrun. A pure function of (seed, step) and the model's weights."""

    dynamics: Dynamics
    latents: LatentCache
    corpus: Corpus  # actions and rewards
    windows: WindowIndex
    weights: Mapping[str, float]  # task -> probability
    train: DynamicsTrain
    bootstrap_from: int  # first step with self-consistency rows
    stream: str
    seed: int
    instructions: Mapping[str, str] = field(default_factory=dict)  # of every task, for agent tokens
    device: torch.device = CPU

    def __call__(self, step: int, share: Part | None = None) -> StepLoss:
        share = share or part()
        ids = sample_windows(self.windows, self.weights, self.train.batch, derive(self.stream, self.seed), step)
        whole, t = self.windows.take(ids), self.windows.T
        n_all_self = self_rows(step, self.bootstrap_from, len(ids), self.train.bootstrap_share)
        n_all = len(ids) - n_all_self
        noise, signal, size = self._draws(step, len(ids), n_all_self)

        rows = np.concatenate([share.rows(n_all), n_all + share.rows(n_all_self)])  # self-consistency rows stay last
        batch, n_self = self.windows.take(ids[rows]), len(share.rows(n_all_self))
        z = torch.from_numpy(self.latents.windows(batch, t)).to(self.device)
        action, mask = (torch.from_numpy(x).to(self.device) for x in (self.corpus.actions(batch, t), self.corpus.mask(batch)))
        task = self._task(batch.task)

        def predict(z_noisy: Tensor, signal_BT: Tensor, step_BT: Tensor, which: slice) -> DynamicsOut:
            out: DynamicsOut = self.dynamics(z_noisy, signal_BT, step_BT, action[which], mask[which], None if task is None else task[which])
            return out

        flow = shortcut_loss(predict, z, noise[rows], signal[rows].to(self.device), size[rows].to(self.device), n_self, self.dynamics.k_max)
        assert isinstance(flow.out, DynamicsOut)
        own, own_empirical, own_self = len(rows) / len(ids), (len(rows) - n_self) / n_all, n_self / max(1, n_all_self)
        terms = {"flow": own * flow.total, "reward": self._reward(flow.out, whole, batch, rows)}
        weights = {"reward": self.train.reward_weight}
        if flow.out.heads is not None and flow.out.heads.action_BTLA is not None:
            own_real = float(mask.sum()) / float(self.corpus.mask(whole).sum())  # of the batch's action numbers
            terms["behaviour"] = own_real * imitation_loss(flow.out.heads.action_BTLA, action, mask)
            weights["behaviour"] = self.train.bc_weight
        metrics = {"flow_empirical": own_empirical * float(flow.empirical.detach()), "flow_self": own_self * float(flow.self_consistency.detach())}
        return StepLoss(terms, window_keys(batch), weights, metrics)

    def _draws(self, step: int, rows: int, n_self: int) -> tuple[Tensor, Tensor, Tensor]:
        """(noise on the device, signal and step indices) of the whole batch. A GPU draws its own noise: on a CPU it would cost more than the step."""
        key, shape = (f"{self.stream} noise", self.seed, step), (rows, self.windows.T, *self.latents.shape)
        rng = generator(*key)
        on_device = rng if self.device.type == "cpu" else generator(*key, device=self.device)
        noise = torch.randn(shape, generator=on_device, device=self.device)
        return (noise, *draw_indices(rows, self.windows.T, n_self, self.dynamics.k_max, rng))

    def _task(self, tasks: np.ndarray) -> Tensor | None:
        arch = self.dynamics.arch
        return torch.from_numpy(task_features(tasks, self.instructions, arch.task_features)).to(self.device) if arch.agents else None

    def _reward(self, out: DynamicsOut, whole: Windows, batch: Windows, rows: np.ndarray) -> Tensor:
        """The part's share of the mean cross entropy over all known rewards of the batch, those ahead included."""
        t = self.windows.T
        all_valid = torch.from_numpy(self.corpus.reward_mask(whole, t)) > 0
        reward = torch.from_numpy(self.corpus.rewards(batch, t))
        logits = out.reward_logits_BTR
        if out.heads is not None:
            logits, n = out.heads.reward_logits_BTKR, self.dynamics.arch.reward_horizon
            (reward, _), (all_valid, _) = ahead(reward, n), ahead(all_valid, n)
        valid = all_valid[rows]
        own = float(valid.sum() / all_valid.sum().clamp(min=1))
        return own * reward_loss(logits, reward.to(self.device), valid.to(self.device))
