"""Every command the docs show is run here, or is named with the test that runs it. A command nobody vouches for fails."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_tutorial import steps

from helpers.project import copy_finished
from veridream.provenance.digest import ROOT

DOCS = ("README.md", "ARCHITECTURE.md", "docs/lineage.md", "docs/worldmodelbench.md")
# Run in a finished smoke project; the words its output must hold.
RUN = {
    "make reproduce SCALE=smoke": ["not tested at this scale", "results/smoke/report/index.html"],
    "make doctor": ["GL backend"],
    "make audit ARTEFACT=results/smoke/figures/calibration.svg": ["calibration.svg", "HOLDS"],
    "make record SCALE=smoke": [],
    "make audit-all SCALE=smoke": ["HOLDS: "],
    "make gc SCALE=smoke": ["its job is finished", "can go"],
    "make estimate SCALE=paper": ["train_dynamics", "unknown"],
    "python src/audit_artefact.py results/smoke/figures/calibration.svg --bundle calibration.zip": ["calibration.zip"],
    "python src/audit_artefact.py --bundle calibration.zip --verify": ["HOLDS: "],
    "python src/audit_artefact.py results/smoke/figures/calibration.svg --crate calibration-crate": ["ro-crate-metadata.json"],
    "python src/audit_artefact.py results/smoke/figures/calibration.svg --prov calibration.prov.json": ["PROV-JSON"],
    "python src/describe_dataset.py --scale smoke": ["croissant.json"],
    "make report SCALE=smoke": [],
    "make gallery TASKS=pygame": ["results/gallery/sheet.png"],
    "make wmb SCALE=smoke": ["Leaderboard, protocol wmb-sim", "base, permuted actions"],
    "python src/score_videos.py --help": ["--benchmark"],
    "python src/write_wmb_example.py example": ["score it with --benchmark example"],
    "python src/score_videos.py --benchmark example --videos example/videos --model example --answers example/results.json --own-items --out example/scores": [
        "| example | 1 | wmb |",
        "the page: example/scores/index.html",
    ],
    "python src/measure_scores.py --tasks pygame-pong --episodes 1": ["pygame-pong"],
    "python src/export_dataset.py --format minari --out exports results/smoke/data/corpus/atari-pong/expert-s0.zarr": [
        "exports/veridream/atari-pong/expert-v0"
    ],
    "python src/import_mmbench2.py --help": ["public MMBench2 data"],
    "snakemake -n --workflow-profile workflow/profiles/local --config scale=smoke": ["Nothing to be done"],
}
TUTORIAL = "tests/workflow/test_tutorial.py types it"
SHARING = "tests/workflow/test_sharing.py does it"
DVC = "tests/workflow/test_dvc_commands.py does it"
# Run elsewhere.
ELSEWHERE = {
    "make reproduce": "the same rules as SCALE=smoke, 45 minutes",
    "make reproduce SCALE=paper PROFILE=slurm": "needs a cluster; tests/workflow/test_profiles.py plans it",
    "make test": "is what runs this",
    "make lint": "make test runs it",
    "python src/play.py --task pygame-pong --episodes 2 --out human": "tests/stages/test_play.py",
    "make test-simulators TASKS=atari-pong,pygame-pong": "tests/contract is that suite",
    "make test-simulators": "the same on every task, half an hour",
    "make collect SCALE=survey": "tests/workflow/test_collect.py, on four tasks",
    "make record": "with SCALE=smoke above",
    "make hashes": "needs the public index; tests/unit/test_trust.py reads what it wrote",
    "snakemake -n": "with its profile and scale above",
    "make audit ARTEFACT=...": "above",
    "make audit-all": "above",
    "make gc": "above",
    "make estimate": "above",
    "make explain": TUTORIAL,
    "make explain ARTEFACT=...": TUTORIAL,
    "make diff": TUTORIAL,
    "make diff REV1=... REV2=...": TUTORIAL,
    "make restore": TUTORIAL,
    "dvc remote add --default store /path/or/s3://bucket/prefix": SHARING,
    "dvc push": SHARING,
    "dvc dag": DVC,
    "dvc status": DVC,
    "dvc params diff": DVC,
    "dvc metrics show": DVC,
    "dvc metrics diff": DVC,
    "dvc plots diff": DVC,
    "dvc exp run -S params/scales/smoke.yaml:stats.resamples=100": DVC,
    "git clone <repository> && cd <repository> && make doctor": SHARING,
    "dvc pull": SHARING,
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
    unknown = commands((ROOT / name).read_text()) - set(RUN) - set(ELSEWHERE) - set(steps())
    assert not unknown, f"{name} shows commands that no test runs: {sorted(unknown)}"


@pytest.mark.smoke
def test_commands_run(recorded_smoke, tmp_path):
    project = copy_finished(recorded_smoke, tmp_path / "project")
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
