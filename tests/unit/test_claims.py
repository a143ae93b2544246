"""The ledger's entries, its one rule, and every row of params/claims.yaml on a synthetic run."""

import copy
from pathlib import Path

import numpy as np
import pytest
import yaml

from helpers import score_tables
from veridream import spec
from veridream.results.claims import judge, load_claims
from veridream.results.columns import by_model
from veridream.results.evidence import MEASURES, Evidence, NotAvailable
from veridream.results.intervals import Estimate
from veridream.results.markdown import number
from veridream.results.verdicts import COLUMNS, VERDICTS, Rule, boundary, verdict
from veridream.stats.bootstrap import Boot

LEDGER = Path(__file__).resolve().parents[2] / "params" / "claims.yaml"
NAN = float("nan")
GOOD = {
    "id": "a-claim",
    "text": "Something holds here.",
    "where": "Table 1",
    "definition": "mean of a thing over sequences",
    "unit": "dB",
    "source": "P",
    "paper": 0.88,
    "statistic": {"name": "change", "args": {"model": "uniform_both", "reference": "base", "metric": "dpsnr"}},
    "rule": {"against": 0.0, "side": "above"},
    "absent": "few steps",
}


def write(path: Path, *entries: dict) -> Path:
    path.write_text(yaml.safe_dump(list(entries)))
    return path


@pytest.mark.parametrize(
    ("low", "high", "side", "expected"),
    [
        (0.1, 0.9, "above", "reproduced"),
        (-0.9, -0.1, "above", "opposite"),
        (-0.1, 0.9, "above", "inconclusive"),
        (0.0, 0.9, "above", "inconclusive"),  # touching the boundary decides nothing
        (-0.9, 0.0, "above", "inconclusive"),
        (0.0, 0.0, "above", "inconclusive"),
        (1e-16, 3e-16, "above", "inconclusive"),  # rounding is not evidence
        (-0.9, -0.1, "below", "reproduced"),
        (0.1, 0.9, "below", "opposite"),
        (-0.1, 0.9, "below", "inconclusive"),
        (NAN, 0.9, "above", "inconclusive"),
        (0.1, NAN, "above", "inconclusive"),
    ],
)
def test_the_rule(low, high, side, expected):
    assert verdict(Estimate(0.5, low, high, 10), Rule(against=0.0, side=side), True) == expected


def test_the_rule_counts_from_its_boundary():
    assert verdict(Estimate(0.7, 0.6, 0.8, 10), Rule(against=0.5, side="above"), True) == "reproduced"
    assert verdict(Estimate(0.7, 0.4, 0.8, 10), Rule(against=0.5, side="above"), True) == "inconclusive"


def test_no_measurement_or_no_scale_is_not_tested():
    rule = Rule(against=0.0, side="above")
    assert verdict(None, rule, True) == "not tested at this scale"
    assert verdict(Estimate(1.0, 0.5, 1.5, 9), rule, False) == "not tested at this scale"
    assert verdict(Estimate(1.0, 0.5, 1.5, 9), None, True) == "not tested at this scale"


def test_the_rules_text_names_its_boundary():
    assert boundary(Rule(against=0.5, side="below").text()) == 0.5
    assert boundary(Rule(against=-10.0, side="above").text()) == -10.0
    assert boundary("") is None


def test_a_good_entry_loads(tmp_path):
    (claim,) = load_claims(write(tmp_path / "c.yaml", GOOD))
    assert claim.scales == ["laptop", "workstation", "paper"]


@pytest.mark.parametrize("key", ["definition", "unit"])
def test_an_entry_without_definition_or_unit_is_refused(tmp_path, key):
    bad = {k: v for k, v in GOOD.items() if k != key}
    with pytest.raises(ValueError, match=rf"c.yaml: claim a-claim: {key}: Field required"):
        load_claims(write(tmp_path / "c.yaml", bad))
    with pytest.raises(ValueError, match=f"claim a-claim: {key}"):
        load_claims(write(tmp_path / "c.yaml", {**GOOD, key: ""}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "reproduced"}, "Extra inputs are not permitted"),
        ({"source": "X"}, "source"),
        ({"paper": "0.88"}, "paper"),
        ({"paper": -1.0}, "is not above 0"),
        ({"rule": None}, "statistic and rule go together"),
        ({"absent": ""}, "needs `absent`"),
        ({"statistic": {"name": "no_such"}}, "no measure 'no_such'"),
        ({"statistic": {"name": "change", "args": {"model": "base"}}}, "missing a required argument"),
        ({"statistic": {"name": "change", "args": {**GOOD["statistic"]["args"], "odd": 1}}}, "unexpected keyword"),
        ({"statistic": None, "rule": None}, "needs `untested`"),
    ],
)
def test_wrong_entries_are_refused_by_name(tmp_path, change, message):
    entry = {k: v for k, v in {**copy.deepcopy(GOOD), **change}.items() if v is not None}
    with pytest.raises(ValueError, match=message):
        load_claims(write(tmp_path / "c.yaml", entry))


def test_an_id_that_stands_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a-claim stands twice"):
        load_claims(write(tmp_path / "c.yaml", GOOD, GOOD))


def test_every_measure_of_the_ledger_exists_and_every_measure_is_used():
    named = {c.statistic.name for c in load_claims(LEDGER) if c.statistic}
    assert named == set(MEASURES)


def test_the_ledger_names_only_known_models_and_columns():
    columns = {*spec.SCORE_COLUMNS, "1/m", "-m", "-frames_train", "asr", "score", "mpc"}
    for c in load_claims(LEDGER):
        args = c.statistic.args if c.statistic and c.statistic.name != "coverage_change" else {}
        for key in ("model", "reference"):
            assert args.get(key, "base") in (*spec.MODELS, spec.NO_MODEL), c.id
        assert set(args.get("models", [])) <= set(spec.MODELS), c.id
        for key in ("x", "y", "baseline", "score", "metric"):
            assert str(args.get(key, "asr")).partition(":")[0] in columns, c.id


def test_the_ledger_covers_every_numbered_table_and_figure_claimed():
    where = " ".join(c.where for c in load_claims(LEDGER))
    for place in ("Fig. 1", "Fig. 5", "Fig. 6", "Table 1", "Table 2", "Table 3", "Table 7", "Table 11"):
        assert place in where


@pytest.fixture(scope="module")
def ev() -> Evidence:
    scores = by_model(
        [(m, score_tables.columns(score_tables.score_rows(m, 8))) for m in (*spec.MODELS, "replicate_1")], (*spec.SCORE_ID_COLUMNS, *spec.SCORE_COLUMNS)
    )
    plans = by_model([(m, score_tables.columns(score_tables.mpc_rows(m))) for m in ("none", "uniform_both", *spec.TARGETED)], spec.MPC_COLUMNS)
    return Evidence(scores, plans, boot=Boot(60))


def test_every_claim_gets_a_row_and_a_reason(ev):
    rows = [judge(c, ev, "laptop") for c in load_claims(LEDGER)]
    for r in rows:
        assert set(r) == set(COLUMNS)
        assert r["verdict"] in VERDICTS
        if r["verdict"] != "reproduced":
            assert r["note"], r["id"]
        if r["ours"] is not None:
            assert r["n"] > 0
    by = {r["id"]: r for r in rows}
    assert by["rho-u-r"]["verdict"] == "reproduced"
    assert by["reward-ablation"]["verdict"] == "not tested at this scale"
    assert "states" in by["visits-random-noop"]["note"]


def test_a_scale_that_shows_nothing_draws_no_verdict(ev):
    rows = [judge(c, ev, "smoke") for c in load_claims(LEDGER)]
    assert {r["verdict"] for r in rows} == {"not tested at this scale"}
    assert next(r for r in rows if r["id"] == "rho-u-r")["ours"] is not None


def test_a_claim_on_the_base_needs_its_replicates_to_agree(ev):
    claim = next(c for c in load_claims(LEDGER) if c.id == "in-distribution-gain")
    base, other = ev.scores["base"], ev.scores["replicate_1"]
    alone = [judge(claim, Evidence({"base": t}, boot=ev.boot), "laptop") for t in (base, other)]
    both = judge(claim, ev, "laptop")
    assert both["ours"] == pytest.approx((alone[0]["ours"] + alone[1]["ours"]) / 2) and both["each"] == "; ".join(number(a["ours"]) for a in alone)
    assert (both["low"], both["high"]) == (min(a["low"] for a in alone), max(a["high"] for a in alone))
    worse = {**other, "dpsnr": other["dpsnr"] - 20.0}
    assert (
        alone[0]["verdict"] == "reproduced" and judge(claim, Evidence({"base": base, "replicate_1": worse}, boot=ev.boot), "laptop")["verdict"] != "reproduced"
    )
    assert alone[0]["each"] == "" and judge(next(c for c in load_claims(LEDGER) if c.id == "coverage-asr-vs-base"), ev, "laptop")["each"] == ""


def test_permuted_counts_compare_a_task_with_itself(ev):
    base = ev.scores["base"]
    tasks = sorted(set(base["task"][base["seen"]]))
    factor = np.array([1.0 + tasks.index(t) if t in tasks else 1.0 for t in base["task"]])
    for rho in (1.0, -1.0):  # a task's ratio rises or falls by its factor
        table = {**base, "frames_train": base["frames_train"] * factor, "asr_shuffled": base["asr_shuffled"] + rho * factor * base["asr_true"]}
        got = MEASURES["permuted_counts"](Evidence({"base": base, "replicate_1": table}, boot=Boot(40)), metric="asr")
        assert got.value == pytest.approx(rho) and got.low <= rho <= got.high + 1e-9
    with pytest.raises(NotAvailable, match="one base model"):
        MEASURES["permuted_counts"](Evidence({"base": base}), metric="asr")


def test_a_missing_model_is_not_tested_and_named(ev):
    claim = next(c for c in load_claims(LEDGER) if c.id == "coverage-dpsnr-vs-control")
    row = judge(claim, Evidence({k: v for k, v in ev.scores.items() if k != "control"}, boot=Boot(20)), "laptop")
    assert (row["verdict"], row["ours"]) == ("not tested at this scale", None)
    assert "control was not scored" in row["note"]
