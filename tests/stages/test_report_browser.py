"""The report in headless Chromium: it opens, nothing goes to the console, and its parts are there."""

import re
import subprocess
import sys

from helpers import chromium, results_folder
from veridream.provenance.digest import ROOT
from veridream.results.claims import load_claims


def test_the_report_opens_without_a_console_message(tmp_path):
    program = chromium.program()
    page = results_folder.built()
    done = subprocess.run(
        [program, *chromium.flags(tmp_path), "--virtual-time-budget=3000", "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert console == []
    dom = done.stdout
    assert "<title>Veridream report, scale laptop</title>" in dom
    assert len(re.findall(r'<figure[^>]* id="fig-', dom)) == 4
    assert len(re.findall(r"<video ", dom)) == 9
    assert dom.count('class="badge') == len(load_claims(ROOT / "params" / "claims.yaml"))


def test_a_scored_folders_page_opens_and_plays_its_clips(tmp_path):
    chromium.program()
    for words in (
        ["write_wmb_example.py", "example"],
        ["score_videos.py", "--benchmark", "example", "--videos", "example/videos", "--model", "example", "--answers", "example/results.json"]
        + ["--own-items", "--out", "scores"],
    ):
        done = subprocess.run([sys.executable, ROOT / "src" / words[0], *words[1:]], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    with chromium.tab(tmp_path / "browser") as tab:
        tab("Page.navigate", url=(tmp_path / "scores/index.html").as_uri())
        tab.wait("document.querySelectorAll('#s-items details').length === 4")
        tab.js("document.querySelectorAll('details').forEach(d => d.open = true); document.querySelectorAll('video').forEach(v => v.load())")
        tab.wait("[...document.querySelectorAll('video')].every(v => v.readyState >= 2 && v.videoWidth === 64 && v.duration > 0.9)")
        assert tab.js("document.querySelectorAll('#s-items video').length") == 4
        assert tab.js("document.querySelectorAll('#s-items dt').length") == 4 * 8
        assert "example" in tab.js("document.querySelector('#s-leaderboard table').innerText")
        assert tab.console == []
