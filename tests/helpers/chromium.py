"""A headless Chromium, where there is one: its flags, and a tab driven over the DevTools pipe (file descriptors 3 and 4, JSON ended by a zero byte)."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
KEYS = {"Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}  # code -> Windows key code


def program() -> str:
    found = next((p for n in NAMES if (p := shutil.which(n))), None)
    if found:
        return found
    line = "no Chromium found; type: apt-get install -y chromium"
    if os.environ.get("CI"):
        pytest.fail(line)
    pytest.skip(line)


def flags(folder: Path) -> list[str]:
    return [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={folder}",
        "--enable-logging=stderr",
        "--v=0",
    ]


class Tab:
    """One page. `console` collects what it printed and its uncaught errors."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers, self._n, self._rest = to, answers, 0, b""
        self.console: list[str] = []
        self._session: str | None = None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        self._n += 1
        message = {"id": self._n, "method": method, "params": params, **({"sessionId": self._session} if self._session else {})}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                self.console.append(json.dumps(answer["params"])[:500])
            if answer.get("id") == self._n:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._answers, 1 << 16)
            assert more, "Chromium has ended"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        out: dict[str, Any] = json.loads(line)
        return out

    def js(self, expression: str) -> Any:
        return self("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait(self, expression: str, seconds: float = 60) -> None:
        """Until the expression is true."""
        end = time.monotonic() + seconds
        while not self.js(expression):
            assert time.monotonic() < end, f"{expression} never came true; the page says {self.js('document.body.innerText')!r}"
            time.sleep(0.02)

    def key(self, code: str, down: bool) -> None:
        self("Input.dispatchKeyEvent", type="rawKeyDown" if down else "keyUp", code=code, key=code, windowsVirtualKeyCode=KEYS[code])


@contextlib.contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """A browser of its own, ended with the block."""
    commands, answers = os.pipe(), os.pipe()

    def inherit() -> None:
        ours, theirs = os.dup(commands[0]), os.dup(answers[1])
        os.dup2(ours, 3)
        os.dup2(theirs, 4)

    done = subprocess.Popen(
        [program(), *flags(folder), "--remote-debugging-pipe"], preexec_fn=inherit, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for fd in (commands[0], answers[1]):
            os.close(fd)
        yield Tab(commands[1], answers[0])
    finally:
        done.terminate()
        done.wait(timeout=30)
        for fd in (commands[1], answers[0]):
            os.close(fd)
