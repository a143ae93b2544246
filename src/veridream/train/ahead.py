"""Frames read ahead by processes of their own, while the step before still computes.

A batch's windows are a function of (seed, step), so a loader needs no word from the training. Loaders are started afresh (spawn), never
forked: each opens the stores itself, since an open zarr array and its threads do not survive a fork. The dynamics needs none of this:
its latents are read by slice from memory-mapped files, many times faster than its step (docs/speed.md).
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from veridream.data.corpus import Corpus
from veridream.data.windows import WindowIndex, Windows, sample_windows
from veridream.train.parallel import Part

AHEAD = 2  # batches a loader keeps ready


class StepFrames(Dataset[np.ndarray]):
    """Item (step, i): frames u1 of part i of `shares` of that step's batch."""

    def __init__(self, stores: Sequence[str | Path], windows: WindowIndex, weights: Mapping[str, float], batch: int, seed: int, shares: Sequence[Part]) -> None:
        self.stores, self.windows, self.weights, self.batch, self.seed, self.shares = list(stores), windows, dict(weights), batch, seed, list(shares)
        self.corpus: Corpus | None = None

    def __getitem__(self, item: tuple[int, int]) -> np.ndarray:
        if self.corpus is None:
            self.corpus = Corpus(self.stores, memory_limit=-1)
        ids = sample_windows(self.windows, self.weights, self.batch, self.seed, item[0])
        return self.corpus.frames(self.windows.take(ids[self.shares[item[1]].rows(len(ids))]), self.windows.T)


class FramesAhead:
    """The Frames of a TokenizerLoss: what it will ask for next is read by `loaders` processes. Asked for out of turn, they start anew."""

    def __init__(self, frames: StepFrames, steps: int, loaders: int) -> None:
        self.frames, self.steps, self.loaders = frames, steps, loaders
        self.next: tuple[int, int] | None = None
        self.stream: Iterator[np.ndarray] = iter(())

    def __call__(self, step: int, share: Part, windows: Windows) -> np.ndarray:
        asked = (step, self.frames.shares.index(share))
        if asked != self.next:
            self._start(asked)
        out = next(self.stream)
        if len(out) != len(windows):
            raise ValueError(f"step {step}: the loaders read {len(out)} windows, the step wants {len(windows)}")
        last = asked[1] == len(self.frames.shares) - 1
        self.next = (step + 1, 0) if last else (step, asked[1] + 1)
        return out

    def _start(self, first: tuple[int, int]) -> None:
        order = itertools.dropwhile(lambda k: k < first, itertools.product(range(first[0], self.steps), range(len(self.frames.shares))))
        loader = DataLoader(
            self.frames,
            sampler=order,  # type: ignore[arg-type]  # it is gone through once
            batch_size=None,
            collate_fn=_as_it_is,
            num_workers=self.loaders,
            multiprocessing_context="spawn",
            prefetch_factor=AHEAD,
            generator=torch.Generator(),  # never the global one
        )
        self.stream = iter(loader)


def _as_it_is(x: Any) -> Any:
    return x
