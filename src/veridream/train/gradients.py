"""The gradients of one step, from a process's whole share of the batch at once or in parts (gradient accumulation).

Every loss term is divided by its running RMS over the whole batch. At once, that RMS holds the step's own value, known after the forward
pass. In parts it cannot, since the first backward pass comes before the last forward pass: there the divisor is the RMS up to the step
before; at a run's first step the terms are computed once without gradient to have one.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from veridream.nn.device import device_of
from veridream.train.parallel import Part, part, shared_gradients, summed

RMS_DECAY = 0.99
FLOOR = 1e-8  # of a divisor


@dataclass(frozen=True)
class StepLoss:
    """One part of a step: terms and metrics of all parts and processes add up to those of the whole batch."""

    terms: Mapping[str, Tensor]  # scalar losses, before their running RMS
    windows: Sequence[str] = ()  # readable ids of the part's windows
    weights: Mapping[str, float] = field(default_factory=dict)  # of each term after its RMS; 1 unless given
    metrics: Mapping[str, float] = field(default_factory=dict)  # further numbers to log


LossOf = Callable[[int, Part], StepLoss]  # (step, 0-based; rows) -> this part of the step's losses; a function of those and the model's weights


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
        return self.now(name)

    def now(self, name: str) -> float:
        """The RMS of the losses taken in so far. Raises KeyError before the first."""
        square, weight = self.state[name]
        return max(math.sqrt(square / weight), FLOOR)


class Losses(nn.Module):
    """(step, part) -> loss terms as a module's forward pass, which is what DDP hooks into."""

    def __init__(self, model: nn.Module, loss_of: LossOf, precision: str = "fp32"):
        super().__init__()
        self.model, self.loss_of, self.precision = model, loss_of, precision
        self.out = StepLoss({})  # of the last call
        self.shared = [shared_gradients(self)]  # in a list, so that it is no submodule of itself

    def forward(self, step: int, share: Part) -> dict[str, Tensor]:
        half = torch.autocast(device_of(self.model).type, torch.bfloat16) if self.precision == "bf16" else contextlib.nullcontext()
        with half:
            self.out = self.loss_of(step, share)
        return dict(self.out.terms)

    def of(self, step: int, share: Part) -> StepLoss:
        """The terms to call backward on, and everything else."""
        terms: dict[str, Tensor] = self.shared[0](step, share)
        return StepLoss(terms, self.out.windows, self.out.weights, self.out.metrics)

    @contextlib.contextmanager
    def kept_local(self, local: bool) -> Iterator[None]:
        """With `local`, gradients of passes inside wait for a later backward pass to be averaged over processes."""
        shared = self.shared[0]
        with shared.no_sync() if local and isinstance(shared, DistributedDataParallel) else contextlib.nullcontext():
            yield


@dataclass(frozen=True)
class Batch:
    """What a step's batch came to, summed over parts and processes; without gradients where `values` are not finite."""

    values: dict[str, float]  # of the terms
    weights: Mapping[str, float]
    metrics: dict[str, float]
    windows: Sequence[str]  # of this process

    @property
    def finite(self) -> bool:
        return all(map(math.isfinite, self.values.values()))


def gradients(losses: Losses, rms: RunningRms, step: int, parts: int) -> Batch:
    """Adds the step's gradients to the model's and the step's losses to the RMS."""
    return _at_once(losses, rms, step) if parts == 1 else _in_parts(losses, rms, step, part().split(parts))


def _backward(out: StepLoss, divisors: Mapping[str, float]) -> None:
    total = torch.stack([out.weights.get(k, 1.0) / divisors[k] * v for k, v in out.terms.items()]).sum()
    (total * part().world).backward()  # DDP takes the mean over processes


def _collected(outs: Sequence[StepLoss]) -> Batch:
    """Sums over parts, then over processes."""
    own: dict[str, float] = {}
    for out in outs:
        for k, v in [*((f"loss_{k}", float(v.detach())) for k, v in out.terms.items()), *out.metrics.items()]:
            own[k] = own[k] + v if k in own else v
    sums = summed(own)
    values = {k: sums.pop(f"loss_{k}") for k in outs[0].terms}
    return Batch(values, outs[0].weights, sums, [w for out in outs for w in out.windows])


def _at_once(losses: Losses, rms: RunningRms, step: int) -> Batch:
    out = losses.of(step, part())
    batch = _collected([out])
    if batch.finite:
        _backward(out, {k: rms.update(k, v) for k, v in batch.values.items()})
    return batch


def _in_parts(losses: Losses, rms: RunningRms, step: int, shares: Sequence[Part]) -> Batch:
    divisors = {k: rms.now(k) for k in rms.state} or _first_divisors(losses, step, shares)
    outs = []
    for i, share in enumerate(shares):
        with losses.kept_local(i < len(shares) - 1):
            out = losses.of(step, share)
            _backward(out, divisors)
        outs.append(StepLoss({k: v.detach() for k, v in out.terms.items()}, out.windows, out.weights, out.metrics))
    batch = _collected(outs)
    if batch.finite:
        for k, v in batch.values.items():
            rms.update(k, v)
    return batch


@torch.no_grad()
def _first_divisors(losses: Losses, step: int, shares: Sequence[Part]) -> dict[str, float]:
    batch = _collected([losses.of(step, share) for share in shares])
    return {k: max(abs(v), FLOOR) for k, v in batch.values.items()}
