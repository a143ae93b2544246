"""Training of a base model from the indexed corpus, in one process or in `workers` processes."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from veridream.data.corpus import Corpus
from veridream.data.index import Index, load_index
from veridream.data.latents import LatentCache
from veridream.data.sampling import task_weights
from veridream.data.windows import WindowIndex
from veridream.nn.dynamics import Dynamics
from veridream.nn.lpips import Lpips
from veridream.nn.tokenizer import Tokenizer
from veridream.params import model as schema
from veridream.provenance.stage import StageError
from veridream.train.ahead import FramesAhead, StepFrames
from veridream.train.checkpoints import load_tokenizer
from veridream.train.dynamics import DynamicsLoss
from veridream.train.engine import Plan, train
from veridream.train.look import DynamicsLook, dynamics_look, tokenizer_look
from veridream.train.parallel import launch, part, worker
from veridream.train.seeding import derive, prepare_device, seeded_initialisation
from veridream.train.tokenizer import TokenizerLoss, median_images

NO_FRAMES_IN_MEMORY = -1
Paths = Mapping[str, Sequence[str | Path]]
Model = TypeVar("Model", bound=nn.Module)
Train = schema.TokenizerTrain | schema.DynamicsTrain


@dataclass(frozen=True)
class Pretrained(Generic[Model]):
    model: Model
    window: int  # frames a training sequence
    steps: int
    metrics: Path
    facts: dict[str, Any]  # for the receipt


def corpus_of(index: Index) -> Index:
    """The training episodes of the pretraining corpus."""
    return index.select(role="corpus", split="train")


def _plan(name: str, t: Train, compute: schema.Compute) -> Plan:
    """The engine's plan of a training section."""
    return Plan(name, t.steps, t.optimiser, t.checkpoint_every, engine=t.engine, compute=compute, look_every=t.watch.every)


def _pretrained(model: Model, train: Train, metrics: Path, windows: WindowIndex, episodes: Index, more: Mapping[str, str]) -> Pretrained[Model]:
    parameters = sum(p.numel() for p in model.parameters())
    facts: dict[str, Any] = {"parameters": parameters, "windows": len(windows), "frames": episodes.frames(), "tasks": len(windows.tasks)}
    return Pretrained(model, train.window, train.steps, metrics, {**facts, **more})


def _by_workers(run: str, t: Train, params: Mapping[str, Any], inputs: Paths, work: str | Path, depends_on: Mapping[str, Any]) -> None:
    """Has the run finished by its worker processes; nothing to do for one worker, or inside of one."""
    if t.workers > 1 and part().world == 1:
        paths = {k: [str(p) for p in v] for k, v in inputs.items()}
        request = {"run": run, "params": params, "inputs": paths, "work": str(work), "depends_on": depends_on}
        launch(__name__, request, Path(work), t.workers, t.threads)


def compute_of(params: Mapping[str, Any]) -> schema.Compute:
    """The compute section of a job's params; the CPU without one."""
    return schema.Compute.model_validate(params.get("compute", {}))


def lpips_of(t: schema.TokenizerTrain, inputs: Paths, device: torch.device) -> tuple[Lpips | None, dict[str, str]]:
    """(LPIPS or None, what the receipt says of it): taken where it has a weight and its own weights are given."""
    if not t.lpips_weight:
        return None, {}
    if not inputs.get("lpips"):
        return None, {"lpips": "off: no weights in models/lpips"}
    return Lpips(inputs["lpips"][0]).to(device), {"lpips": "on"}


def frames_ahead(
    t: schema.TokenizerTrain,
    stores: Sequence[str | Path],
    windows: WindowIndex,
    weights: Mapping[str, float],
    stream: str,
    seed: int,
    steps: int,
    accumulate: int,
) -> FramesAhead | None:
    """Loader processes, where the params ask for some."""
    if not t.loaders:
        return None
    frames = StepFrames(stores, windows, weights, t.batch, derive(stream, seed), part().split(accumulate))
    return FramesAhead(frames, steps, t.loaders)


def pretrain_tokenizer(params: Mapping[str, Any], inputs: Paths, work: str | Path, depends_on: Mapping[str, Any]) -> Pretrained[Tokenizer]:
    """Trains the tokenizer, going on from `work`.

    Args:
        params: tokenizer (its section of the params tree), size (pixels a side) and compute.
        inputs: index (one path), stores, and lpips (a folder) where its weights are there.
        depends_on: JSON-ready; what the result depends on (see train.state).
    Raises:
        ValueError: the stores' frames are not of `size`.
        StageError: a worker process failed.
    """
    config, size = schema.Tokenizer.model_validate(params["tokenizer"]), params["size"]
    t = config.train
    _by_workers("tokenizer", t, params, inputs, work, depends_on)
    compute = compute_of(params)
    device = prepare_device(compute.device, t.threads)
    index = load_index(inputs["index"][0])
    episodes = corpus_of(index)
    corpus = Corpus(inputs["stores"])
    if corpus.size != size:
        raise ValueError(f"the stores' frames are {corpus.size} pixels, render.size is {size}; collect the stores again")
    windows = WindowIndex.build(episodes, t.window)
    weights = task_weights(t.sampling, windows.counts())
    with seeded_initialisation("tokenizer", t.seed):
        tokenizer = Tokenizer(config.arch, size).to(device)
    lpips, facts = lpips_of(t, inputs, device)
    medians = median_images(corpus, episodes) if t.foreground_weight else {}
    ahead = frames_ahead(t, inputs["stores"], windows, weights, "train_tokenizer", t.seed, t.steps, t.engine.accumulate)
    loss = TokenizerLoss(tokenizer, corpus, windows, weights, medians, t, "train_tokenizer", t.seed, device, lpips, ahead)
    look = tokenizer_look(tokenizer, corpus, index, t.window, t.watch, Path(work)) if t.watch.every else None
    metrics = train(_plan("train_tokenizer", t, compute), tokenizer, loss, Path(work), depends_on, look)
    return _pretrained(tokenizer, t, metrics, windows, episodes, facts)


def pretrain_dynamics(params: Mapping[str, Any], inputs: Paths, work: str | Path, depends_on: Mapping[str, Any]) -> Pretrained[Dynamics]:
    """Trains the dynamics, going on from `work`; arguments as pretrain_tokenizer's: params holds dynamics, with agent tokens also
    instructions (by task), inputs also latents, and the tokenizer that looks at held-out rollouts need.
    """
    config = schema.Dynamics.model_validate(params["dynamics"])
    t = config.train
    _by_workers("dynamics", t, params, inputs, work, depends_on)
    compute = compute_of(params)
    device = prepare_device(compute.device, t.threads)
    index = load_index(inputs["index"][0])
    episodes = corpus_of(index)
    corpus = Corpus(inputs["stores"], memory_limit=NO_FRAMES_IN_MEMORY)
    cache = LatentCache.open(inputs["latents"][0])
    windows = WindowIndex.build(episodes, t.window)
    weights = task_weights(t.sampling, windows.counts())
    with seeded_initialisation("dynamics", t.seed):
        dynamics = Dynamics(config.arch, *cache.shape).to(device)
    first_self = round(t.bootstrap_from * t.steps)
    instructions = params.get("instructions", {})
    loss = DynamicsLoss(dynamics, cache, corpus, windows, weights, t, first_self, "train_dynamics", t.seed, instructions, device)
    look = _dynamics_look(dynamics, corpus, index, t, inputs, Path(work)) if t.watch.every else None
    metrics = train(_plan("train_dynamics", t, compute), dynamics, loss, Path(work), depends_on, look)
    return _pretrained(dynamics, t, metrics, windows, episodes, {})


def _dynamics_look(dynamics: Dynamics, corpus: Corpus, index: Index, t: schema.DynamicsTrain, inputs: Paths, work: Path) -> DynamicsLook:
    if not inputs.get("tokenizer"):
        raise StageError("dynamics.train.watch.every asks for looks at decoded rollouts; give the tokenizer with --tokenizer")
    return dynamics_look(load_tokenizer(inputs["tokenizer"][0])[0], dynamics, corpus, index, t.window, t.watch, work)


if __name__ == "__main__":
    worker({"tokenizer": pretrain_tokenizer, "dynamics": pretrain_dynamics}, Path(sys.argv[1]))
