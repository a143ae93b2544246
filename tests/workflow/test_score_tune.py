"""Choices are made on a side of the split of their own: src/score_tune.py on a finished run."""

import pytest

from helpers.project import run
from veridream.data.index import load_index

pytestmark = pytest.mark.smoke


def test_both_base_models_are_scored_on_the_tune_side(smoke_results):
    r = run(smoke_results, "score_tune.py", "--scale", "smoke", "--sequences", "2")
    assert r.returncode == 0, r.stderr
    rows = [line.strip("| ").split(" | ") for line in r.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == ["base"] * 6 + ["replicate_1"] * 6 and [row[1] for row in rows[:6]][-1] == "all"
    base, own = (load_index(smoke_results / f"results/smoke/index/{part}.parquet") for part in ("corpus", "replicate_1"))
    for name, index in (("base", base), ("replicate_1", own)):
        frames = {t: index.select(split="train", task=t).frames() for t in index.tasks()}
        assert {row[1]: float(row[-1].replace(",", "")) for row in rows if row[0] == name and row[1] != "all"} == frames
    assert base.select(split="heldout").store.tolist() == own.select(split="heldout").store.tolist(), "all base models are scored on the same sequences"
    assert len(base.select(split="spare")) and len(own.select(split="spare"))


def test_a_scale_without_a_tune_side_is_refused(smoke_results):
    r = run(smoke_results, "score_tune.py", "--scale", "workstation")
    assert r.returncode == 1 and "scale workstation has no tune side; give split.tune a share" in r.stderr
