"""Export, judging and ranking of our own rollouts, run as the workflow runs them, on a tiny random model and tiny stores."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.results_folder import run
from helpers.stores import make_store, store_path
from helpers.wmb import stand_ins
from veridream.data.index import build_index, save_index
from veridream.io.episode_store import open_store
from veridream.io.video import read_mp4
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import DynamicsArch, TokenizerArch
from veridream.provenance.digest import content_id
from veridream.results.markdown import read_csv
from veridream.train.checkpoints import save_dynamics, save_tokenizer
from veridream.wmb.items import digest, load_items
from veridream.wmb.judges.replay import ReplayJudge
from veridream.wmb.layout import ENTRIES, read_manifest
from veridream.wmb.questions import QUESTIONS

TASKS, SIZE = ("pygame-pong", "atari-pong"), 32
EXPORT = {"items": 3, "horizon": 8, "fps": 15, "seed": 0, "threads": 1}
JUDGE = {"quantile": 0.99, "lasting": 3, "gap": 5}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A results folder with a model, stores, their index, and what the three stages made of them."""
    root = tmp_path_factory.mktemp("wmb")
    torch.manual_seed(0)
    arch = TokenizerArch(
        patch=8, width=16, heads=2, encoder_depth=1, decoder_depth=1, latents=4, latent_dim=4, time_every=0, norm_before_tanh=True, init_std=0.2
    )
    save_tokenizer(root / "tokenizer/base", Tokenizer(arch, SIZE), 1, 0)
    dynamics = Dynamics(DynamicsArch(width=16, heads=2, depth=2, time_every=2, pack=2, registers=1, k_max=4, reward_bins=11), 4, 4)
    for p in dynamics.parameters():  # its output heads start at zero
        torch.nn.init.normal_(p, std=0.3) if p.dim() > 1 else None
    save_dynamics(root / "dynamics/base", dynamics, 8, 0)
    stores = [make_store(store_path(root, task=t), [16, 18, 15, 17, 16, 19, 14, 16], task=t, env=k + 1) for k, t in enumerate(TASKS)]
    save_index(root / "index.parquet", build_index(stores, "x", 0.5, list(TASKS), []))
    done = export(root, stores, "a")
    assert done.returncode == 0, done.stderr
    sharp = root / "sharp"  # the export of a tokenizer that loses nothing, to set tolerances on
    shutil.copytree(root / "a/exports/base", sharp)
    shutil.rmtree(sharp / "reconstruction/videos")
    shutil.copytree(sharp / "simulator/videos", sharp / "reconstruction/videos")
    for step in (judge, rank):
        done = step(root, stores, "a")
        assert done.returncode == 0, done.stderr
    return root, stores


def export(root, stores, out):
    params = {"model": "base", "wmb": EXPORT, "score": {"context": 3, "substeps": 2, "tau_ctx": 0.1}, "seen": list(TASKS)}
    model = {"tokenizer": root / "tokenizer/base", "dynamics": root / "dynamics/base"}
    return run("export_rollouts", params, root / out / "e.json", index=root / "index.parquet", stores=stores, **model, folder=root / out / "exports/base")


def judge(root, stores, out, calibration="sharp"):
    exports = root / out / "exports/base"
    paths = {
        "exports": exports,
        "calibration": root / calibration,
        "index": root / "index.parquet",
        "stores": stores,
        "answers": root / out / "answers/base.jsonl",
    }
    return run("judge_rollouts", {"model": "base", "wmb": JUDGE}, root / out / "j.json", work=root / out / "work", **paths)


def rank(root, stores, out):
    made = {"csv": root / out / "wmb.csv", "markdown": root / out / "wmb.md", "json": root / out / "wmb.json", "page": root / out / "index.html"}
    params = {"scale": "smoke", "stats": {"resamples": 50, "confidence": 0.95, "seed": 0}}
    return run("rank_rollouts", params, root / out / "r.json", answers=root / out / "answers/base.jsonl", exports=root / out / "exports/base", **made)


def test_every_entry_is_a_benchmark_folder(world):
    root, _ = world
    for entry in ENTRIES:
        folder = root / "a/exports/base" / entry
        items, manifest = load_items(folder), read_manifest(folder)
        assert len(items) == 6 == len(manifest) and [i.stem for i in items] == [m["stem"] for m in manifest]
        assert {i.domain for i in items} == {"video games"} and all("." not in i.stem and len(i.stem) <= 100 for i in items)
        assert sorted(p.name for p in (folder / "videos").iterdir()) == sorted(i.video for i in items)


def test_permuted_actions_are_another_sequences_and_change_what_is_imagined(world):
    root, _ = world
    model, permuted = ({m["stem"]: m for m in read_manifest(root / "a/exports/base" / e)} for e in ("model", "permuted_actions"))
    assert set(model) == set(permuted) and all(model[s]["frames"] != permuted[s]["frames"] for s in model)


def test_the_manifest_names_the_actions_each_video_was_made_with(world):
    root, stores = world
    by_id = {s.id: s for s in map(open_store, stores)}
    rows = {e: read_manifest(root / "a/exports/base" / e) for e in ENTRIES}

    def acted(own, later):
        """Hash of the context's actions of one window and another one's after it, as the model gets them: 3 + 8 rows of 16."""
        own, later = (np.nan_to_num(by_id[m["store"]].prev_action[m["row"] - 2 : m["row"] + 9]) for m in (own, later))
        return digest(np.concatenate([own[:3], later[3:]]).tobytes())

    for entry in ("model", "simulator", "reconstruction", "frozen"):
        assert all(m["actions"] == acted(m, m) for m in rows[entry]), entry
    for m in rows["permuted_actions"]:
        others = [o for o in rows["model"] if o["task"] == m["task"] and o["stem"] != m["stem"]]
        assert len(others) == 2 and m["actions"] in {acted(m, o) for o in others} and m["actions"] != acted(m, m)


def test_videos_show_what_the_manifest_says(world):
    root, stores = world
    by_id = {s.id: s for s in map(open_store, stores)}
    exports = root / "a/exports/base"
    for m in read_manifest(exports / "simulator"):
        s = by_id[m["store"]]
        truth = s.frame[m["row"] : m["row"] + 9].astype(float)
        assert s.rows(m["episode"]).start <= m["row"] - 2 and m["row"] + 9 <= s.rows(m["episode"]).stop
        assert m["start"] == m["row"] - s.rows(m["episode"]).start
        for entry, frames in (("simulator", truth), ("frozen", truth[:1].repeat(9, axis=0))):
            got = read_mp4(exports / entry / "videos" / f"{m['stem']}.mp4", SIZE).astype(float)
            assert got.shape == (9, SIZE, SIZE, 3) and 10 * np.log10(255**2 / ((got - frames) ** 2).mean()) >= 35
        model, permuted, recon = (
            read_mp4(exports / e / "videos" / f"{m['stem']}.mp4", SIZE).astype(float) for e in ("model", "permuted_actions", "reconstruction")
        )
        assert abs(model[0] - recon[0]).mean() < 2 and abs(model[0] - permuted[0]).mean() < 2


@pytest.mark.skipif("VERIDREAM_WMB" not in os.environ, reason="VERIDREAM_WMB names no checkout of the benchmark")
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_published_script_runs_unchanged_on_an_export(world, tmp_path, entry):
    folder = shutil.copytree(world[0] / "a/exports/base" / entry, tmp_path / entry)
    script = Path(os.environ["VERIDREAM_WMB"]).resolve() / "evaluation.py"
    words = [sys.executable, str(script), "--judge", "x", "--video_dir", "videos", "--model_name", entry, "--save_name", entry]
    env = {**os.environ, "PYTHONPATH": str(stand_ins(tmp_path / "stubs"))}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    judge = ReplayJudge(folder / f"{entry}.json", entry)
    assert set(judge.raw) == {i.stem for i in load_items(folder)} and judge.accs_differ == 0


def test_the_simulator_scores_ten_and_every_entry_stands_in_the_table(world):
    root, _ = world
    table = {r["title"]: r for r in read_csv(root / "a/wmb.csv")}
    assert set(table) == {"base", "simulator", "frozen", "base, reconstruction", "base, permuted actions"}
    assert table["simulator"]["total"] == pytest.approx(10) and table["base"]["rank"] == 1 and table["simulator"]["rank"] is None
    assert table["frozen"]["instruction"] == 0 and table["frozen"]["total"] <= 6
    assert {r["protocol"] for r in table.values()} == {"wmb-sim"} and all(r["n"] == 6 and r["unparsed"] == 0 and r["applies"] < 1 for r in table.values())
    whole = json.loads((root / "a/wmb.json").read_text())
    assert "reference" not in whole, "published scores are of another protocol"
    page = (root / "a/index.html").read_text()
    assert page.count("data:video/mp4") == 30 and "not comparable with published scores" in page


def test_models_share_one_table_and_its_two_common_controls(world, tmp_path):
    root, _ = world
    for kind, name in (("exports", "base"), ("answers", "base.jsonl")):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / name).symlink_to(root / "a" / kind / name)
        (tmp_path / kind / name.replace("base", "control")).symlink_to(root / "a" / kind / name)
    made = {"csv": tmp_path / "wmb.csv", "markdown": tmp_path / "wmb.md", "json": tmp_path / "wmb.json", "page": tmp_path / "index.html"}
    params = {"scale": "smoke", "stats": {"resamples": 50, "confidence": 0.95, "seed": 0}}
    given = {k: [tmp_path / k / f"{m}{end}" for m in ("base", "control")] for k, end in (("answers", ".jsonl"), ("exports", ""))}
    done = run("rank_rollouts", params, tmp_path / "r.json", **given, **made)
    assert done.returncode == 0, done.stderr
    own = {f"{m}{x}" for m in ("base", "control") for x in ("", ", reconstruction", ", permuted actions")}
    table = read_csv(tmp_path / "wmb.csv")
    assert {r["title"] for r in table} == own | {"simulator", "frozen"} and len(table) == 8
    assert sorted(r["rank"] for r in table if r["kind"] == "model") == [1, 2]


def test_the_same_again_gives_the_same_bytes(world):
    root, stores = world
    for step in (export, judge, rank):
        assert step(root, stores, "b").returncode == 0
    for name in ("exports/base", "answers/base.jsonl", "wmb.csv", "wmb.json", "index.html"):
        assert content_id(root / "a" / name) == content_id(root / "b" / name), name


def test_a_second_judging_asks_nothing(world):
    root, stores = world
    before = content_id(root / "a/answers/base.jsonl")
    assert judge(root, stores, "a").returncode == 0
    assert content_id(root / "a/answers/base.jsonl") == before
    assert json.loads((root / "a/j.run.json").read_text())["answers from the cache"] == 6 * 8 * 5


def test_a_lost_video_or_answer_fails_by_name(world, tmp_path):
    root, stores = world
    shutil.copytree(root / "a/exports/base", tmp_path / "c/exports/base")
    victim = next((tmp_path / "c/exports/base/reconstruction/videos").iterdir())
    victim.unlink()
    shutil.copy(root / "index.parquet", tmp_path / "index.parquet")
    done = judge(tmp_path, stores, "c", "c/exports/base")
    assert done.returncode == 1 and f"no reconstruction of {victim.stem}" in done.stderr
    (tmp_path / "c/answers").mkdir(exist_ok=True)
    lines = (root / "a/answers/base.jsonl").read_text().splitlines()
    (tmp_path / "c/answers/base.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    done = rank(tmp_path, stores, "c")
    assert done.returncode == 1 and f"question {QUESTIONS[-1]}" in done.stderr


def test_a_tokenizer_that_draws_nothing_leaves_nothing_to_decide(world, tmp_path):
    root, stores = world
    shutil.copytree(root / "a/exports/base", tmp_path / "d/exports/base")
    shutil.copy(root / "index.parquet", tmp_path / "index.parquet")
    for done in (judge(tmp_path, stores, "d", "d/exports/base"), rank(tmp_path, stores, "d")):
        assert done.returncode == 0, done.stderr
    table = read_csv(tmp_path / "d/wmb.csv")
    assert len(table) == 5 and all((r["n"], r["coverage"], r["undecidable"], r["total"]) == (0, 0, 6, None) and r["every"] > 0 for r in table)
    assert "| base | 1 | wmb-sim |" in (tmp_path / "d/wmb.md").read_text()


def test_ranking_imports_no_torch():
    code = "import sys; sys.path.insert(0, 'src'); import rank_rollouts, judge_rollouts, score_videos; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == "False", done.stderr
