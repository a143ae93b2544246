"""Facts of the paper as stored in params/paper: sums and identities that a typing error would break."""

from pathlib import Path

import numpy as np
import pytest

from veridream.results.claims import load_claims
from veridream.results.paper import published, published_by
from veridream.stats.correlation import spearman, within_group_spearman

CLAIMS = {c.id: c for c in load_claims(Path(__file__).resolve().parents[2] / "params" / "claims.yaml")}


def test_frame_counts_sum_and_median():
    rows = published("frame_counts.csv")
    frames = np.array([r["frames"] for r in rows])
    assert len(rows) == 210
    assert frames.sum() == 20_020_500
    assert np.median(frames) == 65_260
    assert np.sort(frames)[::-1][:20].sum() / frames.sum() == pytest.approx(0.26, abs=0.001)
    assert np.sort(frames)[:20].sum() / frames.sum() == pytest.approx(0.0068, abs=0.0001)


def test_frames_are_whole_episodes():
    lengths = {26, 51, 101, 201, 251, 501, 1001}
    for r in published("frame_counts.csv"):
        assert any(r["frames"] % n == 0 and r["frames"] // n in (250, 260, 510) for n in lengths), r


@pytest.mark.parametrize("u", ["u_r_norm", "u_f_norm", "u_s_norm"])
def test_display_thresholds_stand_where_the_median_curve_crosses_zero(u):
    curve = [(r["predictor_value"], r["median_rollout_dPSNR_dB"]) for r in published("calibration_median_curves.csv") if r["predictor"] == u]
    x, y = np.array(curve).T
    assert (np.diff(x) > 0).all()
    i = int(np.flatnonzero((y[:-1] > 0) & (y[1:] <= 0))[0])
    crossing = x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1])
    assert crossing == pytest.approx(published_by("calibration_panels.csv", "predictor")[u]["display_threshold"], rel=0.06)


def test_the_calibration_sample_is_between_tasks_more_than_within():
    rows = published("calibration_points_sample.csv")
    task = np.array([r["task"] for r in rows])
    y = np.array([r["rollout_dPSNR_dB"] for r in rows])
    assert (len(rows), len(set(task.tolist()))) == (216, 9)
    for u, expected in (("u_r_norm", -0.50), ("u_f_norm", -0.53), ("u_s_norm", -0.44)):
        x = np.array([r[u] for r in rows])
        assert spearman(x, y) == pytest.approx(-0.86, abs=0.02)
        assert within_group_spearman(x, y, task) == pytest.approx(expected, abs=0.01)
        assert CLAIMS[f"rho-{u[:3].replace('_', '-')}-within"].paper == expected


def test_curiosity_reaches_nine_tenths_of_expert():
    t = published_by("table2_unseen_finetune.csv", "method")
    ratio = t["curiosity_u_r_norm"]["task_perf_mpc"] / t["expert"]["task_perf_mpc"]
    assert ratio == pytest.approx(0.898, abs=5e-4)
    assert CLAIMS["mpc-curiosity-share"].paper == pytest.approx(ratio, abs=5e-4)
    zero_shot, random = t["coverage_aware_zero_shot"]["task_perf_mpc"], t["random_actions_no_model"]["task_perf_mpc"]
    assert zero_shot / random == pytest.approx(2.3, abs=0.05)


@pytest.mark.parametrize(
    ("claim", "first", "second", "column"),
    [
        ("targeted-recon", "curiosity_u_r_norm", "base", "recon_psnr_db"),
        ("targeted-dpsnr", "curiosity_u_r_norm", "base", "rollout_dPSNR_db"),
        ("targeted-asr", "curiosity_u_r_norm", "base", "action_shuffle_ratio"),
        ("targeted-ur", "curiosity_u_r_norm", "base", "u_r_norm"),
        ("noop-helps-offline", "noop", "coverage_aware_zero_shot", "rollout_dPSNR_db"),
        ("random-over-noop", "random", "noop", "rollout_dPSNR_db"),
        ("curiosity-over-random", "curiosity_u_r_norm", "random", "rollout_dPSNR_db"),
        ("combined-over-expert", "all_combined", "expert", "rollout_dPSNR_db"),
        ("human-data", "human", "expert", "rollout_dPSNR_db"),
        ("mpc-zero-shot", "coverage_aware_zero_shot", "random_actions_no_model", "task_perf_mpc"),
        ("mpc-curiosity", "curiosity_u_r_norm", "coverage_aware_zero_shot", "task_perf_mpc"),
        ("mpc-noop-hurts", "noop", "coverage_aware_zero_shot", "task_perf_mpc"),
        ("mpc-random-hurts", "random", "coverage_aware_zero_shot", "task_perf_mpc"),
        ("mpc-combined", "all_combined", "expert", "task_perf_mpc"),
    ],
)
def test_the_ledgers_differences_follow_from_table_2(claim, first, second, column):
    t = published_by("table2_unseen_finetune.csv", "method")
    assert CLAIMS[claim].paper == pytest.approx(t[first][column] - t[second][column], abs=1e-9)


@pytest.mark.parametrize(
    ("claim", "metric"),
    [
        ("recon", "recon_psnr_db"),
        ("asr", "action_shuffle_ratio"),
        ("dpsnr", "rollout_dPSNR_db"),
        ("ur", "u_r_norm"),
        ("uf", "u_f_norm"),
        ("us", "u_s_norm"),
    ],
)
def test_the_ledger_holds_table_1(claim, metric):
    row = published_by("table1_coverage_aware.csv", "metric")[metric]
    assert CLAIMS[f"coverage-{claim}-vs-base"].paper == row["both"]
    assert (row["both"] > 0) == (row["better"] == "up")


def test_the_ledger_holds_figure_5_and_table_7():
    panels, t7 = published_by("calibration_panels.csv", "predictor"), published_by("table7_auroc.csv", "predictor")
    for u in ("u_r", "u_f", "u_s"):
        name = u.replace("_", "-")
        assert CLAIMS[f"rho-{name}"].paper == panels[f"{u}_norm"]["spearman_rho_vs_rollout_dPSNR"]
        assert CLAIMS[f"auroc-actions-{name}"].paper == t7[f"{u}_norm"]["auroc_action_ignored"]
        assert CLAIMS[f"auroc-diverged-{name}"].paper == t7[f"{u}_norm"]["auroc_scene_divergent"]
    gain = t7["u_f_norm"]["auroc_scene_divergent"] - t7["u_f_raw"]["auroc_scene_divergent"]
    assert CLAIMS["auroc-normalised-over-raw"].paper == pytest.approx(gain)
    gain = t7["u_r_norm"]["auroc_action_ignored"] - t7["latent_motion_m"]["auroc_action_ignored"]
    assert CLAIMS["auroc-over-motion"].paper == pytest.approx(gain)
    assert {r["n_sequences"] for r in panels.values()} == {187 * 48}


def test_table_3_gaps():
    for r in published("table3_tokenizers.csv"):
        assert r["seen_psnr"] - r["unseen_psnr"] == pytest.approx(r["seen_minus_unseen_psnr"], abs=0.005)
    t = published_by("table3_tokenizers.csv", "tokenizer")
    assert CLAIMS["unseen-recon-gap"].paper == t["ours_base"]["seen_minus_unseen_psnr"]
    assert CLAIMS["coverage-unseen-recon"].paper == pytest.approx(t["ours_coverage_aware"]["unseen_psnr"] - t["ours_base"]["unseen_psnr"])
    assert CLAIMS["off-the-shelf-tokenizers"].paper == pytest.approx(t["ours_post_finetune"]["unseen_psnr"] - t["Wan_2.1_VAE"]["unseen_psnr"])
