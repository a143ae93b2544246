"""The three stages that use a finished model, run as the workflow runs them, on tiny random models and tiny stores."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import plan_mpc
from helpers.stores import make_store, store_path
from veridream import spec
from veridream.data.index import build_index, save_index
from veridream.envs.registry import make
from veridream.io.episode_store import open_store
from veridream.io.store_validation import validate_store
from veridream.io.tables import read_parquet
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import DynamicsArch, Mpc, TokenizerArch
from veridream.provenance.digest import content_id
from veridream.provenance.stage import Job, StageError
from veridream.train.checkpoints import save_dynamics, save_tokenizer

ROOT = Path(__file__).resolve().parents[2]
SEEN, UNSEEN, SIZE = "pygame-pong", "pygame-point-maze-var4", 32
SCORE = {
    "sequences": 5,
    "context": 3,
    "horizon": 4,
    "substeps": 4,
    "seeds": 2,
    "tau_ctx": 0.1,
    "shuffle_substeps": 1,
    "clips": 2,
    "trace_steps": 12,
    "seed": 0,
    "threads": 1,
}
CEM = {
    "candidates": 4,
    "elites": 2,
    "iterations": 1,
    "horizon": 3,
    "execute": 2,
    "context": 3,
    "substeps": 2,
    "seeds": 2,
    "tau_ctx": 0.1,
    "init_std": 1.0,
    "min_std": 0.05,
}
LIVE = {"render": {"size": SIZE, "quality": "fast"}, "max_steps": 8, "frame_skip": 2}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """results folder with a model, two stores and their index."""
    root = tmp_path_factory.mktemp("scoring")
    torch.manual_seed(0)
    arch = TokenizerArch(
        patch=8, width=16, heads=2, encoder_depth=1, decoder_depth=1, latents=4, latent_dim=4, time_every=0, norm_before_tanh=True, init_std=0.2
    )
    dynamics = Dynamics(DynamicsArch(width=16, heads=2, depth=2, time_every=2, pack=2, registers=1, k_max=4, reward_bins=11), 4, 4)
    for p in dynamics.parameters():  # its output heads start at zero
        torch.nn.init.normal_(p, std=0.3) if p.dim() > 1 else None
    save_tokenizer(root / "tokenizer/base", Tokenizer(arch, SIZE), 1, 0)
    save_dynamics(root / "dynamics/base", dynamics, 8, 0)
    stores = [
        make_store(store_path(root, task=SEEN), [9, 12, 8, 10, 7, 11], task=SEEN),
        make_store(store_path(root, "test", UNSEEN), [10, 9], task=UNSEEN, role="test"),
    ]
    save_index(root / "episodes.parquet", build_index(stores, "x", 0.5, [SEEN], [UNSEEN]))
    return root, stores


def run(script, root, params, out, *more, work=None):
    """The command of a job, outputs under `out`."""
    command = [sys.executable, f"src/{script}.py", "--params", json.dumps(params), "--receipt", str(root / out / "receipt.json"), *map(str, more)]
    if work:
        command += ["--work", str(work)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "SDL_VIDEODRIVER": "dummy"}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process):
    text, _ = process.communicate(timeout=120)
    return process.returncode, text


def model(root):
    return ["--tokenizer", root / "tokenizer/base", "--dynamics", root / "dynamics/base"]


def score(world, out):
    root, stores = world
    params = {"model": "base", "score": SCORE, "seen": [SEEN], "unseen": [UNSEEN]}
    files = ["--scores", root / out / "base.parquet", "--clips", root / out / "base.clips.npz"]
    return run("score_rollouts", root, params, out, "--index", root / "episodes.parquet", "--stores", *stores, *model(root), *files)


@pytest.fixture(scope="module")
def scored(world):
    """Two identical scoring jobs at once."""
    jobs = [score(world, out) for out in ("a", "b")]
    for job in jobs:
        code, text = finish(job)
        assert code == 0, text
    return world[0]


def test_score_table_has_every_column_for_every_sequence(scored):
    table = read_parquet(scored / "a/base.parquet")
    assert tuple(table) == (*spec.SCORE_ID_COLUMNS, *spec.SCORE_COLUMNS, *spec.SCORE_STEP_COLUMNS)
    assert table["task"].tolist() == [UNSEEN] * 5 + [SEEN] * 5
    assert set(table["model"]) == {"base"} and table["seen"].tolist() == [False] * 5 + [True] * 5
    for c in spec.SCORE_COLUMNS:
        assert np.isfinite(table[c]).all(), c
    for c in spec.SCORE_STEP_COLUMNS:
        assert [len(v) for v in table[c]] == [4] * 10, c
    assert (table["frames_train"][:5] == 0).all() and (table["frames_train"][5:] > 0).all()


def test_score_columns_agree_with_each_other_and_with_the_stores(scored, world):
    t = read_parquet(scored / "a/base.parquet")
    np.testing.assert_allclose(t["dpsnr"], t["rollout_psnr"] - t["copy_psnr"])
    np.testing.assert_allclose(t["rollout_psnr"], -10 * np.log10(t["pixel_mse"]))
    np.testing.assert_allclose(t["asr"], t["asr_shuffled"] / t["asr_true"])
    assert (t["asr"] != 1.0).all()
    for p in spec.PREDICTORS:
        np.testing.assert_allclose(t[p], [v.mean() for v in t[f"{p}_steps"]])
        np.testing.assert_allclose(t[f"{p}_norm"], t[p] / np.maximum(t["m"], spec.MOTION_FLOOR))
    np.testing.assert_allclose(t["u_s_sd_norm"], np.sqrt(t["u_s"]) / np.maximum(t["m"], spec.MOTION_FLOOR))
    store = {s.id: s for s in map(open_store, world[1])}
    for i in range(10):
        s, row = store[t["store"][i]], int(t["start"][i])
        first = int(s.offset[t["episode"][i]])
        assert first <= row <= first + int(s.length[t["episode"][i]]) - 7
        assert (t["state_x"][i], t["state_y"][i]) == (s.state[row + 2, 0], s.state[row + 2, 1])  # the last of three context frames
        frames = s.frame[row : row + 7].astype(float) / 255
        np.testing.assert_allclose(t["copy_mse"][i], ((frames[3:] - frames[2]) ** 2).mean(), rtol=1e-5)


def test_scoring_twice_gives_the_same_bytes(scored):
    for name in ("base.parquet", "base.clips.npz"):
        assert content_id(scored / "a" / name) == content_id(scored / "b" / name)


def test_clips_hold_frames_and_steps_of_scored_sequences(scored, world):
    t = read_parquet(scored / "a/base.parquet")
    with np.load(scored / "a/base.clips.npz", allow_pickle=False) as z:
        clips = dict(z)
    assert {k.rsplit("/", 1)[0] for k in clips} == {f"{task}/{k}" for task in (SEEN, UNSEEN) for k in ("0", "1", "trace")}
    for task, k in ((SEEN, 0), (UNSEEN, 1)):
        c = {
            n: clips[f"{task}/{k}/{n}"] for n in ("truth", "recon", "model", "u_r", "u_f", "u_s", "psnr", "copy_psnr", "context", "store", "start", "m", "seen")
        }
        (i,) = np.flatnonzero((t["store"] == str(c["store"])) & (t["start"] == c["start"]))
        s = open_store(next(p for p in world[1] if open_store(p).id == str(c["store"])))
        np.testing.assert_array_equal(c["truth"], s.frame[int(c["start"]) : int(c["start"]) + 7])
        assert c["model"].shape == c["recon"].shape == c["truth"].shape and c["model"].dtype == np.uint8
        np.testing.assert_array_equal(c["model"][:3], c["recon"][:3])
        for n in ("u_r", "u_f", "u_s", "psnr", "copy_psnr"):
            assert np.isnan(c[n][:3]).all()
            np.testing.assert_allclose(c[n][3:], t[f"{n}_steps"][i], rtol=1e-6)
        assert c["context"] == 3 and c["m"] == np.float32(t["m"][i]) and bool(c["seen"]) == (task == SEEN)
    assert clips[f"{UNSEEN}/trace/truth"].shape[0] == 10  # the longest test episode is shorter than trace_steps


def curiosity(root, out, work):
    row = {"role": "targeted", "task": UNSEEN, "behaviour": "curiosity", "seed": 1, "episodes": 3}
    params = {**row, **LIVE, "curiosity": {"cem": CEM, "max_share": 0.5, "threads": 1}}
    store = root / out / "data/targeted" / UNSEEN / "curiosity-s1.zarr"
    return store, run("collect_curiosity", root, params, out, *model(root), "--store", store, work=root / work)


def test_curiosity_killed_and_run_again_gives_the_store_of_an_undisturbed_run(world):
    root, _ = world
    whole, job = curiosity(root, "whole", "work-whole")
    store, killed = curiosity(root, "killed", "work-killed")
    saved = root / "work-killed"
    until = time.monotonic() + 90
    while not list(saved.glob("episode-*.npy")) and killed.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert killed.returncode == -signal.SIGKILL, killed.stdout.read()
    done = len(list(saved.glob("episode-*.npy")))
    assert done >= 1 and not store.exists()
    code, text = finish(job)
    assert code == 0, text
    _, again = curiosity(root, "killed", "work-killed")
    code, text = finish(again)
    assert code == 0, text
    assert content_id(store) == content_id(whole)
    assert json.loads((root / "killed/receipt.run.json").read_text())["replayed"] == done
    receipts = [json.loads((root / out / "receipt.json").read_text()) for out in ("whole", "killed")]
    assert receipts[0]["counts"] == receipts[1]["counts"]
    assert validate_store(store) == []
    s = open_store(store)
    assert len(s) == 3 and s.attrs.behaviour == "curiosity" and np.nanstd(s.prev_action[:, :2]) > 0


def mpc(root, out, name, *inputs, **more):
    params = {"model": name, "tasks": [UNSEEN], **LIVE, "expert": {}, "mpc": {"cem": CEM, "episodes": 2, "seed": 3, "threads": 1, **more}}
    return run("plan_mpc", root, params, out, *inputs, "--episodes", root / out / f"{name}.parquet")


def test_mpc_of_a_model_and_of_random_actions_start_from_the_same_states(world):
    root, _ = world
    jobs = [mpc(root, "mpc", "base", *model(root)), mpc(root, "mpc-none", "none")]
    for job in jobs:
        code, text = finish(job)
        assert code == 0, text
    base, none = read_parquet(root / "mpc/base.parquet"), read_parquet(root / "mpc-none/none.parquet")
    for t, name in ((base, "base"), (none, "none")):
        assert tuple(t) == spec.MPC_COLUMNS
        assert t["model"].tolist() == [name] * 2 and t["episode"].tolist() == [0, 1] and t["task"].tolist() == [UNSEEN] * 2
        assert ((t["score"] >= 0) & (t["score"] <= 1)).all() and (t["steps"] >= 1).all() and (t["steps"] <= 8).all()
    assert base["seed"].tolist() == none["seed"].tolist() and len(set(base["seed"])) == 2
    env = make(UNSEEN, SIZE, "fast", 2, 8)
    try:
        env.reset(int(base["seed"][0]))  # a stored seed starts the episode again
    finally:
        env.close()


def test_mpc_towards_the_experts_last_frame_plans_otherwise_from_the_same_starts(world):
    root, _ = world
    by = {}
    for out, objective in (("mpc-reward", "reward"), ("mpc-goal", "goal"), ("mpc-goal-again", "goal")):
        code, text = finish(mpc(root, out, "base", *model(root), objective=objective))
        assert code == 0, text
        by[out] = read_parquet(root / out / "base.parquet")
    assert by["mpc-goal"]["seed"].tolist() == by["mpc-reward"]["seed"].tolist()
    assert by["mpc-goal"]["return"].tolist() != by["mpc-reward"]["return"].tolist()
    assert content_id(root / "mpc-goal/base.parquet") == content_id(root / "mpc-goal-again/base.parquet")


@pytest.mark.parametrize("name, given, words", [("base", False, "needs --tokenizer"), ("none", True, "leave --tokenizer")])
def test_mpc_inputs_must_fit_the_model(world, name, given, words):
    paths = [world[0] / "tokenizer/base"] if given else []
    job = Job("plan_mpc", {"model": name}, {"tokenizer": paths, "dynamics": paths}, {}, {}, None)
    with pytest.raises(StageError, match=words):
        plan_mpc.policy_for(job, Mpc())
