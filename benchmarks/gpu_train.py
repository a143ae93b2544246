"""Trains a scale's two networks on made-up data for some hundred steps on a GPU, in bf16 with and without torch.compile, and dreams with them.

    python benchmarks/gpu_train.py                        # the workstation scale, under 10 minutes
    python benchmarks/gpu_train.py --tiny                 # anywhere, seconds: that the script works

Printed, as a Markdown table: frames a second, use of the card's own matrix speed (measured in the same run), peak memory, and frames a second
of the sampler at batch 1 and 64. The step is the engine's own: its loss, autocast, clipping, optimiser; the data are noise of the right shape.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from measure import matrix_peak, seconds
from torch import nn

from veridream.data.instructions import instruction_features
from veridream.nn import cost
from veridream.nn.dynamics import Dynamics
from veridream.nn.flow import draw_indices, shortcut_loss
from veridream.nn.heads import ahead, imitation_loss
from veridream.nn.reward import reward_loss
from veridream.nn.sampler import rollout
from veridream.nn.tokenizer import Tokenizer
from veridream.params.load import load_params
from veridream.params.model import Compute, DynamicsTrain, Engine, Params, TokenizerTrain
from veridream.train.engine import Plan, train
from veridream.train.gradients import StepLoss
from veridream.train.parallel import Part
from veridream.train.tokenizer import draw_mask, reconstruction_loss

WARM = 0.25  # share of the steps that is not timed: compilation, first allocations
Loss = Callable[[int, Part], StepLoss]


def tokenizer_loss(p: Params, net: Tokenizer, device: torch.device) -> Loss:
    t, rng = p.tokenizer.train, torch.Generator().manual_seed(0)
    shape = (t.batch, t.window, p.render.size, p.render.size, 3)
    frames = torch.randint(0, 256, shape, generator=rng, dtype=torch.uint8)
    masked = draw_mask(shape[:2], net.patches, t.mask_max, rng)

    def loss(step: int, share: Part) -> StepLoss:
        rows = share.rows(t.batch)
        x, hidden = frames[rows].to(device).float() / 255, masked[rows].to(device)
        return StepLoss({"reconstruction": len(rows) / t.batch * reconstruction_loss(net(x, hidden), x, None, hidden, net.arch.patch)})

    return loss


def dynamics_loss(p: Params, net: Dynamics, device: torch.device) -> Loss:
    t, a, rng = p.dynamics.train, p.dynamics.arch, torch.Generator().manual_seed(0)
    z = torch.randn(t.batch, t.window, net.latents, net.latent_dim, generator=rng).tanh()
    action, mask = (torch.rand(t.batch, t.window, 16, generator=rng) * 2 - 1).to(device), torch.ones(t.batch, 16, device=device)
    reward = torch.rand(t.batch, t.window, generator=rng).to(device)
    words = torch.from_numpy(instruction_features("push the red block", a.task_features)).to(device)

    def loss(step: int, share: Part) -> StepLoss:
        rows = share.rows(t.batch)
        b, n_self = len(rows), round(t.bootstrap_share * len(rows))
        signal, size = (x.to(device) for x in draw_indices(b, t.window, n_self, a.k_max, rng))
        here, noise = z[rows].to(device), torch.randn(b, *z.shape[1:], device=device)
        task = words.expand(b, -1) if a.agents else None
        predict = lambda x, s, e, r: net(x, s, e, action[:b][r], mask[:b][r], None if task is None else task[r])  # noqa: E731
        flow = shortcut_loss(predict, here, noise, signal, size, n_self, a.k_max)
        own, heads = b / t.batch, flow.out.heads
        if heads is None:
            known = torch.ones(b, t.window, device=device) > 0
            return StepLoss({"flow": own * flow.total, "reward": own * reward_loss(flow.out.reward_logits_BTR, reward[:b], known)})
        target, inside = ahead(reward[:b], a.reward_horizon)
        terms = {"flow": own * flow.total, "reward": own * reward_loss(heads.reward_logits_BTKR, target, inside.expand(target.shape))}
        return StepLoss({**terms, "behaviour": own * imitation_loss(heads.action_BTLA, action[:b], mask[:b])} if a.bc_horizon else terms)

    return loss


def timed(net: nn.Module, loss: Loss, t: TokenizerTrain | DynamicsTrain, steps: int, compute: Compute, engine: Engine) -> tuple[float, float]:
    """(seconds a step, peak bytes) of engine steps after the warm ones."""
    device, marks = next(net.parameters()).device, []

    def marked(step: int, share: Part) -> StepLoss:
        if share.rank == 0:
            if device.type == "cuda":
                torch.cuda.synchronize()
            marks.append(time.perf_counter())
        return loss(step, share)

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as work:
        train(Plan("gpu_train", steps + 1, t.optimiser, steps + 1, engine=engine, compute=compute), net, marked, Path(work), {"params": {}})
    first = int(WARM * steps)
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return (marks[steps] - marks[first]) / (steps - first), float(peak)


@torch.no_grad()
def dreamt(net: Dynamics, batch: int, context: int, horizon: int, substeps: int) -> float:
    """Frames a second of open-loop rollouts in fp32, the second of two."""
    device = next(net.parameters()).device
    z = torch.randn(batch, context, net.latents, net.latent_dim, device=device).tanh()
    action, mask = torch.rand(batch, context + horizon, 16, device=device) * 2 - 1, torch.ones(batch, 16, device=device)
    run = lambda: rollout(net, z, action, mask, horizon, substeps, 0.1, 1, "first", torch.Generator(device).manual_seed(0))  # noqa: E731
    run()
    return batch * horizon / seconds(run)


def rows(p: Params, name: str, steps: int, device: torch.device, computes: list[Compute], tokens: Callable[[], nn.Module]) -> list[str]:
    """One row a way of computing."""
    tokenizer = name == "tokenizer"
    t = p.tokenizer.train if tokenizer else p.dynamics.train
    frames, shape = t.batch * t.window, (p.tokenizer.arch.latents, p.tokenizer.arch.latent_dim, t.window)
    if tokenizer:
        each = cost.tokenizer_step_flops(p.tokenizer.arch, p.render.size, t.window)
    else:
        each = cost.dynamics_step_flops(p.dynamics.arch, *shape, p.dynamics.train.bootstrap_share)
    out = []
    for compute in computes:
        net = tokens().to(device)
        loss = tokenizer_loss(p, net, device) if isinstance(net, Tokenizer) else dynamics_loss(p, net, device)  # type: ignore[arg-type]
        step, memory = timed(net, loss, t, steps, compute, t.engine)
        peak = matrix_peak(device, torch.bfloat16 if compute.precision == "bf16" else torch.float32, 4096 if device.type == "cuda" else 512)
        how = f"{compute.precision}{', compiled' if compute.compile else ''}"
        use, gb = 100 * each * frames / step / peak, memory / 1e9
        rate = f"{1000 * step:.1f} ms | {frames / step:,.0f} frames/s"
        out.append(f"| {name} train step | {how} | {rate} | {use:.0f} % of {peak / 1e12:.2f} T | {gb:.1f} GB |")
        del net, loss
    return out


def report(p: Params, steps: int, device: torch.device, computes: list[Compute], horizon: int) -> list[str]:
    """The whole table."""
    shape = (p.tokenizer.arch.latents, p.tokenizer.arch.latent_dim)
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    out = [f"{where}, torch {torch.__version__}, {steps} steps each", "", "| what | how | step | rate | use of the matrix peak | memory |"]
    out += ["|---|---|---|---|---|---|"]
    out += rows(p, "tokenizer", steps, device, computes, lambda: Tokenizer(p.tokenizer.arch, p.render.size))
    out += rows(p, "dynamics", steps, device, computes, lambda: Dynamics(p.dynamics.arch, *shape))
    net, context = Dynamics(p.dynamics.arch, *shape).to(device).eval(), min(p.score.context, p.dynamics.train.window - 1)
    for batch in (1, 64):
        out.append(f"| sampler, batch {batch} | fp32 | | {dreamt(net, batch, context, horizon, p.score.substeps):,.0f} frames/s | | |")
    return out


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", default="workstation", help="a file of params/scales, whose networks are trained")
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--tiny", action="store_true", help="the smoke scale, a few steps, on the CPU, uncompiled")
    a = ap.parse_args()
    if a.tiny:
        print("\n".join(report(load_params("smoke"), 4, torch.device("cpu"), [Compute(), Compute(precision="bf16")], 2)))
        return
    if not torch.cuda.is_available():
        ap.error("torch sees no GPU here; --tiny runs anywhere")
    ways = [Compute(device="cuda", precision="bf16"), Compute(device="cuda", precision="bf16", compile=True)]
    torch.set_float32_matmul_precision("high")
    print("\n".join(report(load_params(a.scale), a.steps, torch.device("cuda"), ways, 16)))


if __name__ == "__main__":
    main()
