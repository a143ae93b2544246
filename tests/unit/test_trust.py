"""What comes from outside is never run: no pickles, no shell lines made of names, no archive that writes where it likes."""

import ast
import importlib.util
import re
import subprocess
import sys

import pytest
import yaml

from helpers.project import copy_project, run
from veridream.params.load import ParamsError, load_params
from veridream.params.tasks import registry
from veridream.provenance.digest import ROOT
from veridream.provenance.jobs import NoSuchJob, wildcards_of

EVIL = ("x; rm -rf y", "$(touch y)", "`touch y`", "../../y", "x y", "x\ny", "x'y", "")
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")])
UNPICKLING_ERRORS = "src/veridream/io/mmbench2.py"  # names pickle for the error that torch.load(weights_only=True) raises


def calls(tree):
    """(dotted name, {keyword: value}) of every call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {k.arg: ast.unparse(k.value) for k in node.keywords}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_source_unpickles_evaluates_or_starts_a_shell(path):
    tree, name = ast.parse(path.read_text()), path.relative_to(ROOT).as_posix()
    imported = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert not imported & {"dill", "cloudpickle", "joblib", "shelve", "marshal"}
    assert "pickle" not in imported or name == UNPICKLING_ERRORS
    for called, keywords in calls(tree):
        last = called.rsplit(".", 1)[-1]
        assert called not in ("eval", "exec", "os.system", "os.popen", "pickle.load", "pickle.loads"), f"{name}: {called}"
        assert keywords.get("shell", "False") == "False", f"{name}: {called} with a shell"
        assert keywords.get("allow_pickle", "False") == "False", f"{name}: {called} reads pickles"
        if called == "torch.load":
            assert keywords.get("weights_only") == "True", f"{name}: torch.load without weights_only=True"
        if called == "yaml.load":
            assert "SafeLoader" in keywords.get("Loader", ""), f"{name}: yaml.load without a safe loader"
        if last in ("extractall", "extract", "unpack_archive"):
            assert keywords.get("filter") == "'data'", f"{name}: {called} without filter='data'"


@pytest.mark.parametrize("name", EVIL)
def test_a_task_of_an_evil_name_is_refused(name, tmp_path):
    (tmp_path / "scales").mkdir()
    (tmp_path / "base.yaml").write_text("")
    (tmp_path / "scales/mini.yaml").write_text(yaml.safe_dump({"tasks": {"unseen": [name]}}))
    with pytest.raises(ParamsError, match=r"tasks\.unseen"):
        load_params("mini", root=tmp_path)
    row = yaml.safe_load((ROOT / "params/tasks.yaml").read_text())[0]
    (tmp_path / "tasks.yaml").write_text(yaml.safe_dump([{**row, "id": name}]))
    with pytest.raises(ValueError, match="id: String should match"):
        registry(tmp_path / "tasks.yaml")
    with pytest.raises(NoSuchJob):
        wildcards_of(f"results/smoke/receipts/collect_episodes/corpus/{name}/expert-s0.json")


@pytest.mark.parametrize("name", EVIL)
def test_a_scale_of_an_evil_name_is_refused_even_where_its_file_exists(name, tmp_path):
    (tmp_path / "scales").mkdir()
    (tmp_path / "base.yaml").write_text("")
    if "/" not in name and name:
        (tmp_path / "scales" / f"{name}.yaml").write_text("")
    with pytest.raises(ParamsError, match="no name of a scale"):
        load_params(name, root=tmp_path)


def test_no_part_of_the_workflow_runs_an_evil_scale(tmp_path):
    project = copy_project(tmp_path)
    (project / "params/scales/x; touch y.yaml").write_text((project / "params/scales/smoke.yaml").read_text())
    words = [sys.executable, "-m", "snakemake", "--workflow-profile", "workflow/profiles/local", "--config", "scale=x; touch y", "--until", "collect_episodes"]
    r = subprocess.run(words, cwd=project, capture_output=True, text=True, timeout=120)
    assert r.returncode != 0 and "no name of a scale" in r.stdout + r.stderr
    for script in ("run_workflow.py", "record_ledger.py", "restore_artefacts.py", "remove_leftovers.py", "estimate_cost.py"):
        r = run(project, script, "--scale", "x; touch y")
        assert r.returncode in (1, 2), f"{script}: {r.stdout}{r.stderr}"
        assert "Traceback" not in r.stderr, r.stderr
    assert not (project / "y").exists()


def test_each_pin_of_the_lock_has_its_hash():
    """`make hashes` after `make lock`."""
    pins = {line.lower().replace("_", "-") for line in (ROOT / "requirements/lock.txt").read_text().split() if "==" in line}
    hashed = re.findall(r"^(\S+==\S+) --hash=sha256:[0-9a-f]{64}$", (ROOT / "requirements/hashes.txt").read_text(), re.M)
    assert set(hashed) == pins


def test_a_package_without_a_hash_is_named():
    spec = importlib.util.spec_from_file_location("list_hashes", ROOT / "src/list_hashes.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    one = {"metadata": {"name": "Box_2D", "version": "1"}, "download_info": {"url": "x", "archive_info": {"hashes": {"sha256": "ab"}}}}
    assert script.lines({"install": [one]}) == ["box-2d==1 --hash=sha256:ab"]
    with pytest.raises(ValueError, match="box-2d==1: the index gives no sha256 for x"):
        script.lines({"install": [{**one, "download_info": {"url": "x"}}]})
