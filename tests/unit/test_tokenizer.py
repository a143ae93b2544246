"""The tokenizer: patches, ranges, masks, causality, gradients, and that it can learn one clip."""

import pytest
import torch

from veridream.nn.muon import build_optimisers
from veridream.nn.tokenizer import Tokenizer, patchify, unpatchify
from veridream.params.model import Optimiser
from veridream.train.schedule import learning_rate_factor, set_learning_rate
from veridream.train.tokenizer import draw_mask, pixel_weights, reconstruction_loss

SIZES = {"patch": 4, "width": 16, "heads": 2, "encoder_depth": 2, "decoder_depth": 2, "latents": 3, "latent_dim": 4}
ARCH = {**SIZES, "time_every": 0, "init_std": 0.2, "norm_before_tanh": True}


def _tokenizer(size=8, **changed):
    torch.manual_seed(0)
    return Tokenizer({**ARCH, **changed}, size)


def test_patches_are_in_reading_order_and_invert():
    frames = torch.arange(2 * 8 * 8 * 3, dtype=torch.float32).reshape(1, 2, 8, 8, 3)
    patches = patchify(frames, 4)
    assert patches.shape == (1, 2, 4, 48)
    assert torch.equal(patches[0, 0, 1], frames[0, 0, :4, 4:].reshape(-1))
    assert torch.equal(unpatchify(patches, 4, 8), frames)


def test_shapes_and_range():
    t = _tokenizer()
    frames = torch.rand(2, 3, 8, 8, 3)
    z = t.encode(frames)
    assert z.shape == (2, 3, 3, 4) and z.abs().max() <= 1
    assert t.decode(z).shape == frames.shape
    with pytest.raises(ValueError, match="wants"):
        t.encode(torch.rand(1, 1, 4, 4, 3))
    with pytest.raises(ValueError, match="does not divide"):
        Tokenizer(ARCH, 10)


def test_hidden_patches_never_reach_the_latents():
    t = _tokenizer()
    frames = torch.rand(1, 1, 8, 8, 3)
    masked = torch.tensor([[[False, True, False, False]]])
    before = t.encode(frames, masked)
    frames[:, :, :4, 4:] = 0.0
    assert torch.equal(before, t.encode(frames, masked))
    assert not torch.equal(before, t.encode(frames))


def test_patches_see_no_latents_in_the_encoder_and_latents_no_queries_in_the_decoder():
    t = _tokenizer()
    assert not t.encoder_mask[3:, :3].any() and t.encoder_mask[:3].all()
    assert not t.decoder_mask[:3, 3:].any() and t.decoder_mask[3:].all()


def test_per_frame_tokenizer_sees_one_frame_alone():
    t = _tokenizer()
    frames = torch.rand(1, 3, 8, 8, 3)
    assert torch.allclose(t.encode(frames)[:, 1:2], t.encode(frames[:, 1:2]), atol=1e-6)


def test_temporal_tokenizer_is_causal_to_the_bit_and_uses_the_past():
    t = _tokenizer(time_every=1)
    frames = torch.rand(1, 4, 8, 8, 3)
    z, decoded = t.encode(frames), t.decode(t.encode(frames))
    later = frames.clone()
    later[:, 3] = 1 - later[:, 3]
    assert torch.equal(z[:, :3], t.encode(later)[:, :3])
    assert torch.equal(decoded[:, :3], t.decode(t.encode(later))[:, :3])
    earlier = frames.clone()
    earlier[:, 0] = 1 - earlier[:, 0]
    assert not torch.equal(z[:, 3], t.encode(earlier)[:, 3])


@pytest.mark.parametrize("changed", [{}, {"time_every": 1}, {"norm_before_tanh": False}])
def test_gradient_reaches_every_parameter(changed):
    t = _tokenizer(**changed)
    masked = torch.tensor([False, True, False, True]).expand(2, 3, 4)
    t(torch.rand(2, 3, 8, 8, 3), masked).square().sum().backward()
    for name, p in t.named_parameters():
        if not name.endswith("qkv.bias"):
            assert p.grad is not None and (p.grad != 0).any(), name


def test_mask_ratio_is_uniform_up_to_the_maximum():
    masked = draw_mask((2000, 2), 16, 0.5, torch.Generator().manual_seed(0))
    ratio = masked.float().mean(-1)
    assert masked.shape == (2000, 2, 16)
    assert abs(float(ratio.mean()) - 0.25) < 0.01
    assert 0.15 < float(ratio.std()) < 0.21  # uniform ratio (.144) and binomial draw (.1) together: .176
    assert torch.equal(masked, draw_mask((2000, 2), 16, 0.5, torch.Generator().manual_seed(0)))


def test_loss_on_masked_patches_and_foreground_weights_in_closed_form():
    frames = torch.full((1, 1, 8, 8, 3), 0.5)
    frames[:, :, :4, :4, 0] = 0.7  # first patch is foreground in one channel
    median = torch.full((1, 8, 8, 3), 0.5)
    weight = pixel_weights(frames, median, 6.0)
    assert weight[0, 0, :4, :4].unique().tolist() == [7.0] and weight[0, 0, 4:].unique().tolist() == [1.0]
    wrong = frames + 0.1
    assert float(reconstruction_loss(wrong, frames, weight, None, 4)) == pytest.approx(0.01 * (7 + 3) / 4, rel=1e-5)
    masked = torch.tensor([[[True, True, False, False]]])
    assert float(reconstruction_loss(wrong, frames, weight, masked, 4)) == pytest.approx(0.01 * (7 + 1) / 2, rel=1e-5)
    assert float(reconstruction_loss(wrong, frames, weight, torch.zeros(1, 1, 4, dtype=torch.bool), 4)) == 0.0


def test_overfits_one_moving_clip():
    """Four frames of a moving block with the small-scale recipe: PSNR above 30 dB, and a decoded motion that is the truth's."""
    torch.manual_seed(0)
    frames = torch.full((4, 1, 16, 16, 3), 0.3)
    for i in range(4):
        frames[i, 0, 3 * i : 3 * i + 4, 4:8] = 0.9
    t = _tokenizer(16, width=32, encoder_depth=1, decoder_depth=1, latent_dim=8)
    optimisers = build_optimisers(t, Optimiser(kind="muon", lr=1e-2, muon_lr=2e-2, betas=(0.9, 0.98)))
    weight = pixel_weights(frames, torch.full((4, 16, 16, 3), 0.3), 3.0)
    for step in range(120):
        set_learning_rate(optimisers, learning_rate_factor(step, 120, 5, "cosine"))
        t.zero_grad()
        reconstruction_loss(t(frames), frames, weight, None, 4).backward()
        for optimiser in optimisers:
            optimiser.step()
    with torch.no_grad():
        decoded = t(frames)
    assert 10 * torch.log10(1 / (decoded - frames).square().mean()) > 30
    motion = [(f[1:] - f[:-1]).square().mean().sqrt() for f in (decoded, frames)]
    assert 0.8 < float(motion[0] / motion[1]) < 1.2


def test_long_sequences_are_taken_in_stretches_of_the_training_length():
    t, frames = _tokenizer(time_every=1), torch.rand(1, 7, 8, 8, 3)
    assert torch.equal(t.encode_long(frames), t.encode(frames)), "no training length known"
    t.window = 3
    z = t.encode_long(frames)
    for a, b in ((0, 3), (3, 6), (6, 7)):
        assert torch.equal(z[:, a:b], t.encode(frames[:, a:b])) and torch.equal(t.decode_long(z)[:, a:b], t.decode(z[:, a:b]))
    alone = _tokenizer()
    alone.window = 1
    assert torch.equal(alone.encode_long(frames), alone.encode(frames)), "frames without time attention need no stretches"
