"""DVC's own commands do what DVC users expect of the generated ledger."""

import json
import os
import subprocess

import pytest

from helpers.project import copy_finished, replace, run

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(1800)]
IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Test"), ("EMAIL", "test@example.org"))}


def dvc(project, *words, **more):
    r = run(project, "-m", "dvc", *words, **IDENTITY, **more)
    assert r.returncode == 0, f"dvc {' '.join(words)}:\n{r.stdout[-3000:]}{r.stderr[-3000:]}"
    return r.stdout


def commit(project, text):
    assert run(project, "record_ledger.py", "--scale", "smoke").returncode == 0
    for words in (("add", "--all"), ("commit", "--quiet", "--message", text)):
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True, env=os.environ | IDENTITY)


@pytest.fixture(scope="module")
def recorded(recorded_smoke, tmp_path_factory):
    """Two recorded commits: the smoke run, and the same with one fewer bootstrap resample, which changes tables and figures."""
    project = copy_finished(recorded_smoke, tmp_path_factory.mktemp("dvc") / "project")
    replace(project / "params/scales/smoke.yaml", "stats: {resamples: 200}", "stats: {resamples: 150}")
    r = run(project, "run_workflow.py", "--scale", "smoke", timeout=900)
    assert r.returncode == 0, r.stderr[-3000:]
    commit(project, "fewer resamples")
    return project


def test_dag_lists_the_stages_of_the_paper(recorded):
    graph = dvc(recorded, "dag", "--dot")
    for stage in ("collect_episodes", "train_tokenizer", "finetune_world_model-2", "render_report"):
        assert f"smoke-{stage}" in graph


def test_status_params_metrics_and_plots_between_two_commits(recorded):
    assert "up to date" in dvc(recorded, "status")
    params = json.loads(dvc(recorded, "params", "diff", "HEAD~1", "--json"))["ledger/smoke/plan.json"]
    changed = {k: (v["old"], v["new"]) for k, v in params.items() if k.endswith("stats.resamples")}
    assert changed and set(changed.values()) == {(200, 150)}
    assert "tabulate_results.params.stats.resamples" in changed
    metrics = json.loads(dvc(recorded, "metrics", "show", "--json"))
    assert "train_dynamics" in json.dumps(metrics) and dvc(recorded, "metrics", "diff", "HEAD~1") is not None
    assert "static" in dvc(recorded, "plots", "diff", "HEAD~1", "--out", "plots") or (recorded / "plots/index.html").is_file()


def test_an_experiment_with_another_param_runs_what_reads_it(recorded, tmp_path):
    project = copy_finished(recorded, tmp_path / "project")
    before = (project / "results/smoke/tables/coverage.csv").read_bytes()
    dvc(project, "exp", "run", "--name", "fewer", "-S", "params/scales/smoke.yaml:stats.resamples=100")
    assert "resamples: 100" in (project / "params/scales/smoke.yaml").read_text()
    assert (project / "results/smoke/tables/coverage.csv").read_bytes() != before
    shown = dvc(project, "exp", "show", "--csv")
    assert "fewer" in shown
    assert run(project, "audit_artefact.py", "results/smoke/tables/coverage.csv").returncode == 0
    r = run(project, "run_workflow.py", "--scale", "smoke", "-n")
    assert "Nothing to be done" in r.stdout + r.stderr
