"""The results scripts as the workflow runs them, on synthetic score tables."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import results_folder, score_tables
from helpers.results_folder import ROOT, STATS, TASKS, run
from helpers.stores import make_store, store_path
from veridream.io.tables import write_parquet
from veridream.results.claims import load_claims
from veridream.results.verdicts import COLUMNS


@pytest.fixture(scope="module")
def folder() -> Path:
    return results_folder.built().parents[1]


def test_every_artefact_is_there_with_its_id_and_receipt(folder):
    for name in ("tables/coverage.csv", "tables/targeted.md", "figures/calibration.svg", "clips/base", "claims/claims.csv", "report/index.html"):
        assert (folder / name).exists(), name
        assert (folder / f"{name}.id").is_file(), name
    receipt = json.loads((folder / "receipts" / "page.json").read_text())
    assert receipt["counts"] == {"claims": len(load_claims(ROOT / "params" / "claims.yaml")), "figures": 4, "tables": 3}
    assert not list(folder.rglob("*.part"))


def test_the_claims_csv_has_the_ledgers_columns(folder):
    with (folder / "claims" / "claims.csv").open(newline="") as f:
        rows = list(csv.DictReader(f))
    assert list(rows[0]) == list(COLUMNS)
    assert all(r["definition"] and r["unit"] for r in rows)
    by = {r["id"]: r for r in rows}
    assert by["rho-u-r"]["verdict"] == "reproduced"
    assert float(by["rho-u-r"]["low"]) <= float(by["rho-u-r"]["ours"]) <= float(by["rho-u-r"]["high"])


def test_a_rerun_gives_the_same_bytes(folder, tmp_path):
    page = tmp_path / "index.html"
    figures = sorted((folder / "figures").glob("*.svg"))
    tables = sorted((folder / "tables").glob("*.csv"))
    inputs = {"claims": folder / "claims" / "claims.csv", "clips": folder / "clips" / "base", "index": folder / "index" / "frame_counts.csv"}
    results_folder.must("render_report", {"scale": "laptop"}, tmp_path / "r.json", figures=figures, tables=tables, page=page, **inputs)
    assert page.read_bytes() == (folder / "report" / "index.html").read_bytes()


def test_no_results_script_imports_torch_or_a_simulator():
    names = ("tabulate_results", "plot_figure", "compare_to_paper", "render_clips", "render_report", "print_claims")
    heavy = "{'torch', 'mujoco', 'gymnasium', 'pygame', 'dm_control'}"
    code = f"import sys; sys.path.insert(0, 'src'); import {', '.join(names)}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("width", [60, 140])
def test_print_claims_fits_the_terminal(folder, width):
    env = {"COLUMNS": str(width), "PATH": "/usr/bin:/bin", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([sys.executable, "src/print_claims.py", str(folder)], capture_output=True, text=True, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(len(line.rstrip()) <= width for line in lines if "report:" not in line)
    assert f"report: {folder / 'report' / 'index.html'}" in done.stdout
    assert "reproduced" in done.stdout


def test_print_claims_without_a_run_says_what_to_type(tmp_path):
    done = subprocess.run([sys.executable, "src/print_claims.py", str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert "run `make reproduce` first" in done.stderr


def test_bad_input_fails_by_name_and_leaves_nothing(tmp_path, folder):
    params = {"table": "coverage", "stats": STATS, **TASKS}
    out = {"csv": tmp_path / "t.csv", "markdown": tmp_path / "t.md"}
    done = run("tabulate_results", params, tmp_path / "r.json", scores=folder / "scores" / "base.parquet", **out)
    assert done.returncode == 1
    assert "model control was not scored" in done.stderr
    (tmp_path / "claims.yaml").write_text("- {id: a, text: something holds, where: Fig. 1, definition: a mean of things, source: P, untested: no}\n")
    params = {"scale": "laptop", "stats": STATS, **TASKS}
    done = run("compare_to_paper", params, tmp_path / "r.json", claims=tmp_path / "claims.yaml", scores=folder / "scores" / "base.parquet", **out)
    assert done.returncode == 1
    assert "claim a: unit: Field required" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["claims.yaml"]


def test_maps_and_visited_cells_come_from_the_stores(tmp_path, folder):
    from veridream.data.index import build_index, save_index

    stores = [make_store(store_path(tmp_path, "corpus", "pygame-pong", "random"), (9, 12, 8, 9, 7, 9))]
    stores += [
        make_store(store_path(tmp_path, "targeted", "pygame-reacher-easy", b), role="targeted", task="pygame-reacher-easy", behaviour=b)
        for b in ("noop", "random")
    ]
    stores += [make_store(store_path(tmp_path, "test", "pygame-reacher-easy", "noise"), role="test", task="pygame-reacher-easy", behaviour="noise")]
    save_index(tmp_path / "episodes.parquet", build_index(stores, "v", 0.4, ["pygame-pong"], ["pygame-reacher-easy"]))
    rows = [r for r in score_tables.score_rows("base", 8) if r["task"] in ("pygame-pong", "pygame-reacher-easy")]
    write_parquet(tmp_path / "base.parquet", rows)
    common = {"stats": STATS, "seen": ["pygame-pong"], "unseen": ["pygame-reacher-easy"]}
    inputs = {"scores": tmp_path / "base.parquet", "stores": stores[:1], "index": tmp_path / "episodes.parquet"}
    results_folder.must("plot_figure", {"figure": "density", **common}, tmp_path / "d.json", figure=tmp_path / "density.svg", **inputs)
    results_folder.must("plot_figure", {"figure": "policy_coverage", **common}, tmp_path / "p.json", figure=tmp_path / "policy.svg", stores=stores[1:3])
    out = {"csv": tmp_path / "claims.csv", "markdown": tmp_path / "claims.md"}
    ledger = ROOT / "params" / "claims.yaml"
    results_folder.must(
        "compare_to_paper", {"scale": "laptop", **common}, tmp_path / "c.json", claims=ledger, scores=tmp_path / "base.parquet", stores=stores[1:3], **out
    )
    with out["csv"].open(newline="") as f:
        by = {r["id"]: r for r in csv.DictReader(f)}
    assert np.isfinite(float(by["visits-random-noop"]["ours"]))
    assert by["visits-curiosity-random"]["ours"] == ""
