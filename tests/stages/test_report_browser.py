"""The report in headless Chromium: it opens, nothing goes to the console, and its parts are there."""

import re
import subprocess

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
