"""One training loop for every model: exact resume, losses over their running RMS, a stop with evidence at the first non-finite number.

The batch and all noise of a step are functions of (seed, step), so a run killed at any moment and started again ends in the same bytes
as an undisturbed one. The metrics file holds no times. In a run of several processes (train.parallel) every one computes its own part of each
loss; the first one alone writes.
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from veridream.io.progress import Progress
from veridream.nn.muon import build_optimisers
from veridream.nn.optimiser import BaseOptimiser
from veridream.params.model import Compute, Engine, Optimiser
from veridream.provenance.receipts import write_json
from veridream.provenance.stage import StageError
from veridream.train.average import Average
from veridream.train.gradients import Batch, Losses, LossOf, RunningRms, gradients
from veridream.train.parallel import gathered, merged, part, told_by_first
from veridream.train.schedule import learning_rate_factor, set_learning_rate
from veridream.train.state import METRICS, checkpoint_steps, cut_metrics, load_state, open_work, save_state

PLAIN, CPU = Engine(), Compute()  # every option off
LOG_LINES = 200  # metrics lines of a whole run, about
Look = Callable[[int], Mapping[str, float]]  # steps done -> this process's "<metric>/<task>" values; NaN where one does not exist


class NonFiniteLoss(StageError):
    """A loss or gradient that is not a number; the message names the dump file and the first window."""


@dataclass(frozen=True)
class Plan:
    name: str  # shown in progress lines and in every metrics line
    steps: int
    optimiser: Optimiser
    checkpoint_every: int
    lr_scale: float = 1.0
    engine: Engine = PLAIN
    compute: Compute = CPU
    look_every: int = 0  # steps between two looks; 0: none


@dataclass(frozen=True)
class _Run:
    plan: Plan
    model: nn.Module
    optimisers: Sequence[BaseOptimiser]
    losses: Losses
    rms: RunningRms
    average: Average | None
    work: Path

    def save(self, done: int) -> None:
        save_state(self.work, done, self.model, self.optimisers, {"rms": self.rms.state}, self.average)


def train(plan: Plan, model: nn.Module, loss_of: LossOf, work: Path, config: Mapping[str, Any], look: Look | None = None) -> Path:
    """Trains `model` in place for plan.steps steps, going on from the newest checkpoint in `work`. Returns the metrics file.

    Args:
        loss_of: (step, 0-based; part) -> that part of the step's losses; must depend on those and the model alone.
        config: JSON-ready; everything the result depends on (see train.state).
        look: what plan.look_every asks for, logged in the step's line with the mean over tasks of each metric.
    Raises:
        NonFiniteLoss: at the first loss or gradient norm that is not finite; the model's last good state stays in `work`.
    """
    first = part().first
    done = _last_step(work, config) if first else 0
    start = told_by_first(done)
    optimisers = build_optimisers(model, plan.optimiser, plan.lr_scale)
    average = Average(model, plan.engine.ema) if plan.engine.ema else None
    rms = RunningRms(load_state(work, start, model, optimisers, average)["rms"] if start else None)
    if plan.compute.compile:
        model.compile()  # in place: the names of the weights stay
    if plan.engine.recompute:
        model.recompute = True  # type: ignore[assignment]
    run = _Run(plan, model, optimisers, Losses(model, loss_of, plan.compute.precision), rms, average, work)
    model.train()
    every = max(1, plan.steps // LOG_LINES)
    with (work / METRICS if first else Path(os.devnull)).open("a") as log, Progress(plan.name, plan.steps, start, None if first else log) as progress:
        for step in range(start, plan.steps):
            line = _step(run, step)
            done = step + 1
            looks = look is not None and plan.look_every > 0 and (done % plan.look_every == 0 or done == plan.steps)
            if looks and look is not None:
                line |= _looked(run, look, done)
            if looks or done % every == 0 or done == plan.steps:
                log.write(json.dumps(line, allow_nan=False) + "\n")
            if first and (done % plan.checkpoint_every == 0 or done == plan.steps):
                log.flush()
                run.save(done)
            progress.update(loss=line["loss"])
    if average is not None:
        average.publish()
    model.eval()
    return work / METRICS


def _last_step(work: Path, config: Mapping[str, Any]) -> int:
    """Makes the work folder ready; the step its newest checkpoint stands at, 0 without one."""
    open_work(work, config)
    start = max(checkpoint_steps(work), default=0)
    cut_metrics(work / METRICS, start)
    return start


def _step(run: _Run, step: int) -> dict[str, Any]:
    """One optimiser step; the metrics line. Raises NonFiniteLoss before any weight has changed."""
    plan = run.plan
    factor = learning_rate_factor(step, plan.steps, plan.optimiser.warmup, plan.optimiser.schedule)
    set_learning_rate(run.optimisers, factor)
    for optimiser in run.optimisers:
        optimiser.zero_grad()
    batch = gradients(run.losses, run.rms, step, plan.engine.accumulate)
    if not batch.finite:
        raise _non_finite(run, batch, step)
    norm = float(nn.utils.clip_grad_norm_(run.model.parameters(), plan.optimiser.clip))
    if not math.isfinite(norm):
        raise _non_finite(run, replace(batch, values={**batch.values, "gradient_norm": norm}), step)
    for optimiser in run.optimisers:
        optimiser.step()
    if run.average is not None:
        run.average.update(step + 1)
    loss = sum(batch.weights.get(k, 1.0) * v for k, v in batch.values.items())
    shown = {f"loss_{k}": v for k, v in batch.values.items()}
    return {"run": plan.name, "step": step + 1, "loss": loss, **shown, "gradient_norm": norm, "lr_factor": factor, **batch.metrics}


def _looked(run: _Run, look: Look, done: int) -> dict[str, float]:
    """The look's finite values, and under each metric's own name their mean over tasks. By the averaged weights where there are some."""
    if run.average is None:
        own = look(done)
    else:
        with run.average.shown():
            own = look(done)
    values = {k: v for k, v in sorted(merged(own).items()) if math.isfinite(v)}
    groups: dict[str, list[float]] = {}
    for k, v in values.items():
        groups.setdefault(k.rsplit("/", 1)[0], []).append(v)
    return {**{k: sum(v) / len(v) for k, v in groups.items()}, **values}


def _non_finite(run: _Run, batch: Batch, step: int) -> NonFiniteLoss:
    name, bad = run.plan.name, sorted(k for k, v in batch.values.items() if not math.isfinite(v))
    windows = gathered(batch.windows)
    dump = run.work / f"nonfinite-step-{step + 1:08d}.json"
    if part().first:
        write_json(dump, {"run": name, "step": step + 1, "values": {k: repr(v) for k, v in batch.values.items()}, "windows": windows})
    first = f", first of them {windows[0]}" if windows else ""
    return NonFiniteLoss(f"{name}: step {step + 1}: {', '.join(bad)} not finite; the {len(windows)} windows of the batch stand in {dump}{first}")
