"""The benchmark programs work: on small shapes, seconds each. What they measure is in docs/speed.md."""

import runpy
import subprocess
import sys

import pytest

from veridream.params.load import load_params
from veridream.provenance.digest import ROOT

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def world_model(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return runpy.run_path(str(BENCHMARKS / "world_model.py"))


def test_world_model_rows(world_model):
    rows = [r for r in world_model["lines"](load_params("smoke"), world_model["GROUPS"], 2, 3, 2) if r.startswith("|")]
    names = [r.split("|")[1].strip() for r in rows[2:]]
    assert names[:3] == ["tokenizer train step", "dynamics train step", "latents of a dynamics batch read"]
    assert names[-3:] == ["one frame, batch 1", "one frame, batch 64", "2-step rollout of 3 candidates"]
    differences = [float(r.split("differs by ")[1].split(")")[0]) for r in rows if "differs by" in r]
    assert len(differences) == 3 and min(differences) > 0 and max(differences) < 1e-5, "both ways dream the same"


def test_plain_networks_have_the_shapes_of_ours(world_model):
    """Up to the norms, learned tokens and embeddings that the plain ones do without."""
    s = world_model["Shapes"](load_params("smoke"))
    for ours, theirs in ((s.tokenizer, s.plain_tokenizer), (s.dynamics, s.plain_dynamics)):
        a, b = (sum(p.numel() for p in m.parameters()) for m in (ours, theirs))
        assert b == pytest.approx(a, rel=0.03)
    assert s.plain_tokenizer(s.frames[:2], None).shape == s.frames[:2].shape
    assert s.theirs(s.z, s.signal, s.step, slice(0, len(s.z))).x1_BTLD.shape == s.z.shape


def test_gpu_script_runs_on_a_cpu():
    env = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, str(BENCHMARKS / "gpu_train.py"), "--tiny"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [r.split("|")[1:3] for r in done.stdout.splitlines() if r.startswith("|")][2:]
    assert [(a.strip(), b.strip()) for a, b in rows] == [
        *((f"{n} train step", p) for n in ("tokenizer", "dynamics") for p in ("fp32", "bf16")),
        ("sampler, batch 1", "fp32"),
        ("sampler, batch 64", "fp32"),
    ]
