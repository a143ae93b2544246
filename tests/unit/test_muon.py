"""Muon: the direction is orthogonal, in float32, and the groups are the right ones."""

import math

import pytest
import torch
from torch import nn

from veridream.nn import muon
from veridream.nn.muon import Muon, block_matrices, build_optimisers, orthogonalise
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Optimiser

ARCH = {"patch": 4, "width": 16, "heads": 2, "encoder_depth": 1, "decoder_depth": 1, "latents": 3, "latent_dim": 4, "time_every": 0}


@pytest.mark.parametrize("shape", [(8, 8), (4, 12), (12, 4)])
def test_singular_values_come_near_one_and_vectors_stay(shape):
    m = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    out = orthogonalise(m)
    assert out.dtype == torch.float32 and out.shape == m.shape
    values = torch.linalg.svdvals(out)
    assert values.min() > 0.5 and values.max() < 1.3
    u, _, vh = torch.linalg.svd(m, full_matrices=False)
    assert ((out * (u @ vh)).sum((-2, -1)) / min(shape) > 0.7).all()


@pytest.mark.parametrize("shape", [(96, 256), (288, 96)])
def test_long_matrices_by_composed_factors_are_as_by_plain_iterations(shape, monkeypatch):
    m = torch.randn(2, *shape, generator=torch.Generator().manual_seed(0))
    composed = orthogonalise(m)
    monkeypatch.setattr(muon, "LONG", math.inf)
    assert torch.allclose(composed.double(), orthogonalise(m.double()), atol=1e-5)


def test_first_step_in_closed_form():
    p = nn.Parameter(torch.eye(4))
    p.grad = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
    nesterov = p.grad.lerp(p.grad * 0.05, 0.95)
    expected = torch.eye(4) * (1 - 0.1 * 0.5) - 0.1 * orthogonalise(nesterov)
    Muon([p], lr=0.1, weight_decay=0.5).step()
    assert torch.allclose(p, expected, atol=1e-6)


def test_tall_matrices_take_larger_steps():
    tall = nn.Parameter(torch.zeros(16, 4))
    tall.grad = torch.randn(16, 4, generator=torch.Generator().manual_seed(1))
    Muon([tall], lr=0.1, weight_decay=0.0).step()
    assert torch.linalg.svdvals(tall.detach()).mean() == pytest.approx(0.2, rel=0.2)  # 0.1 * sqrt(16 / 4)


def test_block_matrices_go_to_muon_and_everything_is_optimised_once():
    t = Tokenizer(ARCH, 8)
    names = block_matrices(t)
    assert "encoder.0.space.qkv.weight" in names and "patch_in.weight" not in names and "latent_query" not in names
    muon, adamw = build_optimisers(t, Optimiser(kind="muon"), lr_scale=0.5)
    assert isinstance(muon, Muon) and [g["initial_lr"] for g in muon.param_groups] == [0.005]
    ids = [id(p) for o in (muon, adamw) for g in o.param_groups for p in g["params"]]
    assert sorted(ids) == sorted(id(p) for p in t.parameters())
    assert [g["weight_decay"] for g in adamw.param_groups] == [0.01, 0.0]
    assert all(p.ndim < 2 for p in adamw.param_groups[1]["params"])
    assert len(build_optimisers(t, Optimiser(kind="adamw"))) == 1


def test_vectors_are_refused():
    with pytest.raises(ValueError, match="matrices"):
        Muon([nn.Parameter(torch.zeros(3))], lr=0.1, weight_decay=0.0)
