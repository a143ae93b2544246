"""The doctor: what it does when no GL backend renders, as a user and as root on Debian."""

import json
import subprocess

import pytest

import check_machine


@pytest.fixture
def blind(monkeypatch):
    """A machine where nothing renders until `apt-get install` has run; the commands it ran."""
    ran: list[list[str]] = []

    def probe():
        if not any("install" in command for command in ran):
            raise RuntimeError("MuJoCo cannot render on this machine")
        return "osmesa"

    def record(command, **_):
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(check_machine, "probe_backends", probe)
    monkeypatch.setattr(check_machine.subprocess, "run", record)
    monkeypatch.setattr(check_machine.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(check_machine.Path, "exists", lambda self: True)
    return ran


def test_a_user_gets_the_exact_line_and_nothing_is_installed(blind, monkeypatch, capsys):
    monkeypatch.setattr(check_machine.os, "geteuid", lambda: 1000)
    assert check_machine.gl_backend() is None
    assert "sudo apt-get install -y libosmesa6" in capsys.readouterr().out
    assert blind == []


def test_root_on_debian_installs_it_after_saying_so(blind, monkeypatch, capsys):
    monkeypatch.setattr(check_machine.os, "geteuid", lambda: 0)
    assert check_machine.gl_backend() == "osmesa"
    assert "installing the missing system library as root: apt-get install -y libosmesa6" in capsys.readouterr().out
    assert [c[:2] for c in blind] == [["apt-get", "update"], ["apt-get", "install"]]


def test_without_a_backend_the_doctor_fails_and_writes_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(check_machine, "gl_backend", lambda: None)
    monkeypatch.setattr(check_machine, "REPORT", tmp_path / "doctor.json")
    assert check_machine.main() == 1
    assert not (tmp_path / "doctor.json").exists()


def test_the_doctor_writes_down_which_tasks_cannot_run(monkeypatch, tmp_path, capsys):
    why = {"ms-reach": "task ms-reach needs mani_skill"}
    monkeypatch.setattr(check_machine, "gl_backend", lambda: "osmesa")
    monkeypatch.setattr(check_machine, "absent", lambda: why)
    monkeypatch.setattr(check_machine, "REPORT", tmp_path / "doctor.json")
    assert check_machine.main() == 0
    assert json.loads((tmp_path / "doctor.json").read_text()) == {"MUJOCO_GL": "osmesa", "absent": why}
    said = capsys.readouterr().out
    assert "209 of 210 tasks can run" in said and "task ms-reach needs mani_skill" in said
