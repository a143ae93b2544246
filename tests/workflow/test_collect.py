"""`make collect`: stores, verdicts and indices of a scale and no model; what this machine lacks is left out only where the params say so."""

import csv
import json
from pathlib import Path

import pytest

from helpers.project import copy_project, replace, run

MINI = """
tasks: {seen: [pygame-pong, atari-asterix, ms-reach], unseen: [pygame-reacher-easy]}
render: {size: 32}
collect: {max_steps: 32, counts: [2], shares: {random: 0.5, expert: 0.5}, missing: skip}
targeted: {test_episodes: 1, test_behaviours: [random, expert]}
split: {heldout: 0.0}
tokenizer: {arch: {patch: 8}}
"""
WHY = "task ms-reach needs mani_skill 3.0.1, in an environment of its own"


@pytest.fixture
def project(tmp_path) -> Path:
    """A project with a scale of three tasks and one that cannot run here, as the doctor found."""
    project = copy_project(tmp_path / "project")
    (project / "params/scales/mini.yaml").write_text(MINI)
    doctor = json.loads((project / ".doctor.json").read_text())
    (project / ".doctor.json").write_text(json.dumps(doctor | {"absent": {"ms-reach": WHY}}))
    return project


def collect(project: Path, target: str = "collect"):
    return run(project, "run_workflow.py", "--scale", "mini", "--target", target, timeout=600)


def test_a_skipped_task_is_named_in_the_index_and_at_the_end(project):
    done = collect(project)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "1 task is skipped" in done.stderr and "mani_skill 3.0.1" in done.stderr and "make doctor" in done.stderr
    results = project / "results/mini"
    stores = {p.relative_to(results / "data").as_posix() for p in results.glob("data/*/*/*.zarr")}
    both = {
        f"{role}/{t}/{b}-s{seed}.zarr" for role, t, seed in (("corpus", "pygame-pong", 0), ("test", "pygame-reacher-easy", 2)) for b in ("random", "expert")
    }
    assert stores == both | {"corpus/atari-asterix/random-s0.zarr"}
    with (results / "index/corpus.counts.csv").open() as f:
        rows = {r["task"]: r for r in csv.DictReader(f)}
    assert {t: int(r["episodes"]) for t, r in rows.items()} == {"pygame-pong": 2, "atari-asterix": 2, "ms-reach": 0}
    assert rows["ms-reach"]["skipped"] == WHY
    receipt = json.loads((results / "receipts/index_episodes/corpus.json").read_text())
    assert receipt["params"]["skipped"] == {"ms-reach": WHY} and receipt["counts"]["skipped"] == 1
    assert {p.name for p in (results / "receipts").iterdir()} == {"collect_episodes", "validate_store", "index_episodes"}
    again = collect(project)
    assert again.returncode == 0 and "everything is up to date for collect" in again.stderr and "1 task is skipped" in again.stderr


def test_without_skip_it_fails_with_the_remedy(project):
    replace(project / "params/scales/mini.yaml", ", missing: skip", "")
    done = collect(project)
    assert done.returncode != 0
    log = project / "results/mini/logs/collect_episodes/corpus/ms-reach/random-s0.log"
    assert "requirements/maniskill.txt" in log.read_text()
    assert not (project / "results/mini/index/corpus.parquet").exists()


def test_a_scale_that_holds_nothing_out_is_for_collection_alone(project):
    done = collect(project, "all")
    assert done.returncode == 1 and "make collect SCALE=mini" in done.stderr
    assert not (project / "results/mini/data").exists()
