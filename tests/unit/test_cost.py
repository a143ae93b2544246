"""The arithmetic of sizes: the paper's scale on the meta device, operations against torch's own counter, memory, the table of the docs."""

import re
import runpy

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from helpers.networks import AGENTS, make_batch, make_dynamics, make_task, make_tokenizer
from veridream.nn import cost
from veridream.params.load import load_params
from veridream.provenance.digest import ROOT

describe = runpy.run_path(str(ROOT / "src" / "describe_model.py"))


@pytest.fixture(scope="module")
def paper():
    p = load_params("paper")
    return p, *describe["networks"](p)


def test_the_papers_sizes(paper):
    """102 M tokenizer (Table 3), about 230 M dynamics and 20 M heads."""
    _, tokenizer, dynamics = paper
    assert all(x.is_meta for m in (tokenizer, dynamics) for x in m.parameters())
    assert describe["count"](tokenizer) == pytest.approx(102e6, rel=0.02)
    assert describe["count"](dynamics) == pytest.approx(250e6, rel=0.05)
    heads = sum(describe["count"](m) for m in (dynamics.heads, dynamics.agent_in))
    assert heads == pytest.approx(20e6, rel=0.1) and describe["count"](dynamics) - heads == pytest.approx(230e6, rel=0.05)


def test_the_papers_settings(paper):
    """Table 12 and App. F, as the params have them."""
    p, tokenizer, dynamics = paper
    assert (tokenizer.layout.size, tokenizer.patches, dynamics.layout.size) == (320, 256, 42)
    assert dynamics.layout.counts == {"action": 1, "shortcut": 1, "spatial": 32, "register": 4, "agent": 4}
    t, d = p.tokenizer.train, p.dynamics.train
    assert (t.batch, t.window, t.steps, t.mask_max, t.lpips_weight, t.lpips_every, t.dropout) == (96, 24, 300_000, 0.9, 0.2, 2, 0.05)
    assert (d.batch, d.window, d.steps, d.bootstrap_share, round(d.bootstrap_from * d.steps, -2)) == (512, 24, 180_000, 0.25, 10_000)
    for o in (t.optimiser, d.optimiser):
        assert (o.kind, o.lr, o.betas, o.weight_decay, o.warmup, o.clip, o.schedule) == ("adamw", 1e-4, (0.9, 0.999), 1e-2, 1000, 1.0, "constant")
    a = p.dynamics.arch
    assert (a.agents, a.reward_horizon, a.bc_horizon, a.reward_bins, a.k_max, a.time_every, a.pack) == (4, 8, 8, 255, 64, 2, 2)
    assert len(p.tasks.seen) == 200 and set(p.collect.counts) == {260}


def test_small_scales_have_everything_new_off():
    for name in ("smoke", "laptop"):
        p = load_params(name)
        assert (p.dynamics.arch.agents, p.dynamics.arch.reward_horizon, p.dynamics.arch.bc_horizon) == (0, 1, 0)
        assert p.compute.model_dump() == {"device": "cpu", "precision": "fp32", "compile": False}
        for t in (p.tokenizer.train, p.dynamics.train):
            assert t.engine.model_dump() == {"accumulate": 1, "ema": 0.0, "recompute": False} and t.watch.every == 0
        assert (p.tokenizer.train.lpips_weight, p.tokenizer.train.loaders, p.finetune.accumulate, p.arms.accumulate) == (0.0, 0, 1, 1)
        assert p.tokenizer.train.dropout == 0 and all((c.noise_colour, c.warm_start) == (0.0, "last_plan") for c in (p.curiosity.cem, p.mpc.cem))


def _counted(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


@pytest.mark.parametrize("time_every", [0, 1, 2])
def test_tokenizer_operations_are_those_torch_counts(time_every):
    t, frames = make_tokenizer(16, time_every=time_every, encoder_depth=3), torch.rand(2, 5, 16, 16, 3)
    z = t.encode(frames)
    assert cost.encode_flops(t.arch, 16, 5) == pytest.approx(_counted(lambda: t.encode(frames)) / 10, rel=1e-6)
    assert cost.decode_flops(t.arch, 16, 5) == pytest.approx(_counted(lambda: t.decode(z)) / 10, rel=1e-6)


@pytest.mark.parametrize("agents", [False, True])
@pytest.mark.parametrize("depth", [3, 4])
def test_dynamics_operations_are_those_torch_counts(agents, depth):
    d = make_dynamics(depth=depth, **(AGENTS if agents else {}))
    task = (make_task(4),) if agents else ()
    counted = _counted(lambda: d(*make_batch(4, 6), *task)) / 24
    assert cost.dynamics_flops(d.arch, 4, 3, 6, agents) == pytest.approx(counted, rel=0.01)  # torch leaves the pooling query out
    forward_and_back = _counted(lambda: d(*make_batch(4, 6), *task).x1_BTLD.sum().backward()) / 24
    assert forward_and_back == pytest.approx(3 * counted, rel=0.1), "a backward pass costs two forward passes"


def test_rollout_operations_count_cached_frames_once():
    d = make_dynamics()
    z, signal, step, action, mask = make_batch(1, 6)
    cache = d.new_cache(1)
    d.extend(z[:, :5], signal[:, :5], step[:, :5], action[:, :5], mask, cache, commit=True)
    one = _counted(lambda: d.step_frame(z[:, 5:], signal[:, 5:], step[:, 5:], action[:, 5:], mask, cache, commit=False))
    assert cost.rollout_flops(d.arch, 4, 3, 5, 4, seeds=2) == pytest.approx(9 * one, rel=1e-6)


def test_the_docs_hold_the_table_of_both_scales():
    text = (ROOT / "docs" / "model.md").read_text()
    for name in ("paper", "workstation"):
        assert describe["table"](load_params(name)) in text, f"docs/model.md: run `python src/describe_model.py --scale {name}` and paste its table"


def test_the_workstation_trains_within_a_day_on_one_card():
    said = re.search(r"All training: \S+ operations, ([\d.]+) (d|h) on one H100", describe["table"](load_params("workstation")))
    assert said[2] == "h" and float(said[1]) < 8, "a card of a third of an H100 then has a day for it"
