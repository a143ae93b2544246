"""Agent tokens: they see everything and nothing sees them; the heads' targets; behaviour cloning never bends the world model."""

import pytest
import torch

from helpers.networks import AGENTS, make_batch, make_dynamics, make_task
from veridream.nn.flow import draw_indices, shortcut_loss
from veridream.nn.heads import ahead, imitation_loss
from veridream.nn.reward import reward_loss
from veridream.nn.sampler import rollout
from veridream.params.model import DynamicsArch


def _agents(**changed):
    return make_dynamics(**{**AGENTS, **changed})


def test_shapes():
    out = _agents()(*make_batch(), make_task())
    assert out.x1_BTLD.shape == (2, 5, 4, 3) and out.reward_logits_BTR.shape == (2, 5, 11)
    assert out.heads.reward_logits_BTKR.shape == (2, 5, 3, 11) and out.heads.action_BTLA.shape == (2, 5, 2, 16)
    assert torch.equal(out.reward_logits_BTR, out.heads.reward_logits_BTKR[:, :, 0]) and out.heads.action_BTLA.abs().max() <= 1
    assert _agents(bc_horizon=0)(*make_batch(), make_task()).heads.action_BTLA is None


def test_nothing_sees_the_agent_tokens_to_the_bit():
    d, batch = _agents(), make_batch()
    a, b = d(*batch, make_task(seed=0)), d(*batch, make_task(seed=1))
    assert torch.equal(a.x1_BTLD, b.x1_BTLD)
    assert not torch.equal(a.reward_logits_BTR, b.reward_logits_BTR) and not torch.equal(a.heads.action_BTLA, b.heads.action_BTLA)


@pytest.mark.parametrize("which", ["z", "action", "signal"])
def test_the_agent_tokens_see_everything_of_their_frame_and_its_past(which):
    d, (z, signal, step, action, mask) = _agents(), make_batch()
    whole = {"z": z, "signal": signal, "step": step, "action": action}
    changed = whole[which].clone()
    changed[:, 2:3] = (changed[:, 2:3] + 1) % 8 if which == "signal" else -changed[:, 2:3]
    a, b = (d(*w.values(), mask, make_task()).heads for w in (whole, {**whole, which: changed}))
    for x, y in zip(a, b, strict=True):
        assert torch.equal(x[:, :2], y[:, :2]), "a changed future leaves the past bit-identical"
        assert (x[:, 2:] != y[:, 2:]).flatten(2).any(-1).all(), "the frame itself and every later one answer to it"


@pytest.mark.parametrize("depth", [3, 4])  # with and without time attention in the last block
def test_without_a_task_the_frames_are_the_same_and_rewards_are_not_known(depth):
    d, batch = _agents(depth=depth), make_batch()
    with_task, without = d(*batch, make_task()), d(*batch)
    assert torch.allclose(with_task.x1_BTLD, without.x1_BTLD, atol=1e-6)
    assert without.heads is None and without.reward_logits_BTR.isnan().all()


def test_a_task_for_a_dynamics_without_agents_is_refused():
    with pytest.raises(ValueError, match="without agent tokens"):
        make_dynamics()(*make_batch(), make_task())


@pytest.mark.parametrize("depth", [3, 4])
def test_cached_frames_equal_the_uncached_pass(depth):
    d, (z, signal, step, action, mask), task = _agents(depth=depth), make_batch(), make_task()
    whole = d(z, signal, step, action, mask, task)
    cache, bare = d.new_cache(2, task), d.new_cache(2)
    for t in range(5):
        at = slice(t, t + 1)
        args = (z[:, at], signal[:, at], step[:, at], action[:, at], mask)
        peek = d.step_frame(*args, d.without_agents(cache) if t else bare, commit=False)
        assert torch.allclose(peek.x1_BTLD, whole.x1_BTLD[:, at], atol=1e-5)
        out = d.step_frame(*args, cache, commit=True)
        assert torch.allclose(out.x1_BTLD, whole.x1_BTLD[:, at], atol=1e-5)
        assert torch.allclose(out.heads.reward_logits_BTKR, whole.heads.reward_logits_BTKR[:, at], atol=1e-5)


@torch.no_grad()
def test_a_rollout_with_a_task_dreams_the_same_frames_and_knows_their_rewards():
    d, (z, _, _, action, mask) = _agents(), make_batch(1, 6)
    plans = action.repeat(3, 1, 1)
    plans[1:, 3:] *= -1
    a, b = (rollout(d, z[:, :3], plans, mask.repeat(3, 1), 3, 4, 0.1, 2, "mean", torch.Generator().manual_seed(0), t) for t in (None, make_task(1)))
    assert torch.allclose(a.samples_BHSLD, b.samples_BHSLD, atol=1e-5) and torch.allclose(a.flow_delta_BHK, b.flow_delta_BHK, atol=1e-5)
    assert a.reward_BH.isnan().all() and b.reward_BH.isfinite().all() and b.reward_BH.std() > 0


def test_ahead_literally():
    values = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    out, inside = ahead(values, 2)
    assert out.tolist() == [[[1, 2], [2, 3], [3, 0]], [[4, 5], [5, 6], [6, 0]]]
    assert inside.tolist() == [[True, True], [True, True], [True, False]]
    out, inside = ahead(values, 2, first=1)
    assert out[0].tolist() == [[2, 3], [3, 0], [0, 0]] and inside.tolist() == [[True, True], [True, False], [False, False]]
    assert ahead(torch.ones(1, 3, 2, 2), 4)[0].shape == (1, 3, 4, 2, 2)


@pytest.mark.parametrize("padding", [0.0, 7.0, float("nan")])
def test_imitation_in_closed_form_whatever_the_padding_holds(padding):
    action = torch.full((1, 3, 16), padding)
    action[..., :2] = torch.tensor([[9.0, 9.0], [0.5, 0.0], [1.0, -1.0]])  # row 0 led to the first frame: nothing predicts it
    mask = (torch.arange(16) < 2).float()[None]
    predicted = torch.zeros(1, 3, 2, 16, requires_grad=True)
    loss = imitation_loss(predicted, action, mask)
    assert float(loss.detach()) == pytest.approx((0.25 + 0 + 1 + 1 + 1 + 1) / 6)  # from frame 0: rows 1 and 2; from frame 1: row 2
    loss.backward()
    assert predicted.grad.isfinite().all() and not predicted.grad[..., 2:].any() and not predicted.grad[:, 2].any()


def _losses(d, b=4, t=5):
    (z, _, _, action, mask), task = make_batch(b, t), make_task(b)
    noise = torch.randn(z.shape, generator=torch.Generator().manual_seed(1))
    signal, step = draw_indices(b, t, 1, 8, torch.Generator().manual_seed(0))
    flow = shortcut_loss(lambda x, s, e, r: d(x, s, e, action[r], mask[r], task[r]), z, noise, signal, step, 1, 8)
    reward, inside = ahead(torch.rand(b, t, generator=torch.Generator().manual_seed(2)), 3)
    heads = flow.out.heads
    rewards = reward_loss(heads.reward_logits_BTKR, reward, inside.expand(b, t, 3))
    return flow.total, rewards, imitation_loss(heads.action_BTLA, action, mask)


def _touched(d, loss):
    d.zero_grad()
    loss.backward()
    return {n for n, p in d.named_parameters() if p.grad is not None and (p.grad != 0).any()}


def test_behaviour_cloning_ends_at_its_head_and_rewards_reach_the_whole_network():
    d = _agents()
    assert {n.rsplit(".")[0] + "." + n.split(".")[1] for n in _touched(d, _losses(d)[2])} == {"heads.behaviour"}
    touched = _touched(d, _losses(d)[1])
    assert {"agent_in.weight", "blocks.0.space.qkv.weight", "spatial_in.weight", "action_in.weight"} <= touched
    assert not any(n.startswith("heads.behaviour") for n in touched)
    assert not any(n.startswith(("heads", "agent_in")) for n in _touched(d, _losses(d)[0])), "the flow loss knows no agents"


def test_gradient_reaches_every_parameter():
    d = _agents()
    touched = _touched(d, sum(_losses(d)))
    missed = {n for n, _ in d.named_parameters()} - touched
    assert all(n.endswith("qkv.bias") for n in missed), missed


@pytest.mark.parametrize("changed", [{"reward_horizon": 8}, {"bc_horizon": 2}])
def test_heads_that_look_ahead_need_agents(changed):
    with pytest.raises(ValueError, match="set agents"):
        DynamicsArch(**changed)
