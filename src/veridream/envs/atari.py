"""Atari games by the Arcade Learning Environment: atari-pong, with continuous actions.

One control step is the package's own (4 emulator frames, 15 a second). No sticky actions. An episode starts with the ball in play, after
a number of random moves drawn from its seed: the console itself always starts in the same way.
"""

import importlib.metadata
from typing import Any

import numpy as np

from veridream.envs.base import Determinism, Quality, RawStep
from veridream.params.tasks import Task

FRAMESKIP = 4
STICKY = 0.0
FIELD = slice(34, 194)  # rows of the 210 x 160 screen: the playing field, a square of 160
LEGIBLE = 3.0  # pixels of the frame that the ball is wide at the least
BALL = 2  # its width on the screen
WARM_UP = 40  # at most so many random control steps before the episode, beyond the first serve
RAM = {"ball_x": 49, "ball_y": 54, "player_y": 51, "enemy_y": 50, "player_score": 14, "enemy_score": 13}


def make(task: Task, size: int, quality: Quality) -> "Pong":
    """The adapter of a task of this domain. The quality is ignored: there is nothing to leave out."""
    if task.id != "atari-pong":
        raise ValueError(f"no adapter for Atari task {task.id}")
    return Pong(size)


class Pong:
    """State: ball x, y; own paddle y; enemy paddle y; own and enemy score (bytes of the console's memory; ball y is 0 when out of play).

    Actions in [-1, 1]^3 are mapped onto the package's radius [0, 1], angle [-pi, pi] and fire [0, 1]; zeros do nothing.
    Angle 0 is to the right, which moves the paddle up; angle pi moves it down.
    """

    state_dim = len(RAM)
    action_dim = 3
    determinism: Determinism = "bitwise"

    def __init__(self, size: int) -> None:
        from ale_py.env import AtariEnv

        self._env = AtariEnv("pong", obs_type="ram", frameskip=FRAMESKIP, repeat_action_probability=STICKY, continuous=True)
        self._size = size
        self._radius = dilation_radius(size)
        self._restored: np.ndarray | None = None  # the screen of a restored state: the emulator draws it again only when it runs
        self.versions = {k: importlib.metadata.version(k) for k in ("ale-py", "pillow")}
        drawn = f"; each pixel the brightest within {self._radius}" if self._radius else ""
        self.renderer = f"ale field 160x160{drawn}; area average; frameskip {FRAMESKIP}; repeat_action_probability {STICKY:g}"

    def reset(self, seed: int) -> None:
        self._env.reset(seed=seed)
        self._restored = None
        rng = np.random.default_rng(seed)
        extra = int(rng.integers(1, WARM_UP + 1))
        for _ in range(500):
            in_play = self._ram("ball_y") > 0
            extra -= in_play
            if extra <= 0 and in_play:
                return
            self._env.step(self._to_package(rng.uniform(-1.0, 1.0, 3)))
        raise RuntimeError(f"atari-pong: no ball in play within 500 control steps (seed {seed})")

    def step(self, action: np.ndarray) -> RawStep:
        _, reward, terminated, _, _ = self._env.step(self._to_package(action))
        self._restored = None
        return RawStep(float(reward), bool(terminated), self._ram("player_score") >= 21)

    @staticmethod
    def _to_package(action: np.ndarray) -> np.ndarray:
        a = np.asarray(action, dtype=np.float64)
        return np.array([(a[0] + 1.0) / 2.0, a[1] * np.pi, (a[2] + 1.0) / 2.0], dtype=np.float32)

    def _ram(self, name: str) -> int:
        return int(self._env.ale.getRAM()[RAM[name]])

    def render(self) -> np.ndarray:
        return draw(self._screen()[FIELD], self._size, self._radius)

    def _screen(self) -> np.ndarray:
        screen: np.ndarray = self._env.ale.getScreenRGB() if self._restored is None else self._restored
        return screen

    def state(self) -> np.ndarray:
        ram = self._env.ale.getRAM()
        return np.array([ram[i] for i in RAM.values()], dtype=np.float32)

    def snapshot(self) -> Any:
        return self._env.clone_state(include_rng=True), self._screen().copy()

    def restore(self, snap: Any) -> None:
        state, self._restored = snap
        self._env.restore_state(state)

    def close(self) -> None:
        self._env.close()


def dilation_radius(size: int, side: int = 160) -> int:
    """By how many screen pixels things are grown so that the ball is `LEGIBLE` pixels wide in the frame; 0 where it is without."""
    return max(0, round((LEGIBLE * side / size - BALL) / 2))


def draw(screen_HWC: np.ndarray, size: int, radius: int) -> np.ndarray:
    """A square screen as a frame: everything brighter than its surroundings grows by `radius`, then an area average to size x size."""
    from PIL import Image

    if radius:
        screen_HWC = _grow(screen_HWC, radius)
    return np.asarray(Image.fromarray(screen_HWC).resize((size, size), Image.Resampling.BOX))


def _grow(screen_HWC: np.ndarray, radius: int) -> np.ndarray:
    """Each pixel takes the colour of the brightest one within `radius` rows and columns (ties: the larger colour code)."""
    rgb = screen_HWC.astype(np.uint32)
    code = (rgb.sum(axis=2) << 24) | (rgb[..., 0] << 16) | (rgb[..., 1] << 8) | rgb[..., 2]
    code = code.astype(np.uint64)
    for axis in (0, 1):
        code = _running_max(code, radius, axis)
    return np.stack([(code >> s & 255).astype(np.uint8) for s in (16, 8, 0)], axis=-1)


def _running_max(x: np.ndarray, radius: int, axis: int) -> np.ndarray:
    pad = [(radius, radius) if i == axis else (0, 0) for i in range(x.ndim)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, pad), 2 * radius + 1, axis=axis)
    out: np.ndarray = windows.max(axis=-1)
    return out
