"""Rotary positions are relative; masks and causality hold to the bit; both attention kernels agree."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from veridream.nn import attention
from veridream.nn.attention import Attention, Layout, alternatives_mask, attend, causal_mask, rotate
from veridream.nn.blocks import Block


def _rng(seed=0):
    return torch.Generator().manual_seed(seed)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 40), st.integers(0, 1000))
def test_score_depends_on_the_difference_of_positions_only(i, j, shift, seed):
    q, k = torch.randn(2, 1, 24, dtype=torch.float64, generator=_rng(seed))
    here = (rotate(q[None], i) * rotate(k[None], j)).sum()
    there = (rotate(q[None], i + shift) * rotate(k[None], j + shift)).sum()
    assert torch.allclose(here, there, atol=1e-10)


def test_rotation_keeps_length_and_is_the_identity_at_position_zero():
    x = torch.randn(3, 5, 24, dtype=torch.float64, generator=_rng())
    assert torch.allclose(rotate(x).norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rotate(x)[:, 0], x[:, 0])


def test_first_channel_pair_turns_by_one_radian_a_position():
    x = torch.zeros(1, 3, 4, dtype=torch.float64)
    x[..., 0] = 1.0
    turned = rotate(x)[0, :, :2]
    expected = torch.tensor([[1.0, 0.0], [0.5403023058681398, 0.8414709848078965], [-0.4161468365471424, 0.9092974268256817]], dtype=torch.float64)
    assert torch.allclose(turned, expected, atol=1e-12)


def test_layout_masks_by_name():
    layout = Layout(latent=1, patch=2)
    mask = layout.mask({"latent": ("latent", "patch"), "patch": ("patch",)})
    assert mask.tolist() == [[True, True, True], [False, True, True], [False, True, True]]
    with pytest.raises(ValueError, match="needs a rule"):
        layout.mask({"latent": ("latent",)})


def test_causal_and_alternatives_masks_literally():
    assert causal_mask(2, past=1).int().tolist() == [[1, 1, 0], [1, 1, 1]]
    assert alternatives_mask(3).int().tolist() == [[0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 0, 1]]


@pytest.mark.parametrize("short", [0, 64])
def test_masked_keys_and_values_never_matter(monkeypatch, short):
    monkeypatch.setattr(attention, "SHORT", short)
    q, k, v = torch.randn(3, 2, 6, 8, generator=_rng())
    mask = causal_mask(6)
    before = attend(q, k, v, mask)
    k[:, 4:], v[:, 4:] = 1e4, -1e4
    after = attend(q, k, v, mask)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_both_kernels_agree(monkeypatch):
    q, k, v = torch.randn(3, 2, 6, 8, generator=_rng())
    plain = attend(q, k, v, causal_mask(6))
    monkeypatch.setattr(attention, "SHORT", 0)
    assert torch.allclose(plain, attend(q, k, v, causal_mask(6)), atol=1e-6)


@pytest.mark.parametrize("frames", [3, 24])  # below and above the kernel switch
def test_changed_future_leaves_the_past_bit_identical(frames):
    torch.manual_seed(0)
    block = Block(16, 2, time=True)
    x = torch.randn(2, frames, 5, 16, generator=_rng())
    before = block(x, None)
    x[:, 2:] += 10.0
    after = block(x, None)
    assert torch.equal(before[:, :2], after[:, :2])
    assert (before[:, 2:] != after[:, 2:]).all()


def test_time_attention_of_some_slots_passes_the_others_untouched():
    """A token outside time_slots keeps its value: the block must not add its own normalised self to it."""
    torch.manual_seed(0)
    block = Block(16, 2, time=True)
    for m in (block.space, block.mlp):
        for p in m.parameters():
            nn.init.zeros_(p)
    x = torch.randn(1, 3, 5, 16, generator=_rng())
    out = block(x, None, time_slots=slice(0, 2))
    assert torch.equal(out[:, :, 2:], x[:, :, 2:])
    assert not torch.equal(out[:, :, :2], x[:, :, :2])


def test_keep_equals_the_kept_tokens_of_the_whole_block():
    torch.manual_seed(0)
    block = Block(16, 2, time=True)
    x = torch.randn(2, 3, 5, 16, generator=_rng())
    assert torch.allclose(block(x, None)[:, :, 1:4], block(x, None, keep=slice(1, 4)), atol=1e-6)


def test_logits_are_temperature_times_cosine():
    torch.manual_seed(0)
    a = Attention(8, 2)
    q, k, _ = a.project(torch.randn(1, 3, 8, generator=_rng()))
    assert torch.allclose(k.norm(dim=-1), torch.ones(1, 2, 3), atol=1e-5)
    assert torch.allclose(q.norm(dim=-1), torch.full((1, 2, 3), 2.0), atol=1e-5)  # sqrt(head_dim) at initialisation
    with torch.no_grad():
        a.log_temperature.fill_(10.0)
    assert torch.allclose(a.project(torch.randn(1, 3, 8))[0].norm(dim=-1), torch.full((1, 2, 3), 100.0), atol=1e-3)  # clamped


def test_gradient_reaches_every_parameter():
    torch.manual_seed(0)
    block = Block(16, 2, time=True)
    block(torch.randn(1, 3, 5, 16), None).square().sum().backward()
    for name, p in block.named_parameters():
        if not name.endswith("qkv.bias"):
            assert p.grad is not None and (p.grad != 0).any(), name


def test_odd_head_dimension_is_refused():
    with pytest.raises(ValueError, match="even head dimension"):
        Attention(9, 3)


def test_windows_of_the_masks_literally():
    assert causal_mask(2, past=2, window=2).int().tolist() == [[0, 1, 1, 0], [0, 0, 1, 1]]
    assert torch.equal(causal_mask(3, 2, window=9), causal_mask(3, 2))
    assert alternatives_mask(3, window=2).int().tolist() == [[0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]]
