"""What real runs remake on the real workflow with its real results: exactly what must, and nothing is blessed that does not hold.

What is planned after which change stands in test_matrix.py.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from faults.processes import end_all, of_role
from helpers.project import copy_finished, replace, run
from veridream import spec
from veridream.provenance.receipts import load_receipts
from veridream.provenance.workflow import command, environment

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(1800)]

SCORES_DOWN = {"score_rollouts", "tabulate_results", "plot_figure", "render_clips", "compare_to_paper", "render_report"}
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


def test_what_snakemake_has_forgotten_is_remade_all_the_same(project):
    """Without .snakemake it knows no params: it plans nothing, and the launcher goes by the receipts."""
    with (project / "src/veridream/figures/clips.py").open("a") as f:
        f.write("\nADDED = 1\n")
    shutil.rmtree(project / ".snakemake")
    assert planned(project) == {}
    assert remade(project) == {"render_clips": 2, "render_report": 1}, "their receipts went, so what stands below cannot wait for their bytes"
    assert run(project, "audit_artefact.py", "--all", "--scale", "smoke").returncode == 0


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


def test_record_then_clean_then_lost_then_restored(recorded_smoke, tmp_path):
    project = copy_finished(recorded_smoke, tmp_path / "project")
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
    assert r.returncode == 0 and "13 jobs are stale" in r.stdout, r.stdout + r.stderr
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


def test_a_job_that_the_system_killed_says_what_helps(project):
    shutil.rmtree(project / "results/smoke/dynamics/targeted_expert")
    run_of_one = start(project)
    try:
        end = time.monotonic() + 120
        while not (stages := of_role(project, "stage")):
            assert time.monotonic() < end, "no job began"
            time.sleep(0.05)
        os.kill(stages[0], signal.SIGKILL)
        said = run_of_one.communicate(timeout=60)[0]
    finally:
        end_all(project)
    assert run_of_one.returncode == 1 and "killed by signal 9. If nobody did that, there was too little memory" in said
    assert "Job 0 completed successfully" not in said, "a stage that fails left of a pipe is a job that fails"


@pytest.mark.slow
def test_two_runs_from_nothing_are_identical(smoke_results, tmp_path):
    from helpers.project import copy_project

    again = copy_project(tmp_path / "again")
    done = subprocess.run(command("smoke"), cwd=again, env=environment(again), capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr[-4000:]
    assert receipts(again) == receipts(smoke_results)
