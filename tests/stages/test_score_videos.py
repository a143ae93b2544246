"""Anyone's videos from the command line: a folder of mp4s with a replayed answer file."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.vila import vila_world
from helpers.wmb import make_benchmark, make_items, make_videos, random_answers, write_results
from veridream.results.markdown import read_csv
from veridream.wmb.judges.votes import COLUMNS
from veridream.wmb.questions import QUESTIONS

world = pytest.fixture(vila_world)
ROOT, ITEMS = Path(__file__).resolve().parents[2], make_items()


def score(folder: Path, *more: str, model: str = "mine", out: str = "out") -> subprocess.CompletedProcess[str]:
    words = ["--benchmark", folder / "bench", "--videos", folder / "videos", "--model", model, "--out", folder / out, "--own-items", *more]
    return subprocess.run([sys.executable, "src/score_videos.py", *map(str, words)], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path):
    make_benchmark(tmp_path / "bench", ITEMS)
    make_videos(tmp_path / "videos", ITEMS)
    write_results(tmp_path / "answers.json", "mine", random_answers(ITEMS, 0))
    return tmp_path


def test_a_folder_and_an_answer_file_give_a_leaderboard(folder):
    done = score(folder, "--answers", str(folder / "answers.json"))
    assert done.returncode == 0, done.stderr
    (row,) = read_csv(folder / "out/leaderboard.csv")
    assert (row["title"], row["protocol"], row["n"], row["coverage"], row["comparable"]) == ("mine", "wmb", 6, 1, True)
    assert row["unparsed"] > 0 and row["difference"] != 0 and row["total_low"] <= row["total"] <= row["total_high"]
    assert "| mine | 1 | wmb |" in done.stdout and "0 of 48 answers were there already" in done.stdout
    whole = json.loads((folder / "out/leaderboard.json").read_text())
    assert len(whole["reference"]) == 27 and len(whole["items"]) == 64 and whole["items are the published file, byte for byte"] is False
    page = (folder / "out/index.html").read_text()
    assert page.count("data:video/mp4") == 6 and "KLING" in page
    again = score(folder, "--answers", str(folder / "answers.json"))
    assert "48 of 48 answers were there already" in again.stdout


def test_a_second_model_never_gets_the_firsts_numbers(folder):
    assert score(folder, "--answers", str(folder / "answers.json")).returncode == 0
    first = (folder / "out/leaderboard.csv").read_text()
    done = score(folder, "--answers", str(folder / "answers.json"), model="second")
    assert done.returncode == 1 and "is of model 'mine', not 'second'" in done.stderr
    write_results(folder / "other.json", "second", random_answers(ITEMS, 1))
    assert score(folder, "--answers", str(folder / "other.json"), model="second").returncode == 0
    assert (folder / "out/leaderboard.csv").read_text() != first
    (row,) = read_csv(folder / "out/leaderboard.csv")
    assert row["title"] == "second"


def test_two_models_stand_in_one_ranking(folder):
    write_results(folder / "other.json", "second", random_answers(ITEMS, 1))
    more = ["--answers", str(folder / "answers.json"), "--model", "second", "--videos", str(folder / "videos"), "--answers", str(folder / "other.json")]
    done = score(folder, *more)
    assert done.returncode == 0, done.stderr
    rows = read_csv(folder / "out/leaderboard.csv")
    assert [r["rank"] for r in rows] == [1, 2] and {r["title"] for r in rows} == {"mine", "second"} and rows[0]["total"] >= rows[1]["total"]
    compared = json.loads((folder / "out/leaderboard.json").read_text())["comparison"]
    (a, b), (c, d) = compared["win_rates"]
    assert (a, d) == (None, None) and b + c == pytest.approx(1) and (compared["elo"] or compared["no_elo"])
    alone = {}
    for name, file in (("mine", "answers.json"), ("second", "other.json")):
        assert score(folder, "--answers", str(folder / file), model=name, out=name).returncode == 0
        alone |= {name: read_csv(folder / name / "leaderboard.csv")[0]["total"]}
    assert {r["title"]: r["total"] for r in rows} == alone
    done = score(folder, *more[:4])
    assert done.returncode == 1 and "2 --model, 1 --videos, 1 files of answers: give each once a model" in done.stderr


def test_missing_videos_fail_unless_a_policy_is_chosen(folder):
    (folder / "videos" / ITEMS[0].video).unlink()
    (folder / "videos/stale.mp4").write_bytes(b"x")
    done = score(folder, "--answers", str(folder / "answers.json"))
    assert done.returncode == 1 and "1 of 6 videos are missing" in done.stderr and not (folder / "out/leaderboard.csv").exists()
    totals = {}
    for policy in ("zero", "drop"):
        done = score(folder, "--answers", str(folder / "answers.json"), "--missing", policy)
        assert done.returncode == 0 and "stale.mp4" in done.stdout, done.stderr
        (row,) = read_csv(folder / "out/leaderboard.csv")
        totals[policy] = row["total"]
        assert row["coverage"] == pytest.approx(5 / 6) and row["comparable"] is (policy == "zero") and row["missing"] == 1
    assert totals["zero"] < totals["drop"]


@pytest.mark.parametrize(
    ("break_", "said"),
    [
        (lambda f: [p.unlink() for p in (f / "videos").iterdir()], "holds none of the 6 videos"),
        (lambda f: (f / "bench/worldmodelbench.json").unlink(), "worldmodelbench.json is missing"),
        (lambda f: (f / "answers.json").write_text("{}"), "holds no preds"),
        (lambda f: write_results(f / "answers.json", "mine", random_answers(ITEMS[1:], 0)), "has no answer on"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_scored(folder, break_, said):
    break_(folder)
    done = score(folder, "--answers", str(folder / "answers.json"))
    assert done.returncode == 1 and said in done.stderr and not (folder / "out/leaderboard.csv").exists()


def test_another_test_set_must_be_asked_for(folder):
    words = ["--benchmark", folder / "bench", "--videos", folder / "videos", "--model", "mine", "--out", folder / "out", "--answers", folder / "answers.json"]
    done = subprocess.run([sys.executable, "src/score_videos.py", *map(str, words)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "not the published test set" in done.stderr


def test_the_benchmarks_judge_is_asked_and_all_that_decides_its_answers_is_kept(folder, world):
    words = ["--vila-python", sys.executable, "--weights", str(world / "weights"), "--seed", "5", "--repeats", "2"]
    done = score(folder, *words)
    assert done.returncode == 0, done.stderr
    whole = json.loads((folder / "out/leaderboard.json").read_text())
    assert (whole["seed of the first repeat"], whole["repeats"], whole["judge, mode"], whole["judge, num_video_frames"]) == (5, 2, "sampled", 8)
    assert whole["judge, generation"] == {"do_sample": True, "temperature": 0.7} and set(whole["judge, weights"]) == {"config.json", "model.safetensors"}
    lines = [json.loads(x) for x in (folder / "out/answers.jsonl").read_text().splitlines()]
    assert len(lines) == len(ITEMS) * len(QUESTIONS) * 2 and [x["decoding"] for x in lines[:2]] == [{"mode": "sampled", "seed": s} for s in (5, 6)]
    assert "sd over repeats" in (folder / "out/leaderboard.md").read_text()
    asked = (world / "decoded").read_text()
    assert score(folder, *words).returncode == 0 and (world / "decoded").read_text() == asked, "nothing is asked twice"
    (folder / "videos" / ITEMS[-1].video).unlink()
    done = score(folder, *words, out="other")
    assert done.returncode == 1 and "mine: 1 of 6 videos are missing" in done.stderr and (world / "decoded").read_text() == asked, "refused before judging"


def test_votes_are_a_judge_too(folder):
    with (folder / "votes.csv").open("w", newline="") as f:
        w = csv.DictWriter(f, COLUMNS)
        w.writeheader()
        w.writerows({"video": i.stem, "voter": v, **dict.fromkeys(QUESTIONS, 1), "instruction": n} for i in ITEMS for n, v in enumerate("xy", 1))
    done = score(folder, "--votes", str(folder / "votes.csv"))
    assert done.returncode == 0, done.stderr
    (row,) = read_csv(folder / "out/leaderboard.csv")
    assert row["total"] == 8.5 and row["judge"] == "votes, mean"
    assert json.loads((folder / "out/leaderboard.json").read_text())["votes, within_2"] == 1.0
    assert "alpha" in json.loads((folder / "out/leaderboard.json").read_text())["votes, mass"]
