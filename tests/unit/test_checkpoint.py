"""Checkpoints: same bytes, strict keys, damage and half-written folders are refused."""

import resource

import pytest
import torch
from torch import nn

from veridream.io.checkpoint import CheckpointError, load_checkpoint, load_module, save_checkpoint
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.provenance.digest import content_id
from veridream.train.checkpoints import load_tokenizer, load_world_model, save_dynamics, save_tokenizer

TOKENIZER = {"patch": 4, "width": 16, "heads": 2, "encoder_depth": 1, "decoder_depth": 1, "latents": 4, "latent_dim": 3, "time_every": 0}
DYNAMICS = {"width": 16, "heads": 2, "depth": 2, "time_every": 2, "pack": 2, "registers": 1, "k_max": 8, "reward_bins": 11}


def test_round_trip_and_equal_bytes(tmp_path):
    model = nn.Linear(3, 2)
    save_checkpoint(tmp_path / "a", model.state_dict(), {"b": 1, "a": [0.1]})
    save_checkpoint(tmp_path / "b", dict(reversed(model.state_dict().items())), {"a": [0.1], "b": 1})
    assert content_id(tmp_path / "a") == content_id(tmp_path / "b")
    tensors, meta = load_checkpoint(tmp_path / "a")
    assert meta == {"a": [0.1], "b": 1} and torch.equal(tensors["weight"], model.weight)


def test_an_existing_folder_is_not_overwritten(tmp_path):
    save_checkpoint(tmp_path / "a", {}, {})
    with pytest.raises(FileExistsError):
        save_checkpoint(tmp_path / "a", {}, {})


@pytest.mark.parametrize("name", ["tensors.safetensors", "meta.json"])
def test_damage_is_found(tmp_path, name):
    save_checkpoint(tmp_path / "a", {"x": torch.ones(4)}, {"k": 1})
    data = bytearray((tmp_path / "a" / name).read_bytes())
    data[-3] ^= 1
    (tmp_path / "a" / name).write_bytes(data)
    with pytest.raises(CheckpointError, match=r"damaged.*delete"):
        load_checkpoint(tmp_path / "a")
    (tmp_path / "a" / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name} is missing"):
        load_checkpoint(tmp_path / "a")


def test_without_done_it_was_never_finished(tmp_path):
    save_checkpoint(tmp_path / "a", {"x": torch.ones(4)}, {})
    (tmp_path / "a" / "done").unlink()
    with pytest.raises(CheckpointError, match="unfinished"):
        load_checkpoint(tmp_path / "a")
    with pytest.raises(FileNotFoundError, match="missing"):
        load_checkpoint(tmp_path / "b")


def test_keys_of_wrapped_modules_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="raw module"):
        save_checkpoint(tmp_path / "a", {"_orig_mod.weight": torch.ones(1)}, {})


def test_strict_load_names_the_keys():
    model = nn.Linear(3, 2)
    with pytest.raises(CheckpointError, match=r"missing bias; unknown extra; weight is \(2, 2\), expected \(2, 3\)"):
        load_module(model, {"weight": torch.ones(2, 2), "extra": torch.ones(1)}, "here")


def test_non_finite_meta_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="JSON"):
        save_checkpoint(tmp_path / "a", {}, {"x": float("nan")})


def test_world_model_is_rebuilt_from_its_checkpoints(tmp_path):
    torch.manual_seed(0)
    tokenizer, dynamics = Tokenizer(TOKENIZER, 8), Dynamics(DYNAMICS, 4, 3)
    save_tokenizer(tmp_path / "t", tokenizer, window=1, steps=5)
    save_dynamics(tmp_path / "d", dynamics, window=6, steps=5)
    t, d = load_world_model(tmp_path / "t", tmp_path / "d")
    frames = torch.rand(1, 2, 8, 8, 3)
    assert torch.equal(t(frames), tokenizer(frames)) and not t.training and not d.training
    assert load_tokenizer(tmp_path / "t")[1]["window"] == 1
    with pytest.raises(CheckpointError, match="holds a dynamics, expected a tokenizer"):
        load_tokenizer(tmp_path / "d")
    save_dynamics(tmp_path / "other", Dynamics(DYNAMICS, 2, 3), window=6, steps=5)
    with pytest.raises(CheckpointError, match="trained together"):
        load_world_model(tmp_path / "t", tmp_path / "other")


def test_a_disk_that_takes_no_more_is_told_with_the_file_and_the_remedy(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(CheckpointError, match=r"a/tensors\.safetensors: writing failed: .*File too large.*make room on that disk"):
            save_checkpoint(tmp_path / "a", {"w": torch.zeros(4096)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
