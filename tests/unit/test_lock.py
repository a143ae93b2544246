"""One run at a time; the second is told who holds the lock; a killed holder blocks nobody."""

import json
import os
import subprocess
import sys

import pytest

from veridream.provenance.digest import ROOT
from veridream.provenance.lock import Locked, hold_lock
from veridream.provenance.workflow import QUIET_THREADS, clear_stale_locks, command, environment, known_jobs

HOLDER = """
import subprocess, sys, time
sys.path.insert(0, {src!r})
from veridream.provenance.lock import hold_lock
with hold_lock("lock", "results/smoke") as fd:
    child = subprocess.Popen([sys.executable, "-c", "import time; print('child', flush=True); time.sleep(60)"], pass_fds=(fd,) if {inherit} else ())
    print(child.pid, flush=True)
    time.sleep(60)
"""


def start(folder, inherit):
    p = subprocess.Popen([sys.executable, "-c", HOLDER.format(src=str(ROOT / "src"), inherit=inherit)], cwd=folder, stdout=subprocess.PIPE, text=True)
    said = {p.stdout.readline().strip(), p.stdout.readline().strip()}
    (child,) = said - {"child"}
    return p, int(child)


def test_the_lock_is_free_again_after_the_block_and_after_an_exception(tmp_path):
    for _ in range(2):
        with pytest.raises(KeyError), hold_lock(tmp_path / "a" / "lock", "results/smoke"):
            assert json.loads((tmp_path / "a" / "lock").read_text())["pid"] == os.getpid()
            raise KeyError
        assert not (tmp_path / "a" / "lock").exists()


def test_the_second_holder_is_refused_and_told_who_holds_it(tmp_path):
    with hold_lock(tmp_path / "lock", "results/smoke"), pytest.raises(Locked) as e, hold_lock(tmp_path / "lock", "results/smoke"):
        pass
    assert f"results/smoke is in use by process {os.getpid()} on " in str(e.value) and "since" in str(e.value)


def test_a_killed_holder_blocks_nobody(tmp_path):
    p, child = start(tmp_path, inherit=False)
    p.kill()
    p.wait()
    assert (tmp_path / "lock").exists()
    with hold_lock(tmp_path / "lock", "results/smoke"):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    os.kill(child, 9)


def test_a_child_that_inherits_the_lock_outlives_its_killed_parent_with_it(tmp_path):
    p, child = start(tmp_path, inherit=True)
    p.kill()
    p.wait()
    with pytest.raises(Locked, match=f"process {p.pid}"), hold_lock(tmp_path / "lock", "results/smoke"):
        pass
    os.kill(child, 9)


def test_an_empty_lock_file_that_someone_holds_is_still_refused(tmp_path):
    with hold_lock(tmp_path / "lock", "x"):
        (tmp_path / "lock").write_text("")
        with pytest.raises(Locked, match="has not written its name yet"), hold_lock(tmp_path / "lock", "x"):
            pass


def test_jobs_get_quiet_threads_the_interpreter_and_the_doctors_backend(tmp_path):
    (tmp_path / ".doctor.json").write_text('{"MUJOCO_GL": "osmesa"}')
    env = environment(tmp_path, {"PATH": "/bin", "OMP_NUM_THREADS": "2"})
    assert env["MUJOCO_GL"] == "osmesa" and env["OMP_WAIT_POLICY"] == "PASSIVE"
    assert env["OMP_NUM_THREADS"] == "2", "what the user set stays"
    assert env["PATH"].split(os.pathsep) == [os.path.dirname(sys.executable), "/bin"]
    assert environment(tmp_path, {"MUJOCO_GL": "egl"})["MUJOCO_GL"] == "egl"
    assert environment(tmp_path / "nowhere", {}).keys() == {"PATH", "PYTHONDONTWRITEBYTECODE", *QUIET_THREADS}


def test_the_command_line_names_profile_and_scale():
    fixed = ["-m", "snakemake", "--snakefile", "Snakefile", "--workflow-profile", "workflow/profiles/slurm", "--config", "scale=smoke"]
    assert command("smoke", "slurm", ["-n"]) == [sys.executable, *fixed, "-n"]


def test_only_stale_locks_of_the_scale_are_cleared(tmp_path):
    folder = tmp_path / ".snakemake" / "locks"
    folder.mkdir(parents=True)
    (folder / "0.output.lock").write_text("results/smoke/index/corpus.parquet\n")
    (folder / "1.output.lock").write_text("results/laptop/index/corpus.parquet\n")
    assert clear_stale_locks("smoke", tmp_path) == ["0.output.lock"]
    assert [p.name for p in folder.iterdir()] == ["1.output.lock"]


def test_a_live_snakemake_of_this_folder_keeps_its_locks(tmp_path):
    folder = tmp_path / ".snakemake" / "locks"
    folder.mkdir(parents=True)
    (folder / "0.output.lock").write_text("results/smoke/index/corpus.parquet\n")
    (tmp_path / "snakemake").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)\n")
    p = subprocess.Popen([sys.executable, "snakemake", "--config", "scale=smoke"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    assert clear_stale_locks("smoke", tmp_path) == []
    p.kill()
    p.wait()
    assert clear_stale_locks("smoke", tmp_path) == ["0.output.lock"]


def test_known_jobs_outlive_their_receipts(tmp_path):
    folder = tmp_path / "results/smoke/receipts/score_rollouts"
    folder.mkdir(parents=True)
    (folder / "base.run.json").write_text('{"inputs": ["a"], "outputs": ["b"], "host": "h"}')
    assert known_jobs("smoke", tmp_path) == {"results/smoke/receipts/score_rollouts/base.json": {"inputs": ["a"], "outputs": ["b"]}}
    (folder / "base.json").write_text('{"inputs": {"c": {}}, "outputs": {"b": {}}}')
    (folder / "other.json").write_text("{")
    assert known_jobs("smoke", tmp_path) == {"results/smoke/receipts/score_rollouts/base.json": {"inputs": ["c"], "outputs": ["b"]}}
    assert known_jobs("laptop", tmp_path) == {}
