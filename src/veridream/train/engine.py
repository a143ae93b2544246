"""One training loop for every model: exact resume, losses over their running RMS, a stop with evidence at the first non-finite number.

The batch and all noise of a step are functions of (seed, step), so a run killed at any moment and started again ends in the same bytes
as an undisturbed one. The metrics file holds no times.
"""

import json
import math
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
    terms: Mapping[str, Tensor]  # scalar losses, before their running RMS
    windows: Sequence[str] = ()  # readable ids of the batch's windows
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
        loss_of: step (0-based) -> its losses; must depend on the step and the model alone.
        config: JSON-ready; everything the result depends on (see train.state).
    Raises:
        NonFiniteLoss: at the first loss or gradient norm that is not finite; the model's last good state stays in `work`.
    """
    open_work(work, config)
    optimisers = build_optimisers(model, plan.optimiser, plan.lr_scale)
    steps = checkpoint_steps(work)
    start = steps[-1] if steps else 0
    rms = RunningRms(load_state(work, start, model, optimisers)["rms"] if steps else None)
    cut_metrics(work / METRICS, start)
    model.train()
    every = max(1, plan.steps // LOG_LINES)
    with Progress(plan.name, plan.steps, start) as progress, (work / METRICS).open("a") as log:
        for step in range(start, plan.steps):
            line = _step(plan, model, optimisers, loss_of, rms, step, work)
            done = step + 1
            if done % every == 0 or done == plan.steps:
                log.write(json.dumps(line, allow_nan=False) + "\n")
            if done % plan.checkpoint_every == 0 or done == plan.steps:
                log.flush()
                save_state(work, done, model, optimisers, {"rms": rms.state})
            progress.update(loss=line["loss"])
    model.eval()
    return work / METRICS


def _step(
    plan: Plan, model: nn.Module, optimisers: Sequence[torch.optim.Optimizer], loss_of: Callable[[int], StepLoss], rms: RunningRms, step: int, work: Path
) -> dict[str, Any]:
    """One optimiser step; the metrics line. Raises NonFiniteLoss before any weight has changed."""
    factor = learning_rate_factor(step, plan.steps, plan.optimiser.warmup, plan.optimiser.schedule)
    set_learning_rate(optimisers, factor)
    out = loss_of(step)
    values = {k: float(v.detach()) for k, v in out.terms.items()}
    if not all(map(math.isfinite, values.values())):
        raise _non_finite(plan, out, step, values, work)
    total = torch.stack([out.weights.get(k, 1.0) / rms.update(k, values[k]) * v for k, v in out.terms.items()]).sum()
    for optimiser in optimisers:
        optimiser.zero_grad(set_to_none=True)
    total.backward()
    norm = float(nn.utils.clip_grad_norm_(model.parameters(), plan.optimiser.clip))
    if not math.isfinite(norm):
        raise _non_finite(plan, out, step, {**values, "gradient_norm": norm}, work)
    for optimiser in optimisers:
        optimiser.step()
    loss = sum(out.weights.get(k, 1.0) * v for k, v in values.items())
    shown = {f"loss_{k}": v for k, v in values.items()}
    return {"run": plan.name, "step": step + 1, "loss": loss, **shown, "gradient_norm": norm, "lr_factor": factor, **out.metrics}


def _non_finite(plan: Plan, out: StepLoss, step: int, values: Mapping[str, float], work: Path) -> NonFiniteLoss:
    bad = sorted(k for k, v in values.items() if not math.isfinite(v))
    dump = work / f"nonfinite-step-{step + 1:08d}.json"
    write_json(dump, {"run": plan.name, "step": step + 1, "values": {k: repr(v) for k, v in values.items()}, "windows": list(out.windows)})
    first = f", first of them {out.windows[0]}" if out.windows else ""
    return NonFiniteLoss(f"{plan.name}: step {step + 1}: {', '.join(bad)} not finite; the {len(out.windows)} windows of the batch stand in {dump}{first}")
