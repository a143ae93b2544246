"""The page: valid, self-contained, everything escaped."""

import re
from html.parser import HTMLParser

import pytest
from lxml import html

import render_report
from helpers import score_tables
from veridream.figures import frame_counts
from veridream.figures.report import Report, render
from veridream.figures.report_facts import machine, versions
from veridream.figures.report_svg import forest, inline
from veridream.results.verdicts import COLUMNS, VERDICTS

EVIL = '<script>alert("x")</script>&'
VOID = {"meta", "link", "br", "img", "input", "hr", "source"}


def claim(**changes: object) -> dict[str, object]:
    row = dict.fromkeys(COLUMNS, "") | {
        "id": "a",
        "claim": "a claim",
        "where": "Fig. 5, not in the paper",
        "unit": "rho",
        "source": "P",
        "verdict": VERDICTS[0],
    }
    row |= {"paper": -0.8, "ours": -0.5, "low": -0.6, "high": -0.4, "n": 224.0, "scale": "laptop"}
    row["rule"] = "reproduced if the whole interval lies below 0; opposite if it lies above; else inconclusive"
    return row | changes


@pytest.fixture(scope="module")
def figure(tmp_path_factory):
    path = tmp_path_factory.mktemp("figures") / "frame_counts.svg"
    frame_counts.draw(path, score_tables.count_rows())
    return path


class Balance(HTMLParser):
    """Checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def make(figure, **changes):
    rows = [claim(), claim(id="b", claim=EVIL, note=EVIL, definition=EVIL, verdict=VERDICTS[3], ours=None, low=None, high=None, n=None, paper=None, rule="")]
    fields = {"scale": "laptop", "figures": {"frame_counts": figure}, "tables": {}, "claims": rows, "machine": {"processor": EVIL}, "params": EVIL}
    return render(Report(**{**fields, **changes}))


def test_the_page_is_balanced_html_with_its_parts(figure):
    page = make(figure)
    assert page.startswith("<!DOCTYPE html>\n<html lang=")
    check = Balance()
    check.feed(page)
    assert check.open == []
    root = html.fromstring(page)
    assert root.findtext(".//title") == "Veridream report, scale laptop"
    assert len(root.findall(".//section")) == 3  # claims, figures, provenance; empty sections are left out
    assert len(root.findall(".//figure")) == 1
    assert [b.text for b in root.findall(".//*[@class='tiles']//b")] == ["1", "0", "0", "1"]


def test_everything_from_data_is_escaped(figure):
    page = make(figure, scale=EVIL)
    assert "<script" not in page
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;" in page


def test_nothing_is_loaded_from_outside(figure):
    page = make(figure)
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\((?!#|data:)", page)
    for attribute in re.findall(r'\b(?:src|href)="([^"]*)"', page):
        assert attribute.startswith(("#", "data:")), attribute


def test_ids_are_unique_and_references_resolve(figure):
    root = html.fromstring(make(figure))
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for e in root.iter():
        target = e.get("href") or ""
        if target.startswith("#"):
            assert target[1:] in ids, target


def test_light_and_dark_and_narrow_are_styled(figure):
    page = make(figure)
    assert "prefers-color-scheme:dark" in page
    assert "max-width:640px" in page
    assert 'name="viewport"' in page


def test_inline_svg_follows_the_pages_ink(figure):
    svg, width = inline(figure, "frame_counts")
    assert svg.startswith("<svg")
    assert "var(--ink)" in svg
    assert "#22262e" not in svg
    assert "<metadata" not in svg
    assert "xmlns" not in svg
    assert width == round(7.2 * 96)


def test_an_svg_with_a_script_or_an_outside_reference_is_refused(tmp_path):
    for bad in ("<svg><script>1</script></svg>", '<svg><image href="https://e.org/x.png"/></svg>', '<svg onload="x()"></svg>', "no picture"):
        (tmp_path / "x.svg").write_text(bad)
        with pytest.raises(ValueError, match=r"x\.svg"):
            inline(tmp_path / "x.svg", "x")


def test_the_interval_drawing_spans_its_marks():
    svg = forest(0.5, 0.0, 1.0, 2.0, -1.0, "good")
    assert 'cx="60.0"' in svg  # 0.5 is half way from -1 to 2
    assert 'x1="6.0"' in svg  # the boundary at the left end
    assert 'd="M114.0' in svg  # the paper's value at the right end
    assert forest(None, None, None, 1.0, 0.0, "none") == ""


def test_clips_are_inlined_and_limited(figure, tmp_path, monkeypatch):
    monkeypatch.setattr("veridream.figures.report.MOST_CLIP_BYTES", 10)
    row = {"task": "cup-catch", "name": "0", "seen": True, "store": "s", "episode": 0, "start": 0, "dpsnr": 1.5, "width": 4, "height": 4}
    for stem in ("a", "b"):
        (tmp_path / f"{stem}.mp4").write_bytes(b"12345678")
    page = make(figure, clips=[("base", [{**row, "file": "a"}, {**row, "file": "b", "name": "1"}], tmp_path)])
    assert page.count("data:video/mp4;base64,MTIzNDU2Nzg=") == 1
    assert "1 more lie in the clips folder" in page


def test_the_same_input_gives_the_same_page(figure):
    assert make(figure) == make(figure)


def test_machine_and_versions_are_words():
    assert set(machine()) >= {"processor", "cores", "system", "memory", "Python"}
    assert versions()["numpy"][0].isdigit()


def test_tasks_that_were_left_out_are_named_and_not_counted(tmp_path):
    path = tmp_path / "corpus.counts.csv"
    head = "task,domain,seen,role,episodes,frames,train_episodes,train_frames,heldout_episodes,heldout_frames,skipped\n"
    path.write_text(head + 'pygame-pong,pygame,true,corpus,2,66,1,33,1,33,\nms-reach,maniskill,true,corpus,0,0,0,0,0,0,"needs mani_skill, too"\n')
    facts = render_report.data_facts([path])
    assert facts["pretraining corpus"] == "1 tasks, 2 episodes, 66 frames"
    assert facts["left out, since they cannot run where this was made"] == "1 tasks: ms-reach"
