"""src/play.py, played through its own requests and in a real browser: what the keys said is what the store holds."""

import http.client
import io
import json
import re
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

from helpers import chromium
from veridream.envs.registry import make
from veridream.io.episode_store import episode_seed, open_store
from veridream.io.export_lerobot import export_lerobot
from veridream.io.export_minari import export_minari
from veridream.io.store_validation import validate_store
from veridream.play.keys import BEGIN, action
from veridream.provenance.digest import content_id

ROOT = Path(__file__).resolve().parents[2]
TASK, STEPS = "pygame-point-maze-var1", 15
KEYS = [["ArrowRight"], ["ArrowRight", "ArrowUp"], [], ["ArrowLeft", "ShiftRight"], ["ArrowDown", "KeyA", BEGIN]]


def command(out, episodes=2, *more):
    sets = ["--set", "render.size=32", "--set", f"collect.max_steps={STEPS}", "--set", "collect.frame_skip=1"]
    return [sys.executable, str(ROOT / "src/play.py"), "--task", TASK, "--out", str(out), "--episodes", str(episodes), "--port", "0", *sets, *more]


def store_of(out, seed=0):
    return out / "targeted" / TASK / f"human-s{seed}.zarr"


class Game:
    """A running src/play.py and its last view."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("open "):
                break
        else:
            raise AssertionError(self.process.stderr.read())
        self.address = self.said[-1].split()[1]
        self.tick = -1

    def request(self, method, path, body=b"", kind="application/json"):
        c = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=30)
        c.request(method, path, body, {"Content-Type": kind})
        r = c.getresponse()
        return r.status, r.read(), r.headers

    def send(self, keys, tick=None):
        status, png, headers = self.request("POST", "/keys", json.dumps({"tick": self.tick if tick is None else tick, "keys": keys}).encode())
        assert status == 200 and headers["Content-Type"] == "image/png"
        facts = json.loads(headers["X-Facts"])
        self.tick = facts["tick"]
        return facts, np.asarray(Image.open(io.BytesIO(png)))

    def episode(self):
        """Plays one to its end; the frames that were shown."""
        facts, frame = self.send([])
        assert facts["phase"] == "ready"
        assert self.send(["ArrowRight"])[0]["phase"] == "ready"  # only Enter begins
        facts, frame = self.send([BEGIN])
        shown = []
        while facts["phase"] == "playing":
            assert facts["step"] == len(shown) + 1
            shown.append(frame)
            facts, frame = self.send(KEYS[(facts["step"] - 1) % len(KEYS)])
        return shown, facts

    def end(self, rc=0):
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == rc, err
        return out, err


@pytest.fixture
def games():
    running = []

    def start(words):
        running.append(Game(words))
        return running[-1]

    yield start
    for g in running:
        if g.process.poll() is None:
            g.process.kill()
        g.process.communicate()


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """(folder, the frames shown an episode, what was printed) of a whole session."""
    out = tmp_path_factory.mktemp("played")
    g = Game(command(out))
    try:
        shown = [g.episode()[0], g.episode()[0]]
        g.end()
    finally:
        if g.process.poll() is None:
            g.process.kill()
    return out, shown, "".join(g.said)


def test_the_store_is_what_was_played(played, tmp_path):
    out, shown, said = played
    store = open_store(store_of(out))
    assert validate_store(store.path) == []
    assert store.attrs.behaviour == "human" and store.attrs.acted_names == ["human"] and not store.acted.any()
    assert store.seed.tolist() == [episode_seed(TASK, "human", 0, i) for i in range(2)] and store.length.max() == STEPS + 1
    for i in range(2):
        rows = store.rows(i)
        np.testing.assert_array_equal(np.stack(shown[i]), store.frame[rows][:-1])
        expected = [action(KEYS[k % len(KEYS)], 2) for k in range(store.length[i] - 1)]
        np.testing.assert_array_equal(store.prev_action[rows][1:, :2], expected)
    assert [p.name for p in store.path.parent.iterdir()] == [store.path.name]  # no temporary name is left
    assert "← →" in said and "action 1: −1, +1" in said and re.search(r"open http://127\.0\.0\.1:\d+/\n", said)
    assert export_minari(store, tmp_path).is_dir() and export_lerobot(store, tmp_path).is_dir()


def test_its_actions_give_the_same_frames_again(played):
    store = open_store(store_of(played[0]))
    env = make(TASK, 32, "fast", 1, STEPS)
    for i in reversed(range(2)):
        rows = store.rows(i)
        env.reset(int(store.seed[i]))
        frames, rewards = [env.render()], []
        for a in store.prev_action[rows][1:, : env.action_dim]:
            rewards.append(env.step(a).reward)
            frames.append(env.render())
        np.testing.assert_array_equal(np.stack(frames), store.frame[rows])
        np.testing.assert_array_equal(np.float32(rewards), store.reward[rows][1:])
    env.close()


def test_an_interrupted_session_goes_on(played, tmp_path, games):
    g = games(command(tmp_path))
    g.episode()
    g.process.send_signal(signal.SIGINT)
    assert "finished episodes are kept" in g.end(130)[1]
    assert not store_of(tmp_path).exists() and not list(tmp_path.rglob("*.part"))
    refused = subprocess.run(command(tmp_path, 2, "--set", "render.size=64"), capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "played with other settings" in refused.stderr and "delete it" in refused.stderr
    g = games(command(tmp_path))
    _, facts = g.episode()
    assert facts["phase"] == "done"
    g.end()
    assert content_id(store_of(tmp_path)) == content_id(store_of(played[0]))


def test_bad_requests_move_nothing(tmp_path, games):
    g = games(command(tmp_path))
    first, frame = g.send([])
    for method, path, body, kind, status in (
        ("GET", "/../secret", b"", "text/plain", 404),
        ("POST", "/", b"{}", "application/json", 404),
        ("POST", "/keys", b'{"tick": 1, "keys": ["Enter"]}', "text/plain", 415),
        ("POST", "/keys", b'{"tick": 1, "keys": ["Ent', "application/json", 400),
        ("POST", "/keys", b'{"tick": "1", "keys": []}', "application/json", 400),
        ("POST", "/keys", b'{"tick": 1, "keys": [3]}', "application/json", 400),
        ("POST", "/keys", b"[]", "application/json", 400),
    ):
        assert g.request(method, path, body, kind)[0] == status
    gone = http.client.HTTPConnection(urlsplit(g.address).netloc, timeout=30)  # a page that is closed before its answer
    gone.request("POST", "/keys", json.dumps({"tick": -1, "keys": []}), {"Content-Type": "application/json"})
    gone.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    gone.close()
    again, same = g.send([BEGIN], tick=first["tick"] - 1)  # an answer to another view
    assert again == first
    np.testing.assert_array_equal(same, frame)
    assert g.send([])[0]["phase"] == "ready"  # its Enter has not begun the episode
    g.process.send_signal(signal.SIGINT)
    assert "Traceback" not in g.end(130)[1]


def test_a_port_that_is_taken_and_a_store_that_is_there(played, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = command(tmp_path, 1, "--port", str(taken.getsockname()[1]))
        r = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert r.returncode == 1 and "give another with --port" in r.stderr and not list(tmp_path.rglob("*.zarr"))
    r = subprocess.run(command(played[0]), capture_output=True, text=True, timeout=60)
    assert r.returncode == 1 and "exists already; give another --seed" in r.stderr
    r = subprocess.run([*command(tmp_path), "--task", "pygame-pang"], capture_output=True, text=True, timeout=60)
    assert r.returncode == 1 and "did you mean 'pygame-pong'" in r.stderr and "Traceback" not in r.stderr


def test_in_a_real_browser(tmp_path, games):
    chromium.program()
    g = games(command(tmp_path / "out", 1, "--pace", "2"))
    with chromium.tab(tmp_path / "profile") as tab:
        tab("Page.navigate", url=g.address)
        tab.wait("document.body && document.body.dataset.phase === 'ready'")
        assert TASK in tab.js("document.body.innerText") and "press Enter to begin" in tab.js("says.textContent")
        tab.wait("frame.naturalWidth === 32")
        tab.key("ArrowRight", True)
        tab.key("Enter", True)
        tab.key("Enter", False)
        tab.wait("document.body.dataset.phase === 'done'")
        assert "all episodes are played" in tab.js("says.textContent")
        assert tab.console == []
    g.end()
    store = open_store(store_of(tmp_path / "out"))
    assert validate_store(store.path) == []
    assert (store.prev_action[1:, 0] == 1.0).all() and (store.prev_action[1:, 1] == 0.0).all()  # the key was held throughout
