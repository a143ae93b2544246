"""The four training scripts on tiny stores: they run, refuse bad input, and a kill -9 and a second start give the undisturbed bytes."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.stores import make_store, store_path
from veridream.data.index import build_index, save_index
from veridream.data.latents import LatentCache
from veridream.io.checkpoint import load_checkpoint
from veridream.io.episode_store import open_store
from veridream.provenance.digest import content_id
from veridream.train.checkpoints import load_tokenizer, load_world_model

SRC = Path(__file__).resolve().parents[2] / "src"
SIZE = 16
OPTIMISER = {"kind": "muon", "lr": 2e-3, "muon_lr": 1e-2, "betas": [0.9, 0.98], "warmup": 2, "schedule": "cosine"}
ARCH = {"patch": 8, "width": 16, "heads": 2, "encoder_depth": 1, "decoder_depth": 1, "latents": 4, "latent_dim": 4, "time_every": 0, "norm_before_tanh": True}
MASKING = {"mask_max": 0.5, "mask_every": 2, "loss_on": "all", "foreground_weight": 6.0}
TOKENIZER = {"arch": ARCH, "train": {"steps": 40, "batch": 4, "window": 1, "sampling": "sqrt", **MASKING}}
DYNAMICS = {
    "arch": {"width": 16, "heads": 2, "depth": 2, "time_every": 2, "pack": 2, "registers": 1, "k_max": 8, "reward_bins": 11},
    "train": {"steps": 30, "batch": 4, "window": 4, "bootstrap_from": 0.5},
}
for part in (TOKENIZER, DYNAMICS):
    part["train"] |= {"checkpoint_every": 2, "threads": 1, "optimiser": OPTIMISER}
STEPS = {"tokenizer_steps": 20, "dynamics_steps": 20, "tokenizer_lr_scale": 0.5, "dynamics_lr_scale": 0.5, "warmup": 2, "target_mass": 0.5}
FINETUNE = {
    "model": "targeted_random",
    "finetune": {**STEPS, "seed": 0, "threads": 1},
    "weighting": {"tokenizer": "targeted", "dynamics": "targeted"},
    "episodes_per_source": 2,
    "tokenizer": {"train": TOKENIZER["train"]},
    "dynamics": {"train": DYNAMICS["train"]},
}


def command(stage, root, params, inputs, outputs, tag):
    """The command line and the output paths of one run named `tag`."""
    out = {o: root / tag / o for o in outputs}
    args = [sys.executable, str(SRC / f"{stage}.py"), "--params", json.dumps(params), "--receipt", str(root / tag / "receipt.json")]
    if stage != "encode_latents":
        args += ["--work", str(root / tag / "work")]
    for name, paths in inputs.items():
        args += [f"--{name}", *map(str, paths)]
    for name, path in out.items():
        args += [f"--{name}", str(path)]
    return args, out


def start(args, monkeypatch=pytest.MonkeyPatch):
    """Runs a script in this process, as `python script args` would; a child process each would cost seconds of imports."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", args[1:])
        before = signal.getsignal(signal.SIGTERM)
        try:
            runpy.run_path(args[1], run_name="__main__")
        finally:
            signal.signal(signal.SIGTERM, before)


def run(*a):
    args, out = command(*a)
    start(args)
    return out


ENV = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}


def killed(args, out, once="work/step-*/done"):
    """Starts a child and kills it with signal 9 as soon as a checkpoint stands; the job's folder."""
    folder = Path(out[next(iter(out))]).parent
    child = subprocess.Popen(args, env=ENV, stderr=subprocess.PIPE, text=True)
    while not any(folder.glob(once)):
        assert child.poll() is None, f"the stage ended before it could be killed: {child.communicate()[1]}"
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert not any(p.exists() for p in out.values()) and not (folder / "receipt.json").exists()
    return folder


def killed_then_run(*a, once="work/step-*/done"):
    """Kills a child, runs the same command again: were it not resumed, it would be refused."""
    args, out = command(*a)
    folder = killed(args, out, once)
    start(args)
    assert (folder / "work" / "published").is_file() and not (folder / "work.stale").exists()
    return out


def assert_same(a, b):
    assert {k: content_id(p) for k, p in a.items()} == {k: content_id(p) for k, p in b.items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Stores, index, and the base model by undisturbed runs."""
    root = tmp_path_factory.mktemp("training")
    lengths = [6, 9, 7, 8, 6, 7, 9, 5]
    seen = ("pygame-pong", "pygame-point-maze-var1")
    stores = [make_store(store_path(root, task=t), lengths[: 8 - 2 * i], task=t, size=SIZE, env=i + 1) for i, t in enumerate(seen)]
    test = make_store(store_path(root, "test", "pygame-reacher-easy"), [6], task="pygame-reacher-easy", role="test", size=SIZE)
    extra = make_store(store_path(root, "targeted", "pygame-reacher-easy"), [6, 7, 8], task="pygame-reacher-easy", role="targeted", size=SIZE, env=3)
    index = root / "episodes.parquet"
    save_index(index, build_index([*stores, test], "s", 0.3, list(seen), ["pygame-reacher-easy"]))
    data = {"index": [index], "stores": stores}
    tokenizer = run("train_tokenizer", root, {"tokenizer": TOKENIZER, "size": SIZE}, data, ("model", "metrics"), "tokenizer")
    latents = run("encode_latents", root, {}, {**data, "tokenizer": [tokenizer["model"]]}, ("latents",), "latents")
    with_latents = {**data, "latents": [latents["latents"]]}
    dynamics = run("train_dynamics", root, {"dynamics": DYNAMICS}, with_latents, ("model", "metrics"), "dynamics")
    return {"root": root, "data": data, "with_latents": with_latents, "extra": extra, "tokenizer": tokenizer, "latents": latents, "dynamics": dynamics}


def test_base_model_is_trained_and_loads(made):
    tokenizer, dynamics = load_world_model(made["tokenizer"]["model"], made["dynamics"]["model"])
    assert (dynamics.latents, dynamics.latent_dim) == (4, 4) and tokenizer.size == SIZE
    for name in ("tokenizer", "dynamics"):
        lines = [json.loads(x) for x in made[name]["metrics"].read_text().splitlines()]
        assert lines[-1]["step"] == len(lines)
        assert lines[-1]["loss"] < lines[0]["loss"]


def test_latents_are_those_of_the_frames(made):
    cache = LatentCache.open(made["latents"]["latents"])
    tokenizer, _ = load_tokenizer(made["tokenizer"]["model"])
    store = open_store(made["data"]["stores"][1])
    frame = torch.from_numpy(np.asarray(store.frame[11:12]).astype(np.float32) / 255)[None]
    with torch.no_grad():
        expected = tokenizer.encode(frame)[0].numpy()
    assert cache.shape == (4, 4) and set(cache.stores) == {"corpus/pygame-pong/random-s0", store.id}
    np.testing.assert_allclose(cache.rows(store.id, 11, 12), expected, atol=1e-6)


def test_tokenizer_killed_and_resumed(made):
    out = killed_then_run("train_tokenizer", made["root"], {"tokenizer": TOKENIZER, "size": SIZE}, made["data"], ("model", "metrics"), "tokenizer_killed")
    assert_same(out, made["tokenizer"])


def test_dynamics_killed_and_resumed(made):
    out = killed_then_run("train_dynamics", made["root"], {"dynamics": DYNAMICS}, made["with_latents"], ("model", "metrics"), "dynamics_killed")
    assert_same(out, made["dynamics"])


def test_changed_params_after_a_kill_are_refused_until_the_work_is_removed(made):
    """As a user sees it: a child process, its exit code, its message."""
    changed = {**DYNAMICS, "train": {**DYNAMICS["train"], "steps": 31}}
    args, out = command("train_dynamics", made["root"], {"dynamics": DYNAMICS}, made["with_latents"], ("model", "metrics"), "dynamics_changed")
    work = killed(args, out) / "work"
    other, _ = command("train_dynamics", made["root"], {"dynamics": changed}, made["with_latents"], ("model", "metrics"), "dynamics_changed")
    r = subprocess.run(other, env=ENV, capture_output=True, text=True)
    assert r.returncode == 1 and "params.dynamics.train.steps: 30 there, 31 now" in r.stderr and "Traceback" not in r.stderr
    remedy = f"rm -r {work}"
    assert remedy in r.stderr and not any(p.exists() for p in out.values()) and any(work.glob("step-*/done"))
    subprocess.run(remedy, shell=True, check=True)
    start(other)
    assert metrics(out)[-1]["step"] == 31


def by_two(config, **train):
    """The same training run in two processes; an odd batch gives them unequal parts."""
    return {**config, "train": {**config["train"], "batch": 5, **train, "workers": 2}}


def by_one(config):
    return {**config, "train": {**config["train"], "workers": 1}}


def assert_close(a, b):
    """Two runs of the same batches whose sums were taken in another order. Weights moved by up to 1e-2; a tiny gradient's sign may differ."""
    (first, _), (second, _) = (load_checkpoint(x["model"]) for x in (a, b))
    assert {k: v.shape for k, v in first.items()} == {k: v.shape for k, v in second.items()}
    assert max(float((first[k] - second[k]).abs().max()) for k in first) < 1e-4
    lines, others = ([json.loads(line) for line in x["metrics"].read_text().splitlines()] for x in (a, b))
    for line, other in zip(lines, others, strict=True):
        assert line.pop("run") == other.pop("run") and line == pytest.approx(other, rel=1e-4, abs=1e-6)


def test_tokenizer_by_two_processes_is_that_of_one(made):
    two = by_two(TOKENIZER, steps=6, loss_on="masked", dropout=0.1)
    arguments = (made["data"], ("model", "metrics"))
    whole = run("train_tokenizer", made["root"], {"tokenizer": two, "size": SIZE}, *arguments, "tokenizer_two")
    assert_close(whole, run("train_tokenizer", made["root"], {"tokenizer": by_one(two), "size": SIZE}, *arguments, "tokenizer_one"))


def test_dynamics_by_two_processes_is_that_of_one(made):
    two = by_two(DYNAMICS, bootstrap_share=0.6)
    arguments = (made["with_latents"], ("model", "metrics"))
    whole = run("train_dynamics", made["root"], {"dynamics": two}, *arguments, "dynamics_two")
    assert_close(whole, run("train_dynamics", made["root"], {"dynamics": by_one(two)}, *arguments, "dynamics_one"))


def test_what_goes_wrong_in_a_worker_is_told_by_the_stage(made):
    args, out = command("train_tokenizer", made["root"], {"tokenizer": by_two(TOKENIZER), "size": 2 * SIZE}, made["data"], ("model", "metrics"), "t2_refused")
    with pytest.raises(SystemExit, match=f"frames are {SIZE} pixels, render.size is {2 * SIZE}"):
        start(args)
    assert not any(p.exists() for p in out.values()) and not list(out["model"].parent.glob(".work.torchrun"))


def test_finetune_killed_in_its_second_half_and_resumed(made):
    inputs = {**made["data"], "tokenizer": [made["tokenizer"]["model"]], "dynamics": [made["dynamics"]["model"]], "extra": [made["extra"]]}
    outputs = ("new_tokenizer", "new_dynamics", "metrics")
    whole = run("finetune_world_model", made["root"], FINETUNE, inputs, outputs, "finetune")
    cut = killed_then_run("finetune_world_model", made["root"], FINETUNE, inputs, outputs, "finetune_killed", once="work/dynamics/step-*/done")
    assert_same(whole, cut)
    assert content_id(whole["new_tokenizer"]) != content_id(made["tokenizer"]["model"])
    facts = json.loads((made["root"] / "finetune" / "receipt.json").read_text())["counts"]
    assert facts["collected"] == ["pygame-reacher-easy"]
    assert facts["task_mass"]["dynamics"] == {"pygame-point-maze-var1": 0.25, "pygame-pong": 0.25, "pygame-reacher-easy": 0.5}
    assert load_tokenizer(whole["new_tokenizer"])[1]["steps"] == 60


def test_targeted_weighting_without_collected_stores_is_refused(made, capsys):
    inputs = {**made["data"], "tokenizer": [made["tokenizer"]["model"]], "dynamics": [made["dynamics"]["model"]]}
    args, out = command("finetune_world_model", made["root"], FINETUNE, inputs, ("new_tokenizer", "new_dynamics", "metrics"), "refused")
    with pytest.raises(SystemExit) as stopped:
        start(args)
    assert stopped.value.code not in (None, 0) and "--extra" in f"{stopped.value.code}{capsys.readouterr().err}"
    assert not any(p.exists() for p in out.values())


EVERYTHING = {"engine": {"accumulate": 2, "ema": 0.9, "recompute": True}, "watch": {"every": 4, "windows": 2, "strips": 1, "substeps": 2}}
AGENTS = {"agents": 2, "task_features": 8, "reward_horizon": 3, "bc_horizon": 2}
INSTRUCTIONS = {"pygame-pong": "hit the ball", "pygame-point-maze-var1": "go to the goal", "pygame-reacher-easy": "reach the target"}


def metrics(out):
    return [json.loads(line) for line in out["metrics"].read_text().splitlines()]


def test_tokenizer_with_every_option_is_resumed_exactly_and_says_that_lpips_is_off(made):
    config = {**TOKENIZER, "train": {**TOKENIZER["train"], **EVERYTHING, "steps": 8, "loaders": 1, "lpips_weight": 0.2, "loss_on": "masked", "dropout": 0.1}}
    arguments = (made["root"], {"tokenizer": config, "size": SIZE}, made["data"], ("model", "metrics"))
    whole = run("train_tokenizer", *arguments, "tokenizer_all")
    assert_same(whole, killed_then_run("train_tokenizer", *arguments, "tokenizer_all_killed"))
    assert json.loads((made["root"] / "tokenizer_all" / "receipt.json").read_text())["counts"]["lpips"] == "off: no weights in models/lpips"
    looks = [x for x in metrics(whole) if "heldout_psnr_fg" in x]
    assert [x["step"] for x in looks] == [4, 8] and "heldout_decoded_motion/pygame-pong" in looks[0]
    assert {p.name for p in (made["root"] / "tokenizer_all" / "work" / "strips").iterdir()} == {f"step-0000000{s}-pygame-point-maze-var1.png" for s in (4, 8)}


def test_dynamics_with_agents_and_every_option_is_resumed_exactly_and_finetuned(made):
    train = {**DYNAMICS["train"], **EVERYTHING, "steps": 8}
    params = {"dynamics": {"arch": {**DYNAMICS["arch"], **AGENTS}, "train": train}, "instructions": INSTRUCTIONS}
    inputs, outputs = {**made["with_latents"], "tokenizer": [made["tokenizer"]["model"]]}, ("model", "metrics")
    whole = run("train_dynamics", made["root"], params, inputs, outputs, "dynamics_all")
    assert_same(whole, killed_then_run("train_dynamics", made["root"], params, inputs, outputs, "dynamics_all_killed"))
    lines = metrics(whole)
    assert "loss_behaviour" in lines[0] and {"heldout_dpsnr", "heldout_asr/pygame-pong"} <= lines[-1].keys()
    args, _ = command("train_dynamics", made["root"], params, made["with_latents"], outputs, "dynamics_unlooked")
    with pytest.raises(SystemExit, match="give the tokenizer with --tokenizer"):
        start(args)

    recipe = {**FINETUNE, "finetune": {**FINETUNE["finetune"], "accumulate": 2}, "instructions": INSTRUCTIONS}
    inputs = {**made["data"], "tokenizer": [made["tokenizer"]["model"]], "dynamics": [whole["model"]], "extra": [made["extra"]]}
    out = run("finetune_world_model", made["root"], recipe, inputs, ("new_tokenizer", "new_dynamics", "metrics"), "finetune_agents")
    assert any("loss_behaviour" in x for x in metrics(out)) and load_world_model(out["new_tokenizer"], out["new_dynamics"])[1].arch.agents == 2
