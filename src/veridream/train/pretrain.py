"""Training of a base model from the indexed corpus, in one process or in `workers` processes."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from torch import nn

from veridream.data.corpus import Corpus
from veridream.data.index import Index, load_index
from veridream.data.latents import LatentCache
from veridream.data.sampling import task_weights
from veridream.data.windows import WindowIndex
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.params import model as schema
from veridream.train.dynamics import DynamicsLoss
from veridream.train.engine import Plan, train
from veridream.train.parallel import launch, part, worker
from veridream.train.seeding import deterministic_cpu, seeded_initialisation
from veridream.train.tokenizer import TokenizerLoss, median_images

NO_FRAMES_IN_MEMORY = -1
Paths = Mapping[str, Sequence[str | Path]]
Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class Pretrained(Generic[Model]):
    model: Model
    window: int  # frames a training sequence
    steps: int
    metrics: Path
    facts: dict[str, int]  # for the receipt


def corpus_of(index: Index) -> Index:
    """The training episodes of the pretraining corpus."""
    return index.select(role="corpus", split="train")


def _pretrained(model: Model, train: schema.TokenizerTrain | schema.DynamicsTrain, metrics: Path, windows: WindowIndex, episodes: Index) -> Pretrained[Model]:
    parameters = sum(p.numel() for p in model.parameters())
    facts = {"parameters": parameters, "windows": len(windows), "frames": episodes.frames(), "tasks": len(windows.tasks)}
    return Pretrained(model, train.window, train.steps, metrics, facts)


def _by_workers(
    run: str, t: schema.TokenizerTrain | schema.DynamicsTrain, params: Mapping[str, Any], inputs: Paths, work: str | Path, depends_on: Mapping[str, Any]
) -> None:
    """Has the run finished by its worker processes; nothing to do for one worker, or inside of one."""
    if t.workers > 1 and part().world == 1:
        paths = {k: [str(p) for p in v] for k, v in inputs.items()}
        request = {"run": run, "params": params, "inputs": paths, "work": str(work), "depends_on": depends_on}
        launch(__name__, request, Path(work), t.workers, t.threads)


def pretrain_tokenizer(params: Mapping[str, Any], inputs: Paths, work: str | Path, depends_on: Mapping[str, Any]) -> Pretrained[Tokenizer]:
    """Trains the tokenizer, going on from `work`.

    Args:
        params: tokenizer (its section of the params tree) and size (pixels a side).
        inputs: index (one path) and stores.
        depends_on: JSON-ready; what the result depends on (see train.state).
    Raises:
        ValueError: the stores' frames are not of `size`.
        StageError: a worker process failed.
    """
    config, size = schema.Tokenizer.model_validate(params["tokenizer"]), params["size"]
    t = config.train
    _by_workers("tokenizer", t, params, inputs, work, depends_on)
    deterministic_cpu(t.threads)
    episodes = corpus_of(load_index(inputs["index"][0]))
    corpus = Corpus(inputs["stores"])
    if corpus.size != size:
        raise ValueError(f"the stores' frames are {corpus.size} pixels, render.size is {size}; collect the stores again")
    windows = WindowIndex.build(episodes, t.window)
    weights = task_weights(t.sampling, windows.counts())
    with seeded_initialisation("tokenizer", t.seed):
        tokenizer = Tokenizer(config.arch, size)
    loss = TokenizerLoss(tokenizer, corpus, windows, weights, median_images(corpus, episodes), t, "train_tokenizer", t.seed)
    metrics = train(Plan("train_tokenizer", t.steps, t.optimiser, t.checkpoint_every), tokenizer, loss, Path(work), depends_on)
    return _pretrained(tokenizer, t, metrics, windows, episodes)


def pretrain_dynamics(params: Mapping[str, Any], inputs: Paths, work: str | Path, depends_on: Mapping[str, Any]) -> Pretrained[Dynamics]:
    """Trains the dynamics, going on from `work`; arguments as pretrain_tokenizer's: params holds dynamics, inputs also latents."""
    config = schema.Dynamics.model_validate(params["dynamics"])
    t = config.train
    _by_workers("dynamics", t, params, inputs, work, depends_on)
    deterministic_cpu(t.threads)
    episodes = corpus_of(load_index(inputs["index"][0]))
    corpus = Corpus(inputs["stores"], memory_limit=NO_FRAMES_IN_MEMORY)
    cache = LatentCache.open(inputs["latents"][0])
    windows = WindowIndex.build(episodes, t.window)
    weights = task_weights(t.sampling, windows.counts())
    with seeded_initialisation("dynamics", t.seed):
        dynamics = Dynamics(config.arch, *cache.shape)
    first_self = round(t.bootstrap_from * t.steps)
    loss = DynamicsLoss(dynamics, cache, corpus, windows, weights, t, first_self, "train_dynamics", t.seed)
    metrics = train(Plan("train_dynamics", t.steps, t.optimiser, t.checkpoint_every), dynamics, loss, Path(work), depends_on)
    return _pretrained(dynamics, t, metrics, windows, episodes)


if __name__ == "__main__":
    worker({"tokenizer": pretrain_tokenizer, "dynamics": pretrain_dynamics}, Path(sys.argv[1]))
