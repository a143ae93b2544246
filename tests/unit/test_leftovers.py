"""What can go is shown, and only that is deleted."""

import pytest

from helpers.chain import STORES, whole_paper
from veridream.provenance import leftovers as module
from veridream.provenance.leftovers import discard_interrupted, leftovers, remove, unused_cache


@pytest.fixture
def paper(tmp_path, monkeypatch):
    c = whole_paper(tmp_path)
    monkeypatch.setattr(module, "load_params", lambda scale, root: None)
    monkeypatch.setattr(module, "receipts_of", lambda params, scale: list(c.params))
    return c


def put(paper, name):
    path = paper.root / paper.r / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("12345")
    return path


def found(paper):
    return {x.path.removeprefix("results/smoke/"): x.why for x in leftovers("smoke", paper.root)}


def test_a_tidy_scale_has_none(paper):
    assert found(paper) == {}


def test_each_kind_is_named_with_its_size(paper):
    put(paper, "work/train_tokenizer/base/step-1/x")
    put(paper, "work/train_tokenizer/base.stale/x")
    put(paper, "work/train_dynamics/base/x")  # not finished: no receipt
    paper.params[paper.receipt("train_dynamics", "base")] = {}
    put(paper, "work/finetune_world_model/gone/x")
    put(paper, "tokenizer/.other.part")
    assert found(paper) == {
        "work/train_tokenizer/base": "its job is finished",
        "work/train_tokenizer/base.stale": "set aside: made under other params, code or inputs",
        "work/finetune_world_model/gone": "the rules have no such job any more",
        "tokenizer/.other.part": "half-written by a job that was killed",
    }
    sizes = {x.path: x.bytes for x in leftovers("smoke", paper.root)}
    assert sizes["results/smoke/work/train_tokenizer/base"] == 5


def test_a_job_that_left_the_plan_goes_with_its_artefacts_and_nothing_else(paper):
    key = paper.receipt("collect_episodes", STORES[2])
    del paper.params[key]
    store = f"data/{STORES[2]}.zarr"
    assert set(found(paper)) == {store, f"{store}.id", key.removeprefix("results/smoke/"), key.removeprefix("results/smoke/").replace(".json", ".run.json")}
    before = {p for p in paper.root.rglob("*") if p.is_file()}
    gone = leftovers("smoke", paper.root)
    assert {p for p in paper.root.rglob("*") if p.is_file()} == before, "looking changes nothing"
    remove(gone, paper.root)
    lost = {p.relative_to(paper.root).as_posix() for p in before if not p.exists()}
    assert lost == {f"results/smoke/{store}/c/0", f"results/smoke/{store}/zarr.json", f"results/smoke/{store}.id", key, key.replace(".json", ".run.json")}
    assert found(paper) == {}


def test_an_output_that_another_job_makes_now_stays(paper):
    old = paper.receipt("plot_figure", "density")
    paper.write("plot_figure", "renamed", ["figures/density.svg"], ["scores/uniform_both.parquet"], {})
    del paper.params[old]
    assert set(found(paper)) == {"receipts/plot_figure/density.json", "receipts/plot_figure/density.run.json"}


def test_without_a_record_the_cache_is_left_alone(tmp_path):
    assert "left alone" in unused_cache(root=tmp_path)


def test_only_interrupted_trainings_are_discarded(paper):
    put(paper, "work/train_tokenizer/base/published")
    put(paper, "work/train_dynamics/base/config.json")
    put(paper, "work/collect_curiosity/whirlpool/episode-00000.npy")
    assert discard_interrupted("smoke", paper.root) == ["results/smoke/work/train_dynamics/base"]
    left = sorted(p.name for p in (paper.root / paper.r / "work").glob("*/*"))
    assert left == ["base", "whirlpool"] and discard_interrupted("smoke", paper.root) == []
