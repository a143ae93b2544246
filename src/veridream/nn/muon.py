"""Muon: momentum orthogonalised by Newton-Schulz iterations in float32, for the weight matrices of transformer blocks; AdamW for the rest.

Source: Jordan et al., "Muon" (2024): quintic iteration with coefficients (3.4445, -4.7750, 2.0315), Nesterov momentum 0.95, a step
scaled by sqrt(max(1, rows / columns)). Matrices of one shape are orthogonalised as one batch. float32 because bfloat16 products are
slow on CPUs without native support.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from veridream.nn.optimiser import AdamW, BaseOptimiser
from veridream.params.model import Optimiser

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
MOMENTUM = 0.95
EPS = 1e-7
LONG = 1.5  # columns over rows from which multiplying up the factors costs fewer products


def orthogonalise(m: Tensor) -> Tensor:
    """[...,R,C] -> a matrix with the same singular vectors and singular values near 1 (0.7 to 1.2).

    Each iteration is x <- (a + b g + c g^2) x with g = x x^T. The factors of all iterations are polynomials of the first g and commute, so for
    long matrices they are multiplied up as small squares and x itself is touched twice only.
    """
    a, b, c = COEFFICIENTS
    tall = m.shape[-2] > m.shape[-1]
    x = m.transpose(-1, -2) if tall else m
    x = x / (x.flatten(-2).norm(dim=-1)[..., None, None] + EPS)
    if x.shape[-1] > LONG * x.shape[-2]:
        x = _composed_factor(x @ x.transpose(-1, -2)) @ x
    else:
        for _ in range(ITERATIONS):
            gram = x @ x.transpose(-1, -2)
            x = a * x + (b * gram + c * gram @ gram) @ x
    return x.transpose(-1, -2) if tall else x


def _composed_factor(gram: Tensor) -> Tensor:
    """The product of all iterations' factors, from the first gram matrix [...,R,R]."""
    a, b, c = COEFFICIENTS
    whole = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    for i in range(ITERATIONS):
        factor = b * gram + c * gram @ gram
        factor.diagonal(dim1=-2, dim2=-1).add_(a)
        whole = factor @ whole if i else factor
        if i < ITERATIONS - 1:
            gram = factor @ gram @ factor
    return whole


class Muon(BaseOptimiser):
    """For 2-D parameters only. `weight_decay` is decoupled."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float, weight_decay: float):
        matrices = list(params)
        super().__init__([{"params": matrices, "lr": lr, "weight_decay": weight_decay}])
        bad = [tuple(p.shape) for p in matrices if p.ndim != 2]
        if bad:
            raise ValueError(f"Muon is for matrices; got parameters of shapes {bad}")

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[nn.Parameter]] = {}
            for p in group["params"]:
                if p.grad is not None:
                    by_shape.setdefault(p.shape, []).append(p)
            for shape, same in by_shape.items():
                directions = orthogonalise(torch.stack([self._momentum(p) for p in same]))
                scale = max(1.0, shape[0] / shape[1]) ** 0.5
                for p, direction in zip(same, directions, strict=True):
                    p.mul_(1 - group["lr"] * group["weight_decay"]).add_(direction, alpha=-group["lr"] * scale)

    def _momentum(self, p: nn.Parameter) -> Tensor:
        """Nesterov momentum of the gradient; advances the buffer."""
        assert p.grad is not None
        if p not in self.state:
            self.state[p] = {"momentum": torch.zeros_like(p)}
        buffer = self.state[p]["momentum"]
        buffer.lerp_(p.grad, 1 - MOMENTUM)
        return p.grad.lerp(buffer, MOMENTUM)


def block_matrices(model: nn.Module) -> set[str]:
    """Names of the weight matrices inside transformer blocks (encoder, decoder, blocks)."""
    return {n for n, p in model.named_parameters() if p.ndim == 2 and n.split(".")[0] in ("encoder", "decoder", "blocks")}


def build_optimisers(model: nn.Module, config: Optimiser, lr_scale: float = 1.0) -> list[BaseOptimiser]:
    """The optimisers of a model: AdamW, with kind muon after a Muon for the block matrices. Only matrices decay.

    Every group's full learning rate also stands in `initial_lr`, for a schedule to scale.
    """
    muon_names = block_matrices(model) if config.kind == "muon" else set()
    named = dict(model.named_parameters())
    muon = [p for n, p in named.items() if n in muon_names]
    decayed = [p for n, p in named.items() if n not in muon_names and p.ndim >= 2]
    plain = [p for n, p in named.items() if n not in muon_names and p.ndim < 2]
    rates = {"lr": config.lr * lr_scale, "betas": config.betas}
    groups = [{"params": decayed, "weight_decay": config.weight_decay, **rates}, {"params": plain, "weight_decay": 0.0, **rates}]
    out: list[BaseOptimiser] = [AdamW([g for g in groups if g["params"]])]
    if muon:
        out.insert(0, Muon(muon, lr=config.muon_lr * lr_scale, weight_decay=config.weight_decay))
    for optimiser in out:
        for group in optimiser.param_groups:
            group["initial_lr"] = group["lr"]
    return out
