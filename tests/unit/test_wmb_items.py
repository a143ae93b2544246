"""Benchmark folders: what is refused, and the published test set where a checkout is given (VERIDREAM_WMB)."""

import json
import os
from pathlib import Path

import pytest

from helpers.wmb import make_benchmark, make_items, make_videos
from veridream.wmb.items import LIST, BenchmarkError, Item, check_official, find_videos, load_items


@pytest.fixture
def folder(tmp_path):
    return make_benchmark(tmp_path / "bench", make_items())


def edit(folder: Path, change) -> None:
    rows = json.loads((folder / LIST).read_text())
    change(rows)
    (folder / LIST).write_text(json.dumps(rows))


def test_items_come_back_as_written_in_order(folder):
    assert load_items(folder) == load_items(folder / LIST) == make_items()


def test_a_dotted_stem_keeps_its_dot():
    item = make_items()[0]
    assert item.stem == "clip0_0.7" and item.video == "clip0_0.7.mp4"
    assert item.prompt == "A scene 0.0. Move thing 0 of 0"


def put(key, value):
    return lambda rows: rows[1].__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.clear(), "at least one"),
        (put("id", 3), "item 1: holds exactly"),
        (lambda rows: rows[1].pop("domain"), "differs in ['domain']"),
        (put("text_instruction", " "), "item 1: text_instruction must be text"),
        (put("domain", 3), "item 1: domain must be text"),
        (put("first_frame", "images/CLIP0_0.7.jpg"), "items 0 and 1 both want"),
        (put("first_frame", "images/../clip.jpg"), "is not images/<name>"),
        (put("first_frame", "/images/clip.jpg"), "is not images/<name>"),
        (put("first_frame", "images/" + "x" * 101 + ".jpg"), "at most 100"),
        (put("first_frame", "images/clip.bmp"), "no jpg or png"),
        (put("first_frame", "images/gone.jpg"), "images/gone.jpg is not there"),
    ],
)
def test_a_wrong_list_is_refused_by_row(folder, change, said):
    edit(folder, change)
    with pytest.raises(BenchmarkError) as e:
        load_items(folder)
    assert said in str(e.value)


def test_no_list_and_no_json_are_refused(tmp_path):
    with pytest.raises(BenchmarkError, match="is missing"):
        load_items(tmp_path)
    (tmp_path / LIST).write_text("[")
    with pytest.raises(BenchmarkError, match="not valid JSON"):
        load_items(tmp_path)


def official_like() -> list[Item]:
    """350 items: 7 domains of 50, 10+10+5+5+10+6+10 subdomains."""
    sizes = (10, 10, 5, 5, 10, 6, 10)
    return [Item(f"d{d}", f"s{d}-{i % n}", "a", "b", f"images/{d}-{i}{'.2' if d == 5 else ''}.jpg") for d, n in enumerate(sizes) for i in range(50)]


def test_the_published_shape_is_350_items_in_seven_blocks_with_56_subdomains():
    items = official_like()
    check_official(items)
    renamed = [Item(i.domain, i.subdomain, "a", "b", i.first_frame.replace(".2", "_2")) for i in items]
    uneven = [Item(i.domain, "s0-0" if i.subdomain == "s0-1" else "s3-x" if n == 160 else i.subdomain, "a", "b", i.first_frame) for n, i in enumerate(items)]
    for wrong in (renamed, uneven, items[:-1], [items[60], *items[1:60], items[0], *items[61:]], [*items[:-1], Item("d6", "s0-1", "a", "b", "images/x.jpg")]):
        with pytest.raises(BenchmarkError, match="not the published test set"):
            check_official(wrong)


@pytest.mark.skipif("VERIDREAM_WMB" not in os.environ, reason="VERIDREAM_WMB names no checkout of the benchmark")
def test_the_published_test_set_itself():
    items = load_items(Path(os.environ["VERIDREAM_WMB"]))
    check_official(items)
    assert sum("." in i.stem for i in items) >= 50


def test_videos_are_found_by_the_list_and_others_are_told(tmp_path):
    items = make_items()
    videos = make_videos(tmp_path / "v", items[1:])
    (videos / "old.mp4").write_bytes(b"x")
    found, unlisted = find_videos(videos, items)
    assert sorted(found) == sorted(i.stem for i in items[1:]) and unlisted == ["old.mp4"]


def test_a_folder_without_any_video_is_refused(tmp_path):
    with pytest.raises(BenchmarkError, match="holds none of the 6 videos"):
        find_videos(make_videos(tmp_path / "v", []), make_items())
    with pytest.raises(BenchmarkError, match="is no folder"):
        find_videos(tmp_path / "none", make_items())
