"""Players of the Atari games: one for Pong, and one that looks ahead in the emulator, for any game."""

from typing import Any

import numpy as np

from veridream.envs.base import repeat_action


class PongPlayer:
    """Moves the paddle to where the ball will be. The paddle has inertia: where it will come to rest counts, not where it is."""

    LEAD = 1.0  # agent steps that the ball's height is extrapolated
    COAST = 0.5  # agent steps that the paddle goes on moving
    CENTRE, DEAD, FAR = 4.0, 6.0, 20.0  # in units of the console's memory: paddle's middle; close enough; too far for a slow move

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        self._last = None

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        _, ball, paddle = (float(v) for v in env.state()[:3])
        if ball == 0.0:  # out of play
            self._last = None
            return np.zeros(3)
        ball_speed, paddle_speed = (ball - self._last[0], paddle - self._last[1]) if self._last is not None else (0.0, 0.0)
        self._last = ball, paddle
        gap = ball + self.LEAD * ball_speed - (paddle + self.COAST * paddle_speed + self.CENTRE)
        if abs(gap) < self.DEAD:
            return np.zeros(3)
        return np.array([1.0 if abs(gap) > self.FAR else 0.1, 1.0 if gap > 0 else 0.0, -1.0])


DIRECTIONS = [None, *(k / 4.0 for k in range(-3, 5))]  # the stick at rest, or its angle in units of pi
MOVES = np.array([[-1.0, 0.0, fire] if d is None else [1.0, d, fire] for d in DIRECTIONS for fire in (-1.0, 1.0)])  # [18, 3]


class Lookahead:
    """Plays a few plans ahead in the emulator, puts it back, and begins the best one: fewest lives lost first, then the largest return.

    A plan is a chain of moves, each held for a while. What is left of the last plan is one of the plans.
    """

    PLANS, REACH, EXECUTE = 6, 16, 8  # plans tried; control steps that they reach; control steps until new plans are tried
    HOLD = (2, 7)  # control steps that a move is held: at least, less than

    def __init__(self) -> None:
        self._plan, self._next = np.zeros(0, dtype=int), 0

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        self._plan, self._next = np.zeros(0, dtype=int), 0

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        execute = max(1, self.EXECUTE // env.repeat)
        if len(self._plan) == 0 or self._next == execute:
            self._plan, self._next = self._search(env, rng), 0
        move: np.ndarray = MOVES[self._plan[self._next]]
        self._next += 1
        return move

    def _search(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        """The best plan found: the number of a move for each agent step."""
        reach = max(2, self.REACH // env.repeat)
        plans = [self._draw(env.repeat, reach, rng) for _ in range(self.PLANS)]
        if len(self._plan):
            plans[0] = np.concatenate([self._plan[self._next :], plans[0]])[:reach]
        start = env.raw.snapshot()
        values = []
        for plan in plans:
            values.append(self._value(env, plan))
            env.raw.restore(start)
        return plans[max(range(len(plans)), key=lambda i: values[i])]

    def _draw(self, repeat: int, reach: int, rng: np.random.Generator) -> np.ndarray:
        holds = -(-rng.integers(*self.HOLD, size=reach) // repeat)
        return np.repeat(rng.integers(len(MOVES), size=reach), holds)[:reach]

    def _value(self, env: Any, plan: np.ndarray) -> tuple[int, float]:
        lives, total = env.raw.lives(), 0.0
        for move in plan:
            one = repeat_action(env.raw, MOVES[move].astype(np.float32), env.repeat)
            total += one.reward
            if one.is_terminal:
                return -lives - 1, total
        return min(0, env.raw.lives() - lives), total
