"""The published WorldModelBench tables as stored in params/wmb: sums and identities that a typing error would break."""

import numpy as np
import pytest

from veridream.stats.correlation import spearman
from veridream.stats.kendall import tau_b
from veridream.wmb.questions import COMMON_SENSE, PHYSICS, QUESTIONS
from veridream.wmb.reference import judge_totals, paired_totals, prediction_errors, published, reference_rows

HUMAN, JUDGE = published("human_scores"), published("judge_scores")


def test_human_rows_sum_to_their_totals_and_stand_in_order():
    assert len(HUMAN) == 14
    for r in HUMAN:
        assert sum(r[q] for q in QUESTIONS) == pytest.approx(r["total"], abs=0.0101), r["model"]
    totals = [r["total"] for r in HUMAN]
    assert totals == sorted(totals, reverse=True)
    exact = [r["model"] for r in HUMAN if abs(sum(r[q] for q in QUESTIONS) - r["total"]) < 1e-9]
    assert exact == ["Mochi", "OpenSoraPlan-T2V", "T2VTurbo", "OpenSora-I2V"]


def test_facts_derived_from_the_human_scores():
    by = {r["model"]: r for r in HUMAN}
    physics = {m: sum(r[q] for q in PHYSICS) for m, r in by.items()}
    assert physics["Luma"] == pytest.approx(4.13) and physics["Mochi"] == pytest.approx(4.14)
    assert sorted(physics, key=physics.__getitem__)[-2:] == ["KLING", "Mochi-official"]
    assert 1 - by["KLING"]["mass"] == pytest.approx(0.12) and 1 - by["KLING"]["penetration"] == pytest.approx(0.11)
    for name in ("CogVideoX", "OpenSoraPlan", "OpenSora"):
        assert by[f"{name}-I2V"]["total"] < by[f"{name}-T2V"]["total"]


def test_judge_rows_hold_the_leaderboards_identities():
    assert len(JUDGE) == 13
    for r in JUDGE:
        levels = [r[f"level{k}"] for k in (1, 2, 3)]
        assert sum(levels) == pytest.approx(r["instruction"], abs=0.0101), r["model"]
        assert levels == sorted(levels, reverse=True)
        assert sum(r[q] for q in PHYSICS) == pytest.approx(r["physics"], abs=0.0101), r["model"]
        assert sum(r[q] for q in COMMON_SENSE) == pytest.approx(r["common_sense"], abs=0.0101), r["model"]
        assert judge_totals()[r["model"]] == pytest.approx(r["total"], abs=0.0201)
    assert min(r["newton"] for r in JUDGE) >= 0.98, "the judge sees no violation of Newton's law in anything"


def test_judge_totals_are_the_papers():
    totals = {"KLING": 9.08, "Minimax": 8.92, "Mochi-official": 8.66, "Runway": 8.63, "Luma": 8.23, "Mochi": 7.90, "OpenSoraPlan-T2V": 8.04}
    totals |= {"CogVideoX-T2V": 7.65, "CogVideoX-I2V": 7.07, "OpenSora-T2V": 6.18, "OpenSora-I2V": 5.82, "T2VTurbo": 6.55, "Pandora": 6.90}
    assert judge_totals() == totals


def test_prediction_errors_to_two_decimals():
    expected = {"KLING": 2.95, "Minimax": 3.84, "Mochi-official": 3.46, "Runway": 6.81, "Luma": 6.61, "Mochi": 3.67, "OpenSoraPlan-T2V": 5.65}
    expected |= {"CogVideoX-T2V": 4.65, "CogVideoX-I2V": 4.74, "OpenSora-T2V": 1.15, "OpenSora-I2V": -0.17, "T2VTurbo": 5.31, "Pandora": 5.02}
    errors = prediction_errors()
    assert {m: round(e, 2) for m, e in errors.items()} == expected
    values = list(errors.values())
    assert np.mean(values) == pytest.approx(4.13, abs=0.005) and np.mean(np.abs(values)) == pytest.approx(4.16, abs=0.005)
    assert max(errors, key=errors.__getitem__) == "Runway"
    assert sum(e > 0 for e in values) == 12


def test_rank_agreement_of_judge_and_humans():
    models, axes = paired_totals()
    assert len(models) == 13
    assert tau_b(*map(np.array, axes["total"])) == pytest.approx(76 / 78, abs=1e-12)
    assert tau_b(*map(np.array, axes["instruction"])) == pytest.approx(73 / np.sqrt(77 * 78), abs=1e-12), "people give two models 2.01"
    assert tau_b(*map(np.array, axes["physics"])) == pytest.approx(70 / 78, abs=1e-12)
    assert tau_b(*map(np.array, axes["common_sense"])) == pytest.approx(75 / np.sqrt(78 * 77), abs=1e-12)
    human, judge = map(np.array, axes["total"])
    assert spearman(human, judge) == pytest.approx(0.9945, abs=5e-5)
    page = {r["model"]: r["total"] for r in JUDGE}
    assert np.corrcoef(human, [page[m] for m in models])[0, 1] == pytest.approx(0.9925, abs=5e-5)


def test_the_error_table_does_not_give_the_papers_advantage():
    mean = {r["judge"]: (r["instruction"] + r["common_sense"] + r["physics"]) / 3 for r in published("judge_errors")}
    gaps = [a - b for a in mean.values() for b in mean.values()]
    assert not any(abs(g - 8.6) < 0.05 for g in gaps)
    assert min(r["common_sense"] for r in published("judge_errors")) == 16.4


def test_votes_and_test_set_fit_each_other():
    votes = 8336
    assert votes * 8 == 66688 and votes / (350 * 14) == pytest.approx(1.70, abs=0.005)


def test_reference_rows_name_their_judge_and_quoted_facts_say_why():
    assert len(reference_rows()) == 27 and {r["judge"] for r in reference_rows()} == {"human votes, published", "the benchmark's judge, published"}
    assert all(r["why it is not checked"] for r in published("quoted"))
