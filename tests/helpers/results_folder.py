"""A small results/<scale>/ folder made by the real results scripts from synthetic score tables."""

import atexit
import csv
import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from helpers import score_tables
from veridream import spec
from veridream.io.tables import write_parquet

ROOT = Path(__file__).resolve().parents[2]
STATS = {"resamples": 200, "confidence": 0.95, "seed": 0}
TASKS = {"seen": list(score_tables.SEEN), "unseen": list(score_tables.UNSEEN)}
MPC_MODELS = (spec.NO_MODEL, spec.COVERAGE_AWARE, *spec.TARGETED)


def write_inputs(folder: Path, sequences: int = 16, size: int = 16) -> None:
    """scores/, mpc/ and index/frame_counts.csv."""
    for name in ("scores", "mpc", "index"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for m in spec.MODELS:
        write_parquet(folder / "scores" / f"{m}.parquet", score_tables.score_rows(m, sequences))
    for m in MPC_MODELS:
        write_parquet(folder / "mpc" / f"{m}.parquet", score_tables.mpc_rows(m))
    np.savez(folder / "scores" / "base.clips.npz", **score_tables.clips(size=size))
    rows = score_tables.count_rows()
    with (folder / "index" / "frame_counts.csv").open("w", newline="") as f:
        w = csv.DictWriter(f, list(rows[0]), lineterminator="\n")
        w.writeheader()
        w.writerows({**r, "seen": str(r["seen"]).lower()} for r in rows)


def run(script: str, params: dict, receipt: Path, **paths: object) -> subprocess.CompletedProcess[str]:
    """One stage script, as the workflow calls it; a list gives several paths."""
    words = [sys.executable, str(ROOT / "src" / f"{script}.py"), "--params", json.dumps(params), "--receipt", str(receipt)]
    for name, value in paths.items():
        words += [f"--{name}", *(str(v) for v in (value if isinstance(value, list) else [value]))]
    return subprocess.run(words, capture_output=True, text=True, cwd=ROOT)


def must(script: str, params: dict, receipt: Path, **paths: object) -> None:
    done = run(script, params, receipt, **paths)
    assert done.returncode == 0, f"{script}: {done.stderr}"


@functools.cache
def built() -> Path:
    """The page of one shared folder, made once a test session; read it, do not change it."""
    folder = Path(tempfile.mkdtemp(prefix="veridream-results-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return build(folder)


def build(folder: Path, scale: str = "laptop") -> Path:
    """Tables, figures, clips, claims and the page; returns the page's path."""
    write_inputs(folder)
    scores, mpc = ([folder / kind / f"{m}.parquet" for m in models] for kind, models in (("scores", spec.MODELS), ("mpc", MPC_MODELS)))
    clips, base, counts = folder / "scores" / "base.clips.npz", folder / "scores" / "base.parquet", folder / "index" / "frame_counts.csv"
    receipts = folder / "receipts"
    common = {"stats": STATS, **TASKS}
    for table in ("coverage", "targeted", "auroc"):
        out = {"csv": folder / "tables" / f"{table}.csv", "markdown": folder / "tables" / f"{table}.md"}
        must("tabulate_results", {"table": table, **common}, receipts / f"{table}.json", scores=scores, mpc=mpc, **out)
    needs = {"frame_counts": {"counts": counts}, "calibration": {"scores": base}, "traces": {"scores": base, "clips": clips}, "strips": {"clips": clips}}
    for figure, inputs in needs.items():
        must("plot_figure", {"figure": figure, **common}, receipts / f"{figure}.json", figure=folder / "figures" / f"{figure}.svg", **inputs)
    must("render_clips", {}, receipts / "clips.json", clips=clips, folder=folder / "clips" / "base")
    claims = {"csv": folder / "claims" / "claims.csv", "markdown": folder / "claims" / "claims.md"}
    must("compare_to_paper", {"scale": scale, **common}, receipts / "claims.json", claims=ROOT / "params" / "claims.yaml", scores=scores, mpc=mpc, **claims)
    page = folder / "report" / "index.html"
    inputs = {
        "figures": [folder / "figures" / f"{f}.svg" for f in needs],
        "tables": [folder / "tables" / f"{t}.csv" for t in ("coverage", "targeted", "auroc")],
    }
    must("render_report", {"scale": scale}, receipts / "page.json", claims=claims["csv"], clips=folder / "clips" / "base", index=counts, page=page, **inputs)
    return page
