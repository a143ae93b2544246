"""The report in headless Chromium: it opens, nothing goes to the console, and its parts are there."""

import os
import re
import shutil
import subprocess

import pytest

from helpers import results_folder
from veridream.provenance.digest import ROOT
from veridream.results.claims import load_claims

NAMES = ("chromium", "chromium-browser", "google-chrome")


def browser() -> str:
    found = next((p for n in NAMES if (p := shutil.which(n))), None)
    if found:
        return found
    line = "no Chromium found; type: apt-get install -y chromium"
    if os.environ.get("CI"):
        pytest.fail(line)
    pytest.skip(line)


def test_the_report_opens_without_a_console_message(tmp_path):
    program = browser()
    page = results_folder.built()
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path}",
        "--enable-logging=stderr",
        "--v=0",
    ]
    done = subprocess.run([program, *flags, "--virtual-time-budget=3000", "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert console == []
    dom = done.stdout
    assert "<title>Veridream report, scale laptop</title>" in dom
    assert len(re.findall(r'<figure[^>]* id="fig-', dom)) == 4
    assert len(re.findall(r"<video ", dom)) == 9
    assert dom.count('class="badge') == len(load_claims(ROOT / "params" / "claims.yaml"))
