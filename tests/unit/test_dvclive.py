"""Metrics in DVCLive's layout are read by DVC itself."""

import json

import pytest
from dvc.fs import localfs
from dvc.repo.plots import parse

from veridream.io.dvclive import series, write_dvclive

LINES = [
    {"run": "train_dynamics", "step": 7, "loss": 0.5, "heldout_dpsnr": 1.0, "heldout_dpsnr/cup-catch": 1.0},
    {"run": "train_dynamics", "step": 14, "loss": 0.25},
    {"run": "finetune", "step": 1, "loss": 3.0},
]


@pytest.fixture
def metrics(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(x) + "\n" for x in LINES))
    return path


def test_series_by_run():
    assert series(json.dumps(x) for x in LINES)["train_dynamics/loss"] == [(7, 0.5), (14, 0.25)]


def test_dvc_reads_the_plots(metrics, tmp_path):
    write_dvclive(metrics, tmp_path / "live")
    plots = tmp_path / "live" / "plots" / "metrics"
    assert {p.relative_to(plots).as_posix() for p in plots.rglob("*.tsv")} == {
        "train_dynamics/loss.tsv",
        "train_dynamics/heldout_dpsnr.tsv",
        "train_dynamics/heldout_dpsnr/cup-catch.tsv",
        "finetune/loss.tsv",
    }
    rows = parse(localfs, str(plots / "train_dynamics" / "loss.tsv"))["data"]
    assert [(r["step"], r["loss"]) for r in rows] == [("7", "0.5"), ("14", "0.25")]


def test_the_summary_nests_by_slashes_and_keeps_means_beside_their_tasks(metrics, tmp_path):
    write_dvclive(metrics, tmp_path / "live")
    summary = json.loads((tmp_path / "live" / "metrics.json").read_text())
    assert summary["train_dynamics"] == {"loss": 0.25, "heldout_dpsnr": {"mean": 1.0, "cup-catch": 1.0}} and summary["finetune"] == {"loss": 3.0}


def test_an_existing_folder_is_left_alone(metrics, tmp_path):
    (tmp_path / "live").mkdir()
    with pytest.raises(FileExistsError):
        write_dvclive(metrics, tmp_path / "live")
