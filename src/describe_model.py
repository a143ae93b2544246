"""What a scale's networks are and cost by arithmetic, before anything is run: parameters, operations, memory, time on H100 GPUs. A Markdown table.

The networks are made without memory (torch's meta device). Time is training's matrix products over an assumed share of the card's peak.
"""

import argparse
from typing import NamedTuple

import torch
from torch import nn

from veridream import spec
from veridream.nn import cost
from veridream.nn.dynamics import Dynamics
from veridream.nn.operations import PEAK, SHARE
from veridream.nn.tokenizer import Tokenizer
from veridream.params.load import load_params
from veridream.params.model import Params


class Half(NamedTuple):
    """The tokenizer or the dynamics."""

    parameters: int
    tokens: int  # a frame
    forward: float  # operations a frame
    training: float
    frames: int  # a step
    steps: int
    memory: int  # bytes a worker
    finetunes: float  # operations of all of them


def networks(p: Params) -> tuple[Tokenizer, Dynamics]:
    """The scale's networks on the meta device."""
    with torch.device("meta"):
        tokenizer = Tokenizer(p.tokenizer.arch, p.render.size)
        return tokenizer, Dynamics(p.dynamics.arch, p.tokenizer.arch.latents, p.tokenizer.arch.latent_dim)


def count(module: nn.Module) -> int:
    return sum(x.numel() for x in module.parameters())


def tokenizer_half(p: Params, network: Tokenizer) -> Half:
    a, t, size = p.tokenizer.arch, p.tokenizer.train, p.render.size
    forward = cost.encode_flops(a, size, t.window) + cost.decode_flops(a, size, t.window)
    training = cost.tokenizer_step_flops(a, size, t.window, t.engine.recompute)
    tokens, blocks = network.layout.size, a.encoder_depth + a.decoder_depth
    at_once = t.batch * t.window // (t.workers * t.engine.accumulate)
    kept = cost.activation_bytes(a.width, at_once * tokens, blocks, 0, t.engine.recompute)
    time = cost.activation_bytes(a.width, at_once * a.latents, 0, blocks // a.time_every if a.time_every else 0)
    finetunes = training * t.batch * t.window * (len(spec.ARMS) * p.arms.tokenizer_steps + len(spec.TARGETED) * p.finetune.tokenizer_steps)
    memory = kept + time + cost.STATE_BYTES * count(network)
    return Half(count(network), tokens, forward, training, t.batch * t.window, t.steps, memory, finetunes)


def dynamics_half(p: Params, network: Dynamics) -> Half:
    a, t = p.dynamics.arch, p.dynamics.train
    shape = (network.latents, network.latent_dim, t.window)
    training = cost.dynamics_step_flops(a, *shape, t.bootstrap_share, t.engine.recompute)
    at_once = t.batch * t.window // (t.workers * t.engine.accumulate)
    memory = cost.activation_bytes(a.width, at_once * network.layout.size, a.depth, a.depth // a.time_every, t.engine.recompute)
    finetunes = training * t.batch * t.window * (len(spec.ARMS) * p.arms.dynamics_steps + len(spec.TARGETED) * p.finetune.dynamics_steps)
    memory += cost.STATE_BYTES * count(network)
    return Half(count(network), network.layout.size, cost.dynamics_flops(a, *shape, True), training, t.batch * t.window, t.steps, memory, finetunes)


def days(operations: float, cards: int = 1) -> str:
    seconds = operations / (PEAK * SHARE * cards)
    return f"{seconds / 86400:.2f} d" if seconds >= 86400 else f"{seconds / 3600:.2f} h"


def table(p: Params) -> str:
    """The rows of one scale."""
    halves = [tokenizer_half(p, (nets := networks(p))[0]), dynamics_half(p, nets[1])]
    base = [h.training * h.frames * h.steps for h in halves]
    rows = {
        "parameters": [f"{h.parameters / 1e6:.1f} M" for h in halves],
        "tokens a frame": [str(h.tokens) for h in halves],
        "operations a frame, forward": [f"{h.forward / 1e9:.3g} G" for h in halves],
        "operations a frame, training": [f"{h.training / 1e9:.3g} G" for h in halves],
        "frames a step": [f"{h.frames:,}" for h in halves],
        "steps": [f"{h.steps:,}" for h in halves],
        "operations of the base model": [f"{x:.2e}" for x in base],
        "memory a worker": [f"{h.memory / 1e9:.1f} GB" for h in halves],
        "base model on 1 H100": [days(x) for x in base],
        "base model on 8 H100": [days(x, 8) for x in base],
        f"{len(spec.ARMS) + len(spec.TARGETED)} finetunes, GPU time": [days(h.finetunes) for h in halves],
    }
    whole = sum(base) + sum(h.finetunes for h in halves)
    lines = ["| | tokenizer | dynamics |", "|---|---|---|", *(f"| {k} | {a} | {b} |" for k, (a, b) in rows.items())]
    said = f"All training: {whole:.2e} operations, {days(whole)} on one H100, {days(whole, 8)} on 8, at {SHARE:.0%} of {PEAK / 1e12:.0f} TFLOP/s."
    return "\n".join([*lines, "", said])


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", default="paper", help="a file of params/scales")
    print(table(load_params(ap.parse_args().scale)))
