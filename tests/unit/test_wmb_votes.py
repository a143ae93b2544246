"""Human votes on a table small enough to work out by hand."""

import csv
import math
from itertools import combinations

import pytest

from helpers.wmb import make_items
from veridream.io.tables import write_parquet
from veridream.stats.agreement import alpha, close_pairs, equal_pairs, pairwise_agreement
from veridream.wmb.answers import JudgeError
from veridream.wmb.items import BenchmarkError
from veridream.wmb.judges.votes import COLUMNS, VoteJudge, label_errors, majority
from veridream.wmb.questions import QUESTIONS


def vote(video, voter, instruction, **low):
    return {"video": video, "voter": voter, **dict.fromkeys(QUESTIONS, 1), "instruction": instruction, **low}


@pytest.fixture
def rows():
    a, b = (i.stem for i in make_items()[:2])
    return [vote(a, "x", 3), vote(a, "y", 1, mass=0), vote(a, "z", 0, mass=0, frame=0), vote(b, "x", 2), vote(b, "y", 2)]


def write(path, rows):
    with path.open("w", newline="") as f:
        w = csv.DictWriter(f, COLUMNS)
        w.writeheader()
        w.writerows(rows)
    return path


def test_mean_majority_and_agreement(tmp_path, rows):
    path, items = write(tmp_path / "votes.csv", rows), make_items()
    mean, most = VoteJudge(path), VoteJudge(path, "majority")
    assert mean.answer(items[0], path, "instruction", 0).value == pytest.approx(4 / 3)
    assert mean.answer(items[0], path, "mass", 0).value == pytest.approx(1 / 3)
    assert most.answer(items[0], path, "mass", 0).value == 0 and most.answer(items[0], path, "frame", 0).value == 1
    assert most.answer(items[0], path, "instruction", 0).value == 0, "of three levels with one vote each the lowest"
    told = mean.agreement()
    # totals of a: 10, 7, 5 -> gaps 3, 5, 2; of b: 9, 9 -> gap 0
    assert (told["within_2"], told["pairs"], told["voters"], told["videos"]) == (0.5, 4, 3, 2)
    assert told["equal"]["instruction"] == 0.25 and told["equal"]["mass"] == 0.5 and told["equal"]["newton"] == 1.0
    # newton: all votes are 1. mass: units (1 0 0) and (1 1): Do = 2/5, De = 3 * 2 * 2 / (5 * 4) = 3/5
    assert math.isnan(told["alphas"]["newton"]) and told["alphas"]["mass"] == pytest.approx(1 - (2 / 5) / (3 / 5))
    # totals 10 7 5 | 9 9: observed (9 + 25 + 4) / 5, expected over all ten pairs
    gaps = [(a - b) ** 2 for a, b in combinations((10, 7, 5, 9, 9), 2)]
    assert told["alpha"] == pytest.approx(1 - (38 / 5) / (sum(gaps) / 10))
    with pytest.raises(JudgeError, match="nobody voted"):
        mean.answer(items[3], path, "mass", 0)


def test_parquet_reads_as_csv(tmp_path, rows):
    write_parquet(tmp_path / "votes.parquet", rows)
    assert VoteJudge(tmp_path / "votes.parquet").votes == VoteJudge(write(tmp_path / "votes.csv", rows)).votes


def test_labels_against_the_majority(tmp_path, rows):
    votes = VoteJudge(write(tmp_path / "votes.csv", rows)).votes
    a, b = votes
    judge = {(v, q): 1.0 for v in (a, b) for q in QUESTIONS} | {(a, "instruction"): 0.0, (b, "instruction"): 3.0}
    errors = label_errors(judge, votes)
    assert errors["instruction"] == 0.5 and errors["mass"] == 0.5 and errors["newton"] == 0.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instruction": 4}, "row 1: instruction is '4'"),
        ({"mass": 2}, "row 1: mass is '2'"),
        ({"mass": ""}, "row 1: mass is ''"),
        ({"voter": "y"}, "row 2: y voted twice"),
    ],
)
def test_a_wrong_vote_is_named(tmp_path, rows, change, said):
    with pytest.raises(BenchmarkError) as e:
        VoteJudge(write(tmp_path / "v.csv", [{**rows[0], **change}, *rows[1:]]))
    assert said in str(e.value)


def test_wrong_tables_are_named(tmp_path):
    with pytest.raises(BenchmarkError, match="is missing"):
        VoteJudge(tmp_path / "v.csv")
    (tmp_path / "v.csv").write_text("video,voter\na,b\n")
    with pytest.raises(BenchmarkError, match="column instruction, newton"):
        VoteJudge(tmp_path / "v.csv")
    (tmp_path / "v.csv").write_text("video,voter\n")
    with pytest.raises(BenchmarkError, match="holds no vote"):
        VoteJudge(tmp_path / "v.csv")


def test_pairs_of_comparisons():
    # prompt p: votes on A 8 (u), 4 (v); on B 6 (w), 5 (x). Comparisons: u-w +, u-x +, v-w -, v-x -.
    # disjoint pairs: (uw, vx) differ, (ux, vw) differ.
    votes = {("p", "A"): [("u", 8.0), ("v", 4.0)], ("p", "B"): [("w", 6.0), ("x", 5.0)]}
    assert pairwise_agreement(votes) == (0.0, 2)
    assert pairwise_agreement(votes | {("p", "A"): [("u", 8.0), ("v", 7.0)]}) == (1.0, 2)
    tied = votes | {("p", "A"): [("u", 8.0), ("v", 6.0)]}  # v-w is a tie: (uw, vx) agree, (ux, vw) has a tie
    assert pairwise_agreement(tied) == (1.0, 1) and pairwise_agreement(tied, "half") == (0.75, 2)
    assert pairwise_agreement({("p", "A"): [("u", 1.0)], ("q", "B"): [("u", 1.0)]})[1] == 0


def test_close_and_equal_pairs_and_majority_ties():
    assert close_pairs({"a": [1.0, 3.0, 6.0], "b": [2.0]}) == (pytest.approx(1 / 3), 3)
    assert equal_pairs({"a": [1.0, 1.0, 0.0]}) == (pytest.approx(1 / 3), 3)
    assert majority([1.0, 0.0]) == 0.0 and majority([2.0, 3.0, 3.0]) == 3.0


CODERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")  # Krippendorff's own example: four coders, twelve units, gaps


@pytest.mark.parametrize(("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_the_textbooks(level, expected):
    units = {i: [float(x) for x in column if x != "."] for i, column in enumerate(zip(*CODERS, strict=True))}
    assert alpha(units, level) == pytest.approx(expected, abs=5e-4)


def test_alpha_is_one_for_agreement_and_below_chance_for_contradiction():
    assert alpha({"a": [1, 1], "b": [0, 0, 0], "c": [1]}) == 1.0
    assert alpha({n: [0, 1] for n in range(10)}) == pytest.approx(1 - 19 / 10)  # every pair differs: Do 1, De 2 * 10 * 10 / (20 * 19)
    assert math.isnan(alpha({"a": [1, 1], "b": [1, 1]})) and math.isnan(alpha({"a": [1], "b": [0]}))
    with pytest.raises(ValueError, match="known: nominal, ordinal, interval"):
        alpha({}, "ratio")
