"""Columns, statistics, intervals and the rows of Tables 1, 2 and 7."""

import numpy as np
import pytest

from helpers import score_tables
from veridream import spec
from veridream.results import evidence as measures
from veridream.results import statistics as st
from veridream.results.columns import by_model, column, pair, take, where
from veridream.results.evidence import Evidence, NotAvailable, States
from veridream.results.intervals import Statistic, paired, single, unpaired
from veridream.results.layout import LAYOUTS
from veridream.results.markdown import csv_text, markdown_table, number, read_csv, with_interval
from veridream.results.paper import published_by
from veridream.results.tables import TABLES
from veridream.stats.bootstrap import Boot

COLUMNS = (*spec.SCORE_ID_COLUMNS, *spec.SCORE_COLUMNS)
BOOT = Boot(resamples=100)


@pytest.fixture(scope="module")
def ev() -> Evidence:
    scores = by_model([(m, score_tables.columns(score_tables.score_rows(m, 12))) for m in spec.MODELS], COLUMNS)
    plans = by_model([(m, score_tables.columns(score_tables.mpc_rows(m))) for m in ("none", "uniform_both", *spec.TARGETED)], spec.MPC_COLUMNS)
    return Evidence(scores, plans, boot=BOOT)


def toy(**columns: object) -> dict[str, np.ndarray]:
    n = len(next(iter(columns.values())))  # type: ignore[arg-type]
    return {"task": np.array(["a"] * n), **{k: np.asarray(v, dtype=float) for k, v in columns.items()}}


def test_the_synthetic_table_has_every_column_of_the_spec():
    row = score_tables.score_rows("base", 1)[0]
    assert list(row) == [*spec.SCORE_ID_COLUMNS, *spec.SCORE_COLUMNS, *spec.SCORE_STEP_COLUMNS]
    assert list(score_tables.mpc_rows("none", 1)[0]) == list(spec.MPC_COLUMNS)


def test_a_missing_column_is_named():
    cols = score_tables.columns(score_tables.score_rows("base", 2))
    del cols["asr"]
    with pytest.raises(ValueError, match=r"base.parquet: column asr is missing"):
        by_model([("base.parquet", cols)], COLUMNS)


def test_two_tables_of_one_model_and_mixed_models_are_refused():
    cols = score_tables.columns(score_tables.score_rows("base", 2))
    with pytest.raises(ValueError, match="given twice"):
        by_model([("a", cols), ("b", cols)], COLUMNS)
    mixed = {**cols, "model": np.where(np.arange(len(cols["model"])) % 2 == 0, "base", "control")}
    with pytest.raises(ValueError, match="exactly one model"):
        by_model([("a", mixed)], COLUMNS)


def test_pairing_follows_ids_not_row_order():
    a = by_model([("a", score_tables.columns(score_tables.score_rows("base", 4)))], COLUMNS)["base"]
    shuffled = take(a, np.random.default_rng(0).permutation(len(a["task"])))
    left, right = pair(a, shuffled)
    assert np.array_equal(left["dpsnr"], right["dpsnr"])
    with pytest.raises(ValueError, match="not scored on the same sequences"):
        pair(a, take(a, np.arange(3)))


def test_where_selects_seen_unseen_and_one_task():
    a = by_model([("a", score_tables.columns(score_tables.score_rows("base", 4)))], COLUMNS)["base"]
    assert set(where(a, "unseen")["task"]) == set(score_tables.UNSEEN)
    assert len(where(a, "seen")["task"]) == 4 * len(score_tables.SEEN)
    assert set(where(a, "mw-push")["task"]) == {"mw-push"}


def test_asr_of_a_pool_is_the_ratio_of_sums():
    t = toy(asr_shuffled=[2.0, 4.0], asr_true=[1.0, 3.0])
    assert st.metric("asr")(t) == pytest.approx(6.0 / 4.0)  # the mean of ratios would be 1.67


def test_metrics_mean_and_median():
    t = toy(dpsnr=[-60.0, 1.0, 2.0])
    assert st.metric("dpsnr")(t) == pytest.approx(-19.0)
    assert st.metric("dpsnr:median")(t) == 1.0
    with pytest.raises(ValueError, match="median"):
        st.metric("dpsnr:max")


def test_derived_columns_and_labels():
    t = {"m": np.array([0.5, 1e-9]), "asr": np.array([1.1, 1.11]), "dpsnr": np.array([0.0, 0.1]), "frames_train": np.array([5, 9])}
    assert column(t, "1/m").tolist() == [2.0, 1 / spec.MOTION_FLOOR]
    assert column(t, "action_ignored").tolist() == [1.0, 0.0]
    assert column(t, "scene_divergent").tolist() == [1.0, 0.0]
    assert column(t, "-frames_train").tolist() == [-5.0, -9.0]


def test_correlation_kinds_tell_simpsons_paradox_apart():
    x = np.array([0, 1, 2, 10, 11, 12, 20, 21, 22.0])
    y = np.array([2, 1, 0, 12, 11, 10, 22, 21, 20.0])
    t = {"task": np.repeat(["a", "b", "c"], 3), "x": x, "y": y, "m": np.ones(9)}
    assert st.correlation("x", "y", "within")(t) == pytest.approx(-1.0)
    assert st.correlation("x", "y", "between")(t) == pytest.approx(1.0)
    assert st.correlation("x", "y", "pooled")(t) > 0.5
    with pytest.raises(ValueError, match="kind"):
        st.correlation("x", "y", "other")


def test_balanced_accuracy_and_share():
    t = toy(u=[3.0, 3.0, 1.0, 1.0], dpsnr=[-1.0, 2.0, 2.0, 2.0])
    assert st.balanced_accuracy("u", 2.0)(t) == pytest.approx((1.0 + 2 / 3) / 2)
    assert np.isnan(st.balanced_accuracy("u", 2.0)(toy(u=[1.0, 2.0], dpsnr=[1.0, 1.0])))
    assert st.share_above("u", 2.0)(t) == 0.5


def test_over_tasks_uses_each_tasks_pool():
    t = {"task": np.repeat(["a", "b", "c"], 2), "frames_train": np.repeat([10, 20, 30], 2)}
    t |= {"asr_shuffled": np.array([1, 1, 2, 2, 3, 3.0]), "asr_true": np.ones(6), "dpsnr": np.array([3, 3, 2, 2, 1, 1.0])}
    assert st.over_tasks("frames_train", "asr")(t) == pytest.approx(1.0)
    assert st.over_tasks("frames_train", "dpsnr:median")(t) == pytest.approx(-1.0)


def test_zero_crossing_interpolates_and_is_nan_without_a_crossing():
    x = np.arange(10.0)
    assert st.zero_crossing(x, 4.5 - x, bins=10) == pytest.approx(4.5)
    assert np.isnan(st.zero_crossing(x, x + 1.0))


def test_paired_difference_of_a_constant_shift_has_a_zero_width_interval():
    a, b = toy(v=[1.0, 5.0, 9.0]), toy(v=[0.5, 4.5, 8.5])
    e = paired(a, b, st.metric("v"), BOOT)
    assert (e.value, e.low, e.high, e.n) == (pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.5), 3)


def test_unpaired_difference_resamples_both_sides():
    rng = np.random.default_rng(0)
    a, b = toy(v=rng.normal(3.0, 1.0, 200)), toy(v=rng.normal(0.0, 1.0, 200))
    e = unpaired(a, b, st.metric("v"), Boot(500))
    assert e.n == 400
    assert 2.6 < e.low < e.value < e.high < 3.4
    assert e.high - e.low == pytest.approx(2 * 1.96 * np.sqrt(2 / 200), rel=0.25)


def test_the_same_seed_gives_the_same_interval():
    t = toy(v=np.arange(30.0) ** 1.5)
    assert single(t, st.metric("v"), Boot(50, seed=3)) == single(t, st.metric("v"), Boot(50, seed=3))
    assert single(t, st.metric("v"), Boot(50, seed=3)) != single(t, st.metric("v"), Boot(50, seed=4))


def test_nothing_finite_is_nan_not_a_crash():
    e = single(toy(v=[np.nan, np.nan]), Statistic(("v",), st.bootstrap.mean), BOOT)
    assert np.isnan(e.value)
    assert e.n == 0


def test_table_1_compares_with_base_and_with_the_control(ev):
    rows = TABLES["coverage"][0](ev, published_by("table1_coverage_aware.csv", "metric"))
    assert len(rows) == 4 * 10
    control = [r for r in rows if r["arm"] == "control"]
    assert all(r["vs_control"] is None and r["vs_base"] is not None for r in control)
    both = next(r for r in rows if r["arm"] == "uniform_both" and r["metric"] == "reconstruction PSNR")
    assert both["vs_base"] == pytest.approx(0.5)
    assert both["vs_control"] == pytest.approx(0.45)
    assert both["paper_vs_base"] == 0.44
    assert {r["unit"] for r in rows} == {"dB", "ratio", "1"}


def test_table_1_without_the_control_says_so(ev):
    short = Evidence({k: v for k, v in ev.scores.items() if k != "control"}, boot=BOOT)
    with pytest.raises(NotAvailable, match="control was not scored"):
        TABLES["coverage"][0](short, published_by("table1_coverage_aware.csv", "metric"))


def test_table_2_has_every_model_with_the_papers_numbers(ev):
    rows = TABLES["targeted"][0](ev, published_by("table2_unseen_finetune.csv", "method"))
    assert [r["model"] for r in rows] == [spec.NO_MODEL, spec.BASE, spec.COVERAGE_AWARE, *spec.TARGETED]
    by = {r["model"]: r for r in rows}
    assert by["none"]["recon_psnr"] is None
    assert by["none"]["paper_mpc"] == 0.118
    assert by["base"]["mpc"] is None
    assert by["targeted_noop"]["paper_recon_psnr"] == 34.74  # both stages finetuned, not the dynamics-only row
    assert by["targeted_combined"]["dpsnr"] > by["targeted_noop"]["dpsnr"] > by["base"]["dpsnr"]
    assert by["targeted_curiosity"]["mpc_low"] <= by["targeted_curiosity"]["mpc"] <= by["targeted_curiosity"]["mpc_high"]


def test_table_7_has_predictors_and_baselines_pooled_and_within(ev):
    rows = TABLES["auroc"][0](ev, published_by("table7_auroc.csv", "predictor"))
    by = {r["score"]: r for r in rows}
    assert by["u_r_norm"]["scene_divergent"] > 0.8
    assert by["u_r_norm"]["paper_action_ignored"] == 0.887
    assert by["-frames_train"]["scene_divergent_within"] is None
    assert by["-m"]["scene_divergent"] == pytest.approx(by["1/m"]["scene_divergent"])
    assert {r["kind"] for r in rows} == {"predictor", "baseline"}


@pytest.mark.parametrize("name", TABLES)
def test_layout_reads_back_from_csv_as_from_rows(ev, name, tmp_path):
    rows_of, file, key = TABLES[name]
    rows = rows_of(ev, published_by(file, key))
    (tmp_path / "t.csv").write_text(csv_text(rows))
    head, body = LAYOUTS[name](rows)
    assert LAYOUTS[name](read_csv(tmp_path / "t.csv")) == (head, body)
    assert all(len(line) == len(head) for line in body)


def test_coverage_change_counts_cells():
    low, high = (0.0, 0.0), (1.0, 1.0)
    line = [np.stack([np.linspace(0, 0.999, 64), np.zeros(64)], 1)]
    still = [np.zeros((64, 2))]
    e = measures.coverage_change(
        Evidence({}, states={("t", "random"): States(line, low, high), ("t", "noop"): States(still, low, high)}, boot=BOOT), "random", "noop"
    )
    assert e.value == pytest.approx((16 - 1) / 256)
    assert e.n == 2


def test_order_is_kendalls_tau(ev):
    forward = ["targeted_noop", "targeted_random", "targeted_expert"]
    assert measures.order(ev, forward, "recon_psnr").value == pytest.approx(1.0)
    assert measures.order(ev, forward[::-1], "recon_psnr").value == pytest.approx(-1.0)


def test_number_and_interval_text():
    assert [number(x) for x in (None, float("nan"), 0.0123, 0.456, 12.34, 123.4, 1234, -1.5)] == ["–", "–", "0.012", "0.46", "12.3", "123", "1,234", "−1.50"]
    assert number(0.5, signed=True) == "+0.50"
    assert with_interval(0.5, 0.25, 0.75) == "0.50 [0.25, 0.75]"
    assert with_interval(0.5, None, None) == "0.50"


def test_markdown_escapes_bars():
    assert markdown_table(["a|b"], [["x|y\nz"]]) == "| a\\|b |\n| --- |\n| x\\|y z |\n"


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="at least one row"):
        csv_text([])
