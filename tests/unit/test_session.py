"""What the processes of one test session share: made once, whoever asks first; and the order they work in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.session import once, rank, shared_folder, unit_of_work
from veridream.provenance.digest import ROOT

WORKER = """
import sys, time
from pathlib import Path
from helpers.session import once

def make(folder):
    with Path(sys.argv[2]).open("a") as f:
        f.write("asked\\n")
    time.sleep(0.3)
    assert sys.argv[3] == "well", "the oven is cold"
    return folder / "cake"

print(once(Path(sys.argv[1]), "cake", make))
"""


def workers(tmp_path, how):
    """Two processes of a session, as pytest-xdist starts them, that ask at the same time; [(exit code, what it said)], and how often it was made."""
    running = []
    for name in ("popen-gw0", "popen-gw1"):
        (tmp_path / name).mkdir()
        words = [sys.executable, "-c", WORKER, str(tmp_path / name), str(tmp_path / "asked"), how]
        env = os.environ | {"PYTEST_XDIST_WORKER": name, "PYTHONPATH": f"{ROOT}/src:{ROOT}/tests"}
        running.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    said = [p.communicate(timeout=60)[0] for p in running]
    return [(p.returncode, s) for p, s in zip(running, said, strict=True)], len((tmp_path / "asked").read_text().splitlines())


def test_two_processes_share_what_one_of_them_makes(tmp_path):
    said, made = workers(tmp_path, "well")
    assert said == [(0, f"{tmp_path / 'cake/cake'}\n")] * 2 and made == 1


def test_what_failed_is_not_tried_again_and_says_why_in_both(tmp_path):
    said, made = workers(tmp_path, "badly")
    assert made == 1 and [code for code, _ in said] == [1, 1] and all("the oven is cold" in s for _, s in said)


def test_one_process_keeps_it_in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert shared_folder(tmp_path) == tmp_path
    made = [once(tmp_path, "cake", lambda folder: folder / str(len(list(folder.parent.iterdir())))) for _ in range(2)]
    assert made[0] == made[1] and made[0].parent == tmp_path / "cake"
    for error in (FileNotFoundError, AssertionError):  # its own, then what is remembered of it
        with pytest.raises(error, match="no flour"):
            once(tmp_path, "bread", lambda folder: Path((folder / "no flour").read_text()))


def test_files_stay_whole_but_tasks_and_workflow_tests_go_one_by_one():
    assert unit_of_work("tests/unit/test_cem.py::test_a[x::y]") == "tests/unit/test_cem.py"
    assert unit_of_work("tests/workflow/test_rerun.py::test_a[x]") != unit_of_work("tests/workflow/test_rerun.py::test_b")
    assert unit_of_work("tests/workflow/test_dvc_commands.py::test_a") == unit_of_work("tests/workflow/test_dvc_commands.py::test_b")
    contract = "tests/contract/test_env_contract.py::test_"
    assert unit_of_work(f"{contract}seed[cup-catch]") == unit_of_work(f"{contract}scores[cup-catch-noise]") == f"{contract.removesuffix('test_')}cup-catch"
    assert unit_of_work(f"{contract}seed[cup-catch-var1]") != unit_of_work(f"{contract}seed[cup-catch]")
    ids = ["tests/unit/test_cem.py::t", "tests/workflow/test_rerun.py::t", "tests/contract/test_env_contract.py::t", "tests/new/test_x.py::t"]
    assert sorted(ids, key=lambda i: rank(i, False)) == [ids[2], ids[1], ids[0], ids[3]]
    assert rank(ids[1], True) > rank(ids[1], False)
