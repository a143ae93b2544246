"""Each figure drawn twice from seeded tables: same bytes, valid XML, no date, nothing from outside."""

import io
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from PIL import Image

from helpers import score_tables
from veridream import spec
from veridream.figures import calibration, clips, coverage_maps, frame_counts, strips, traces
from veridream.figures.clip_file import Clip, load_clips
from veridream.results.columns import by_model, where
from veridream.results.evidence import Evidence
from veridream.results.tables import correlation_rows
from veridream.stats.bootstrap import Boot


@pytest.fixture(scope="module")
def some_clips(tmp_path_factory) -> list[Clip]:
    path = tmp_path_factory.mktemp("clips") / "base.clips.npz"
    np.savez(path, **score_tables.clips())
    return load_clips(path)


def _base():
    return by_model([("b", score_tables.columns(score_tables.score_rows("base", 10)))], (*spec.SCORE_ID_COLUMNS, *spec.SCORE_COLUMNS))


def _calibration(path: Path, _: list[Clip]) -> None:
    scores = _base()
    base = scores["base"]
    calibration.draw(path, where(base, "seen"), where(base, "unseen"), correlation_rows(Evidence(scores, boot=Boot(20))))


PLANE = coverage_maps.Plane(("x", "y"), (0.0, 0.0), (1.0, 1.0))


def _density(path: Path, _: list[Clip]) -> None:
    rng = np.random.default_rng(0)
    planes = dict.fromkeys(list(score_tables.SEEN)[:3], PLANE)
    coverage_maps.draw_density(path, planes, {t: rng.random((200, 2)) for t in planes}, {t: (rng.random((30, 2)), rng.random(30)) for t in planes})


def _policies(path: Path, _: list[Clip]) -> None:
    rng = np.random.default_rng(0)
    states = {(t, b): rng.random((100, 2)) for t in ("cup-catch-var1", "pygame-reacher-easy") for b in ("noop", "random")}
    coverage_maps.draw_policies(path, {"cup-catch-var1": PLANE, "pygame-reacher-easy": PLANE}, states)


DRAWINGS: dict[str, Callable[[Path, list[Clip]], None]] = {
    "frame_counts": lambda path, _: frame_counts.draw(path, score_tables.count_rows()),
    "calibration": _calibration,
    "density": _density,
    "policy_coverage": _policies,
    "traces": lambda path, c: traces.draw(path, c, {"u_r": 2.0, "u_f": float("nan"), "u_s": 0.66}),
    "strips": lambda path, c: strips.draw(path, c),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_the_same_bytes_twice_and_valid_xml(name, tmp_path, some_clips):
    for copy in ("a", "b"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            DRAWINGS[name](tmp_path / f"{copy}.svg", some_clips)
    data = (tmp_path / "a.svg").read_bytes()
    assert data == (tmp_path / "b.svg").read_bytes()
    root = etree.fromstring(data)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert b"dc:date" not in data
    assert not [e for e in root.iter() if str(e.tag).endswith("script")]
    assert len(list(root.iter("{http://www.w3.org/2000/svg}text"))) > 3


def test_figures_refuse_to_be_empty(tmp_path):
    with pytest.raises(ValueError, match="no training frames"):
        frame_counts.draw(tmp_path / "x.svg", [])
    with pytest.raises(ValueError, match="no rollout"):
        strips.draw(tmp_path / "x.svg", [])
    with pytest.raises(ValueError, match="no targeted data"):
        coverage_maps.draw_policies(tmp_path / "x.svg", {"cup-catch-var1": PLANE}, {})


def test_frame_counts_name_the_median_of_the_corpus_only(tmp_path):
    rows = [{"task": f"t{i}", "domain": "pygame", "seen": True, "role": "corpus", "train_frames": n} for i, n in enumerate((100, 300, 900))]
    rows += [{"task": "u", "domain": "pygame", "seen": False, "role": "targeted", "train_frames": 9_000_000}]
    frame_counts.draw(tmp_path / "x.svg", rows)
    assert "median of pretraining tasks 300" in (tmp_path / "x.svg").read_text()


def test_the_papers_counts_can_be_drawn_without_labels(tmp_path):
    rows = [{"task": f"t{i:03d}", "domain": "atari", "seen": True, "role": "corpus", "train_frames": 26 * (i + 1)} for i in range(210)]
    frame_counts.draw(tmp_path / "x.svg", rows)
    assert "t100" not in (tmp_path / "x.svg").read_text()


def test_clips_are_read_with_their_ids(some_clips):
    c = next(c for c in some_clips if c.task == "cup-catch" and c.name == "0")
    assert (c.seen, c.store, c.context, c.frames) == (True, "corpus/cup-catch/expert-s0", 4, 12)
    assert np.isnan(c.norm("u_r")[:4]).all()
    assert np.isfinite(c.norm("u_r")[4:]).all()
    assert c.norm("u_r")[5] == pytest.approx(c.values["u_r"][5] / 0.08)


def test_dpsnr_of_a_perfect_rollout_is_capped(some_clips):
    c = some_clips[0]
    perfect = Clip(**{**c.__dict__, "model": c.truth})
    assert perfect.dpsnr > 50
    copied = Clip(**{**c.__dict__, "model": np.repeat(c.truth[c.context - 1 : c.context], c.frames, axis=0)})
    assert copied.dpsnr == pytest.approx(0.0)


def test_a_clip_that_lacks_an_array_is_named(tmp_path):
    data = score_tables.clips(("cup-catch",))
    del data["cup-catch/1/recon"]
    np.savez(tmp_path / "c.npz", **data)
    with pytest.raises(ValueError, match=r"c.npz: clip cup-catch/1 lacks recon"):
        load_clips(tmp_path / "c.npz")


def test_videos_are_the_same_bytes_twice(tmp_path, some_clips):
    one = [c for c in some_clips if c.name == "0"][:1]
    index = clips.write_clips(tmp_path / "a", one)
    clips.write_clips(tmp_path / "b", one)
    names = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert names == ["cup-catch-0.gif", "cup-catch-0.mp4", "index.json"]
    for n in names:
        assert (tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes(), n
    assert (tmp_path / "a" / "cup-catch-0.mp4").read_bytes()[4:8] == b"ftyp"
    gif = Image.open(io.BytesIO((tmp_path / "a" / "cup-catch-0.gif").read_bytes()))
    assert (gif.n_frames, gif.size) == (12, (index[0]["width"], index[0]["height"]))
    assert index[0]["width"] % 2 == 0
    assert index[0]["height"] % 2 == 0
