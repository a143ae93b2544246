"""The five-minute tutorial of docs/lineage.md, typed as it stands, on a finished smoke run."""

import os
import re
import subprocess
import sys

import pytest

from helpers.project import copy_finished
from veridream.provenance.digest import ROOT

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(1800)]
FIGURE = "results/smoke/figures/policy_coverage.svg"
IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Test"), ("EMAIL", "test@example.org"))}
# What each step must say, in order; a step that is not listed must only succeed.
SAYS = [
    ("make record", "recorded"),
    ("make explain", "finetune.dynamics_lr_scale 1.0 -> 10.0"),
    ("snakemake -n", "finetune_world_model"),
    ("make reproduce", "report:"),
    ("make audit ", "HOLDS: all"),
    ("make record", "recorded"),
    ("make diff", "arms.dynamics_lr_scale 1.0 -> 10.0"),
    ("make restore", "0 jobs are stale"),
    ("make reproduce", "everything is up to date"),
    ("make audit-all", "HOLDS: "),
]


def steps() -> list[str]:
    section = (ROOT / "docs/lineage.md").read_text().split("## Five minutes")[1].split("\n## ")[0]
    return [line for block in re.findall(r"```sh\n(.*?)```", section, re.S) for line in block.splitlines() if line]


def test_the_tutorial_as_it_stands(smoke_results, tmp_path):
    project, awaited, figures = copy_finished(smoke_results, tmp_path / "project"), list(SAYS), []
    for line in steps():
        print(f"$ {line}", flush=True)
        words = line.replace("make ", f"make VENV={sys.prefix} ", 1) if line.startswith("make ") else f"PATH={sys.prefix}/bin:$PATH {line}"
        done = subprocess.run(words, shell=True, cwd=project, capture_output=True, text=True, timeout=900, env=os.environ | IDENTITY)
        said = done.stdout + done.stderr
        assert done.returncode == 0, f"{line}:\n{said[-4000:]}"
        if awaited and line.startswith(awaited[0][0]):
            assert awaited[0][1] in said, f"{line} does not say {awaited[0][1]!r}:\n{said[-4000:]}"
            awaited.pop(0)
        if line.startswith("snakemake -n"):
            assert not re.search(r"^(train_tokenizer|train_dynamics|index_episodes|collect_episodes) ", said, re.M), "the base model and the corpus stay"
        figures.append((project / FIGURE).read_bytes())
    assert awaited == []
    assert figures[0] == figures[-1] and len(set(figures)) == 2, "the figure changed, and came back byte for byte"
