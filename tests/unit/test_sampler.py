"""The sampler: known flows, the cache against the plain pass, shared prefill and noise."""

from types import SimpleNamespace

import pytest
import torch

from helpers.networks import make_batch, make_dynamics
from veridream.nn.dynamics import Dynamics
from veridream.nn.sampler import context_signal, euler, predict_next, rollout


def _rng(seed=0):
    return torch.Generator().manual_seed(seed)


class Flow:
    """A stand-in for the dynamics whose prediction is a known function of (z, level)."""

    k_max, finest = 8, 3

    def __init__(self, x1):
        self.x1, self.commits = x1, 0

    def new_cache(self, b):
        return SimpleNamespace(repeat=lambda n: self.new_cache(b))

    def extend(self, z, signal, step, action, mask, cache, commit):
        self.commits += commit
        return SimpleNamespace(x1_BTLD=z, reward_logits_BTR=torch.zeros(*z.shape[:2], 5))

    def step_frame(self, z, signal, step, action, mask, cache, commit):
        return SimpleNamespace(x1_BTLD=self.x1(z, signal[0, 0] / self.k_max, step[0, 0]))


def test_straight_flow_lands_on_its_target_with_any_number_of_substeps():
    for k in (1, 2, 4, 8):
        z, action, mask = torch.zeros(2, 3, 2, 2), torch.zeros(2, 5, 16), torch.ones(2, 16)
        out = rollout(Flow(lambda z, s, e: torch.full_like(z, 0.7)), z, action, mask, 2, k, 0.1, 2, "first", _rng())
        assert torch.allclose(out.z_BHLD, torch.full((2, 2, 2, 2), 0.7))
        assert out.flow_delta_BHK.shape == (2, 2, k - 1) and not out.flow_delta_BHK.any()


def test_linear_flow_in_closed_form():
    """x1hat = g z: one substep i of K multiplies z by 1 + (g - 1) / (K - i); x1hat changes by g times the change of z."""
    g, k = 0.5, 4
    z, action, mask = torch.zeros(1, 1, 1, 2), torch.zeros(1, 2, 16), torch.ones(1, 16)
    out = rollout(Flow(lambda z, s, e: g * z), z, action, mask, 1, k, 0.0, 1, "first", _rng(3))
    r = _rng(3)
    torch.randn(z.shape, generator=r)  # the context's noise comes first
    x = torch.randn(1, 1, 1, 2, generator=r)
    states = [x]
    for i in range(k):
        states.append(states[-1] * (1 + (g - 1) / (k - i)))
    assert torch.allclose(out.z_BHLD, states[-1])
    deltas = [g * (states[i + 1] - states[i]).square().mean().sqrt() for i in range(k - 1)]
    assert torch.allclose(out.flow_delta_BHK[0, 0], torch.stack(deltas))


def test_levels_and_step_index_of_the_substeps():
    asked = []
    flow = Flow(lambda z, s, e: asked.append((float(s), int(e))) or z)
    rollout(flow, torch.zeros(1, 1, 1, 2), torch.zeros(1, 2, 16), torch.ones(1, 16), 1, 4, 0.1, 1, "first", _rng())
    assert asked == [(0.0, 2), (0.25, 2), (0.5, 2), (0.75, 2)]
    assert flow.commits == 2  # one prefill, one generated frame, whatever the number of seeds


def test_euler_last_substep_is_the_prediction():
    assert torch.equal(euler(torch.tensor(3.0), torch.tensor(5.0), 3, 4), torch.tensor(5.0))
    assert torch.equal(euler(torch.tensor(3.0), torch.tensor(5.0), 0, 4), torch.tensor(3.5))


@pytest.mark.parametrize(("tau", "k_max", "index"), [(0.0, 8, 7), (0.1, 8, 7), (0.1, 64, 58), (0.5, 8, 4), (1.0, 8, 0)])
def test_context_signal_is_the_nearest_trained_level(tau, k_max, index):
    assert context_signal(tau, k_max) == index


def _plain_rollout(d: Dynamics, z_context, action, mask, horizon, k, tau, seeds, carry, generator):
    """The same sampling without any cache: the whole past is run again for every prediction."""
    b, c = len(action), z_context.shape[1]
    noisy = ((1 - tau) * z_context + tau * torch.randn(z_context.shape, generator=generator)).repeat_interleave(b // len(z_context), 0)
    carried, samples, deltas = [], [], []
    for t in range(c, c + horizon):
        z = torch.randn((b * seeds, 1, *z_context.shape[2:]), generator=generator)
        x1s = []
        for i in range(k):
            past = noisy.repeat_interleave(seeds, 0)
            signal, step = torch.full((b * seeds, t + 1), context_signal(tau, d.k_max)), torch.full((b * seeds, t + 1), d.finest)
            signal[:, t], step[:, t] = i * d.k_max // k, k.bit_length() - 1
            a, m = action[:, : t + 1].repeat_interleave(seeds, 0), mask.repeat_interleave(seeds, 0)
            x1s.append(d(torch.cat([past, z], 1), signal, step, a, m).x1_BTLD[:, t:])
            z = z + (x1s[-1] - z) / (k - i)
        deltas.append(torch.stack([(p - q).square().mean((1, 2, 3)).sqrt() for p, q in zip(x1s[1:], x1s[:-1], strict=True)], 1))
        s = z.unflatten(0, (b, seeds))
        nxt = s[:, 0] if carry == "first" else s.mean(1)
        noisy = torch.cat([noisy, (1 - tau) * nxt + tau * torch.randn(nxt.shape, generator=generator)], 1)
        carried.append(nxt)
        samples.append(s.transpose(1, 2))
    return torch.cat(carried, 1), torch.cat(samples, 1), torch.stack(deltas, 1).unflatten(0, (b, seeds)).mean(1)


@pytest.mark.parametrize("carry", ["first", "mean"])
@torch.no_grad()
def test_cache_equals_no_cache(carry):
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(2, 6)
    out = rollout(d, z[:, :3], action, mask, 3, 4, 0.1, 2, carry, _rng(1))
    plain = _plain_rollout(d, z[:, :3], action, mask, 3, 4, 0.1, 2, carry, _rng(1))
    for a, b in zip(out[:3], plain, strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    assert out.samples_BHSLD.shape == (2, 3, 2, 4, 3) and out.reward_BH.shape == (2, 3)


@torch.no_grad()
def test_candidates_that_share_one_context_equal_no_cache():
    """One prefill and one context noise for all candidates and seeds, kept while the frames grow."""
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(1, 7)
    plans = action.repeat(4, 1, 1)
    plans[:, 3:] = torch.rand(4, 4, 16, generator=_rng(5)) * 2 - 1
    out = rollout(d, z[:, :3], plans, mask.repeat(4, 1), 4, 4, 0.1, 3, "mean", _rng(1))
    plain = _plain_rollout(d, z[:, :3], plans, mask.repeat(4, 1), 4, 4, 0.1, 3, "mean", _rng(1))
    for a, b in zip(out[:3], plain, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_one_prefill_serves_all_seeds(monkeypatch):
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(2, 5)
    committed, run = [], Dynamics.extend

    def extend(self, z, *rest, commit):
        committed.extend([tuple(z.shape[:2])] if commit else [])
        return run(self, z, *rest, commit=commit)

    monkeypatch.setattr(Dynamics, "extend", extend)
    monkeypatch.setattr(Dynamics, "step_frame", lambda self, *a, commit: run(self, *a, commit=commit))
    rollout(d, z[:, :3], action, mask, 2, 2, 0.1, 5, "first", _rng())
    assert committed == [(2, 3), (2, 1), (2, 1)]  # rows are sequences, never sequences times seeds


def test_first_carries_the_first_seed_and_mean_the_mean():
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(2, 6)
    first = rollout(d, z[:, :3], action, mask, 3, 2, 0.1, 3, "first", _rng(1))
    assert torch.equal(first.z_BHLD, first.samples_BHSLD[:, :, 0])
    mean = rollout(d, z[:, :3], action, mask, 3, 2, 0.1, 3, "mean", _rng(1))
    assert torch.allclose(mean.z_BHLD, mean.samples_BHSLD.mean(2), atol=1e-6)
    assert torch.equal(first.samples_BHSLD[:, 0], mean.samples_BHSLD[:, 0])  # the same noise


def test_same_generator_state_same_rollout():
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(2, 6)
    a, b, c = (rollout(d, z[:, :3], action, mask, 3, 2, 0.1, 2, "mean", _rng(s)) for s in (1, 1, 2))
    assert torch.equal(a.z_BHLD, b.z_BHLD) and not torch.equal(a.z_BHLD, c.z_BHLD)


@torch.no_grad()
def test_predict_next_equals_one_step_rollouts():
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(2, 5)
    at_once = predict_next(d, z, action, mask, 2, 0.1, _rng(4))
    r = _rng(4)
    noisy = 0.9 * z + 0.1 * torch.randn(z.shape, generator=r)
    start = torch.randn(z.shape, generator=r)
    assert torch.equal(at_once[:, 0], z[:, 0])
    for t in range(1, 5):
        x = start[:, t : t + 1]
        for i in range(2):
            signal, step = torch.full((2, t + 1), 7), torch.full((2, t + 1), 3)
            signal[:, t], step[:, t] = 4 * i, 1
            x1 = d(torch.cat([noisy[:, :t], x], 1), signal, step, action[:, : t + 1], mask).x1_BTLD[:, t:]
            x = x + (x1 - x) / (2 - i)
        assert torch.allclose(at_once[:, t : t + 1], x, atol=1e-5)


def test_shuffled_actions_share_all_noise():
    """With an action-blind model both halves of the action-shuffle ratio are equal to the bit."""
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(2, 5)
    torch.nn.init.zeros_(d.action_out.weight)
    assert torch.equal(predict_next(d, z, action, mask, 1, 0.1, _rng(2)), predict_next(d, z, action.flip(0), mask, 1, 0.1, _rng(2)))


def test_one_context_serves_many_plans():
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(1, 5)
    plans = action.repeat(3, 1, 1)
    plans[1:, 3:] *= -1
    out = rollout(d, z[:, :3], plans, mask.repeat(3, 1), 2, 2, 0.1, 1, "first", _rng())
    assert out.z_BHLD.shape == (3, 2, 4, 3)
    one_noise = rollout(Flow(lambda z, s, e: z.new_zeros(z.shape)), z[:, :3], plans, mask.repeat(3, 1), 2, 2, 0.1, 1, "first", _rng())
    assert not one_noise.z_BHLD.any()
    plans[1, 0] *= -1
    with pytest.raises(ValueError, match="share"):
        rollout(d, z[:, :3], plans, mask.repeat(3, 1), 2, 2, 0.1, 1, "first", _rng())


def test_bad_arguments_are_refused():
    d, (z, _, _, action, mask) = make_dynamics(), make_batch(2, 6)
    with pytest.raises(ValueError, match="power of two"):
        rollout(d, z[:, :3], action, mask, 3, 3, 0.1, 1, "first", _rng())
    with pytest.raises(ValueError, match="needs their sum"):
        rollout(d, z[:, :3], action, mask, 2, 2, 0.1, 1, "first", _rng())
    with pytest.raises(ValueError, match="carry"):
        rollout(d, z[:, :3], action, mask, 3, 2, 0.1, 1, "best", _rng())
    with pytest.raises(ValueError, match="tau_ctx"):
        context_signal(1.5, 8)
