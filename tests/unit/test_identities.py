"""What must hold exactly: no leak through a mask, permutations, gradients of every loss against finite differences in float64."""

import pytest
import torch
from torch import nn
from torch.func import functional_call

from helpers.networks import AGENTS, make_batch, make_dynamics, make_task, make_tokenizer
from veridream.nn import attention
from veridream.nn.attention import attend
from veridream.nn.blocks import Block
from veridream.nn.flow import shortcut_loss
from veridream.nn.heads import Head, ahead, imitation_loss
from veridream.nn.reward import reward_loss
from veridream.train.tokenizer import composite, reconstruction_loss

KERNELS = pytest.mark.parametrize("short", [0, 64])  # the fused kernel, the plain product


def _rng(seed=0):
    return torch.Generator().manual_seed(seed)


@KERNELS
@pytest.mark.parametrize(("half", "blind", "seen"), [("encoder", "patch", "latent"), ("decoder", "latent", "patch")])
def test_tokenizer_blocks_leak_nothing_through_their_mask(monkeypatch, short, half, blind, seen):
    """Encoder patches never learn of latents, decoder latents never of patch queries; not even the last bit."""
    monkeypatch.setattr(attention, "SHORT", short)
    t = make_tokenizer()
    block, mask, layout = getattr(t, half)[0], getattr(t, f"{half}_mask"), t.layout
    x = torch.randn(2, 3, layout.size, 16, generator=_rng())
    before = block(x, mask, layout["latent"])
    x[:, :, layout[seen]] += 3.0
    after = block(x, mask, layout["latent"])
    assert torch.equal(before[:, :, layout[blind]], after[:, :, layout[blind]])
    assert (before[:, :, layout[seen]] != after[:, :, layout[seen]]).any()


@KERNELS
@torch.no_grad()
def test_dynamics_blocks_leak_nothing_of_the_agents(monkeypatch, short):
    monkeypatch.setattr(attention, "SHORT", short)
    d = make_dynamics(**AGENTS)
    x = torch.randn(2, 3, d.layout.size, 16, generator=_rng())
    outs = []
    for _ in range(2):
        y = x
        for block in d.blocks:
            y = block(y, d.agent_mask)
        outs.append(y)
        x = x.clone()
        x[:, :, d.layout["agent"]] = 1e3
    world = slice(0, d.layout["agent"].start)
    assert torch.equal(outs[0][:, :, world], outs[1][:, :, world])


@KERNELS
def test_attention_does_not_know_the_order_of_its_keys(monkeypatch, short):
    monkeypatch.setattr(attention, "SHORT", short)
    q, k, v = torch.randn(3, 2, 6, 8, generator=_rng(), dtype=torch.float64)
    order = torch.randperm(6, generator=_rng(1))
    assert torch.allclose(attend(q, k, v, None), attend(q, k[:, order], v[:, order], None), atol=1e-12)


def test_time_attention_knows_no_slots():
    """Permuted tokens of a frame come out permuted, once space attention, which numbers them, is silent."""
    torch.manual_seed(0)
    block = Block(16, 2, time=True)
    nn.init.zeros_(block.space.out.weight)
    x, order = torch.randn(2, 4, 5, 16, generator=_rng()), torch.randperm(5, generator=_rng(1))
    assert torch.allclose(block(x, None)[:, :, order], block(x[:, :, order], None), atol=1e-6)
    shuffled = x[:, torch.tensor([1, 0, 2, 3])]
    assert not torch.allclose(block(x, None)[:, 3], block(shuffled, None)[:, 3], atol=1e-4), "but the order of frames matters"


def test_rows_of_a_batch_do_not_know_each_other():
    d, t, order = make_dynamics(**AGENTS), make_tokenizer(), torch.tensor([2, 0, 1])
    batch, task = make_batch(3, 5), make_task(3)
    assert torch.allclose(d(*batch, task).x1_BTLD[order], d(*(x[order] for x in batch), task[order]).x1_BTLD, atol=1e-6)
    frames = torch.rand(3, 2, 8, 8, 3, generator=_rng())
    assert torch.allclose(t(frames)[order], t(frames[order]), atol=1e-6)


def test_frames_of_a_per_frame_tokenizer_do_not_know_each_other():
    t, frames, order = make_tokenizer(time_every=0), torch.rand(1, 4, 8, 8, 3, generator=_rng()), torch.tensor([3, 1, 0, 2])
    assert torch.allclose(t(frames)[:, order], t(frames[:, order]), atol=1e-6)


def test_a_head_does_not_know_the_order_of_agent_tokens():
    torch.manual_seed(0)
    head = Head(16, 5)
    nn.init.normal_(head.out.weight)
    x = torch.randn(2, 3, 4, 16, generator=_rng())
    assert torch.allclose(head(x), head(x.flip(2)), atol=1e-5) and head(x).any()


def _check(model, names, loss):
    """gradcheck of loss(forward) with respect to some of the model's parameters; forward calls the model with them replaced."""
    model.double()
    live = [dict(model.named_parameters())[n].detach().clone().requires_grad_() for n in names]
    return torch.autograd.gradcheck(lambda *p: loss(lambda *a: functional_call(model, dict(zip(names, p, strict=True)), a)), live, nondet_tol=0.0)


def _double(batch):
    return tuple(x.double() if x.is_floating_point() else x for x in batch)


BLOCK = ("log_temperature", "qkv.bias")


@pytest.mark.parametrize("n_self", [0, 1])
def test_flow_loss_of_a_network_against_finite_differences(n_self):
    """The target's own network is a frozen copy, as the stop of the gradient says."""
    d, frozen = make_dynamics(width=8, heads=2, depth=2, registers=1), make_dynamics(width=8, heads=2, depth=2, registers=1).double()
    z, _, _, action, mask = _double(make_batch(2, 3))
    noise = torch.randn(z.shape, generator=_rng(1), dtype=z.dtype)
    signal, step = torch.tensor([[1, 5, 7], [0, 4, 6]]), torch.tensor([[3, 3, 3], [0, 1, 2]])
    if not n_self:
        step[1] = 3

    def loss(live):
        predict = lambda x, s, e, r: (live if torch.is_grad_enabled() else frozen)(x, s, e, action[r], mask[r])  # noqa: E731
        return shortcut_loss(predict, z, noise, signal, step, n_self, 8).total

    names = ["register_token", "signal_embedding.weight", "x1_out.bias", *(f"blocks.1.{a}.{n}" for a in ("space", "time") for n in BLOCK)]
    assert _check(d, names, loss)


def test_reward_and_behaviour_losses_of_a_network_against_finite_differences():
    d = make_dynamics(width=8, heads=2, depth=2, registers=1, **AGENTS)
    batch, task = _double(make_batch(2, 3)), make_task().double()
    reward, inside = ahead(torch.randn(2, 3, generator=_rng(2), dtype=torch.float64), 3)
    valid = inside.expand(2, 3, 3) & (torch.arange(3) != 1)[None, :, None]

    def rewards(live):
        return reward_loss(live(*batch, task).heads.reward_logits_BTKR, reward, valid)

    def behaviour(live):
        return imitation_loss(live(*batch, task).heads.action_BTLA, batch[3], batch[4])

    assert _check(d, ["agent_in.bias", "heads.reward.query", "heads.reward.norm.scale", "blocks.0.space.qkv.bias", "action_base"], rewards)
    assert _check(d, ["heads.behaviour.query", "heads.behaviour.out.bias", "heads.behaviour.mlp.down.bias"], behaviour)


@pytest.mark.parametrize("masked", [False, True])
def test_reconstruction_loss_of_a_network_against_finite_differences(masked):
    t = make_tokenizer(4, patch=2, width=8, encoder_depth=1, decoder_depth=2, latents=2)
    frames = torch.rand(1, 2, 4, 4, 3, generator=_rng(), dtype=torch.float64)
    hidden = torch.rand(1, 2, 4, generator=_rng(1)) < 0.5 if masked else None
    weight = 1 + 6 * (torch.rand(1, 2, 4, 4, 1, generator=_rng(2)) < 0.3).double()

    def loss(live):
        return reconstruction_loss(live(frames, hidden), frames, weight, hidden, 2)

    names = ["latent_query", "latent_position", "pixel_out.bias", "encoder.0.time.qkv.bias", "decoder.0.time.log_temperature", "norm_latent.scale"]
    assert _check(t, names + (["mask_token"] if masked else []), loss)
    assert torch.autograd.gradcheck(lambda x: composite(x, frames, hidden, 2).square().sum(), torch.rand_like(frames).requires_grad_())


@pytest.mark.parametrize("which", ["encoder", "dynamics"])
def test_gradient_reaches_every_bias_too(which):
    """Queries, keys and values each have one."""
    model = make_tokenizer() if which == "encoder" else make_dynamics(registers=1)
    if which == "encoder":
        model(torch.rand(2, 3, 8, 8, 3, generator=_rng())).square().sum().backward()
    else:
        out = model(*make_batch(4, 6))
        (out.x1_BTLD.square().sum() + out.reward_logits_BTR.square().sum()).backward()
    for name, p in model.named_parameters():
        if name.endswith("qkv.bias"):
            thirds = p.grad.chunk(3)
            assert all(x.abs().max() > 1e-12 for x in thirds), name
