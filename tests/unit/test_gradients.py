"""How a step is computed does not change what it is: in parts, by two processes, recomputed, compiled, in bf16; averaged weights; flat memory."""

import functools
import gc
import json

import pytest
import torch
from torch import nn

from helpers.networks import AGENTS, make_batch, make_dynamics, make_task, make_tokenizer
from helpers.two_processes import run, run_by
from veridream.io.checkpoint import load_checkpoint
from veridream.params.model import Compute, Engine, Optimiser
from veridream.train import gradients as module
from veridream.train.average import Average
from veridream.train.engine import NonFiniteLoss, Plan, train
from veridream.train.gradients import Losses, RunningRms, StepLoss, gradients
from veridream.train.parallel import Part

ADAMW = Optimiser(lr=1e-2, warmup=2)


class Fit:
    """A loss of 12 rows, its part of it as asked for; float64. Two terms."""

    def __init__(self, net, bad_at=None):
        self.net, self.bad_at = net, bad_at

    def __call__(self, step, share):
        x = torch.randn(12, 4, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
        if step == self.bad_at:
            x[7] = float("nan")
        rows = share.rows(12)
        x = x[rows]
        own, out = len(rows) / 12, self.net(x)
        terms = {"fit": own * (out - x.sum(1, keepdim=True)).square().mean(), "size": own * out.square().mean()}
        return StepLoss(terms, [f"row {i}" for i in rows], {"size": 0.3}, {"rows": float(len(rows))})


def _net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()


def _grads(parts, rms, net=None):
    net = net or _net()
    batch = gradients(Losses(net, Fit(net)), rms, 3, parts)
    return batch, [p.grad for p in net.parameters()]


def test_parts_have_the_rows_once():
    for own in (Part(), Part(1, 2)):
        rows = [r for p in own.split(3) for r in p.rows(11).tolist()]
        assert sorted(rows) == own.rows(11).tolist()


def test_gradients_in_parts_are_those_of_the_whole(monkeypatch):
    monkeypatch.setattr(module, "RMS_DECAY", 1.0)  # the RMS stands still: both ways divide by the same number
    state = {"fit": (4.0, 1.0), "size": (0.25, 1.0)}
    (whole, a), (parts, b) = _grads(1, RunningRms(state)), _grads(5, RunningRms(state))
    assert all(torch.allclose(x, y, rtol=1e-12) for x, y in zip(a, b, strict=True))
    assert whole.values == pytest.approx(parts.values) and parts.metrics == {"rows": 12.0}
    assert sorted(parts.windows) == sorted(whole.windows)


def test_the_divisor_in_parts_is_the_rms_so_far_and_the_first_steps_own_value():
    rms = RunningRms({"fit": (4.0, 1.0), "size": (0.25, 1.0)})
    before = {k: rms.now(k) for k in ("fit", "size")}
    batch, got = _grads(2, rms)
    net = _net()
    out = Fit(net)(3, Part())
    (out.terms["fit"] / before["fit"] + 0.3 * out.terms["size"] / before["size"]).backward()
    assert all(torch.allclose(x, p.grad, rtol=1e-12) for x, p in zip(got, net.parameters(), strict=True))
    assert rms.now("fit") == pytest.approx((0.99 * 4 + 0.01 * batch.values["fit"] ** 2) ** 0.5)
    first = RunningRms()
    fresh, a = _grads(2, first)
    assert all(torch.allclose(x, y, rtol=1e-12) for x, y in zip(a, _grads(1, RunningRms())[1], strict=True)), "at the first step nothing differs"
    assert first.now("size") == pytest.approx(fresh.values["size"])


def _trained(work, engine=None, compute=None, steps=8, loss=Fit, net=None, **more):
    net = net or _net()
    plan = Plan("test", steps, ADAMW, more.pop("checkpoint_every", 4), engine=engine or Engine(), compute=compute or Compute())
    train(plan, net, loss(net, **more), work, {"params": {}})
    return net


def test_non_finite_in_one_part_stops_with_the_windows_of_all(tmp_path):
    with pytest.raises(NonFiniteLoss, match=r"step 4: fit, size not finite"):
        _trained(tmp_path / "w", Engine(accumulate=3), bad_at=3)
    dump = json.loads((tmp_path / "w" / "nonfinite-step-00000004.json").read_text())
    assert sorted(dump["windows"]) == sorted(f"row {i}" for i in range(12))


@pytest.mark.parametrize(("processes", "each", "alone"), [(2, 1, 1), (2, 2, 4)])
def test_two_processes_are_one_to_rounding_accumulation_included(tmp_path, processes, each, alone):
    """The whole dynamics loss, heads and all, on unequal parts of an odd batch: 9 rows, 3 of them self-consistency rows."""
    run(tmp_path / "one", alone)
    run_by(processes, tmp_path, tmp_path / "two", each)
    a, b = (load_checkpoint(tmp_path / w / "step-00000006")[0] for w in ("one", "two"))
    assert max(float((a[k] - b[k]).abs().max()) for k in a) < 1e-9
    one, two = ([json.loads(x) for x in (tmp_path / w / "metrics.jsonl").read_text().splitlines()] for w in ("one", "two"))
    assert len(one) == 6 and {"loss_flow", "loss_reward", "loss_behaviour"} <= one[0].keys()
    for x, y in zip(one, two, strict=True):
        assert x.pop("run") == y.pop("run") and x == pytest.approx(y, rel=1e-9, abs=1e-12)


def test_average_in_closed_form():
    net = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(net.weight, 1.0)
    average = Average(net, 0.5)
    nn.init.constant_(net.weight, 3.0)
    average.update(1)  # share of the new: 1 - 2/11
    assert float(average.weights["weight"]) == pytest.approx(1.0 + 2.0 * 9 / 11)
    average.update(1000)  # 1 - 0.5
    assert float(average.weights["weight"]) == pytest.approx((1.0 + 2.0 * 9 / 11 + 3.0) / 2)
    with average.shown():
        assert float(net.weight) == pytest.approx(float(average.weights["weight"]))
    assert float(net.weight) == 3.0


def test_averaged_weights_are_published_and_resumed_exactly(tmp_path):
    ema = Engine(ema=0.9)
    whole, plain = _trained(tmp_path / "whole", ema), _trained(tmp_path / "plain")
    tensors, _ = load_checkpoint(tmp_path / "whole" / "step-00000008")
    assert all(torch.equal(v, tensors[f"average/{k}"]) for k, v in whole.state_dict().items())
    assert all(torch.equal(v, tensors[f"model/{k}"]) for k, v in plain.state_dict().items()), "the average never touches the training"
    with pytest.raises(NonFiniteLoss):
        _trained(tmp_path / "cut", ema, checkpoint_every=3, bad_at=5)
    again = _trained(tmp_path / "cut", ema, checkpoint_every=3)
    assert all(torch.equal(a, b) for a, b in zip(whole.state_dict().values(), again.state_dict().values(), strict=True))


@pytest.mark.parametrize("which", ["tokenizer", "dynamics"])
def test_recomputed_activations_give_the_same_gradients_to_the_bit(which):
    def grads(recompute):
        model = make_tokenizer() if which == "tokenizer" else make_dynamics(**AGENTS)
        model.recompute = recompute
        if which == "tokenizer":
            out = model(torch.rand(2, 3, 8, 8, 3, generator=torch.Generator().manual_seed(0))).square().sum()
        else:
            made = model(*make_batch(), make_task())
            out = made.x1_BTLD.square().sum() + made.heads.reward_logits_BTKR.square().sum()
        out.backward()
        return [p.grad for p in model.parameters()]

    a, b = grads(False), grads(True)
    assert all((x is None and y is None) or torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_recompute_keeps_less_for_the_backward_pass():
    def kept(recompute):
        model, bytes_ = make_dynamics(depth=4), 0
        model.recompute = recompute

        def pack(t):
            nonlocal bytes_
            bytes_ += t.numel()
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            model(*make_batch(4, 6)).x1_BTLD.sum()
        return bytes_

    assert kept(True) < kept(False) / 2


class Dream:
    """The dynamics on a fixed batch, for the ways of computing it."""

    def __init__(self, model):
        self.model = model

    def __call__(self, step, share):
        (z, *rest), task = make_batch(4, 6), make_task(4)
        made = self.model(z, *rest, task)
        return StepLoss({"flow": (made.x1_BTLD - z).square().mean(), "reward": made.reward_logits_BTR.square().mean()})


def _losses(work):
    return [json.loads(x)["loss_flow"] for x in (work / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("compute", [Compute(compile=True), Compute(precision="bf16")])
def test_compiled_and_half_precision_training_follow_the_plain_one(tmp_path, monkeypatch, compute):
    graphs = []

    def backend(graph, inputs):  # traces, and runs what was traced; no C++ compiler needed
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(nn.Module, "compile", functools.partialmethod(nn.Module.compile, backend=backend))
    small = {**AGENTS, "depth": 2}
    plain = _trained(tmp_path / "plain", loss=Dream, net=make_dynamics(**small))
    other = _trained(tmp_path / "other", None, compute, loss=Dream, net=make_dynamics(**small))
    assert list(plain.state_dict()) == list(other.state_dict()) and all(p.dtype == torch.float32 for p in other.parameters())
    a, b = _losses(tmp_path / "plain"), _losses(tmp_path / "other")
    assert b == pytest.approx(a, rel=1e-3 if compute.compile else 0.05)
    assert graphs if compute.compile else a != b
    assert a[-1] < 0.8 * a[0]


def test_memory_does_not_grow_with_the_steps(tmp_path):
    alive = []

    class Counting(Fit):
        def __call__(self, step, share):
            if step in (10, 20, 39):
                gc.collect()
                alive.append(sum(issubclass(type(x), torch.Tensor) for x in gc.get_objects()))
            return super().__call__(step, share)

    _trained(tmp_path / "w", Engine(ema=0.9), steps=40, loss=Counting, checkpoint_every=7)
    assert len(alive) == 3 and len(set(alive)) == 1
