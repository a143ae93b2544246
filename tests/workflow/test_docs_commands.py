"""Every command the docs show is run here, or is named with the test that runs it. A command nobody vouches for fails."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.project import copy_finished
from veridream.provenance.digest import ROOT

DOCS = ("README.md", "ARCHITECTURE.md")
# Run in a finished smoke project; the words its output must hold.
RUN = {
    "make reproduce SCALE=smoke": ["not tested at this scale", "results/smoke/report/index.html"],
    "make doctor": ["GL backend"],
    "make audit ARTEFACT=results/smoke/figures/calibration.svg": ["calibration.svg", "HOLDS"],
    "make record SCALE=smoke": [],
    "make report SCALE=smoke": [],
    "make gallery TASKS=pygame": ["results/gallery/sheet.png"],
    "python src/measure_scores.py --tasks pygame-pong --episodes 1": ["pygame-pong"],
    "python src/export_dataset.py --format minari --out exports results/smoke/data/corpus/atari-pong/expert-s0.zarr": [
        "exports/veridream/atari-pong/expert-v0"
    ],
    "python src/import_mmbench2.py --help": ["public MMBench2 data"],
    "snakemake -n --workflow-profile workflow/profiles/local --config scale=smoke": ["Nothing to be done"],
}
# Run elsewhere.
ELSEWHERE = {
    "make reproduce": "the same rules as SCALE=smoke, 45 minutes",
    "make test": "is what runs this",
    "make lint": "make test runs it",
    "python src/play.py --task pygame-pong --episodes 2 --out human": "tests/stages/test_play.py",
    "make test-simulators TASKS=atari-pong,pygame-pong": "tests/contract is that suite",
    "make test-simulators": "the same on every task, half an hour",
    "make record": "with SCALE=smoke above",
    "make audit ARTEFACT=...": "above",
    "make reproduce SCALE=mine": "a copied overlay: test_a_new_scale",
    "python src/<stage>.py --params JSON --code DIGEST --receipt PATH --<input> PATH.. --<output> PATH": "tests/stages",
    "export PATH=$PWD/.venv/bin:$PATH": "make does it",
}


def commands(text: str) -> set[str]:
    """Command lines of sh blocks, and inline code that starts with a program we ship."""
    lines = [line.split("  #")[0].strip() for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]
    inline = re.findall(r"`((?:make|snakemake|python|dvc|export) [^`]+)`", text)
    return {c for c in [*lines, *inline] if c}


@pytest.mark.parametrize("name", DOCS)
def test_every_command_is_vouched_for(name):
    unknown = commands((ROOT / name).read_text()) - set(RUN) - set(ELSEWHERE)
    assert not unknown, f"{name} shows commands that no test runs: {sorted(unknown)}"


@pytest.mark.smoke
def test_commands_run(smoke_results, tmp_path):
    project = copy_finished(smoke_results, tmp_path / "project")
    for command, words in RUN.items():
        done = shell(project, command)
        assert done.returncode == 0, f"{command}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        missing = [w for w in words if w not in done.stdout + done.stderr]
        assert not missing, f"{command} does not say {missing}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@pytest.mark.smoke
def test_a_new_scale(smoke_results, tmp_path):
    """A copied overlay is a scale of its own: everything is planned for it, nothing of the old one."""
    project = copy_finished(smoke_results, tmp_path / "project")
    (project / "params/scales/mine.yaml").write_text((project / "params/scales/smoke.yaml").read_text())
    done = shell(project, "snakemake -n --workflow-profile workflow/profiles/local --config scale=mine")
    assert done.returncode == 0, done.stderr
    assert "results/mine/report/index.html" in done.stdout + done.stderr
    assert "results/smoke/" not in done.stdout


def shell(project: Path, command: str) -> subprocess.CompletedProcess[str]:
    """The command as typed, with this interpreter's environment as the project's."""
    words = command.replace("make ", f"make VENV={sys.prefix} ") if command.startswith("make ") else f"PATH={sys.prefix}/bin:$PATH {command}"
    return subprocess.run(words, shell=True, cwd=project, capture_output=True, text=True, timeout=300)
