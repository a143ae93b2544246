"""From answers to totals: the external run, the policies for missing videos, and what is counted."""

import numpy as np
import pytest

from helpers.wmb import make_items, random_answers
from veridream.wmb.answers import ABSENT, NOT_APPLICABLE, UNDECIDABLE, Answer
from veridream.wmb.items import BenchmarkError, Item
from veridream.wmb.questions import INSTRUCTION, QUESTIONS
from veridream.wmb.reference import published
from veridream.wmb.scoring import score


def answers_of(items, raw, repeats=1):
    return {(i.stem, q, r): Answer(raw[i.stem][q]) for i in items for q in QUESTIONS for r in range(repeats)}


def perfect(items):
    return answers_of(items, {i.stem: {q: "Score: 3" if q == INSTRUCTION else "No" for q in QUESTIONS} for i in items})


def test_the_external_run_adds_up():
    (run,) = published("external_run")
    n = int(run["items"])
    items = [Item("d", "s", "a", "b", f"images/{i}.jpg") for i in range(n)]
    sums = {q: int(run[q]) for q in QUESTIONS}
    threes, rest = divmod(sums[INSTRUCTION], 3)
    level = [3] * threes + [rest] + [0] * n
    raw = {i.stem: {q: f"Score: {level[k]}" if q == INSTRUCTION else "No" if k < sums[q] else "Yes" for q in QUESTIONS} for k, i in enumerate(items)}
    s = score(items, answers_of(items, raw))
    assert s.total("official") == pytest.approx(7.5914286, abs=5e-8)
    assert s.total() == pytest.approx(2657 / 350, abs=1e-12)
    assert s.components()[INSTRUCTION] == pytest.approx(766 / 350)
    assert all(abs(v * n - round(v * n)) < 1e-9 for v in s.components().values()), "on a complete run each component is a multiple of 1/350"


def test_both_readings_and_the_counts():
    items = make_items()
    raw = {i.stem: {q: "Score: 3" if q == INSTRUCTION else "No" for q in QUESTIONS} for i in items}
    raw[items[0].stem] |= {INSTRUCTION: "The score is 2", "gravity": "I cannot tell", "mass": "Yes, noticeable"}
    s = score(items, answers_of(items, raw))
    assert (s.answers, s.unparsed, s.misread) == (48, 1, 3)
    assert s.strict[0].sum() == pytest.approx(2 + 5) and s.official[0].sum() == pytest.approx(0 + 7)
    assert s.total() == pytest.approx((5 * 10 + 7) / 6) and s.components()["gravity"] == pytest.approx(5 / 6)


def test_what_does_not_apply_scores_full_marks_and_is_told():
    items = make_items()
    given = perfect(items) | {(i.stem, "fluid", 0): Answer(None, status=NOT_APPLICABLE) for i in items}
    s = score(items, given)
    assert s.total() == 10 and s.applies[:, QUESTIONS.index("fluid")].sum() == 0 and s.answers == 42


def test_missing_videos_refuse_by_default_score_zero_or_leave_the_mean():
    items = make_items()
    given = perfect(items) | {(items[1].stem, q, 0): ABSENT for q in QUESTIONS}
    with pytest.raises(BenchmarkError, match="1 of 6 videos are missing"):
        score(items, given)
    zero, drop = score(items, given, "zero"), score(items, given, "drop")
    assert zero.total() == pytest.approx(50 / 6) and zero.comparable and len(zero.items) == 6
    assert drop.total() == pytest.approx(10) and not drop.comparable and len(drop.items) == 5
    assert zero.missing == drop.missing == (items[1].stem,)
    with pytest.raises(BenchmarkError, match="no item has a video"):
        score(items, {(i.stem, q, 0): ABSENT for i in items for q in QUESTIONS}, "drop")


def test_an_answer_that_is_not_there_is_named():
    items = make_items()
    given = perfect(items)
    del given[items[2].stem, "mass", 0]
    with pytest.raises(BenchmarkError, match=f"no answer on {items[2].stem}, question mass"):
        score(items, given)


def test_items_a_judge_cannot_decide_count_for_nobody():
    items = make_items()
    given = perfect(items) | {(items[0].stem, q, 0): Answer(None, status=UNDECIDABLE) for q in QUESTIONS}
    s = score(items, given)
    assert len(s.items) == 5 and s.undecidable == (items[0].stem,) and s.comparable and s.total() == 10
    assert len(s.every) == 6 and s.every_strict[0].sum() == 10, "an undecidable answer without a text did not apply"
    said = given | {(items[0].stem, q, 0): Answer("Score: 0" if q == INSTRUCTION else "Yes", status=UNDECIDABLE) for q in QUESTIONS}
    with_all = score(items, said)
    assert (with_all.total(), with_all.answers, with_all.unparsed, with_all.misread) == (10, 40, 0, 0)
    assert with_all.every_strict.sum(axis=1).tolist() == [0, 10, 10, 10, 10, 10]
    none = score(items, {(i.stem, q, 0): Answer(None, status=UNDECIDABLE) for i in items for q in QUESTIONS})
    assert none.items == () and np.isnan(none.total())


def test_repeats_are_averaged_and_their_spread_is_told():
    items = make_items()
    given = answers_of(items, random_answers(items, 1), repeats=3)
    assert score(items, given, repeats=3).spread() == 0.0
    given |= {(items[0].stem, INSTRUCTION, r): Answer(f"Score: {r}") for r in range(3)}
    s = score(items, given, repeats=3)
    assert s.strict[0, 0] == 1.0 and s.spread() == pytest.approx(np.sqrt(1.0 / 6))
    assert np.isnan(score(items, given).spread())


def test_a_value_out_of_range_is_refused():
    items = make_items()
    with pytest.raises(BenchmarkError, match="outside"):
        score(items, perfect(items) | {(items[0].stem, "mass", 0): Answer(None, 2.0)})
