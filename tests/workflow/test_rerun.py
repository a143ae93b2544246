"""What reruns when something changes, on the real workflow with its real results: exactly what must, and nothing is blessed that does not hold."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from helpers.project import copy_finished, replace, run
from veridream import spec
from veridream.provenance.digest import code_modules
from veridream.provenance.jobs import RECEIPT_NAMES
from veridream.provenance.receipts import load_receipts
from veridream.provenance.workflow import command, environment

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(1800)]

SCORES_DOWN = {"score_rollouts", "tabulate_results", "plot_figure", "render_clips", "compare_to_paper", "render_report"}
WMB = {"export_rollouts", "judge_rollouts", "rank_rollouts"}
MODELS_DOWN = {"finetune_world_model", "collect_curiosity", "validate_store", "plan_mpc"} | SCORES_DOWN
BELOW = {  # rule -> every rule that is remade after it, by the DAG of workflow/rules
    "collect_episodes": set(RECEIPT_NAMES) - {"collect_episodes"},
    "validate_store": set(RECEIPT_NAMES) - {"collect_episodes"},
    "index_episodes": set(RECEIPT_NAMES) - {"collect_episodes", "index_episodes"},
    "train_tokenizer": {"encode_latents", "train_dynamics"} | MODELS_DOWN | WMB,
    "encode_latents": {"train_dynamics"} | MODELS_DOWN | WMB,
    "train_dynamics": MODELS_DOWN | WMB,
    "finetune_world_model": MODELS_DOWN,
    "collect_curiosity": MODELS_DOWN - {"collect_curiosity"},
    "score_rollouts": SCORES_DOWN - {"score_rollouts"},
    "plan_mpc": {"tabulate_results", "compare_to_paper", "render_report"},
    "tabulate_results": {"render_report"},
    "plot_figure": {"render_report"},
    "render_clips": {"render_report"},
    "export_rollouts": {"judge_rollouts", "rank_rollouts", "render_report"},
    "judge_rollouts": {"rank_rollouts", "render_report"},
    "rank_rollouts": {"render_report"},
    "compare_to_paper": {"render_report"},
    "render_report": set(),
}
SCORES = "results/smoke/scores/base.parquet"
LATENTS = "results/smoke/latents/base"


@pytest.fixture
def project(smoke_results, tmp_path):
    return copy_finished(smoke_results, tmp_path / "project")


def planned(project: Path) -> dict[str, int]:
    """{rule: jobs} of a dry run."""
    r = run(project, "run_workflow.py", "--scale", "smoke", "-n")
    assert r.returncode == 0, r.stderr
    table = re.search(r"^job +count\n-+ +-+\n(.*?)^total", r.stdout + r.stderr, re.M | re.S)
    rows = [line.split() for line in table[1].splitlines()] if table else []
    return {rule: int(n) for rule, n in rows if rule != "all"}


def remade(project: Path) -> dict[str, int]:
    """{rule: jobs} that a real run remakes."""
    before = {p: p.stat().st_mtime_ns for p in project.glob("results/smoke/receipts/**/*.run.json")}
    r = run(project, "run_workflow.py", "--scale", "smoke", timeout=900)
    assert r.returncode == 0, r.stderr[-4000:]
    out: dict[str, int] = {}
    for p in project.glob("results/smoke/receipts/**/*.run.json"):
        if before.get(p) != p.stat().st_mtime_ns:
            rule = p.relative_to(project).parts[3]
            out[rule] = out.get(rule, 0) + 1
    return out


def receipts(project: Path) -> dict:
    return {Path(k).relative_to(project).as_posix(): r for k, r in load_receipts(project / "results/smoke/receipts").items()}


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_second_run_does_nothing_at_once(project):
    start = time.monotonic()
    r = run(project, "run_workflow.py", "--scale", "smoke")
    assert r.returncode == 0 and "everything is up to date" in r.stderr
    assert time.monotonic() - start < 30, "10 s on an idle machine"
    assert planned(project) == {}


def test_a_params_edit_reruns_the_jobs_that_read_it_and_what_stands_below(project):
    replace(project / "params/scales/smoke.yaml", "score: {sequences: 6,", "score: {sequences: 5,")
    plan = planned(project)
    assert set(plan) == SCORES_DOWN
    assert plan["score_rollouts"] == 12 and plan["plot_figure"] < 6, "figures of the corpus alone stay"


@pytest.mark.parametrize("module", ["veridream/figures/style.py", "veridream/planning/cem.py", "veridream/nn/sampler.py"])
def test_a_library_edit_reruns_the_stages_that_import_it_and_what_stands_below(project, module):
    with (project / "src" / module).open("a") as f:
        f.write("\nADDED = 1\n")
    own = {stage for stage in RECEIPT_NAMES if f"src/{module}" in code_modules(f"src/{stage}.py", project)}
    assert own and own != set(RECEIPT_NAMES)
    assert set(planned(project)) == own.union(*(BELOW[s] for s in own))


def test_an_edit_of_one_domain_reruns_the_jobs_of_its_tasks_alone(project):
    with (project / "src/veridream/envs/atari.py").open("a") as f:
        f.write("\nADDED = 1\n")
    stores = list((project / "results/smoke/data").glob("*/atari-pong/*.zarr"))
    assert stores and planned(project)["collect_episodes"] == len(stores)


def test_a_comment_edit_reruns_nothing(project):
    for module in ("spec.py", "nn/dynamics.py", "io/episode_store.py", "provenance/stage.py"):
        path = project / "src/veridream" / module
        path.write_text('"""Another docstring."""\n\n# a comment\n' + path.read_text().split('"""', 2)[2])
    replace(project / "src/train_tokenizer.py", '"""Trains', '"""It trains')
    assert planned(project) == {}


def test_a_lock_edit_reruns_everything(project):
    with (project / "requirements/lock.txt").open("a") as f:
        f.write("something-new==1\n")
    assert set(planned(project)) == set(RECEIPT_NAMES)


def test_a_deleted_intermediate_is_remade_and_equal_bytes_stop_there(project):
    before = receipts(project)
    shutil.rmtree(project / LATENTS)
    (project / "results/smoke/index/corpus.parquet").unlink()
    (project / "results/smoke/tables/coverage.csv").unlink()
    assert remade(project) == {"index_episodes": 1, "encode_latents": 1, "tabulate_results": 1}
    assert receipts(project) == before
    assert planned(project) == {}


def test_jobs_made_again_from_scratch_repeat_their_bytes(project):
    """The cheap half of "the smoke run twice gives identical receipts" (see test_two_runs_from_nothing_are_identical)."""
    before = receipts(project)
    shutil.rmtree(project / "results/smoke/work")
    shutil.rmtree(project / "results/smoke/data/corpus/mw-push/expert-s0.zarr")
    shutil.rmtree(project / "results/smoke/dynamics/targeted_expert")
    (project / f"results/smoke/mpc/{spec.NO_MODEL}.parquet").unlink()
    assert remade(project) == {"collect_episodes": 1, "plan_mpc": 1, "finetune_world_model": 1}
    assert receipts(project) == before


def test_one_flipped_byte_is_caught_by_the_audit_and_nothing_is_recorded(project):
    store = "results/smoke/data/corpus/atari-pong/expert-s0.zarr"
    chunk = max((p for p in (project / store).rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    flip(chunk)
    assert planned(project) == {}, "Snakemake is blind to it"
    r = run(project, "audit_artefact.py", "results/smoke/figures/calibration.svg")
    assert r.returncode == 1 and f"{store}  BROKEN" in r.stdout and "output bytes differ" in r.stdout
    data = json.loads(run(project, "audit_artefact.py", "--json", "results/smoke/figures/calibration.svg").stdout)
    assert [x["artefact"] for x in data["links"] if not x["holds"]] == [store]
    r = run(project, "record_ledger.py", "--scale", "smoke")
    assert r.returncode == 1 and "receipts do not hold" in r.stderr and store in r.stderr
    assert not (project / "dvc.yaml").exists()


def test_the_audit_of_a_finished_run_holds_to_the_first_store(project):
    r = run(project, "audit_artefact.py", "--json", "results/smoke/claims/claims.csv")
    assert r.returncode == 0, r.stdout
    links = json.loads(r.stdout)["links"]
    assert {x["stage"] for x in links} >= {"collect_episodes", "collect_curiosity", "train_tokenizer", "finetune_world_model", "plan_mpc", "compare_to_paper"}
    assert all(re.fullmatch("[0-9a-f]{40}", x["commit"]) and x["dirty"] is False for x in links if x["stage"])
    assert run(project, "audit_artefact.py", "results/smoke/no.csv").returncode == 2


def dvc(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(project, "-m", "dvc", *words)


def test_record_then_clean_then_lost_then_restored(project):
    r = run(project, "record_ledger.py", "--scale", "smoke")
    assert r.returncode == 0, r.stderr
    assert "up to date" in dvc(project, "status").stdout
    stages = yaml.safe_load((project / "dvc.yaml").read_text())["stages"]
    assert len(stages) < 40 and all(s.startswith("smoke-") for s in stages)

    before = receipts(project)
    shutil.rmtree(project / "results")
    shutil.rmtree(project / ".snakemake")
    r = run(project, "restore_artefacts.py", "--scale", "smoke")
    assert r.returncode == 0 and "0 jobs are stale" in r.stdout, r.stdout + r.stderr
    assert receipts(project) == before and planned(project) == {}
    assert run(project, "audit_artefact.py", "results/smoke/claims/claims.csv").returncode == 0
    assert run(project, "record_ledger.py", "--scale", "smoke", "--check").returncode == 0

    replace(project / "params/scales/smoke.yaml", "score: {sequences: 6,", "score: {sequences: 5,")
    shutil.rmtree(project / ".snakemake")  # as after a fresh clone: no memory of what was run with which params
    r = run(project, "restore_artefacts.py", "--scale", "smoke")
    assert r.returncode == 0 and "12 jobs are stale" in r.stdout, r.stdout + r.stderr
    assert set(planned(project)) == SCORES_DOWN, "what is stale is never blessed"
    assert "smoke-score_rollouts" in dvc(project, "status").stdout, "DVC sees what Snakemake sees"
    replace(project / "dvc.yaml", "\nstages:\n", "\n# by hand\nstages:\n")
    assert run(project, "record_ledger.py", "--scale", "smoke", "--check").returncode == 1


def start(project: Path) -> subprocess.Popen:
    words = [sys.executable, "src/run_workflow.py", "--scale", "smoke"]
    return subprocess.Popen(words, cwd=project, env=environment(project), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(pattern: str, project: Path, seconds: float = 120) -> Path:
    end = time.monotonic() + seconds
    while not (found := list(project.glob(pattern))):
        assert time.monotonic() < end, f"{pattern} never came"
        time.sleep(0.05)
    return found[0]


def test_two_runs_at_once_the_second_says_who_holds_the_lock(project):
    (project / "results/smoke/mpc/none.parquet").unlink()
    shutil.rmtree(project / "results/smoke/dynamics/base")
    first = start(project)
    try:
        wait_for("results/smoke/.lock", project)
        time.sleep(0.5)
        second = run(project, "run_workflow.py", "--scale", "smoke")
        assert second.returncode == 1
        assert f"results/smoke is in use by process {first.pid} on " in second.stderr and "run_workflow.py" in second.stderr
        assert run(project, "record_ledger.py", "--scale", "smoke").returncode == 1
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)


@pytest.mark.slow
def test_two_runs_from_nothing_are_identical(smoke_results, tmp_path):
    from helpers.project import copy_project

    again = copy_project(tmp_path / "again")
    done = subprocess.run(command("smoke"), cwd=again, env=environment(again), capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr[-4000:]
    assert receipts(again) == receipts(smoke_results)
