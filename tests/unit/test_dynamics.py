"""The dynamics: causality, padding of actions, the cache, gradients."""

import pytest
import torch

from helpers.networks import ARCH, make_batch, make_dynamics
from veridream.nn.dynamics import Dynamics
from veridream.nn.flow import shortcut_loss


def test_shapes_and_zero_initialised_heads():
    torch.manual_seed(0)
    out = Dynamics(ARCH, 4, 3)(*make_batch())
    assert out.x1_BTLD.shape == (2, 5, 4, 3) and out.reward_logits_BTR.shape == (2, 5, 11)
    assert not out.x1_BTLD.any() and not out.reward_logits_BTR.any()


@pytest.mark.parametrize("which", ["z", "signal", "step", "action"])
def test_changed_future_leaves_the_past_bit_identical(which):
    d, (z, signal, step, action, mask) = make_dynamics(), make_batch()
    before = d(z, signal, step, action, mask)
    later = {"z": z, "signal": signal, "step": step, "action": action}
    changed = later[which].clone()
    changed[:, 3:] = (changed[:, 3:] + 1) % (8 if which == "signal" else 4) if changed.dtype == torch.int64 else -changed[:, 3:]
    after = d(*({**later, which: changed}.values()), mask)
    for a, b in zip(before[:2], after[:2], strict=True):
        assert torch.equal(a[:, :3], b[:, :3])
        assert not torch.equal(a[:, 3:], b[:, 3:])


def test_the_past_is_used():
    d, (z, signal, step, action, mask) = make_dynamics(), make_batch()
    before = d(z, signal, step, action, mask).x1_BTLD
    z = z.clone()
    z[:, 0] += 1
    assert not torch.equal(before[:, 4], d(z, signal, step, action, mask).x1_BTLD[:, 4])


@pytest.mark.parametrize("padding", [5.0, float("nan")])
def test_padded_action_values_never_change_output_loss_or_gradient(padding):
    d, (z, signal, step, action, mask) = make_dynamics(), make_batch()
    noise = torch.randn(z.shape, generator=torch.Generator().manual_seed(1))

    def run(a):
        d.zero_grad()
        out = d(z, signal, step, a, mask)
        loss = shortcut_loss(lambda x, s, e, rows: d(x, s, e, a[rows], mask[rows]), z, noise, signal, torch.full_like(step, 3), 0, 8).total
        loss.backward()
        return [*out[:2], loss, *(p.grad.clone() for p in d.parameters() if p.grad is not None)]

    padded = action.clone()
    padded[..., 3:] = padding
    assert all(torch.equal(a, b) for a, b in zip(run(action), run(padded), strict=True))
    other = action.clone()
    other[..., 2] *= -1
    assert not torch.equal(run(action)[0], run(other)[0])


def test_actions_beyond_the_range_are_clamped():
    d, (z, signal, step, action, mask) = make_dynamics(), make_batch()
    assert torch.equal(d(z, signal, step, action.sign() * 7, mask)[0], d(z, signal, step, action.sign(), mask)[0])


@pytest.mark.parametrize("depth", [3, 4])  # with and without time attention in the last block
def test_cached_frames_equal_the_uncached_pass(depth):
    d, (z, signal, step, action, mask) = make_dynamics(depth=depth), make_batch()
    whole = d(z, signal, step, action, mask)
    cache = d.new_cache(2)
    parts = [d.extend(z[:, :2], signal[:, :2], step[:, :2], action[:, :2], mask, cache, commit=True)]
    for t in range(2, 5):
        at = slice(t, t + 1)
        peek = d.step_frame(z[:, at] + 1, signal[:, at], step[:, at], action[:, at], mask, cache, commit=False)
        assert not torch.equal(peek.x1_BTLD, whole.x1_BTLD[:, at])
        parts.append(d.step_frame(z[:, at], signal[:, at], step[:, at], action[:, at], mask, cache, commit=True))
    for a, b in zip(whole[:2], map(torch.cat, zip(*(p[:2] for p in parts), strict=True), [1, 1]), strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    assert cache.frames == 5


def test_alternatives_equal_one_step_after_each_past():
    d, (z, signal, step, action, mask) = make_dynamics(), make_batch()
    cache = d.new_cache(2)
    d.extend(z, signal, step, action, mask, cache, commit=True)
    other = torch.randn(z.shape, generator=torch.Generator().manual_seed(3))
    at_once = d.alternatives(other, signal, step, action, mask, cache).x1_BTLD
    for t in range(5):
        mixed = torch.cat([z[:, :t], other[:, t : t + 1]], dim=1)
        alone = d(mixed, signal[:, : t + 1], step[:, : t + 1], action[:, : t + 1], mask).x1_BTLD[:, t]
        assert torch.allclose(at_once[:, t], alone, atol=1e-5)
    with pytest.raises(ValueError, match="alternatives"):
        d.alternatives(other[:, :2], signal[:, :2], step[:, :2], action[:, :2], mask, cache)


def test_gradient_reaches_every_parameter():
    d = make_dynamics(registers=1)
    out = d(*make_batch(4, 6))
    (out.x1_BTLD.square().sum() + out.reward_logits_BTR.square().sum()).backward()
    for name, p in d.named_parameters():
        if not name.endswith("qkv.bias"):
            assert p.grad is not None and (p.grad != 0).any(), name


def test_there_is_no_signal_index_for_clean():
    """Training never visits level 1, so its embedding would be noise; asking for it is an error."""
    d, (z, signal, step, action, mask) = make_dynamics(), make_batch()
    with pytest.raises(IndexError):
        d(z, torch.full_like(signal, 8), step, action, mask)


def test_pack_must_divide_the_latents():
    with pytest.raises(ValueError, match="does not divide"):
        Dynamics(ARCH, latents=3, latent_dim=3)


@pytest.mark.parametrize("window", [1, 3])
def test_a_time_window_holds_with_and_without_the_cache(window):
    """Depth 2 has one time layer, so frame t answers to the last `window` frames and to no earlier one."""
    d, (z, signal, step, action, mask) = make_dynamics(depth=2, time_window=window), make_batch(2, 7)
    whole = d(z, signal, step, action, mask).x1_BTLD
    cache = d.new_cache(2)
    parts = [d.extend(z[:, :4], signal[:, :4], step[:, :4], action[:, :4], mask, cache, commit=True).x1_BTLD]
    for t in range(4, 7):
        at = slice(t, t + 1)
        parts.append(d.step_frame(z[:, at], signal[:, at], step[:, at], action[:, at], mask, cache, commit=True).x1_BTLD)
    assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-5)
    ahead = d.alternatives(z, signal, step, action, mask, cache).x1_BTLD
    assert torch.allclose(ahead, whole, atol=1e-5)
    z = z.clone()
    z[:, 2] += 1
    changed = (d(z, signal, step, action, mask).x1_BTLD != whole).flatten(2).any(-1).all(0)
    assert changed.tolist() == [2 <= t < 2 + window for t in range(7)]
    assert torch.equal(make_dynamics(time_window=7)(z, signal, step, action, mask).x1_BTLD, make_dynamics()(z, signal, step, action, mask).x1_BTLD)
