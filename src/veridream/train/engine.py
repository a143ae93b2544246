"""One training loop for every model: exact resume, losses over their running RMS, a stop with evidence at the first non-finite number.

The batch and all noise of a step are functions of (seed, step), so a run killed at any moment and started again ends in the same bytes
as an undisturbed one. The metrics file holds no times. In a run of several processes (train.parallel) every one computes its own part of each
loss; the first one alone writes.
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from veridream.io.progress import Progress
from veridream.nn.muon import build_optimisers
from veridream.params.model import Optimiser
from veridream.provenance.receipts import write_json
from veridream.provenance.stage import StageError
from veridream.train.parallel import gathered, part, shared_gradients, summed, told_by_first
from veridream.train.schedule import learning_rate_factor, set_learning_rate
from veridream.train.state import METRICS, checkpoint_steps, cut_metrics, load_state, open_work, save_state

RMS_DECAY = 0.99
LOG_LINES = 200  # metrics lines of a whole run, about


class NonFiniteLoss(StageError):
    """A loss or gradient that is not a number; the message names the dump file and the first window."""


@dataclass(frozen=True)
class Plan:
    name: str  # shown in progress lines and in every metrics line
    steps: int
    optimiser: Optimiser
    checkpoint_every: int
    lr_scale: float = 1.0


@dataclass(frozen=True)
class StepLoss:
    """One process's part of a step: terms and metrics of all processes add up to those of the whole batch."""

    terms: Mapping[str, Tensor]  # scalar losses, before their running RMS
    windows: Sequence[str] = ()  # readable ids of the part's windows
    weights: Mapping[str, float] = field(default_factory=dict)  # of each term after its RMS; 1 unless given
    metrics: Mapping[str, float] = field(default_factory=dict)  # further numbers to log


class RunningRms:
    """sqrt of a running mean of loss^2 per term, decay 0.99, corrected for its short past."""

    def __init__(self, state: Mapping[str, Sequence[float]] | None = None):
        self.state = {k: (float(v[0]), float(v[1])) for k, v in (state or {}).items()}  # name -> (mean of squares, its weight)

    def update(self, name: str, loss: float) -> float:
        """Takes in one loss and returns the RMS with it; never 0."""
        square, weight = self.state.get(name, (0.0, 0.0))
        square = RMS_DECAY * square + (1 - RMS_DECAY) * loss * loss
        weight = RMS_DECAY * weight + (1 - RMS_DECAY)
        self.state[name] = (square, weight)
        return max(math.sqrt(square / weight), 1e-8)


def train(plan: Plan, model: nn.Module, loss_of: Callable[[int], StepLoss], work: Path, config: Mapping[str, Any]) -> Path:
    """Trains `model` in place for plan.steps steps, going on from the newest checkpoint in `work`. Returns the metrics file.

    Args:
        loss_of: step (0-based) -> this process's part of its losses; must depend on the step and the model alone.
        config: JSON-ready; everything the result depends on (see train.state).
    Raises:
        NonFiniteLoss: at the first loss or gradient norm that is not finite; the model's last good state stays in `work`.
    """
    first = part().first
    done = _last_step(work, config) if first else 0
    start = told_by_first(done)
    optimisers = build_optimisers(model, plan.optimiser, plan.lr_scale)
    rms = RunningRms(load_state(work, start, model, optimisers)["rms"] if start else None)
    losses = _Losses(model, loss_of)
    model.train()
    every = max(1, plan.steps // LOG_LINES)
    with (work / METRICS if first else Path(os.devnull)).open("a") as log, Progress(plan.name, plan.steps, start, None if first else log) as progress:
        for step in range(start, plan.steps):
            line = _step(plan, model, optimisers, losses, rms, step, work)
            done = step + 1
            if done % every == 0 or done == plan.steps:
                log.write(json.dumps(line, allow_nan=False) + "\n")
            if first and (done % plan.checkpoint_every == 0 or done == plan.steps):
                log.flush()
                save_state(work, done, model, optimisers, {"rms": rms.state})
            progress.update(loss=line["loss"])
    model.eval()
    return work / METRICS


def _last_step(work: Path, config: Mapping[str, Any]) -> int:
    """Makes the work folder ready; the step its newest checkpoint stands at, 0 without one."""
    open_work(work, config)
    start = max(checkpoint_steps(work), default=0)
    cut_metrics(work / METRICS, start)
    return start


class _Losses(nn.Module):
    """Step -> loss terms as a module's forward pass, which is what DDP hooks into."""

    def __init__(self, model: nn.Module, loss_of: Callable[[int], StepLoss]):
        super().__init__()
        self.model, self.loss_of = model, loss_of
        self.out = StepLoss({})  # of the last step
        self.shared = [shared_gradients(self)]  # in a list, so that it is no submodule of itself

    def forward(self, step: int) -> dict[str, Tensor]:
        self.out = self.loss_of(step)
        return dict(self.out.terms)

    def of(self, step: int) -> tuple[dict[str, Tensor], StepLoss]:
        """(terms, to call backward on; everything else)."""
        terms: dict[str, Tensor] = self.shared[0](step)
        return terms, self.out


def _step(plan: Plan, model: nn.Module, optimisers: Sequence[torch.optim.Optimizer], losses: _Losses, rms: RunningRms, step: int, work: Path) -> dict[str, Any]:
    """One optimiser step; the metrics line. Raises NonFiniteLoss before any weight has changed."""
    factor = learning_rate_factor(step, plan.steps, plan.optimiser.warmup, plan.optimiser.schedule)
    set_learning_rate(optimisers, factor)
    terms, out = losses.of(step)
    sums = summed({**{f"loss_{k}": float(v.detach()) for k, v in terms.items()}, **out.metrics})
    values = {k: sums.pop(f"loss_{k}") for k in terms}
    if not all(map(math.isfinite, values.values())):
        raise _non_finite(plan, out, step, values, work)
    total = torch.stack([out.weights.get(k, 1.0) / rms.update(k, values[k]) * v for k, v in terms.items()]).sum()
    for optimiser in optimisers:
        optimiser.zero_grad(set_to_none=True)
    (total * part().world).backward()  # DDP takes the mean over processes
    norm = float(nn.utils.clip_grad_norm_(model.parameters(), plan.optimiser.clip))
    if not math.isfinite(norm):
        raise _non_finite(plan, out, step, {**values, "gradient_norm": norm}, work)
    for optimiser in optimisers:
        optimiser.step()
    loss = sum(out.weights.get(k, 1.0) * v for k, v in values.items())
    shown = {f"loss_{k}": v for k, v in values.items()}
    return {"run": plan.name, "step": step + 1, "loss": loss, **shown, "gradient_norm": norm, "lr_factor": factor, **sums}


def _non_finite(plan: Plan, out: StepLoss, step: int, values: Mapping[str, float], work: Path) -> NonFiniteLoss:
    bad = sorted(k for k, v in values.items() if not math.isfinite(v))
    windows = gathered(out.windows)
    dump = work / f"nonfinite-step-{step + 1:08d}.json"
    if part().first:
        write_json(dump, {"run": plan.name, "step": step + 1, "values": {k: repr(v) for k, v in values.items()}, "windows": windows})
    first = f", first of them {windows[0]}" if windows else ""
    return NonFiniteLoss(f"{plan.name}: step {step + 1}: {', '.join(bad)} not finite; the {len(windows)} windows of the batch stand in {dump}{first}")
