"""Finetuning of a world model (paper Sec. 5 and 6): the tokenizer goes on first, the corpus is encoded anew, then the dynamics goes on.

Task weighting of each half: "default" (as in pretraining), "uniform" (coverage-aware), or "targeted" (target_mass spread evenly over the
tasks that data was collected on, the rest evenly over the others). Learning rates are those of pretraining times a factor, with fresh
optimiser states and a warm-up from the resume point; self-consistency rows take part from the first step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veridream.data.corpus import Corpus
from veridream.data.index import COLUMNS, Index
from veridream.data.latents import LatentCache, encode_stores
from veridream.data.sampling import task_weights
from veridream.data.windows import WindowIndex
from veridream.io.episode_store import open_store
from veridream.nn.device import device_of
from veridream.nn.dynamics import Dynamics
from veridream.nn.lpips import Lpips
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Compute, DynamicsTrain, Finetune, Optimiser, TokenizerTrain
from veridream.provenance.stage import StageError
from veridream.train.checkpoints import load_dynamics, load_tokenizer
from veridream.train.dynamics import DynamicsLoss
from veridream.train.engine import Plan, train
from veridream.train.pretrain import compute_of, corpus_of, frames_ahead, lpips_of
from veridream.train.seeding import prepare_device
from veridream.train.tokenizer import TokenizerLoss, median_images


@dataclass(frozen=True)
class Recipe:
    """The params of one finetune, parsed."""

    finetune: Finetune
    tokenizer: TokenizerTrain
    dynamics: DynamicsTrain
    weighting: Mapping[str, str]  # tokenizer, dynamics -> default | uniform | targeted
    episodes_per_source: int | None  # of each extra store; None: all
    compute: Compute
    instructions: Mapping[str, str]  # of every task, for agent tokens

    @staticmethod
    def parse(params: Mapping[str, Any]) -> "Recipe":
        return Recipe(
            Finetune.model_validate(params["finetune"]),
            TokenizerTrain.model_validate(params["tokenizer"]["train"]),
            DynamicsTrain.model_validate(params["dynamics"]["train"]),
            params["weighting"],
            params.get("episodes_per_source"),
            compute_of(params),
            params.get("instructions", {}),
        )


@dataclass(frozen=True)
class Finetuned:
    tokenizer: Tokenizer
    dynamics: Dynamics
    window: int  # frames a tokenizer sequence
    steps: tuple[int, int]  # optimiser steps in all, of tokenizer and dynamics
    metrics: tuple[Path, Path]
    facts: dict[str, Any]


def extra_episodes(stores: Sequence[Path], seen: Sequence[str], episodes_per_source: int | None) -> Index:
    """Index rows of collected stores, all of them training data; only the first `episodes_per_source` episodes of each store, if given.

    Raises StageError when a store has fewer.
    """
    rows: list[dict[str, Any]] = []
    for path in stores:
        store = open_store(path)
        n = len(store) if episodes_per_source is None else episodes_per_source
        if n > len(store):
            raise StageError(f"{path}: holds {len(store)} episodes, {n} are asked for (episodes_per_source); collect more (targeted.episodes)")
        a = store.attrs
        common = {"store": store.id, "task": a.task, "domain": a.domain, "role": a.role, "behaviour": a.behaviour, "split": "train", "seen": a.task in seen}
        rows += [{**common, "episode": e, "offset": int(store.offset[e]), "length": int(store.length[e])} for e in range(n)]
    return Index(**{c: np.array([r[c] for r in rows], dtype=_dtype(c)) for c in COLUMNS})


def _dtype(column: str) -> Any:
    return {"episode": np.int64, "offset": np.int64, "length": np.int64, "seen": np.bool_}.get(column, object)


def joined(a: Index, b: Index) -> Index:
    """All episodes of both."""
    return Index(**{c: np.concatenate([getattr(a, c), getattr(b, c)]) for c in COLUMNS})


@dataclass(frozen=True)
class Data:
    """What both halves train on."""

    corpus: Corpus
    episodes: Index
    collected: tuple[str, ...]  # tasks of the extra stores
    stores: tuple[Path, ...]

    @staticmethod
    def load(index: Index, stores: Sequence[Path], extra: Sequence[Path], episodes_per_source: int | None) -> "Data":
        base = corpus_of(index)
        episodes = joined(base, extra_episodes(extra, base.tasks(), episodes_per_source)) if extra else base
        return Data(Corpus([*stores, *extra]), episodes, tuple(sorted({open_store(p).attrs.task for p in extra})), (*stores, *extra))

    def weights(self, kind: str, default: str, windows: WindowIndex, target_mass: float) -> dict[str, float]:
        """Task weights of one half. Raises StageError for targeted weighting without collected stores."""
        if kind == "targeted" and not self.collected:
            raise StageError("targeted weighting needs collected stores; give them with --extra")
        if kind == "targeted":
            return task_weights(kind, windows.counts(), self.collected, target_mass)
        return task_weights(default if kind == "default" else kind, windows.counts())


def _plan(name: str, recipe: Recipe, t: TokenizerTrain | DynamicsTrain, steps: int, lr_scale: float) -> Plan:
    optimiser: Optimiser = t.optimiser.model_copy(update={"warmup": recipe.finetune.warmup})
    engine = t.engine.model_copy(update={"accumulate": recipe.finetune.accumulate})
    return Plan(name, steps, optimiser, t.checkpoint_every, lr_scale, engine, recipe.compute)


def _continue_tokenizer(
    recipe: Recipe, tokenizer: Tokenizer, data: Data, lpips: Lpips | None, work: Path, depends_on: Mapping[str, Any]
) -> tuple[Path, dict[str, float]]:
    """(metrics, task weights); trains in place."""
    f, t = recipe.finetune, recipe.tokenizer
    windows = WindowIndex.build(data.episodes, t.window)
    weights = data.weights(recipe.weighting["tokenizer"], t.sampling, windows, f.target_mass)
    medians = median_images(data.corpus, data.episodes) if t.foreground_weight else {}
    ahead = frames_ahead(t, data.stores, windows, weights, "finetune tokenizer", f.seed, f.tokenizer_steps, f.accumulate)
    loss = TokenizerLoss(tokenizer, data.corpus, windows, weights, medians, t, "finetune tokenizer", f.seed, device_of(tokenizer), lpips, ahead)
    plan = _plan("finetune_tokenizer", recipe, t, f.tokenizer_steps, f.tokenizer_lr_scale)
    return train(plan, tokenizer, loss, work / "tokenizer", depends_on), weights


def _continue_dynamics(
    recipe: Recipe, dynamics: Dynamics, latents: LatentCache, data: Data, work: Path, depends_on: Mapping[str, Any]
) -> tuple[Path, dict[str, float]]:
    """(metrics, task weights); trains in place."""
    f, d = recipe.finetune, recipe.dynamics
    windows = WindowIndex.build(data.episodes, d.window)
    weights = data.weights(recipe.weighting["dynamics"], d.sampling, windows, f.target_mass)
    device = device_of(dynamics)
    loss = DynamicsLoss(dynamics, latents, data.corpus, windows, weights, d, 0, "finetune dynamics", f.seed, recipe.instructions, device)
    plan = _plan("finetune_dynamics", recipe, d, f.dynamics_steps, f.dynamics_lr_scale)
    return train(plan, dynamics, loss, work / "dynamics", depends_on), weights


def finetune(
    recipe: Recipe,
    tokenizer_dir: Path,
    dynamics_dir: Path,
    index: Index,
    stores: Sequence[Path],
    extra: Sequence[Path],
    work: Path,
    depends_on: Mapping[str, Any],
    lpips: Sequence[Path] = (),
) -> Finetuned:
    """Finetunes both halves; resumes from `work`/tokenizer and `work`/dynamics. Raises StageError or ValueError on inputs that do not fit."""
    device = prepare_device(recipe.compute.device, recipe.finetune.threads)
    data = Data.load(index, stores, extra, recipe.episodes_per_source)
    tokenizer, tokenizer_meta = load_tokenizer(tokenizer_dir, device)
    dynamics, dynamics_meta = load_dynamics(dynamics_dir, device)
    perceptual, said = lpips_of(recipe.tokenizer, {"lpips": lpips}, device)
    first, tokenizer_mass = _continue_tokenizer(recipe, tokenizer, data, perceptual, work, depends_on)
    latents = encode_stores(tokenizer, data.corpus, recipe.tokenizer.window)
    second, dynamics_mass = _continue_dynamics(recipe, dynamics, latents, data, work, depends_on)
    steps = (tokenizer_meta["steps"] + recipe.finetune.tokenizer_steps, dynamics_meta["steps"] + recipe.finetune.dynamics_steps)
    mass = {"tokenizer": tokenizer_mass, "dynamics": dynamics_mass}
    facts = {"frames": data.episodes.frames(), "episodes": len(data.episodes), "collected": list(data.collected), "task_mass": mass, **said}
    return Finetuned(tokenizer, dynamics, recipe.tokenizer.window, steps, (first, second), facts)
