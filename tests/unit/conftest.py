"""Scales and machines made up for a test."""

import json

import pytest

from veridream.params import machine
from veridream.params.load import load_params
from veridream.params.model import Params


@pytest.fixture
def scale(tmp_path):
    """Writes a scale file and loads it."""
    (tmp_path / "scales").mkdir()
    (tmp_path / "base.yaml").write_text("")

    def load(text: str, *overrides: str) -> Params:
        (tmp_path / "scales" / "mini.yaml").write_text(text)
        return load_params("mini", overrides, root=tmp_path)

    return load


@pytest.fixture
def lacking(tmp_path, monkeypatch):
    """Makes this a machine on which these tasks cannot run, {task: why}."""
    report = tmp_path / "doctor.json"
    monkeypatch.setattr(machine, "REPORT", report)
    return lambda absent: report.write_text(json.dumps({"MUJOCO_GL": "osmesa", "absent": absent}))
