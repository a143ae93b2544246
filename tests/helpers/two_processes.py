"""A dynamics trained in float64 by one or several gloo processes: what must agree to rounding agrees to far below 1e-6."""

import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from helpers.networks import AGENTS, make_dynamics
from veridream.data.windows import WindowIndex
from veridream.params.model import DynamicsTrain, Engine, Optimiser
from veridream.train.dynamics import DynamicsLoss
from veridream.train.engine import Plan, train

T, TASKS, EACH = 6, ("cup-catch", "pygame-pong"), 20


class Data:
    """Latents, actions and rewards in float64, a function of the window alone; stands for the latent cache and the corpus."""

    shape = (4, 3)

    def _draw(self, windows, *shape):
        return np.stack([np.random.default_rng([int(s), len(t)]).normal(size=shape) for s, t in zip(windows.start, windows.task, strict=True)])

    def windows(self, windows, t):
        return np.tanh(self._draw(windows, t, *self.shape))

    def actions(self, windows, t):
        return np.tanh(self._draw(windows, t, 16))

    def rewards(self, windows, t):
        return self._draw(windows, t)

    def reward_mask(self, windows, t):
        return (np.arange(t)[None] > windows.start[:, None] % 3 - 1).astype(float)  # some windows' first rows have none

    def mask(self, windows):
        return np.stack([(np.arange(16) < (2 if t == TASKS[0] else 5)).astype(float) for t in windows.task])


def windows() -> WindowIndex:
    n = len(TASKS) * EACH
    task = np.repeat(np.arange(len(TASKS), dtype=np.int32), EACH)
    return WindowIndex(T, 0, ("s",), TASKS, np.zeros(n, np.int32), np.zeros(n, np.int32), np.arange(n), task, np.arange(len(TASKS) + 1) * EACH)


def run(work: Path, accumulate: int, steps: int = 6) -> None:
    """Trains in this process (or as one of its group's processes) and leaves its checkpoints and metrics in `work`."""
    torch.set_default_dtype(torch.float64)
    try:
        dynamics = make_dynamics(**AGENTS).double()
        settings = DynamicsTrain(steps=steps, batch=9, window=T, bootstrap_share=0.3, optimiser=Optimiser(warmup=2, lr=1e-3))
        weights, words = dict.fromkeys(TASKS, 0.5), {t: t.replace("-", " ") for t in TASKS}
        loss = DynamicsLoss(dynamics, Data(), Data(), windows(), weights, settings, 2, "test", 0, words)  # type: ignore[arg-type]
        plan = Plan("test", steps, settings.optimiser, steps, engine=Engine(accumulate=accumulate))
        train(plan, dynamics, _double(loss), work, {"params": {}})
    finally:
        torch.set_default_dtype(torch.float32)


def _double(loss):
    """The instructions' features as float64, the one thing that Data does not give."""
    plain = loss._task
    loss._task = lambda tasks: plain(tasks).double()
    return loss


def _child(rank: int, world: int, folder: Path, work: Path, accumulate: int) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous-{work.name}", rank=rank, world_size=world)
    try:
        run(work, accumulate)
    finally:
        dist.destroy_process_group()


def run_by(processes: int, folder: Path, work: Path, accumulate: int) -> None:
    """The same in so many fresh processes."""
    mp.spawn(_child, (processes, folder, work, accumulate), nprocs=processes)
