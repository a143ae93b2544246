"""Looks at held-out windows: the numbers are those of the metrics, the windows are held out, resume repeats them."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

from helpers.networks import AGENTS, make_dynamics, make_tokenizer
from helpers.stores import make_store, store_path
from veridream.data.corpus import Corpus
from veridream.data.index import build_index
from veridream.data.windows import window_keys
from veridream.metrics.motion import decoded_motion_ratio
from veridream.metrics.psnr import psnr
from veridream.params.model import Optimiser, Watch
from veridream.train.engine import Plan, train
from veridream.train.gradients import StepLoss
from veridream.train.look import dynamics_look, tokenizer_look

TASKS = ("cup-catch", "pygame-pong")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("look")
    stores = [make_store(store_path(root, task=t), [9, 12, 10, 11, 9, 10], task=t, size=8, env=i + 1) for i, t in enumerate(TASKS)]
    return Corpus(stores), build_index(stores, "s", 0.4, TASKS, [])


def test_a_look_at_the_tokenizer(data, tmp_path):
    corpus, index = data
    t = make_tokenizer()
    look = tokenizer_look(t, corpus, index, 4, Watch(every=1, windows=3, strips=1), tmp_path)
    seen = look(7)
    assert set(seen) == {f"heldout_{m}/{task}" for m in ("psnr", "psnr_fg", "decoded_motion") for task in TASKS}
    held = {(s, e) for s, e in zip(*(index.select(split="heldout").store, index.select(split="heldout").episode), strict=True)}
    windows = look.heldout.windows["pygame-pong"]
    assert {(s, e) for s, e in zip(windows.store, windows.episode, strict=True)} <= held and len(set(window_keys(windows))) == 3
    truth = corpus.frames(windows, 4).astype(np.float32) / 255
    made = t(torch.from_numpy(truth)).detach().clamp(0, 1).numpy()
    assert seen["heldout_psnr/pygame-pong"] == pytest.approx(psnr(made, truth).mean())
    assert seen["heldout_decoded_motion/pygame-pong"] == pytest.approx(decoded_motion_ratio(made, truth).mean())
    (strip,) = (tmp_path / "strips").iterdir()
    assert strip.name == "step-00000007-cup-catch.png" and Image.open(strip).size == (4 * 8, 2 * 8)


def test_a_per_frame_tokenizer_is_looked_at_over_frames_that_move(data, tmp_path):
    corpus, index = data
    look = tokenizer_look(make_tokenizer(time_every=0), corpus, index, 1, Watch(every=1, windows=2), tmp_path)
    assert look.heldout.frames == 8 and np.isfinite(list(look(1).values())).all() and not (tmp_path / "strips").exists()


@pytest.mark.parametrize("agents", [False, True])
def test_a_look_at_the_dynamics(data, tmp_path, agents):
    corpus, index = data
    d = make_dynamics(**(AGENTS if agents else {}))
    look = dynamics_look(make_tokenizer(), d, corpus, index, 6, Watch(every=1, windows=3, strips=2, substeps=2), tmp_path)
    seen = look(1)
    assert set(seen) == {f"heldout_{m}/{task}" for m in ("dpsnr", "asr") for task in TASKS} and seen == look(1)
    assert all(seen[f"heldout_asr/{t}"] > 0 and seen[f"heldout_asr/{t}"] != 1.0 for t in TASKS)
    assert len(list((tmp_path / "strips").iterdir())) == 2 and Image.open(tmp_path / "strips" / "step-00000001-cup-catch.png").size == (4 * 8, 2 * 8)
    torch.nn.init.zeros_(d.action_out.weight)
    assert look(1)["heldout_asr/pygame-pong"] == 1.0, "deaf to actions"


def test_looks_stand_in_the_metrics_and_are_repeated_on_resume(tmp_path):
    class Stop(Exception):
        pass

    def run(work, stop_at=None):
        torch.manual_seed(0)
        net = torch.nn.Linear(2, 1)

        def loss(step, share):
            if step == stop_at:
                raise Stop
            return StepLoss({"fit": net(torch.ones(3, 2)).square().mean()})

        def look(done):
            return {"heldout_x/a": float(net.weight.detach().sum()), "heldout_x/b": float("nan"), "heldout_y/a": float(done)}

        plan = Plan("test", 400, Optimiser(lr=1e-2, warmup=0), 40, look_every=7)
        train(plan, net, loss, work, {"params": {}}, look)

    run(tmp_path / "whole")
    with pytest.raises(Stop):
        run(tmp_path / "cut", stop_at=100)
    run(tmp_path / "cut")
    text = (tmp_path / "whole" / "metrics.jsonl").read_text()
    assert text == (tmp_path / "cut" / "metrics.jsonl").read_text()
    lines = [json.loads(x) for x in text.splitlines()]
    looks = [x for x in lines if "heldout_x" in x]
    assert [x["step"] for x in looks] == [*range(7, 401, 7), 400] and len(lines) > len(looks)
    assert looks[0]["heldout_x"] == looks[0]["heldout_x/a"] and "heldout_x/b" not in looks[0] and looks[0]["heldout_y"] == 7.0
