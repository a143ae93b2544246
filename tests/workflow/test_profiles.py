"""Where a workflow runs: the cluster profile submits small jobs together."""

import re

import yaml

from helpers.project import copy_project, run
from veridream.params.load import load_params
from veridream.params.slices import curiosity_stores, stores

PROFILES = "workflow/profiles"


def test_the_cluster_profile_decides_by_what_the_local_one_decides(tmp_path):
    project = copy_project(tmp_path / "project")
    local, slurm = (yaml.safe_load((project / PROFILES / name / "profile.yaml").read_text()) for name in ("local", "slurm"))
    assert slurm["rerun-triggers"] == local["rerun-triggers"] and slurm["rerun-incomplete"] == local["rerun-incomplete"]


def test_small_jobs_are_submitted_together(tmp_path):
    """Planned without the executor, which is installed where a cluster is."""
    project = copy_project(tmp_path / "project")
    path = project / PROFILES / "slurm" / "profile.yaml"
    profile = yaml.safe_load(path.read_text())
    assert profile.pop("executor") == "slurm"
    path.write_text(yaml.safe_dump(profile))
    r = run(project, "-m", "snakemake", "-n", "--workflow-profile", f"{PROFILES}/slurm", "--config", "scale=smoke")
    said = r.stdout + r.stderr
    assert r.returncode == 0, said[-4000:]
    inside: dict[str, list[list[str]]] = {"stores": [], "results": []}
    for name, listed in re.findall(r"Group job (\w+) \(.*?\):\n(.*?)(?=^\[|\Z)", said, re.M | re.S):
        inside[name].append(sorted(re.findall(r"^ +Job \d+: (.*)$", listed, re.M)))
    p = load_params("smoke")
    named = [f"{s['role']} {s['task']} {s['behaviour']}" for s in stores(p)]
    alone = [[f"validate_store: targeted {s['task']} curiosity"] for s in curiosity_stores(p)]  # collected in a dream, by a job of its own
    assert sorted(inside["stores"]) == sorted([*([f"collect_episodes: {n}", f"validate_store: {n}"] for n in named), *alone])
    assert [{j.split(":")[0] for j in g} for g in inside["results"]] == [
        {"tabulate_results", "plot_figure", "render_clips", "compare_to_paper", "render_report"}
    ]
