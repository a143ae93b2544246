"""The world model against a plain PyTorch version of the same shapes, its own uncached path, and, where it is installed, PyPI dreamer4.

    python benchmarks/world_model.py --scale laptop --threads 1

Ratios are theirs over ours (above 1: we are faster), medians over turns of one run with the smallest and largest turn. Use: the step's matrix
products over the machine's own matrix speed, measured in the same run. A train step is forward, backward, clipping and the optimiser (AdamW).
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plain
import torch
from measure import Pair, matrix_peak, seconds, turn_about
from torch import Tensor, nn

from veridream.data.latents import LatentCache, file_name
from veridream.data.windows import Windows
from veridream.nn import cost
from veridream.nn.dynamics import Dynamics
from veridream.nn.flow import draw_indices, shortcut_loss
from veridream.nn.reward import reward_loss
from veridream.nn.sampler import context_signal, rollout
from veridream.nn.tokenizer import Tokenizer
from veridream.params.load import load_params
from veridream.params.model import Params
from veridream.train.tokenizer import draw_mask, reconstruction_loss

TAU, SUBSTEPS = 0.1, 4
GROUPS = ("steps", "dreamer4", "frames", "rollout")


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def train_step(model: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        loss().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


class Shapes:
    """One scale's networks, ours and plain, and a batch of each."""

    def __init__(self, p: Params):
        torch.manual_seed(0)
        t, d = p.tokenizer, p.dynamics
        self.p, self.latents, self.dim = p, t.arch.latents, t.arch.latent_dim
        self.tokenizer, self.plain_tokenizer = Tokenizer(t.arch, p.render.size), plain.Tokenizer(t.arch, p.render.size)
        self.dynamics, self.plain_dynamics = Dynamics(d.arch, self.latents, self.dim), plain.Dynamics(d.arch, self.latents, self.dim)
        for head in (self.dynamics.x1_out.weight, self.dynamics.action_out.weight):  # zero or nearly so at the start; dreams should differ
            nn.init.normal_(head, std=0.1)
        self.frames = torch.rand(t.train.batch, t.train.window, p.render.size, p.render.size, 3, generator=rng())
        self.masked = draw_mask((t.train.batch, t.train.window), self.tokenizer.patches, t.train.mask_max, rng())
        b, w = d.train.batch, d.train.window
        self.z = torch.randn(b, w, self.latents, self.dim, generator=rng()).tanh()
        self.noise = torch.randn(self.z.shape, generator=rng(1))
        self.action, self.mask = torch.rand(b, w, 16, generator=rng()) * 2 - 1, torch.ones(b, 16)
        self.n_self = round(d.train.bootstrap_share * b)
        self.signal, self.step = draw_indices(b, w, self.n_self, d.arch.k_max, rng(2))
        self.reward, self.valid = torch.rand(b, w, generator=rng()), torch.ones(b, w) > 0

    def tokenizer_loss(self, net: nn.Module) -> Callable[[], Tensor]:
        return lambda: reconstruction_loss(net(self.frames, self.masked), self.frames, None, self.masked, self.p.tokenizer.arch.patch)

    def dynamics_loss(self, predict: Callable[..., object]) -> Callable[[], Tensor]:
        def loss() -> Tensor:
            flow = shortcut_loss(predict, self.z, self.noise, self.signal, self.step, self.n_self, self.p.dynamics.arch.k_max)  # type: ignore[arg-type]
            logits: Tensor = flow.out.reward_logits_BTR  # type: ignore[attr-defined]
            return flow.total + 0.1 * reward_loss(logits, self.reward, self.valid)

        return loss

    def ours(self, z: Tensor, signal: Tensor, step: Tensor, rows: slice) -> object:
        return self.dynamics(z, signal, step, self.action[rows], self.mask[rows])

    def theirs(self, z: Tensor, signal: Tensor, step: Tensor, rows: slice) -> object:
        x1, reward = self.plain_dynamics(z, signal, step, self.action[rows])
        return Out(x1, reward)


class Out:
    def __init__(self, x1: Tensor, reward: Tensor):
        self.x1_BTLD, self.reward_logits_BTR = x1, reward


@torch.no_grad()
def uncached_rollout(d: Dynamics, z_context: Tensor, action: Tensor, mask: Tensor, horizon: int, generator: torch.Generator) -> Tensor:
    """Our own network without its cache: the whole past runs again for every substep of every frame."""
    b, c = len(action), z_context.shape[1]
    past = ((1 - TAU) * z_context + TAU * torch.randn(z_context.shape, generator=generator)).expand(b, -1, -1, -1)
    made = []
    for t in range(c, c + horizon):
        z = torch.randn((b, 1, *z_context.shape[2:]), generator=generator)
        signal, step = torch.full((b, t + 1), context_signal(TAU, d.k_max)), torch.full((b, t + 1), d.finest)
        for i in range(SUBSTEPS):
            signal[:, t], step[:, t] = i * d.k_max // SUBSTEPS, SUBSTEPS.bit_length() - 1
            x1 = d(torch.cat([past, z], 1), signal, step, action[:, : t + 1], mask).x1_BTLD[:, t:]
            z = z + (x1 - z) / (SUBSTEPS - i)
        made.append(z)
        past = torch.cat([past, (1 - TAU) * z + TAU * torch.randn(z.shape, generator=generator)], 1)
    return torch.cat(made, 1)


def sampling(s: Shapes, batch: int, context: int, horizon: int, shared: bool, repeats: int) -> tuple[Pair, float]:
    """(ours against uncached, largest difference of the two dreams)."""
    z = torch.randn(1 if shared else batch, context, s.latents, s.dim, generator=rng()).tanh()
    action = torch.rand(batch, context + horizon, 16, generator=rng(1)) * 2 - 1
    action[:, :context] = action[:1, :context]
    mask = torch.ones(batch, 16)
    made: dict[str, Tensor] = {}

    def ours() -> None:
        made["ours"] = rollout(s.dynamics, z, action, mask, horizon, SUBSTEPS, TAU, 1, "first", rng(2)).z_BHLD

    def naive() -> None:
        made["naive"] = uncached_rollout(s.dynamics, z, action, mask, horizon, rng(2))

    pair = turn_about(ours, naive, repeats, warm=False)
    return pair, float((made["ours"] - made["naive"]).abs().max())


def row(name: str, against: str, pair: Pair, units: int, unit: str, operations: float, peak: float) -> str:
    ours = sorted(pair.ours)[len(pair.ours) // 2]
    use = f"{100 * operations / ours / peak:.0f} %" if operations else ""
    return f"| {name} | {against} | {1000 * ours:.1f} ms | {units / ours:,.0f} {unit}/s | {pair.ratio} | {use} |"


def loader_row(s: Shapes, step_seconds: float) -> str:
    """Reading a dynamics batch of latents from files as training does."""
    t, n = s.p.dynamics.train, 4096
    with tempfile.TemporaryDirectory() as folder:
        from safetensors.numpy import save_file

        path = Path(folder) / file_name("corpus/task/random-s0")
        save_file({"z": np.zeros((n, s.latents, s.dim), np.float32)}, path)
        cache, draw = LatentCache.open(folder), np.random.default_rng(0)
        ids = np.array(["corpus/task/random-s0"] * t.batch, dtype=object)
        windows = [Windows(ids, np.zeros(t.batch), draw.integers(0, n - t.window, t.batch), ids) for _ in range(20)]
        cache.windows(windows[0], t.window)
        one = seconds(lambda: [cache.windows(w, t.window) for w in windows]) / len(windows)
    rate = f"{1000 * one:.2f} ms | {t.batch * t.window / one:,.0f} frames/s"
    return f"| latents of a dynamics batch read | the step it feeds | {rate} | {step_seconds / one:.0f} | |"


def step_rows(s: Shapes, repeats: int, peak: float) -> list[str]:
    """Train steps against plain PyTorch, and the reading of what a dynamics step trains on."""
    t, d = s.p.tokenizer, s.p.dynamics
    pair = turn_about(train_step(s.tokenizer, s.tokenizer_loss(s.tokenizer)), train_step(s.plain_tokenizer, s.tokenizer_loss(s.plain_tokenizer)), repeats)
    frames, each = t.train.batch * t.train.window, cost.tokenizer_step_flops(t.arch, s.p.render.size, t.train.window)
    out = [row("tokenizer train step", "plain PyTorch", pair, frames, "frames", each * frames, peak)]
    pair = turn_about(train_step(s.dynamics, s.dynamics_loss(s.ours)), train_step(s.plain_dynamics, s.dynamics_loss(s.theirs)), repeats)
    frames = d.train.batch * d.train.window
    operations = frames * cost.dynamics_step_flops(d.arch, s.latents, s.dim, d.train.window, s.n_self / d.train.batch)
    out.append(row("dynamics train step", "plain PyTorch", pair, frames, "frames", operations, peak))
    return [*out, loader_row(s, sorted(pair.ours)[len(pair.ours) // 2])]


def dreamer4_rows(s: Shapes, repeats: int, peak: float) -> list[str]:
    """Train steps against PyPI dreamer4 at the nearest size its options allow."""
    try:
        import rival
    except ImportError:
        return ["| train steps | dreamer4 | not installed here | | | |"]
    return rival.rows(s, train_step, repeats)


def sampling_row(s: Shapes, name: str, batch: int, horizon: int, shared: bool, repeats: int, peak: float) -> str:
    """Ours against uncached; with `shared` the rows are candidates that go on from one context."""
    a, context = s.p.dynamics.arch, min(8, s.p.dynamics.train.window - 1)
    pair, difference = sampling(s, batch, context, horizon, shared, repeats)
    prefill = (1 if shared else batch) * context * cost.dynamics_flops(a, s.latents, s.dim, context, True)
    ahead = sum(cost.rollout_flops(a, s.latents, s.dim, context + i, SUBSTEPS) for i in range(horizon))
    return row(name, f"uncached (differs by {difference:.0e})", pair, batch * horizon, "frames", prefill + batch * ahead, peak)


def lines(p: Params, only: list[str], repeats: int, candidates: int, horizon: int) -> list[str]:
    """The rows of one scale."""
    load, s, peak = os.getloadavg()[0], Shapes(p), matrix_peak()
    out = [
        f"Matrix peak {peak / 1e9:.0f} GFLOP/s at {torch.get_num_threads()} thread(s), load {load:.1f} before the run.",
        "",
        "| what | against | ours | rate | theirs / ours | use of the peak |",
        "|---|---|---|---|---|---|",
    ]
    out += step_rows(s, repeats, peak) if "steps" in only else []
    out += dreamer4_rows(s, repeats, peak) if "dreamer4" in only else []
    if "frames" in only:
        out += [sampling_row(s, f"one frame, batch {n}", n, 1, False, repeats, peak) for n in (1, 64)]
    if "rollout" in only:
        name = f"{horizon}-step rollout of {candidates} candidates"
        out.append(sampling_row(s, name, candidates, horizon, True, max(2, repeats // 3), peak))
    return out


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", default="laptop", help="a file of params/scales, whose shapes are timed")
    ap.add_argument("--only", default=",".join(GROUPS), help="some of the groups of rows")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--repeats", type=int, default=9)
    ap.add_argument("--candidates", type=int, default=128)
    ap.add_argument("--horizon", type=int, default=32)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    only = a.only.split(",")
    if unknown := sorted(set(only) - set(GROUPS)):
        ap.error(f"unknown group {unknown[0]!r}; known: {', '.join(GROUPS)}")
    print("\n".join(lines(load_params(a.scale), only, a.repeats, a.candidates, a.horizon)))


if __name__ == "__main__":
    main()
