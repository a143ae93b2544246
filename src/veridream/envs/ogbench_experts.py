"""Scripted players of the OGBench tasks: shortest ways on the grid of cells; a proportional controller for the point, a trot for the ant.

They read the environment's state and act on it; all chance comes from `rng`.
"""

import math
from typing import Any

import numpy as np

from veridream.envs.ogbench_mazes import MAZES, Cell, Maze, cell_ways
from veridream.params.tasks import Task

POINT_STEP = 0.2  # m that an action of 1 moves the point in a control step
CONTROL_STEP = 0.1  # s
STROLL = (1, 3)  # cells that a player walks off, once at the goal, before it comes back


def make_expert(task: Task) -> Any:
    """The scripted player of a task. Raises ValueError for one that has none."""
    if task.id.startswith("og-point") and task.id in MAZES:
        return PointPlayer(MAZES[task.id])
    if task.id == "og-ant":
        return FieldPlayer()
    if task.id == "og-antball":
        return BallPlayer()
    if task.id in MAZES:
        return AntPlayer(MAZES[task.id])
    raise ValueError(f"no scripted OGBench player for task {task.id}")


class Route:
    """Where to go next. A player at its goal strolls: off to a cell nearby and back, in turn. A standing player would teach a model little."""

    def __init__(self, maze: Maze, reach: float) -> None:
        self.maze, self.reach = maze, reach
        self.away: Cell | None = None  # where it walks when not to the goal

    def waypoint(self, xy: np.ndarray, goal_xy: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The place [x, y] (m) to aim at: the last cell straight ahead on a shortest path."""
        goal = self.maze.cell_at(goal_xy)
        if np.linalg.norm(self.maze.centre(self.away or goal) - xy) < self.reach:
            near = [c for c, n in cell_ways(self.maze, goal).items() if STROLL[0] <= n <= STROLL[1]]
            self.away = near[rng.integers(len(near))] if self.away is None else None
        path = self.maze.path(self.maze.cell_at(xy), self.away or goal)
        ahead = path[min(1, len(path) - 1)]
        for cell in path[2:]:
            if cell[0] != path[0][0] and cell[1] != path[0][1]:
                break
            ahead = cell
        return self.maze.centre(ahead)


class PointPlayer:
    """Proportional control toward the next waypoint."""

    REACH = 0.6  # m, a little inside the goal's disc

    def __init__(self, maze: Maze) -> None:
        self._maze = maze
        self._route = Route(maze, self.REACH)

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        """To the goal first."""
        self._route = Route(self._maze, self.REACH)

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        """The action that removes the error while it is held, at full speed when it is too far; float [2]."""
        state = env.state().astype(float)
        error = self._route.waypoint(state[:2], state[2:4], rng) - state[:2]
        return np.clip(error / (POINT_STEP * env.repeat), -1.0, 1.0)


class Trot:
    """A trot of the ant in any direction: diagonal legs together, hips swing, ankles press in stance and lift in swing.

    Leg i points at azimuth 45 + 90 i degrees; a hip's turn moves its foot at right angles to that.
    """

    AZIMUTH = np.deg2rad([45.0, 135.0, 225.0, 315.0])
    DOWN = np.array([1.0, -1.0, -1.0, 1.0])  # sign of an ankle's angle that presses the foot down
    PERIOD = 0.9  # s
    SWING, PRESS, LIFT = 0.89, 0.65, 0.4  # rad: more than the joints allow, for strong motors
    STIFFNESS, DAMPING = 2.0, 0.25
    LATER = 0.9  # rad of the cycle by which the ankles follow the hips; found, like the rest, by a search for speed

    def __init__(self) -> None:
        self.phase = 0.0

    def action(self, heading: float, state: np.ndarray, repeat: int) -> np.ndarray:
        """Torques [8] of one agent step.

        Args:
            heading: where to go, rad, world frame.
            state: the ant's, as in the adapter.
            repeat: control steps that the action is held.
        """
        w, x, y, z = state[3:7]
        yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        turn = 2.0 * math.pi * (self.phase + np.array([0.0, 0.5, 0.0, 0.5]))
        target = np.empty((4, 2))
        target[:, 0] = self.SWING * np.sin(heading - yaw - self.AZIMUTH) * np.cos(turn)
        target[:, 1] = self.DOWN * (self.PRESS + self.LIFT * np.sin(turn - self.LATER))
        torque = self.STIFFNESS * (target.ravel() - state[7:15]) - self.DAMPING * state[21:29]
        self.phase = (self.phase + repeat * CONTROL_STEP / self.PERIOD) % 1.0
        return np.clip(np.roll(torque, 2), -1.0, 1.0)  # the motors' order begins with the fourth leg


class FieldPlayer:
    """Trots straight to the goal."""

    def __init__(self) -> None:
        self._trot = Trot()

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        """Draws where in its cycle the trot begins."""
        self._trot.phase = float(rng.random())

    def act(self, env: Any, rng: np.random.Generator) -> np.ndarray:
        """Torques of an agent step, float [8]."""
        state = env.state().astype(float)
        to = self.aim(state, rng) - state[:2]
        return self._trot.action(math.atan2(to[1], to[0]), state, env.repeat)

    def aim(self, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The place [x, y] (m) to trot to."""
        return state[29:31]


class AntPlayer(FieldPlayer):
    """Trots along a shortest way."""

    REACH = 0.8  # m, a little inside the goal's disc

    def __init__(self, maze: Maze) -> None:
        super().__init__()
        self._maze = maze
        self._route = Route(maze, self.REACH)

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        """To the goal first."""
        super().reset(env, rng)
        self._route = Route(self._maze, self.REACH)

    def aim(self, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self._route.waypoint(state[:2], state[29:31], rng)


class BallPlayer(FieldPlayer):
    """Trots round the ball, at a distance, to the side away from the goal, then at it."""

    CIRCLE = 2.2  # m from the ball: the ant's legs reach 1.1 m, the ball's radius is 0.5 m
    TURN = math.radians(50.0)  # of the circle, how far ahead it aims
    BEHIND, LOST = math.radians(20.0), math.radians(50.0)  # off the line from goal to ball: begins to push; begins to go round again

    def __init__(self) -> None:
        super().__init__()
        self._pushing = False

    def reset(self, env: Any, rng: np.random.Generator) -> None:
        """Round the ball first."""
        super().reset(env, rng)
        self._pushing = False

    def aim(self, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        ball, off, way = state[31:33], state[:2] - state[31:33], state[29:31] - state[31:33]
        behind = math.atan2(-way[1], -way[0])
        angle = (math.atan2(off[1], off[0]) - behind + math.pi) % (2 * math.pi) - math.pi
        self._pushing = abs(angle) < (self.LOST if self._pushing else self.BEHIND)
        if self._pushing:  # at the ball, from a little further to its own side than where it is: that turns the ball back to the line
            return ball + self._arm(behind + math.pi - 0.5 * angle, 0.5)
        return ball + self._arm(behind + angle - math.copysign(min(abs(angle), self.TURN), angle), self.CIRCLE)

    @staticmethod
    def _arm(angle: float, length: float) -> np.ndarray:
        return length * np.array([math.cos(angle), math.sin(angle)])
