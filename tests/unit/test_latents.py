"""Latents of whole stores: rows match frames, sequences never cross an episode, damage is named."""

import numpy as np
import pytest
import torch

from helpers.stores import make_store, store_path
from veridream.data.corpus import Corpus
from veridream.data.latents import LatentCache, encode_stores, file_name
from veridream.data.windows import Windows
from veridream.nn.tokenizer import Tokenizer
from veridream.provenance.stage import StageError

SIZES = {"patch": 8, "width": 16, "heads": 2, "encoder_depth": 1, "decoder_depth": 1, "latents": 4, "latent_dim": 3}


def _encoded(tmp_path, time_every, window):
    torch.manual_seed(0)
    tokenizer = Tokenizer({**SIZES, "time_every": time_every, "init_std": 0.2}, 16)
    corpus = Corpus([make_store(store_path(tmp_path), [7, 12, 5], size=16)])
    return tokenizer, corpus, encode_stores(tokenizer, corpus, window)


def _frames(corpus, start, stop):
    return torch.from_numpy(corpus.rows("corpus/pygame-pong/random-s0", start, stop).astype(np.float32) / 255)[None]


@torch.no_grad()
def test_per_frame_rows(tmp_path):
    tokenizer, corpus, cache = _encoded(tmp_path, 0, 24)
    z = cache.rows("corpus/pygame-pong/random-s0", 6, 9)
    np.testing.assert_allclose(z, tokenizer.encode(_frames(corpus, 6, 9))[0].numpy(), atol=1e-6)


@torch.no_grad()
def test_temporal_sequences_start_anew_in_each_episode_and_window(tmp_path):
    """Lengths 7, 12, 5 in windows of 8: 0-7, 7-15, 15-19, 19-24."""
    tokenizer, corpus, cache = _encoded(tmp_path, 1, 8)
    for a, b in ((0, 7), (7, 15), (15, 19), (19, 24)):
        z = cache.rows("corpus/pygame-pong/random-s0", a, b)
        np.testing.assert_allclose(z, tokenizer.encode(_frames(corpus, a, b))[0].numpy(), atol=1e-6)


def test_save_open_and_windows(tmp_path):
    _, _, cache = _encoded(tmp_path, 0, 1)
    cache.save(tmp_path / "latents")
    assert [p.name for p in (tmp_path / "latents").iterdir()] == ["corpus__pygame-pong__random-s0.safetensors"]
    again = LatentCache.open(tmp_path / "latents")
    ids = np.array(["corpus/pygame-pong/random-s0"] * 2, dtype=object)
    windows = Windows(ids, np.array([0, 1]), np.array([2, 9]), np.array(["pygame-pong"] * 2, dtype=object))
    z = again.windows(windows, 4)
    assert again.shape == (4, 3) and z.shape == (2, 4, 4, 3) and z.dtype == np.float32
    np.testing.assert_array_equal(z[1], cache.rows(ids[0], 9, 13))


def test_missing_stores_rows_and_damaged_files_are_named(tmp_path):
    _, _, cache = _encoded(tmp_path, 0, 1)
    cache.save(tmp_path / "latents")
    with pytest.raises(StageError, match=r"corpus/other.*encode"):
        cache.rows("corpus/other/random-s0", 0, 1)
    with pytest.raises(StageError, match="reach past"):
        cache.rows("corpus/pygame-pong/random-s0", 20, 30)
    file = tmp_path / "latents" / file_name("corpus/pygame-pong/random-s0")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(StageError, match="damaged"):
        LatentCache.open(tmp_path / "latents")
    with pytest.raises(StageError, match="no latents"):
        LatentCache.open(tmp_path / "nowhere")
