"""AdamW without torch.optim's class: the same bits, a state that comes back, and no compiler in a training process."""

import subprocess
import sys

import torch
from torch import nn

from veridream.nn.optimiser import AdamW

RATES = {"lr": 0.01, "betas": (0.9, 0.98)}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3), nn.Linear(3, 1))


def grouped(model):
    named = dict(model.named_parameters())
    matrices, vectors = ([p for p in named.values() if (p.ndim > 1) == many] for many in (True, False))
    return [{"params": matrices, "weight_decay": 0.1, **RATES}, {"params": vectors, "weight_decay": 0.0, **RATES}]


def advance(model, optimiser, steps, first=0):
    for s in range(first, first + steps):
        optimiser.zero_grad()
        x = torch.randn(4, 5, generator=torch.Generator().manual_seed(s))
        (model(x).square().mean() if s % 2 else model[:3](x).square().mean()).backward()  # the last layer sits out every second step
        for group in optimiser.param_groups:
            group["lr"] = 0.01 / (1 + s)
        optimiser.step()


def test_the_same_bits_as_torch():
    ours, theirs = network(), network()
    advance(ours, AdamW(grouped(ours)), 7)
    advance(theirs, torch.optim.AdamW(grouped(theirs)), 7)
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))


def test_a_state_taken_over_goes_on_as_if_nothing_had_been():
    straight, halves = network(), network()
    advance(straight, AdamW(grouped(straight)), 6)
    first = AdamW(grouped(halves))
    advance(halves, first, 3)
    kept = {k: t.clone() for k, t in first.tensors().items()}
    assert set(kept) == {f"{i}/{name}" for i in range(6) for name in ("step", "exp_avg", "exp_avg_sq")}
    second = AdamW(grouped(halves))
    second.load(kept)
    advance(halves, second, 3, first=3)
    assert all(torch.equal(a, b) for a, b in zip(straight.parameters(), halves.parameters(), strict=True))


TRAINS = """
import sys, torch
from torch import nn
from veridream.nn.muon import build_optimisers
from veridream.params.model import Optimiser

model = nn.Module()
model.blocks, model.head = nn.Linear(4, 4), nn.Linear(4, 1)
for optimiser in build_optimisers(model, Optimiser(kind="muon")):
    optimiser.zero_grad()
    model.head(model.blocks(torch.ones(2, 4))).sum().backward()
    optimiser.step()
assert len(model.blocks.weight) == 4
sys.exit(any(name.startswith("torch._dynamo") for name in sys.modules))
"""


def test_a_step_imports_no_compiler():
    assert subprocess.run([sys.executable, "-c", TRAINS], env={"PYTHONPATH": "src"}).returncode == 0
