"""Atari games by the Arcade Learning Environment, with continuous actions; the table of games is veridream.envs.atari_games.

One control step is the package's own (4 emulator frames, 15 a second). No sticky actions. The console itself always starts in the same way:
an episode begins after its opening and a number of random moves drawn from its seed.
"""

import importlib.metadata
from typing import Any

import numpy as np

from veridream.envs.atari_games import GAMES, Game
from veridream.envs.atari_players import Lookahead, PongPlayer
from veridream.envs.base import Determinism, Quality, RawStep
from veridream.envs.experts import Expert
from veridream.params.tasks import Task

FRAMESKIP = 4
STICKY = 0.0
LEAST = 10  # random control steps after a fixed opening at the least: enough for two seeds to part
PATIENCE = 500  # control steps within which a game must have begun


def make(task: Task, size: int, quality: Quality) -> "Console":
    """The adapter of a task of this domain. The quality is ignored: there is nothing to leave out."""
    if task.id not in GAMES:
        raise ValueError(f"no adapter for Atari task {task.id}")
    return Console(task.id, GAMES[task.id], size)


def make_expert(task: Task) -> Expert:
    """The scripted player of a task of this domain."""
    if task.id not in GAMES:
        raise ValueError(f"no expert for Atari task {task.id}")
    return PongPlayer() if task.id == "atari-pong" else Lookahead()


class Console:
    """One game. State: the bytes of the console's memory that the game's record names.

    Actions in [-1, 1]^3 are mapped onto the package's radius [0, 1], angle [-pi, pi] and fire [0, 1]; zeros do nothing.
    Angle 0 is to the right, pi / 2 is up (angle 0.5 in units of the action).
    """

    action_dim = 3
    determinism: Determinism = "bitwise"

    def __init__(self, task_id: str, game: Game, size: int) -> None:
        from ale_py.env import AtariEnv

        self._env = AtariEnv(game.rom, obs_type="ram", frameskip=1, repeat_action_probability=STICKY, continuous=True)
        self._task_id, self._game, self._size = task_id, game, size
        self._bytes = list(game.ram.values())
        self.state_dim = len(self._bytes)
        self.waits = game.waits
        self._radius = growth(size, game.rows.stop - game.rows.start, game.thin, game.legible) if game.thin else 0
        self._booted: Any = None
        self._before: np.ndarray | None = None  # the screen before the last one, for games that draw some things on every other screen
        self._restored: np.ndarray | None = None  # the picture of a restored state: the emulator draws it again only when it runs
        self.versions = {k: importlib.metadata.version(k) for k in ("ale-py", "pillow")}
        self.renderer = self._description()

    def _description(self) -> str:
        game = self._game
        drawn = f"; each pixel the brightest within {self._radius}" if self._radius else ""
        merged = "; the brighter of the last two screens" if game.flickers else ""
        height, width = game.rows.stop - game.rows.start, game.columns.stop - game.columns.start
        where = f" from row {game.rows.start}, column {game.columns.start}" if game.flickers else ""
        return f"ale field {width}x{height}{where}{merged}{drawn}; area average; frameskip {FRAMESKIP}; repeat_action_probability {STICKY:g}"

    def reset(self, seed: int) -> None:
        self._restored = None
        rng = np.random.default_rng(seed)
        extra = int(rng.integers(1, self._game.warm_up + 1))
        if self._game.begun is None:
            extra += LEAST
            self._env.restore_state(self._boot())
        else:
            self._env.reset(seed=seed)
        for _ in range(PATIENCE):
            begun = self._begun()
            extra -= begun
            if extra <= 0 and begun:
                return
            if self.step(rng.uniform(-1.0, 1.0, 3)).is_terminal:
                self._env.ale.reset_game()
        raise RuntimeError(f"{self._task_id}: the game has not begun within {PATIENCE} control steps (seed {seed})")

    def _boot(self) -> Any:
        """The console's state after the opening, the same for every episode; made once, since starting the console takes 0.2 s."""
        if self._booted is None:
            self._env.reset(seed=0)
            rng = np.random.default_rng(0)
            for _ in range(self._game.opening):
                self.step(rng.uniform(-1.0, 1.0, 3))
            self._booted = self._env.clone_state(include_rng=True)
        return self._booted

    def _begun(self) -> bool:
        at = self._game.begun
        return at is None or int(self._env.ale.getRAM()[at]) > 0

    def step(self, action: np.ndarray) -> RawStep:
        package = self._to_package(action)
        reward, terminal = 0.0, False
        for frame in range(FRAMESKIP):
            if self._game.flickers and frame == FRAMESKIP - 1:
                self._before = self._env.ale.getScreenRGB()
            _, gained, terminal, _, _ = self._env.step(package)
            reward += float(gained)
        self._restored = None
        return RawStep(reward, bool(terminal), self._won())

    def _won(self) -> bool:
        goal = self._game.goal
        return goal is not None and int(self._env.ale.getRAM()[self._game.ram[goal[0]]]) >= goal[1]

    def lives(self) -> int:
        """Lives left; 0 in games that have none."""
        return int(self._env.ale.lives())

    @staticmethod
    def _to_package(action: np.ndarray) -> np.ndarray:
        a = np.asarray(action, dtype=np.float64)
        return np.array([(a[0] + 1.0) / 2.0, a[1] * np.pi, (a[2] + 1.0) / 2.0], dtype=np.float32)

    def render(self) -> np.ndarray:
        return draw(self._screen()[self._game.rows, self._game.columns], self._size, self._radius)

    def _screen(self) -> np.ndarray:
        if self._restored is not None:
            return self._restored
        screen: np.ndarray = self._env.ale.getScreenRGB()
        return np.maximum(self._before, screen) if self._before is not None else screen

    def state(self) -> np.ndarray:
        return self._env.ale.getRAM()[self._bytes].astype(np.float32)

    def snapshot(self) -> Any:
        return self._env.clone_state(include_rng=True), self._screen().copy()

    def restore(self, snap: Any) -> None:
        state, self._restored = snap
        self._env.restore_state(state)

    def close(self) -> None:
        self._env.close()


def growth(size: int, side: int, thin: int, legible: float) -> int:
    """By how many screen pixels things are grown so that the smallest, `thin` wide on a screen of `side` pixels, are `legible` pixels wide in
    the frame; 0 where they are without."""
    return max(0, round((legible * side / size - thin) / 2))


def draw(screen_HWC: np.ndarray, size: int, radius: int) -> np.ndarray:
    """A screen as a square frame: everything brighter than its surroundings grows by `radius`, then an area average to size x size."""
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
    """The largest of the values within `radius` along an axis; nothing lies beyond the border."""
    x = np.moveaxis(x, axis, 0)
    out = x.copy()
    for k in range(1, radius + 1):
        np.maximum(out[k:], x[:-k], out=out[k:])
        np.maximum(out[:-k], x[k:], out=out[:-k])
    return np.moveaxis(out, 0, axis)
