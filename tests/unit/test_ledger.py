"""dvc.yaml is what the receipts say: one stage a rule, no cycle, nothing by hand."""

import json

import pytest
import yaml

from helpers.chain import CURIOUS, STORES, whole_paper
from veridream.provenance.graph import first_to_remake
from veridream.provenance.jobs import NoSuchJob
from veridream.provenance.ledger import HEADER, differences, dvc_stages, dvc_yaml, metrics, plan, refresh_plan, stage_names, write_anchor, write_ledger
from veridream.provenance.records import Records

ANCHOR = "ledger/smoke/chain.json"


@pytest.fixture
def paper(tmp_path):
    return whole_paper(tmp_path)


def receipts(paper, scale="smoke"):
    return Records(scale, paper.root, paper.now).receipts


def test_one_stage_a_rule_and_a_second_where_a_rule_stands_on_both_sides(paper):
    names = stage_names("smoke", receipts(paper))
    assert names[paper.receipt("finetune_world_model", "uniform_both")] == "smoke-finetune_world_model"
    assert names[paper.receipt("finetune_world_model", "targeted_curiosity")] == "smoke-finetune_world_model-2"
    assert names[paper.receipt("validate_store", STORES[0])] == names[paper.receipt("validate_store", STORES[2])] == "smoke-validate_store"
    assert names[paper.receipt("validate_store", CURIOUS)] == "smoke-validate_store-2"
    assert len({n for k, n in names.items() if "score_rollouts" in k}) == 1


def test_stages_form_no_cycle(paper):
    stages = dvc_stages("smoke", receipts(paper))
    maker = {next(iter(o)): name for name, s in stages.items() for o in [*s.get("outs", []), *s.get("plots", [])]}
    reads = {name: [*s.get("deps", []), *(next(iter(p)) for p in s.get("params", []))] for name, s in stages.items()}
    edges = {name: {maker[d] for d in read if d in maker} for name, read in reads.items()}
    done: set[str] = set()
    while ready := {n for n in edges if n not in done and edges[n] <= done}:
        done |= ready
    assert done == set(edges)


def test_a_tangle_falls_back_to_levels(paper):
    c = paper
    c.make("plot_figure", "a1", ["figures/a1.svg"], params={"figure": "a1"})
    c.make("render_clips", "b2", ["clips/b2.mp4"])
    c.make("render_clips", "b1", ["clips/b1.mp4"], ["figures/a1.svg"])
    c.make("plot_figure", "a2", ["figures/a2.svg"], ["clips/b2.mp4"], {"figure": "a2"})
    test_stages_form_no_cycle(c)


def test_every_output_and_receipt_is_recorded_once_and_persists(paper):
    stages = dvc_stages("smoke", receipts(paper))
    frame = {name: stages.pop(name) for name in ("smoke-plan", "smoke-metrics")}
    outs = [o for s in stages.values() for o in [*s["outs"], *s.get("plots", [])]]
    names = [next(iter(o)) for o in outs]
    every = [*receipts(paper), *(p for r in receipts(paper).values() for p in r["outputs"])]
    assert sorted(names) == sorted(every) and all(o[n] == {"persist": True} for o, n in zip(outs, names, strict=True))
    assert stages["smoke-plot_figure"]["plots"] == [{"results/smoke/figures/density.svg": {"persist": True}}]
    assert "params/claims.yaml" in stages["smoke-compare_to_paper"]["deps"]
    assert stages["smoke-train_tokenizer"]["params"] == [{"ledger/smoke/plan.json": ["train_tokenizer"]}]
    assert stages["smoke-train_tokenizer"]["cmd"].endswith("--config scale=smoke --until train_tokenizer")
    for s in stages.values():
        assert not set(s.get("deps", [])) & {next(iter(o)) for o in s["outs"]}
    assert frame["smoke-plan"]["outs"] == [{"ledger/smoke/plan.json": {"cache": False, "persist": True}}]
    assert frame["smoke-metrics"]["deps"] == sorted(receipts(paper)) and "ledger/smoke/metrics.json" in frame["smoke-metrics"]["metrics"][0]


def test_the_text_is_generated_and_keeps_other_scales(paper):
    text = dvc_yaml("smoke", receipts(paper), None)
    assert text.startswith(HEADER) and text == dvc_yaml("smoke", receipts(paper), text)
    whole_paper(paper.root, "laptop")
    both = dvc_yaml("laptop", receipts(paper, "laptop"), text)
    data = yaml.safe_load(both)
    assert {"laptop-plan", "laptop-metrics", "smoke-plan", "smoke-metrics"} < set(data["stages"])
    assert {k: v for k, v in data["stages"].items() if k.startswith("smoke-")} == yaml.safe_load(text)["stages"]
    assert len(data["stages"]) == 2 * len(yaml.safe_load(text)["stages"])


def test_check_sees_an_edit_of_any_generated_file(paper):
    r = receipts(paper)
    assert differences("smoke", r, paper.root) == ["dvc.yaml", "ledger/smoke/plan.json", "ledger/smoke/metrics.json", ANCHOR]
    assert "smoke-index_episodes" in write_ledger("smoke", r, paper.root)
    assert differences("smoke", r, paper.root) == [ANCHOR], "written last, when dvc.lock is there"
    write_anchor("smoke", r, paper.root)
    assert differences("smoke", r, paper.root) == []
    text = (paper.root / "dvc.yaml").read_text()
    (paper.root / "dvc.yaml").write_text(text.replace("persist: true", "persist: false", 1))
    (paper.root / "ledger/smoke/metrics.json").write_text("{}")
    assert differences("smoke", r, paper.root) == ["dvc.yaml", "ledger/smoke/metrics.json", ANCHOR]


def test_a_changed_receipt_changes_the_ledger(paper):
    write_ledger("smoke", receipts(paper), paper.root)
    paper.make("plot_figure", "traces", ["figures/traces.svg"], ["scores/uniform_both.parquet"], {"figure": "traces"})
    assert differences("smoke", receipts(paper), paper.root) == ["dvc.yaml", "ledger/smoke/plan.json", "ledger/smoke/metrics.json", ANCHOR]


def test_the_plan_splits_shared_params_from_each_jobs_own():
    r = "results/smoke/receipts/score_rollouts/{}.json".format
    got = plan({r("a"): ("c0de", {"model": "a", "seeds": 3}), r("b"): ("c0de", {"model": "b", "seeds": 3}), r("gone"): ("c0de", None)})
    assert got == {"score_rollouts": {"code": "c0de", "params": {"seeds": 3}, "jobs": {"a": {"model": "a"}, "b": {"model": "b"}, "gone": None}}}


def test_the_plan_is_refreshed_with_todays_code_and_params(paper):
    path = paper.root / "ledger/smoke/plan.json"
    refresh_plan("smoke", paper.root, paper.now)
    assert not path.exists(), "what was never recorded has no plan"
    write_ledger("smoke", receipts(paper), paper.root)
    before = path.read_text()
    refresh_plan("smoke", paper.root, paper.now)
    assert path.read_text() == before, "nothing changed"
    paper.params[paper.receipt("train_tokenizer", "base")] = {"size": 64}
    (paper.root / "src/plot_figure.py").write_text("STAGE = 1\n")
    gone = paper.receipt("collect_episodes", STORES[2])

    def now(receipt):
        if receipt == gone:
            raise NoSuchJob(receipt)
        return paper.params[receipt]

    refresh_plan("smoke", paper.root, now)
    old, new = json.loads(before), json.loads(path.read_text())
    assert {k for k in old if old[k] != new[k]} == {"train_tokenizer", "plot_figure", "collect_episodes"}
    assert new["train_tokenizer"]["params"] == {"size": 64} and new["plot_figure"]["code"] != old["plot_figure"]["code"]
    assert new["collect_episodes"]["jobs"][STORES[2]] is None


def test_metrics_are_the_counts_summed_over_stores(paper):
    m = metrics(receipts(paper))
    assert m["score_rollouts"]["uniform_both"] == {"rows": 5, "loss": 0.5}
    assert m["collect_episodes"] == {"jobs": 3, "rows": 0, "loss": 1.5}
    assert m["validate_store"] == {"jobs": 4, "rows": 4, "loss": 2.0}


def test_the_first_to_remake_stand_below_none_of_the_others(paper):
    r = receipts(paper)
    outputs = ["results/smoke/tokenizer/base.id", "results/smoke/scores/uniform_both.parquet", paper.receipt("collect_episodes", STORES[2])]
    assert first_to_remake(outputs, r) == [outputs[2], outputs[0]], "the scores stand below the tokenizer"
    assert first_to_remake(["results/smoke/never/made"], r) == []
    assert first_to_remake([outputs[1], "results/smoke/never/made"], r) == [outputs[1]]


def test_a_cycle_of_receipts_is_an_error():
    r = {"a": {"inputs": {"y": 1}, "outputs": {"x": 1}}, "b": {"inputs": {"x": 1}, "outputs": {"y": 1}}}
    with pytest.raises(ValueError, match="name each other as inputs: a, b"):
        first_to_remake(["x"], r)
