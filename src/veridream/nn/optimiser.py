"""What every optimiser here shares, and AdamW, without torch.optim.Optimizer.

That class imports torch's compiler at its first call, two seconds a process, to keep itself out of what is compiled; here models are compiled
and optimisers never are. The arithmetic of AdamW is torch's own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw


class BaseOptimiser(ABC):
    """Groups of parameters, each with its settings ("params", "lr", "weight_decay", ...), and tensors of state by parameter."""

    def __init__(self, param_groups: Sequence[dict[str, Any]]) -> None:
        self.param_groups = list(param_groups)
        self.state: dict[nn.Parameter, dict[str, Tensor]] = {}

    @abstractmethod
    def step(self) -> None:
        """One update of every parameter that has a gradient."""

    def zero_grad(self) -> None:
        for p in self._parameters():
            p.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """The whole state, {"<number of the parameter>/<name>": tensor}."""
        return {f"{i}/{name}": t for i, p in enumerate(self._parameters()) for name, t in self.state.get(p, {}).items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes over what `tensors` gave. Counters stay on the CPU, everything else goes where its parameter is."""
        state: dict[nn.Parameter, dict[str, Tensor]] = {}
        parameters = self._parameters()
        for key, t in tensors.items():
            number, name = key.split("/")
            p = parameters[int(number)]
            state.setdefault(p, {})[name] = t if t.ndim == 0 else t.to(device=p.device, dtype=p.dtype)
        self.state = state

    def _parameters(self) -> list[nn.Parameter]:
        return [p for group in self.param_groups for p in group["params"]]


class AdamW(BaseOptimiser):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019). `betas` stand in every group."""

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            mine = [p for p in group["params"] if p.grad is not None]
            for p in mine:
                if p not in self.state:
                    self.state[p] = {"step": torch.tensor(0.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
            of = {name: [self.state[p][name] for p in mine] for name in ("exp_avg", "exp_avg_sq", "step")}
            beta1, beta2 = group["betas"]
            rates = {"beta1": beta1, "beta2": beta2, "lr": group["lr"], "weight_decay": group["weight_decay"], "eps": 1e-8}
            adamw(mine, [p.grad for p in mine if p.grad is not None], of["exp_avg"], of["exp_avg_sq"], [], of["step"], **rates, amsgrad=False, maximize=False)
