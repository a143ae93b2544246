"""The three data stages as a user's workflow runs them: real scripts, a real game, and what goes wrong on real machines."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from veridream.io.episode_store import open_store
from veridream.io.tables import read_parquet
from veridream.provenance.digest import content_id

ROOT = Path(__file__).resolve().parents[2]
COLLECT = {
    "role": "corpus",
    "task": "pygame-pong",
    "behaviour": "random",
    "seed": 0,
    "episodes": 8,
    "render": {"size": 16, "quality": "fast"},
    "max_steps": 32,
    "frame_skip": 1,
}


def command(stage, params=None, **paths):
    out = [sys.executable, str(ROOT / "src" / f"{stage}.py"), "--params", json.dumps(params or {})]
    for name, value in paths.items():
        out += [f"--{name}", *(map(str, value) if isinstance(value, list) else [str(value)])]
    return out


def run(*args, rc=0, **kw):
    r = subprocess.run(args[0], capture_output=True, text=True, timeout=60, **kw)
    assert r.returncode == rc, r.stderr
    return r.stderr


def collect(root, **changes):
    p = {**COLLECT, **changes}
    store = root / "data" / p["role"] / p["task"] / f"{p['behaviour']}-s{p['seed']}.zarr"
    return command("collect_episodes", p, receipt=root / "receipts/collect" / f"{p['behaviour']}.json", store=store), store


def validate(root, store):
    verdict = root / "validation" / f"{store.parent.name}-{store.stem}.json"
    return command("validate_store", receipt=root / "receipts/validate" / f"{store.stem}.json", store=store, verdict=verdict), verdict


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    root = tmp_path_factory.mktemp("collected")
    for behaviour in ("random", "expert"):
        run(collect(root, behaviour=behaviour)[0])
    return root


@pytest.fixture
def root(collected, tmp_path):
    return shutil.copytree(collected, tmp_path / "results")


def test_the_whole_chain(root):
    stores = [collect(root, behaviour=b)[1] for b in ("random", "expert")]
    verdicts = []
    for s in stores:
        cmd, verdict = validate(root, s)
        run(cmd)
        verdicts.append(verdict)
    said = json.loads(verdicts[0].read_text())
    frames = open_store(stores[0]).frames
    assert said == {"store": "corpus/pygame-pong/random-s0", "valid": True, "content": content_id(stores[0])["sha256"], "episodes": 8, "frames": frames}

    p = {"split": {"heldout": 0.3, "tune": 0.0, "salt": "veridream"}, "seen": ["pygame-pong"], "unseen": [], "episodes": {}}
    paths = {
        "receipt": root / "receipts/index.json",
        "stores": stores,
        "verdicts": verdicts,
        "episodes": root / "index/episodes.parquet",
        "counts": root / "index/frame_counts.csv",
    }
    run(command("index_episodes", p, **paths))
    t = read_parquet(paths["episodes"])
    assert len(t["store"]) == 16 and set(t["split"]) == {"train", "heldout"}
    assert (
        (root / "index/frame_counts.csv").read_text().splitlines()[0].startswith("task,domain,seen,role,episodes,frames,train_episodes,train_frames,heldout_")
    )
    assert json.loads((root / "receipts/index.json").read_text())["counts"] == {"episodes": 16, "frames": int(t["length"].sum()), "tasks": 1}

    # a store that changed after its verdict
    (root / f"{stores[1].relative_to(root)}.id").write_text(json.dumps({"sha256": "0" * 64, "bytes": 1, "files": 1}))
    paths["episodes"].unlink()
    assert "is about another content of" in run(command("index_episodes", p, **paths), rc=1)
    assert "no verdict was given for corpus/pygame-pong/expert-s0" in run(command("index_episodes", p, **paths | {"verdicts": verdicts[:1]}), rc=1)
    assert not paths["episodes"].exists()


def test_the_store_holds_what_was_asked_for(collected):
    s = open_store(collect(collected)[1])
    assert len(s) == 8 and s.frame.shape[1:] == (16, 16, 3) and s.attrs.frame_skip == 1 and s.attrs.max_steps == 32
    assert s.attrs.versions and s.attrs.renderer
    assert s.frame[...].std() > 0 and (s.length <= 33).all()
    assert s.prev_action[1, 0] != s.prev_action[2, 0]


def test_behaviours_switched_within_an_episode(tmp_path):
    weights = {"expert": 0.3, "noise": 0.25, "random": 0.25, "transformed": 0.15, "noop": 0.05}
    cmd, path = collect(tmp_path, behaviour="switched", episodes=6, switched={"shortest": 2, "longest": 5, "weights": weights})
    run(cmd)
    run(validate(tmp_path, path)[0])
    s = open_store(path)
    names = [s.attrs.acted_names[c] for c in s.acted]
    assert set(names) >= {"expert", "noise", "random"} and (s.length == 33).any()
    assert all(s.prev_action[row, 0] == 0 for row, name in enumerate(names) if name == "noop" and not s.is_first[row])


def test_an_episode_depends_on_its_own_number_alone(collected, tmp_path):
    """Episode 2 of a store of three is episode 2 of a store of eight."""
    cmd, few = collect(tmp_path, episodes=3)
    run(cmd)
    a, b = open_store(few).manifest["episodes"], open_store(collect(collected)[1]).manifest["episodes"]
    assert a == b[:3]


def test_a_missing_chunk(root):
    store = collect(root)[1]
    (store / "frame/c/0/0/0/0").unlink()
    cmd, verdict = validate(root, store)
    says = run(cmd, rc=1)
    assert "frame: chunk 0/0/0/0 (rows 0..1023): file frame/c/0/0/0/0 is missing" in says and "run the workflow again" in says
    assert "Traceback" not in says and not verdict.exists()


def test_a_flipped_byte(root):
    store = collect(root)[1]
    raw = bytearray((store / "manifest.json").read_bytes())
    raw[raw.index(b'"sha256": "') + 12] ^= 1
    (store / "manifest.json").write_bytes(raw)
    assert "not what was recorded in" in run(validate(root, store)[0], rc=1)


def test_a_failed_collect_leaves_what_was_there(root):
    cmd, store = collect(root, render={"size": 4, "quality": "fast"})
    before = content_id(store)
    assert "at least 8 pixels" in run(cmd, rc=1)
    assert content_id(store) == before


def test_an_unknown_task(tmp_path):
    cmd, store = collect(tmp_path, task="pygame-pang")
    assert "did you mean 'pygame-pong'?" in run(cmd, rc=1)
    assert not store.exists()


def no_large_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))


def test_a_disk_that_refuses_large_files(tmp_path):
    cmd, store = collect(tmp_path, episodes=75)
    says = run(cmd, rc=1, preexec_fn=no_large_files)
    assert "writing failed: File too large" in says and "make room on that disk" in says and str(store.name) in says and "Traceback" not in says
    assert not store.exists() and not store.with_name(f".{store.name}.part").exists() and not list(tmp_path.rglob("*.json"))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("this machine does not let us mount a tmpfs")
    try:
        cmd, store = collect(disk, episodes=75)
        says = run(cmd, rc=1)
        assert "No space left on device" in says and "make room on that disk" in says
        assert not store.exists() and not store.with_name(f".{store.name}.part").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_no_data_stage_imports_torch():
    code = (
        "import sys, veridream.data.collection, veridream.envs.registry, veridream.io.store_validation, veridream.data.index; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
