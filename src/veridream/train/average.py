"""A running average of a model's weights (EMA), which is then what is looked at and published."""

import contextlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn


class Average:
    """weights <- r weights + (1 - r) model after each step, r = min(decay, (1 + step) / (10 + step)), so that the start is soon forgotten."""

    def __init__(self, model: nn.Module, decay: float):
        self.model, self.decay = model, decay
        self.weights = {k: v.detach().clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Takes in the model after `step` steps."""
        share = 1.0 - min(self.decay, (1 + step) / (10 + step))
        for k, v in self.model.state_dict().items():
            self.weights[k].lerp_(v, share)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Goes on from saved weights."""
        for k, v in self.weights.items():
            v.copy_(weights[k])

    def publish(self) -> None:
        """The model takes the average's weights."""
        self.model.load_state_dict(self.weights)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """The model has the average's weights inside, its own again afterwards."""
        own = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        self.publish()
        try:
            yield
        finally:
            self.model.load_state_dict(own)
