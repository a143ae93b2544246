"""The large scales are complete: their whole DAG is planned, nothing of it is run."""

import re

import pytest

from helpers.project import copy_project, run
from veridream import spec
from veridream.params.load import load_params
from veridream.params.slices import curiosity_stores, stores

LONGEST = 128 * 1024  # bytes of one argument


@pytest.mark.parametrize("scale", ["workstation", "paper"])
def test_the_whole_dag_is_planned(tmp_path, scale):
    project, p = copy_project(tmp_path / "project"), load_params(scale)
    r = run(project, "-m", "snakemake", "-n", "--workflow-profile", "workflow/profiles/local", "--config", f"scale={scale}", "--printshellcmds")
    said = r.stdout + r.stderr
    assert r.returncode == 0, said[-4000:]
    table = re.search(r"^job +count\n-+ +-+\n(.*?)^total", said, re.M | re.S)
    jobs = {rule: int(n) for rule, n in (line.split() for line in table[1].splitlines())}
    every = len(stores(p)) + len(curiosity_stores(p))
    assert (jobs["validate_store"], jobs["collect_curiosity"]) == (every, len(p.tasks.unseen))
    assert jobs["finetune_world_model"] == len(spec.ARMS) + len(spec.TARGETED) and jobs["train_dynamics"] == 1
    commands = {line.split("src/")[1].split(".py")[0]: line for line in said.splitlines() if "python src/" in line}
    assert f"--tokenizer results/{scale}/tokenizer/base --model" in commands["train_dynamics"], "looks at held-out rollouts decode them"
    if scale != "paper" or len(p.collect.shares) == 1:  # five stores a task make some jobs of the paper longer than that
        assert max(map(len, commands.values())) < LONGEST, "Linux takes no longer word, and a job is one word of bash"
