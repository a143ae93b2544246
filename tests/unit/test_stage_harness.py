"""The frame of a stage: published whole or not at all, whatever ends it."""

import json
import signal
import subprocess
import sys
import time

import pytest

from helpers.project import HARNESS, copy_project
from veridream.provenance.receipts import load_receipts, read_receipt

STAGE = '''"""A stage for tests."""

import time
from pathlib import Path

from veridream.provenance.stage import StageError, stage

if __name__ == "__main__":
    with stage("make_cake", inputs=("flour", "icing?"), outputs=("cake", "crumbs"), work=True) as job:
        mode = job.params["mode"]
        job.out["cake"].mkdir()
        (job.out["cake"] / "layer").write_bytes(job.input("flour").read_bytes() * 2)
        job.counts["layers"] = 2
        job.facts["oven"] = "gas"
        if mode != "forget":
            job.out["crumbs"].write_text("few")
        if mode == "refuse":
            raise StageError("flour.txt, row 3: weevils; sieve it")
        if mode == "crash":
            raise ValueError("burnt")
        if mode == "numpy":
            import numpy

            numpy.empty(2**60, dtype=numpy.uint8)
        if mode == "torch":
            import torch

            torch.empty(2**60, dtype=torch.uint8)
        if mode == "runtime":
            raise RuntimeError("burnt")
        if mode == "full":
            raise OSError(28, "No space left on device")
        if mode == "wait":
            Path("waiting").touch()
            time.sleep(60)
'''


@pytest.fixture
def project(tmp_path):
    copy_project(tmp_path, HARNESS)
    (tmp_path / "src" / "make_cake.py").write_text(STAGE)
    (tmp_path / "flour.txt").write_text("wheat")
    return tmp_path


def words(mode="ok", *more):
    fixed = ["--receipt", "r/receipts/make_cake/one.json", "--work", "w", "--flour", "flour.txt", "--cake", "r/cake", "--crumbs", "r/crumbs.txt"]
    return [sys.executable, "src/make_cake.py", "--params", json.dumps({"mode": mode}), *fixed, *more]


def bake(project, mode="ok", *more):
    return subprocess.run(words(mode, *more), cwd=project, capture_output=True, text=True, timeout=60)


def wait_for(path, seconds=30):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.02)


def published(project):
    return sorted(p.relative_to(project).as_posix() for p in project.glob("r/**/*") if p.is_file())


WHOLE = ["r/cake.id", "r/cake/layer", "r/crumbs.txt", "r/crumbs.txt.id", "r/receipts/make_cake/one.json", "r/receipts/make_cake/one.run.json"]


def test_outputs_ids_and_receipt_are_published(project):
    r = bake(project)
    assert r.returncode == 0, r.stderr
    assert published(project) == WHOLE
    receipt = read_receipt(project / "r/receipts/make_cake/one.json")
    assert receipt["stage"] == "make_cake" and receipt["params"] == {"mode": "ok"} and receipt["counts"] == {"layers": 2}
    assert receipt["inputs"]["flour.txt"]["bytes"] == 5
    assert {**receipt["outputs"]["r/cake"], "receipt": "r/receipts/make_cake/one.json"} == json.loads((project / "r/cake.id").read_text())
    assert set(receipt["trees"]) == {"r/cake"} and set(receipt["trees"]["r/cake"]) == {"layer"} and receipt["chain"] == {}
    assert set(receipt["outputs"]) == {"r/cake", "r/crumbs.txt"}
    assert "src/veridream/provenance/stage.py" in receipt["modules"]
    run = json.loads((project / "r/receipts/make_cake/one.run.json").read_text())
    assert run["inputs"] == ["flour.txt"] and run["outputs"] == ["r/cake", "r/crumbs.txt"]
    assert run["oven"] == "gas" and run["peak_mb"] > 0 and run["seconds"] >= 0


def second(project, *more):
    line = [sys.executable, "src/make_cake.py", "--params", '{"mode": "ok"}', "--receipt", "r/receipts/make_cake/two.json", "--work", "w2"]
    line += ["--flour", "r/crumbs.txt", "--icing", "r/cake", "flour.txt", "--cake", "r/cake2", "--crumbs", "r/crumbs2.txt", *more]
    return subprocess.run(line, cwd=project, capture_output=True, text=True, timeout=60)


def test_a_receipt_holds_the_seals_of_its_inputs_makers(project):
    bake(project)
    one = project / "r/receipts/make_cake/one.json"
    assert second(project).returncode == 0
    assert read_receipt(project / "r/receipts/make_cake/two.json")["chain"] == {"r/receipts/make_cake/one.json": read_receipt(one)["seal"]}
    sound = one.read_text()
    one.write_text(sound.replace('"layers": 2', '"layers": 3'))
    assert "one.json: damaged receipt" in second(project).stderr
    one.unlink()
    r = second(project)
    assert r.returncode == 1 and "r/receipts/make_cake/one.json is missing, the receipt of r/crumbs.txt; run the workflow to make it" in r.stderr


def test_a_run_file_remembers_the_seals_it_replaced(project):
    bake(project)
    one = project / "r/receipts/make_cake/one.json"
    first = read_receipt(one)["seal"]
    run = json.loads(one.with_suffix(".run.json").read_text())
    assert run["seal"] == first and run["succeeds"] == []
    (project / "flour.txt").write_text("rye")
    one.unlink()  # as Snakemake does before a rerun
    bake(project)
    run = json.loads(one.with_suffix(".run.json").read_text())
    assert run["seal"] == read_receipt(one)["seal"] != first and run["succeeds"] == [first]


def test_an_identical_rerun_repeats_every_byte_of_the_receipt(project):
    bake(project)
    first = (project / "r/receipts/make_cake/one.json").read_bytes()
    bake(project)
    assert (project / "r/receipts/make_cake/one.json").read_bytes() == first


@pytest.mark.parametrize(
    "mode, said",
    [
        ("refuse", "make_cake: flour.txt, row 3: weevils; sieve it"),
        ("crash", "make_cake: burnt"),
        ("full", "No space left"),
        ("numpy", "lower the batch; the same command goes on"),
        ("torch", "lower the batch; the same command goes on"),
        ("runtime", "RuntimeError: burnt"),
        ("forget", "without writing r/crumbs.txt"),
    ],
)
def test_a_failure_exits_1_says_why_and_leaves_nothing(project, mode, said):
    r = bake(project, mode)
    assert r.returncode == 1 and said in r.stderr
    assert published(project) == []
    assert ("Traceback" in r.stderr) == (mode not in ("refuse", "forget"))


def test_a_failed_rerun_keeps_what_stood_there(project):
    bake(project)
    before = read_receipt(project / "r/receipts/make_cake/one.json")
    assert bake(project, "crash").returncode == 1
    assert published(project) == WHOLE and read_receipt(project / "r/receipts/make_cake/one.json") == before


def test_a_failure_while_publishing_withdraws_everything(project):
    (project / "r/receipts/make_cake").mkdir(parents=True)
    (project / "r/crumbs.txt.id").mkdir()  # the id cannot be written over a folder
    r = bake(project)
    assert r.returncode == 1
    assert published(project) == []


@pytest.mark.parametrize("sig, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_nothing(project, sig, code):
    p = subprocess.Popen(words("wait"), cwd=project, stderr=subprocess.PIPE, text=True)
    wait_for(project / "waiting")
    p.send_signal(sig)
    said = p.communicate(timeout=30)[1]
    assert p.returncode == code and published(project) == [] and list(project.glob("r/.*")) == []
    assert "Traceback" not in said


def test_kill_9_leaves_only_temporary_names_and_the_same_command_succeeds(project):
    p = subprocess.Popen(words("wait"), cwd=project)
    wait_for(project / "waiting")
    p.kill()
    p.wait(timeout=30)
    assert sorted(x.name for x in (project / "r").iterdir()) == [".cake.part", ".crumbs.txt.part", "receipts"]
    assert load_receipts(project / "r/receipts") == {}
    assert bake(project).returncode == 0
    assert published(project) == WHOLE and list(project.glob("r/.*")) == []


def test_a_second_process_on_the_same_job_is_refused_and_told_by_whom(project):
    p = subprocess.Popen(words("wait"), cwd=project, stderr=subprocess.DEVNULL)
    wait_for(project / "waiting")
    try:
        r = bake(project)
        assert r.returncode == 1 and f"process {p.pid}" in r.stderr and "one.json" in r.stderr
        assert (project / "r/.cake.part").is_dir()  # the first one's work is untouched
    finally:
        p.terminate()
        p.wait(timeout=30)


def test_code_that_changed_since_planning_is_refused(project):
    r = bake(project, "ok", "--code", "0123456789abcdef")
    assert r.returncode == 1 and "changed while the workflow was running" in r.stderr and "src/make_cake.py" in r.stderr
    assert published(project) == []
    bake(project)
    code = read_receipt(project / "r/receipts/make_cake/one.json")["code"]
    assert bake(project, "ok", "--code", code).returncode == 0


def test_inputs_are_checked(project):
    (project / "flour.txt").rename(project / "elsewhere.txt")
    r = bake(project)
    assert r.returncode == 1 and "flour.txt is missing; run the workflow to make it" in r.stderr
    (project / "elsewhere.txt").rename(project / "flour.txt")
    (project / "flour.txt.id").write_text("{")
    r = bake(project)
    assert r.returncode == 1 and "flour.txt.id: damaged content id" in r.stderr
    assert published(project) == []


def test_an_optional_input_may_be_left_out_a_required_one_not(project):
    assert bake(project, "ok", "--icing", "flour.txt").returncode == 0
    line = words()
    cut = line.index("--flour")
    r = subprocess.run(line[:cut] + line[cut + 2 :], cwd=project, capture_output=True, text=True)
    assert r.returncode == 2 and "--flour" in r.stderr


def test_a_damaged_receipt_is_named(project):
    bake(project)
    path = project / "r/receipts/make_cake/one.json"
    text = path.read_text()
    for broken, why in [(text[:-20], "damaged receipt"), (text.replace('"layers": 2', '"layers": 3'), "edited after it was written"), ("{}", "lacks stage")]:
        path.write_text(broken)
        with pytest.raises(ValueError, match=why) as e:
            load_receipts(project / "r/receipts")
        assert str(path) in str(e.value) and "run the workflow again" in str(e.value)
