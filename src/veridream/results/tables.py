"""Rows of the paper's Table 1 (coverage-aware arms), Table 2 (targeted data) and Table 7 (AUROC), with intervals.

Near-stationary sequences, on which repeating the last frame is hard to beat, drag the mean of dPSNR down. They are never dropped:
the median stands beside the mean.
"""

from collections.abc import Callable
from typing import Any

from veridream import spec
from veridream.results import statistics as st
from veridream.results.columns import pair, where
from veridream.results.evidence import SEQUENCE, Evidence
from veridream.results.intervals import Estimate, paired, single

Row = dict[str, Any]

# (metric, title, unit, better, Table 1 of the paper as metric name or None)
METRICS = (
    ("recon_psnr", "reconstruction PSNR", "dB", "up", "recon_psnr_db"),
    ("asr", "action-shuffle ratio", "ratio", "up", "action_shuffle_ratio"),
    ("dpsnr", "rollout dPSNR, mean", "dB", "up", "rollout_dPSNR_db"),
    ("dpsnr:median", "rollout dPSNR, median", "dB", "up", None),
    ("u_r_norm", "u_r / m, mean", "1", "down", "u_r_norm"),
    ("u_r_norm:median", "u_r / m, median", "1", "down", None),
    ("u_f_norm", "u_f / m, mean", "1", "down", "u_f_norm"),
    ("u_f_norm:median", "u_f / m, median", "1", "down", None),
    ("u_s_norm", "u_s / m, mean", "1", "down", "u_s_norm"),
    ("u_s_norm:median", "u_s / m, median", "1", "down", None),
)
PAPER_ARM = {"uniform_tokenizer": "tok_ft", "uniform_dynamics": "dyn_ft", "uniform_both": "both"}
PAPER_ROW = {
    spec.NO_MODEL: "random_actions_no_model",
    spec.BASE: "base",
    spec.COVERAGE_AWARE: "coverage_aware_zero_shot",
    "targeted_noop": "noop",
    "targeted_random": "random",
    "targeted_expert": "expert",
    "targeted_curiosity": "curiosity_u_r_norm",
    "targeted_combined": "all_combined",
}
MODEL_TITLES = {
    spec.NO_MODEL: "random actions, no model",
    spec.BASE: "base",
    "control": "control: same extra steps, default sampling",
    "uniform_tokenizer": "uniform sampling, tokenizer",
    "uniform_dynamics": "uniform sampling, dynamics",
    spec.COVERAGE_AWARE: "coverage-aware (both), zero-shot",
    "targeted_noop": "+ no-op data",
    "targeted_random": "+ random data",
    "targeted_expert": "+ expert data",
    "targeted_curiosity": "+ curiosity data",
    "targeted_combined": "+ all four combined",
    "targeted_matched": "+ all four, one source's budget",
}
BASELINES = ("-m", "1/m", "-frames_train")
SCORE_TITLES = {
    "u_r_norm": "u_r / m",
    "u_f_norm": "u_f / m",
    "u_s_norm": "u_s / m",
    "u_s_sd_norm": "sqrt(u_s) / m",
    "u_r": "u_r raw",
    "u_f": "u_f raw",
    "u_s": "u_s raw",
    "-m": "low motion, -m alone",
    "1/m": "1 / m alone",
    "-frames_train": "few training frames",
}
PAPER_SCORE = {
    "u_r_norm": "u_r_norm",
    "u_f_norm": "u_f_norm",
    "u_s_norm": "u_s_norm",
    "-m": "latent_motion_m",
    "u_f": "u_f_raw",
    "-frames_train": "n_frames_baseline",
}


def _cells(name: str, e: Estimate | None) -> Row:
    return {name: e.value if e else None, f"{name}_low": e.low if e else None, f"{name}_high": e.high if e else None}


def coverage_rows(ev: Evidence, paper: dict[str, Row]) -> list[Row]:
    """Table 1: each arm minus base and minus the same-steps control, held-out sequences of seen tasks, paired by sequence.

    paper: Table 1 of the paper by its metric name. Raises NotAvailable when base or an arm is missing.
    """
    rows = []
    for arm in spec.ARMS:
        table = ev.rows(arm, "seen")
        for name, title, unit, better, key in METRICS:
            against: dict[str, Estimate | None] = {}
            for reference in (spec.BASE, "control"):
                same = arm == reference
                against[reference] = None if same else paired(*pair(table, ev.rows(reference, "seen"), SEQUENCE), st.metric(name), ev.boot)
            row: Row = {"arm": arm, "title": MODEL_TITLES[arm], "metric": title, "unit": unit, "better": better, "value": st.metric(name)(table)}
            row |= _cells("vs_base", against[spec.BASE]) | _cells("vs_control", against["control"])
            row["paper_vs_base"] = paper[key][PAPER_ARM[arm]] if key and arm in PAPER_ARM else None
            rows.append(row | {"sequences": len(table["task"]), "tasks": len(set(table["task"]))})
    return rows


def targeted_rows(ev: Evidence, paper: dict[str, Row]) -> list[Row]:
    """Table 2: the unseen tasks' held-out sequences and the closed-loop score, one row a model; absent cells are None.

    paper: Table 2 of the paper by its row name (both stages finetuned).
    """
    rows = []
    for model in (spec.NO_MODEL, spec.BASE, spec.COVERAGE_AWARE, *spec.TARGETED):
        table = where(ev.scores[model], "unseen") if model in ev.scores else None
        published = paper.get(PAPER_ROW.get(model, ""), {})
        row: Row = {"model": model, "title": MODEL_TITLES[model]}
        for name, key in (
            ("recon_psnr", "recon_psnr_db"),
            ("dpsnr:median", None),
            ("dpsnr", "rollout_dPSNR_db"),
            ("asr", "action_shuffle_ratio"),
            ("u_r_norm", "u_r_norm"),
            ("u_r_norm:median", None),
        ):
            row |= _cells(name.replace(":", "_"), single(table, st.metric(name), ev.boot) if table and len(table["task"]) else None)
            if key:
                row[f"paper_{name}"] = published.get(key)
        row |= _cells("mpc", single(ev.mpc[model], st.metric("score"), ev.boot) if model in ev.mpc else None)
        row["paper_mpc"] = published.get("task_perf_mpc")
        row["sequences"] = len(table["task"]) if table else None
        row["mpc_episodes"] = len(ev.mpc[model]["task"]) if model in ev.mpc else None
        rows.append(row)
    return rows


def auroc_rows(ev: Evidence, paper: dict[str, Row]) -> list[Row]:
    """Table 7: AUROC of predictors and baselines on the base model's held-out sequences of seen tasks, pooled and within task.

    frames_train is constant within a task, so it has no within-task value. paper: Table 7 by its predictor name.
    """
    table = ev.rows(spec.BASE, "seen")
    rows = []
    for score, title in SCORE_TITLES.items():
        row: Row = {"score": score, "title": title, "kind": "baseline" if score in BASELINES else "predictor"}
        for label in st.LABELS:
            row |= _cells(label, single(table, st.area(score, label), ev.boot))
            constant = score == "-frames_train"
            row |= _cells(f"{label}_within", None if constant else single(table, st.area(score, label, "within"), ev.boot))
            published = paper.get(PAPER_SCORE.get(score, ""), {})
            row[f"paper_{label}"] = published.get("auroc_" + label)
            row[f"{label}_positives"] = st.metric(label)(table)
        rows.append(row | {"sequences": len(table["task"])})
    return rows


def correlation_rows(ev: Evidence) -> list[Row]:
    """Beside Figure 5: Spearman's rho of each normalised predictor and of 1/m with dPSNR, pooled, within task, and given motion."""
    table = ev.rows(spec.BASE, "seen")
    rows = []
    for x in (*st.NORMALISED, "1/m"):
        row: Row = {"score": x}
        for kind in ("pooled", "within", "partial"):
            if kind == "partial" and x == "1/m":  # a function of the variable held fixed
                row |= _cells(kind, None)
            else:
                row |= _cells(kind, single(table, st.correlation(x, "dpsnr", kind), ev.boot))
        rows.append(row)
    return rows


TABLES: dict[str, tuple[Callable[[Evidence, dict[str, Row]], list[Row]], str, str]] = {
    # name: (rows, the paper's numbers in params/paper, their key column)
    "coverage": (coverage_rows, "table1_coverage_aware.csv", "metric"),
    "targeted": (targeted_rows, "table2_unseen_finetune.csv", "method"),
    "auroc": (auroc_rows, "table7_auroc.csv", "predictor"),
}
