"""Why an artefact would be made again: the key, the module, the line, with the difference, and whose fault it is."""

import subprocess

import pytest

from helpers.chain import STORES, whole_paper
from veridream.provenance.audit import NotAnArtefact
from veridream.provenance.explain import as_json, as_text, explain

FIGURE = "results/smoke/figures/density.svg"


@pytest.fixture
def paper(tmp_path):
    c = whole_paper(tmp_path)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "src", "params", "requirements")
    git(tmp_path, "commit", "--quiet", "--message", "as it was")
    return c


def git(root, *words):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


def why(paper, artefact=FIGURE):
    return explain(artefact, paper.root, paper.now)


def test_nothing_changed(paper):
    (e,) = why(paper)
    assert not e.runs and e.above == {}
    assert as_text([e]) == f"{FIGURE} (plot_figure) is up to date: nothing in it or above it has changed"


def test_a_params_key_of_a_job_above_is_named_once(paper):
    key = paper.receipt("train_tokenizer", "base")
    paper.params[key] = {"size": 32, "train": {"lr": 0.2, "steps": 9}}
    (e,) = why(paper)
    assert not e.runs and list(e.above) == [key]
    (cause,) = e.above[key]
    assert (cause.kind, cause.text) == ("params", "train.lr 0.1 -> 0.2")
    assert "would be made again if the jobs above it give other bytes" in as_text([e]) and f"above it, {key}:" in as_text([e])


def test_its_own_key(paper):
    paper.params[paper.receipt("plot_figure", "density")] = {"figure": "density", "dots": 3}
    (e,) = why(paper)
    assert e.runs and [c.text for c in e.own] == ["dots (absent) -> 3"]
    assert f"{FIGURE} (plot_figure) would be made again\nits own job:\n  params      dots (absent) -> 3" in as_text([e])


def test_a_module_with_the_lines_that_changed(paper):
    path = paper.root / "src/veridream/maths.py"
    path.write_text("PI = 3.14\n")
    git(paper.root, "commit", "--quiet", "--all", "--message", "nearer")
    (e,) = why(paper)
    (cause,) = e.own
    assert cause.kind == "code" and cause.text == "src/veridream/maths.py changed"
    assert "-PI = 3\n+PI = 3.14" in cause.diff and cause.diff.startswith("--- src/veridream/maths.py at ")
    assert as_text([e]).count("-PI = 3\n") == 2, "once for itself, once for all jobs above it"


def test_a_version_that_git_never_saw(paper):
    key = paper.receipt("plot_figure", "density")
    paper.edit_receipt(key, lambda r: r["modules"].update({"src/veridream/maths.py": "0" * 64}))
    (e,) = why(paper)
    assert "git does not hold the version it was made with" in [c.diff for c in e.own]


def test_a_line_of_the_environment(paper):
    (paper.root / "requirements/lock.txt").write_text("numpy==2\n")
    (e,) = why(paper)
    (cause,) = e.own
    assert cause.kind == "environment" and "-numpy==1\n+numpy==2" in cause.diff


def test_bytes_and_history_are_named_and_the_remedy_said(paper):
    (paper.root / FIGURE).write_text("x")
    paper.edit_receipt(paper.receipt("train_tokenizer", "base"), lambda r: r["counts"].update(loss=0.1))
    (e,) = why(paper)
    assert [c.kind for c in e.own] == ["bytes"]
    assert [c.kind for causes in e.above.values() for c in causes] == ["history"]
    assert as_text([e]).endswith("delete what is named here, then run the workflow")


def test_a_job_the_rules_no_longer_have_and_a_lost_receipt(paper):
    store = f"results/smoke/data/{STORES[0]}.zarr"
    (paper.root / paper.receipt("collect_episodes", STORES[0])).unlink()
    (e,) = why(paper, store)
    assert e.own[0].kind == "receipt"
    with pytest.raises(NotAnArtefact):
        why(paper, "results/smoke/nothing.csv")


def test_json_holds_what_the_text_says(paper):
    paper.params[paper.receipt("plot_figure", "density")] = {"figure": "other"}
    (data,) = as_json(why(paper))
    assert data["runs"] and data["own"] == [{"kind": "params", "text": 'figure "density" -> "other"', "diff": ""}]
