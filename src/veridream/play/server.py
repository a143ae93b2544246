"""The page and its requests, on this machine alone (127.0.0.1): GET / is the page; POST /keys {"tick", "keys"} gives the next view as a PNG.

The view's facts come along in the header X-Facts, as JSON.
"""

import contextlib
import html
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from veridream.play.exchange import Exchange
from veridream.play.keys import BEGIN, FINE, PAIRS
from veridream.provenance.stage import StageError

HOST = "127.0.0.1"
PAGE = Path(__file__).with_name("page.html")
MOST = 4096  # bytes of a request


def page(task: str, instruction: str, action_dim: int, legend: Sequence[tuple[str, str]], period: float) -> str:
    """The page of a task; `period`: seconds an agent step."""
    rows = "".join(f"<tr><th>{html.escape(keys)}</th><td>{html.escape(what)}</td></tr>" for keys, what in legend)
    codes = [code for pair in PAIRS[:action_dim] for code in pair] + [*FINE, BEGIN]
    words = {"TASK": html.escape(task), "INSTRUCTION": html.escape(instruction), "LEGEND": rows, "CODES": json.dumps(codes), "PERIOD": f"{1000 * period:g}"}
    text = PAGE.read_text()
    for name, value in words.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return text


def _request(body: bytes) -> tuple[int, list[str]]:
    """(tick, keys) of a request's JSON. Raises ValueError that says what is wrong."""
    try:
        asked = json.loads(body)
    except ValueError as e:
        raise ValueError(f"not JSON: {e}") from None
    tick, keys = (asked.get("tick"), asked.get("keys")) if isinstance(asked, dict) else (None, None)
    if type(tick) is not int or not isinstance(keys, list) or not all(isinstance(k, str) for k in keys):
        raise ValueError('expected {"tick": a whole number, "keys": a list of key codes}')
    return tick, keys


def _handler(exchange: Exchange, text: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 30  # seconds; a client that sends nothing is let go

        def do_GET(self) -> None:
            if self.path == "/":
                self._send("text/html; charset=utf-8", text.encode())
            else:
                self.send_error(404, "only / is here")

        def do_POST(self) -> None:
            if self.path != "/keys":
                self.send_error(404, "only /keys is here")
            elif self.headers.get("Content-Type") != "application/json":  # which no form of a foreign site can send
                self.send_error(415, "send application/json")
            else:
                self._answer()

        def _answer(self) -> None:
            try:
                tick, keys = _request(self.rfile.read(min(int(self.headers.get("Content-Length", 0)), MOST)))
            except ValueError as e:
                self.send_error(400, str(e))
                return
            view = exchange.answer(tick, keys)
            self._send("image/png", view.png, {"X-Facts": json.dumps({**view.facts, "tick": view.tick})})

        def _send(self, kind: str, body: bytes, more: dict[str, str] | None = None) -> None:
            self.send_response(200)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store", **(more or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent: thousands of lines an episode help nobody."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for the answers under way: the page then knows how it ended

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent when the page was closed before its answer came."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serving(exchange: Exchange, text: str, port: int) -> Iterator[str]:
    """Serves the page for the block, in threads of its own; yields its address. Port 0: any free one. Raises StageError when the port is taken."""
    try:
        server = _Server((HOST, port), _handler(exchange, text))
    except OSError as e:
        raise StageError(f"port {port} on {HOST} cannot be had ({e.strerror}); give another with --port") from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}/"
    finally:
        exchange.close()
        server.shutdown()
        server.server_close()
