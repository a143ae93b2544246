"""Answers are asked once: resume after kill -9, and what makes a stored answer not count."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helpers.wmb import make_items, make_videos
from veridream.provenance.digest import ROOT
from veridream.provenance.lock import Locked
from veridream.wmb.answers import Answer
from veridream.wmb.cache import answer_key, open_cache
from veridream.wmb.items import BenchmarkError
from veridream.wmb.questions import QUESTIONS
from veridream.wmb.run import read_lines, run_judge, write_lines

ITEMS = make_items()


@dataclass
class Counting:
    """A judge that remembers what it was asked."""

    version: str = "1"
    seed: int = 0
    words: str = "?"
    id: str = "counting"
    deterministic: bool = False
    asked: list = field(default_factory=list)

    def prompt(self, item, question):
        return f"{question} of {item.text_instruction}{self.words}"

    def decoding(self, repeat):
        return {"seed": self.seed + repeat}

    def answer(self, item, video, question, repeat):
        self.asked.append((item.stem, question, repeat))
        return Answer(f"No {len(self.asked)}", meta={"n": len(self.asked)})


@pytest.fixture
def videos(tmp_path):
    folder = make_videos(tmp_path / "videos", ITEMS)
    return {i.stem: folder / i.video for i in ITEMS}


def run(path, videos, judge, repeats=1):
    with open_cache(path) as cache:
        return run_judge(judge, ITEMS, videos, cache, repeats)


def test_a_second_run_asks_nothing_and_says_the_same(tmp_path, videos):
    first, second = Counting(), Counting()
    lines = run(tmp_path / "c.jsonl", videos, first, 2)
    assert len(lines) == len(first.asked) == 6 * 8 * 2
    assert run(tmp_path / "c.jsonl", videos, second, 2) == lines and second.asked == []
    write_lines(tmp_path / "a.jsonl", lines)
    assert read_lines(tmp_path / "a.jsonl") == lines


@pytest.mark.parametrize("change", [{"version": "2"}, {"seed": 1}, {"words": "!"}, {"id": "other"}])
def test_a_change_of_what_decides_an_answer_asks_again(tmp_path, videos, change):
    run(tmp_path / "c.jsonl", videos, Counting())
    again = Counting(**change)
    run(tmp_path / "c.jsonl", videos, again)
    assert len(again.asked) == 48


def test_one_changed_video_byte_asks_its_questions_again(tmp_path, videos):
    run(tmp_path / "c.jsonl", videos, Counting())
    path = videos[ITEMS[2].stem]
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    again = Counting()
    run(tmp_path / "c.jsonl", videos, again)
    assert {stem for stem, _, _ in again.asked} == {ITEMS[2].stem} and len(again.asked) == 8


def test_keys_tell_their_parts_apart():
    base = ("v", "p", "j", "1", {"seed": 0}, 0)
    others = [("w", *base[1:]), ("v", "q", *base[2:]), (*base[:2], "k", *base[3:]), (*base[:3], "2", *base[4:]), (*base[:4], {"seed": 1}, 0), (*base[:5], 1)]
    assert len({answer_key(*x) for x in (base, *others)}) == 7


def test_a_torn_last_line_is_asked_again_and_a_damaged_one_is_named(tmp_path, videos):
    path = tmp_path / "c.jsonl"
    lines = run(path, videos, Counting())
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    again = Counting()
    run(path, videos, again)
    assert len(again.asked) == 1
    rows = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([rows[0], b'{"key": "half', *rows[2:]]))
    with pytest.raises(BenchmarkError, match="line 2 is damaged"):
        run(path, videos, Counting())
    assert len(lines) == 48


def test_two_processes_do_not_write_one_file(tmp_path):
    with open_cache(tmp_path / "c.jsonl"):
        with pytest.raises(Locked, match="is in use by"):
            with open_cache(tmp_path / "c.jsonl"):
                pass


def test_missing_videos_are_not_asked_about(tmp_path, videos):
    judge = Counting()
    del videos[ITEMS[0].stem]
    lines = run(tmp_path / "c.jsonl", videos, judge)
    assert len(judge.asked) == 40 and [x["status"] for x in lines[:8]] == ["missing_video"] * 8


def test_repeats_of_a_deterministic_judge_are_refused(tmp_path, videos):
    with pytest.raises(ValueError, match="is asked once"):
        run(tmp_path / "c.jsonl", videos, Counting(deterministic=True), 2)


SLOW = """
import sys, time
from pathlib import Path
sys.path[:0] = ["src", "tests"]
from helpers.wmb import make_items
from unit.test_wmb_cache import Counting, run
folder, hang = Path(sys.argv[1]), int(sys.argv[2])

class Slow(Counting):
    def answer(self, item, video, question, repeat):
        with (folder / "asked").open("a") as f:
            f.write(f"{item.stem} {question}\\n")
        if len(self.asked) == hang:
            time.sleep(600)
        return super().answer(item, video, question, repeat)

items = make_items()
lines = run(folder / "c.jsonl", {i.stem: folder / "videos" / i.video for i in items}, Slow())
from veridream.wmb.run import write_lines
write_lines(folder / "lines.jsonl", [{**x, "raw": "No", "meta": {}} for x in lines])
"""


def start(folder: Path, hang: int) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", SLOW, str(folder), str(hang)], cwd=ROOT, stderr=subprocess.PIPE, text=True)


def test_kill_9_loses_no_answer_and_repeats_no_call(tmp_path, videos):
    killed = start(tmp_path, 21)  # hangs inside its 22nd call
    until = time.monotonic() + 60
    while (not (tmp_path / "asked").is_file() or len((tmp_path / "asked").read_text().splitlines()) < 22) and time.monotonic() < until:
        assert killed.poll() is None, killed.stderr.read()
        time.sleep(0.02)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    with (tmp_path / "c.jsonl").open("ab") as f:
        f.write(b'{"key": "torn')
    again = start(tmp_path, -1)
    _, errors = again.communicate(timeout=60)
    assert again.returncode == 0, errors
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) == 48 + 1, "every call once, and the one that never answered once more"
    assert sorted(set(asked)) == sorted(f"{i.stem} {q}" for i in ITEMS for q in QUESTIONS) and asked[21] == asked[22]
    whole = [{**x, "raw": "No", "meta": {}} for x in run(tmp_path / "other.jsonl", videos, Counting())]
    assert [json.loads(x) for x in (tmp_path / "lines.jsonl").read_text().splitlines()] == whole
