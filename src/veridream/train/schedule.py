"""Learning rate over the steps of one training run."""

import math
from collections.abc import Sequence

from veridream.nn.optimiser import BaseOptimiser


def learning_rate_factor(step: int, total: int, warmup: int, schedule: str) -> float:
    """Factor at `step` (0-based): linear warm-up, then constant, or a half cosine that ends at a tenth (at step `total`)."""
    if step < warmup:
        return (step + 1) / warmup
    if schedule == "constant":
        return 1.0
    if schedule != "cosine":
        raise ValueError(f"unknown schedule {schedule!r}; known: constant, cosine")
    done = min(1.0, (step - warmup) / max(1, total - warmup))
    return 0.1 + 0.45 * (1 + math.cos(math.pi * done))


def set_learning_rate(optimisers: Sequence[BaseOptimiser], factor: float) -> None:
    """Every group's lr = factor * its initial_lr."""
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = factor * group["initial_lr"]
