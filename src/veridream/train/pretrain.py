"""Training of a base model from the indexed corpus."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from veridream.data.corpus import Corpus
from veridream.data.index import Index
from veridream.data.latents import LatentCache
from veridream.data.sampling import task_weights
from veridream.data.windows import WindowIndex
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.params import model as schema
from veridream.train.dynamics import DynamicsLoss
from veridream.train.engine import Plan, train
from veridream.train.seeding import deterministic_cpu, seeded_initialisation
from veridream.train.tokenizer import TokenizerLoss, median_images

NO_FRAMES_IN_MEMORY = -1


def corpus_of(index: Index) -> Index:
    """The training episodes of the pretraining corpus."""
    return index.select(role="corpus", split="train")


def counts(model: Any, windows: WindowIndex, episodes: Index) -> dict[str, int]:
    """Facts for the receipt."""
    return {"parameters": sum(p.numel() for p in model.parameters()), "windows": len(windows), "frames": episodes.frames(), "tasks": len(windows.tasks)}


def pretrain_tokenizer(
    config: schema.Tokenizer, size: int, index: Index, stores: Sequence[Path], work: Path, depends_on: Mapping[str, Any]
) -> tuple[Tokenizer, Path, dict[str, int]]:
    """(trained tokenizer, metrics file, facts). Raises ValueError when the stores' frames are not of `size`."""
    t = config.train
    deterministic_cpu(t.threads)
    episodes = corpus_of(index)
    corpus = Corpus(stores)
    if corpus.size != size:
        raise ValueError(f"the stores' frames are {corpus.size} pixels, render.size is {size}; collect the stores again")
    windows = WindowIndex.build(episodes, t.window)
    weights = task_weights(t.sampling, windows.counts())
    with seeded_initialisation("tokenizer", t.seed):
        tokenizer = Tokenizer(config.arch, size)
    loss = TokenizerLoss(tokenizer, corpus, windows, weights, median_images(corpus, episodes), t, "train_tokenizer", t.seed)
    metrics = train(Plan("train_tokenizer", t.steps, t.optimiser, t.checkpoint_every), tokenizer, loss, work, depends_on)
    return tokenizer, metrics, counts(tokenizer, windows, episodes)


def pretrain_dynamics(
    config: schema.Dynamics, index: Index, stores: Sequence[Path], latents: Path, work: Path, depends_on: Mapping[str, Any]
) -> tuple[Dynamics, Path, dict[str, int]]:
    """(trained dynamics, metrics file, facts)."""
    t = config.train
    deterministic_cpu(t.threads)
    episodes = corpus_of(index)
    corpus = Corpus(stores, memory_limit=NO_FRAMES_IN_MEMORY)
    cache = LatentCache.open(latents)
    windows = WindowIndex.build(episodes, t.window)
    weights = task_weights(t.sampling, windows.counts())
    with seeded_initialisation("dynamics", t.seed):
        dynamics = Dynamics(config.arch, *cache.shape)
    first_self = round(t.bootstrap_from * t.steps)
    loss = DynamicsLoss(dynamics, cache, corpus, windows, weights, t, first_self, "train_dynamics", t.seed)
    metrics = train(Plan("train_dynamics", t.steps, t.optimiser, t.checkpoint_every), dynamics, loss, work, depends_on)
    return dynamics, metrics, counts(dynamics, windows, episodes)
