"""What may share a ranking, and the numbers beside a total."""

import json

import numpy as np
import pytest

from helpers.wmb import make_items
from veridream.figures.wmb_page import Judged, write_leaderboard
from veridream.results.leaderboard import markdown, shown
from veridream.results.markdown import read_csv
from veridream.stats.bootstrap import Boot
from veridream.wmb.answers import Answer
from veridream.wmb.items import BenchmarkError
from veridream.wmb.leaderboard import Entry, comparison, domain_rows, ranked, row, rows
from veridream.wmb.questions import INSTRUCTION, QUESTIONS
from veridream.wmb.scoring import score

ITEMS = make_items(domains=3, each=8)
BOOT = Boot(200, 0.95, 0)
LINES = [{"item": i.stem, "question": q, "repeat": 0, "raw": "No", "value": None, "status": "ok", "meta": {"over": 0.5}} for i in ITEMS for q in QUESTIONS]


def entry(title="a", level=2, fails=(), protocol="wmb", judge="j", version="1", items=ITEMS, **more):
    """Instruction at `level`; the questions in `fails` fail on every second item."""
    raw = {
        (i.stem, q, 0): Answer(f"Score: {level}" if q == INSTRUCTION else "Yes" if q in fails and n % 2 else "No")
        for n, i in enumerate(items)
        for q in QUESTIONS
    }
    return Entry(title, protocol, judge, version, score(items, raw), **more)


def test_rows_are_ranked_with_controls_apart():
    got = rows([entry("low", 0), entry("high", 3), entry("floor", 1, kind="control")], BOOT)
    assert [(r["title"], r["rank"]) for r in got] == [("high", 1), ("floor", None), ("low", 2)]
    assert got[0]["total"] == 10 and got[0]["difference"] == 0


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"protocol": "wmb-sim"}, "one protocol, these entries have wmb, wmb-sim"),
        ({"judge": "k"}, "one judge, these entries have j 1, k 1"),
        ({"version": "2"}, "one judge"),
        ({"items": ITEMS[:-1]}, "on other items"),
        ({"title": "a"}, "given twice"),
    ],
)
def test_what_does_not_belong_together_is_refused(other, said):
    with pytest.raises(BenchmarkError, match=said):
        ranked([entry(), entry(**{"title": "b", **other})])


def test_a_mean_over_the_videos_that_happen_to_exist_is_not_ranked():
    from veridream.wmb.answers import ABSENT

    raw = {(i.stem, q, 0): Answer("Score: 3" if q == INSTRUCTION else "No") for i in ITEMS for q in QUESTIONS}
    raw |= {(ITEMS[0].stem, q, 0): ABSENT for q in QUESTIONS}
    dropped = Entry("part", "wmb", "j", "1", score(ITEMS, raw, "drop"))
    with pytest.raises(BenchmarkError, match="part: videos are missing"):
        ranked([entry(), dropped])
    (alone,) = rows([dropped], BOOT)
    assert alone["rank"] is None
    text = markdown([alone], domain_rows([dropped], BOOT), comparison([dropped], BOOT))
    assert "| part | none 1 missing videos left out |" in text
    assert row(dropped, BOOT)["coverage"] == pytest.approx(23 / 24) and not row(dropped, BOOT)["comparable"]


def test_every_number_has_an_interval_and_a_rate_of_one_is_wilsons():
    r = row(entry(fails=("mass",)), BOOT)
    assert r["mass"] == 0.5 and r["mass_low"] < 0.5 < r["mass_high"]
    assert r["newton"] == 1.0 and r["newton_low"] == pytest.approx(0.862, abs=1e-3) and r["newton_high"] == 1.0
    assert r["total_low"] <= r["total"] <= r["total_high"] and r["total_low"] < r["total_high"]


@pytest.mark.parametrize("said", ["nan", "inf"])
def test_a_score_that_is_no_number_spoils_the_scripts_total_alone(said):
    raw = {(i.stem, q, 0): Answer("Score: 2" if q == INSTRUCTION else "No") for i in ITEMS for q in QUESTIONS}
    raw[ITEMS[0].stem, INSTRUCTION, 0] = Answer(f"Score: {said}")
    r = row(Entry("a", "wmb", "j", "1", score(ITEMS, raw)), BOOT)
    assert not np.isfinite([r["official"], r["difference"]]).any() and np.isnan([r["official_low"], r["difference_high"]]).all()
    assert r["total_low"] < r["total"] == pytest.approx(7 + 2 * 23 / 24) and r["newton_low"] < r["newton"] == 1.0


def test_both_totals_their_difference_and_the_spread_over_repeats_are_shown():
    text = {"gravity": "Yes, there is noticeable flicker", INSTRUCTION: "Score: 2"}  # the script reads "no" in "noticeable"
    raw = {(i.stem, q, r): Answer("Score: 3" if q == INSTRUCTION and r else text.get(q, "No")) for i in ITEMS for q in QUESTIONS for r in range(2)}
    e = Entry("a", "wmb", "j", "1", score(ITEMS, raw, repeats=2))
    (r,) = rows([e], BOOT)
    assert (r["total"], r["official"], r["difference"], r["difference_low"]) == (8.5, 9.5, 1, 1) and r["repeat_sd"] == pytest.approx(0.5**0.5)
    head, (cells,) = shown([r])
    got = dict(zip(head, cells, strict=True))
    assert got["total as the script reads"].startswith("9.50") and got["script minus strict"].startswith("+1.00") and got["sd over repeats"] == "0.71"
    assert "sd over repeats" not in shown([row(entry(), BOOT) | {"rank": 1}])[0]


def test_windows_of_one_episode_count_once():
    clusters = {i.stem: f"{i.domain}/{n % 2}" for n, i in enumerate(ITEMS)}
    alone, together = row(entry(fails=("mass",)), BOOT), row(entry(fails=("mass",), clusters=clusters), BOOT)
    assert together["mass_high"] - together["mass_low"] > alone["mass_high"] - alone["mass_low"]
    assert together["newton_low"] < alone["newton_low"], "Wilson on 6 episodes, not 24 windows"


def partly_decidable():
    """An entry that is flawless but for the first item, which its judge cannot decide and would fail."""

    def said(i, q):
        bad = i is ITEMS[0]
        return Answer("Score: 3" if q == INSTRUCTION else "Yes" if bad else "No", status="undecidable" if bad else "ok")

    answers = {(i.stem, q, 0): said(i, q) for i in ITEMS for q in QUESTIONS}
    return Entry("a", "wmb-sim", "j", "1", score(ITEMS, answers), clusters={i.stem: i.stem for i in ITEMS})


def files(folder):
    return {k: folder / k for k in ("csv", "markdown", "json", "page")}


def test_the_page_shows_items_that_count_for_nobody_and_says_so(tmp_path):
    e, paths = partly_decidable(), files(tmp_path)
    write_leaderboard(paths, [Judged(e, LINES, {})], BOOT, {})
    cards = paths["page"].read_text().split("<details")[1:]
    assert len(cards) == len(ITEMS)
    assert ["undecidable" in c for c in cards] == [i is ITEMS[0] for i in ITEMS]
    assert "<b>a</b> 3.00" in cards[0] and "<b>a</b> 10.00" in cards[1], "each with its own answers"


def test_the_total_over_every_item_stands_beside_that_over_the_decidable():
    e = partly_decidable()
    r = row(e, BOOT)
    assert (r["total"], r["n"], r["undecidable"]) == (10, 23, 1)
    assert r["every"] == pytest.approx((23 * 10 + 3) / 24) and r["every_low"] < r["every"] <= r["every_high"]
    assert "| total, every item |" in markdown([{**r, "rank": 1}], domain_rows([e], BOOT), comparison([e], BOOT))


def test_small_subdomains_show_their_size_alone():
    got = {(r["domain"], r["subdomain"]): r for r in domain_rows([entry(fails=("mass",))], BOOT)}
    assert got["domain 0", ""]["n"] == 8 and got["domain 0", ""]["total"] == pytest.approx(8.5)
    assert got["domain 0", "part 0-0"]["n"] == 4 and got["domain 0", "part 0-0"]["total"] is None


def test_win_rates_and_elo():
    two = comparison([entry("a", 3, fails=("mass",)), entry("b", 2, fails=())], BOOT)
    assert two["entries"] == ["a", "b"] and two["win_rates"][0][1] == pytest.approx(0.75) and two["elo"]["b"] == 800
    low, high = two["win_rates_low"], two["win_rates_high"]
    assert low[0][0] is None and low[0][1] < 0.75 < high[0][1] and low[1][0] == pytest.approx(1 - high[0][1])
    best = comparison([entry("a", 3), entry("b", 2)], BOOT)
    assert best["win_rates"][0][1] == 1 and best["win_rates_low"][0][1] == pytest.approx(0.862, abs=1e-3) and best["win_rates_high"][0][1] == 1
    beaten = comparison([entry("a", 3), entry("b", 0)], BOOT)
    assert beaten["elo"] is None and "b won nothing" in beaten["no_elo"]
    assert "a alone" in comparison([entry("a")], BOOT)["no_elo"]


@pytest.mark.parametrize("protocol", ["wmb", "wmb-sim"])
def test_files_hold_all_and_say_the_protocol(tmp_path, protocol):
    paths = files(tmp_path)
    judged = [Judged(e, LINES, {}) for e in (entry("<b>a", protocol=protocol), entry("b", 1, fails=("mass",), protocol=protocol))]
    write_leaderboard(paths, judged, BOOT, {"model": "<i>"})
    table = read_csv(paths["csv"])
    assert [r["protocol"] for r in table] == [protocol] * 2 and {"n", "coverage", "unparsed", "total_low", "judge_version"} <= set(table[0])
    assert table[0]["judge_version"] == "1"
    whole = json.loads(paths["json"].read_text())
    assert whole["rows"][0]["repeat_sd"] is None and len(whole["comparison"]["win_rates"]) == 2
    text, page = paths["markdown"].read_text(), paths["page"].read_text()
    assert ("Published, for reference" in text) == (protocol == "wmb") == ("KLING" in page)
    assert f"protocol {protocol}" in text and "<b>a" not in page and "<i>" not in page and ITEMS[0].stem in page
    assert np.isfinite(whole["rows"][0]["total"])
