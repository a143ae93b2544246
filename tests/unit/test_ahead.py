"""Frames read ahead are those the step would have read itself, in whatever order they are asked for."""

import numpy as np
import torch

from helpers.stores import make_store, store_path
from veridream.data.corpus import Corpus
from veridream.data.index import build_index
from veridream.data.windows import WindowIndex, sample_windows
from veridream.train.ahead import FramesAhead, StepFrames
from veridream.train.parallel import Part


def test_loaders_read_what_the_steps_want(tmp_path):
    stores = [make_store(store_path(tmp_path, task=t), [7, 12, 5, 6, 8, 9], task=t, size=16, env=i) for i, t in enumerate(("pygame-pong", "cup-catch"))]
    windows = WindowIndex.build(build_index(stores, "s", 0.3, ["pygame-pong", "cup-catch"], []), 4)
    weights = {"pygame-pong": 0.3, "cup-catch": 0.7}
    shares = Part(1, 2).split(2)
    corpus, before = Corpus(stores), torch.random.get_rng_state()
    ahead = FramesAhead(StepFrames(stores, windows, weights, 6, 5, shares), steps=9, loaders=1)
    for step, i in [(3, 0), (3, 1), (4, 0), (4, 1), (5, 0), (3, 0), (3, 1)]:  # the last two out of turn
        ids = sample_windows(windows, weights, 6, 5, step)[shares[i].rows(6)]
        got = ahead(step, shares[i], windows.take(ids))
        np.testing.assert_array_equal(got, corpus.frames(windows.take(ids), 4))
    assert torch.equal(before, torch.random.get_rng_state())
