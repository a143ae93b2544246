"""A fake environment whose pixels say where they come from: environment, episode, step and last action.

Alignment is then read back out of stored frames rather than inferred from a loss.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridream.envs.base import RawStep

ACTION_LEVELS = 200  # an action in [-1, 1] is coded as round((a + 1) / 2 * 200), so 0..200; 255: no action yet


def counter_frame(size: int, env: int, episode: int, step: int, action: float | None, paint: int = 0) -> np.ndarray:
    """u1 [size,size,3]. Pixel (0,0) = (env, episode low byte, episode high byte); (0,1) = (step low, step high, action code)."""
    frame = np.full((size, size, 3), paint, dtype=np.uint8)
    code = 255 if action is None else round((float(action) + 1.0) / 2.0 * ACTION_LEVELS)
    frame[0, 0] = env, episode % 256, episode // 256
    frame[0, 1] = step % 256, step // 256, code
    frame[1 + step % (size - 1), :] = 128  # a bar that moves with the step
    return frame


def decode(frame: np.ndarray) -> tuple[int, int, int, float | None]:
    """(env, episode, step, last action or None) of a frame [size,size,3] or its first two pixels."""
    (env, e0, e1), (s0, s1, code) = frame[0, 0].tolist(), frame[0, 1].tolist()
    return env, e0 + 256 * e1, s0 + 256 * s1, None if code == 255 else code / ACTION_LEVELS * 2.0 - 1.0


class CounterEnv:
    """A `RawEnv`. The reward of a control step is its number (1, 2, ...); the state is [episode, step].

    Args:
        lengths: control steps of each episode in turn (repeating); an episode ends by itself after that many.
        env: id, 0..255.
        terminal: whether the end flag is set then (otherwise it runs until the horizon cuts it).
    """

    def __init__(self, lengths: Sequence[int] = (7, 12, 5), env: int = 1, size: int = 16, action_dim: int = 1, terminal: bool = True) -> None:
        self.lengths, self.env, self.size, self.action_dim, self.terminal = list(lengths), env, size, action_dim, terminal
        self.state_dim = 2
        self.versions = {"counter": "1"}
        self.renderer = "numpy"
        self.determinism = "bitwise"
        self.episode, self.count = -1, 0
        self.last: float | None = None
        self.seeds: list[int] = []

    def reset(self, seed: int) -> None:
        self.seeds.append(seed)
        self.episode, self.count, self.last = self.episode + 1, 0, None

    def step(self, action: np.ndarray) -> RawStep:
        limit = self.lengths[self.episode % len(self.lengths)]
        if self.terminal and self.count >= limit:
            raise RuntimeError("stepped past the end")
        self.count += 1
        self.last = float(action[0])
        return RawStep(float(self.count), self.terminal and self.count >= limit, success=self.count >= limit)

    def render(self) -> np.ndarray:
        return counter_frame(self.size, self.env, self.episode, self.count, self.last)

    def state(self) -> np.ndarray:
        return np.array([self.episode, self.count], dtype=np.float32)

    def snapshot(self) -> Any:
        return self.episode, self.count, self.last

    def restore(self, snap: Any) -> None:
        self.episode, self.count, self.last = snap

    def close(self) -> None:
        pass
