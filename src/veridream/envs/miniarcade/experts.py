"""Scripted players of MiniArcade. They read the environment's state (not its pixels) and act on it; all chance comes from `rng`."""

import math
from typing import Protocol

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade import point_maze, pong, reacher_easy
from veridream.envs.miniarcade.canvas import Point
from veridream.envs.miniarcade.maze_grid import Cell
from veridream.params.tasks import Task


class Expert(Protocol):
    def reset(self, env: Env, rng: np.random.Generator) -> None: ...  # after env.reset

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray: ...  # float32 [action_dim] in [-1, 1]


def make_expert(task: Task, restless: bool = True) -> Expert:
    """The scripted player of a MiniArcade task.

    Args:
        task: a row of params/tasks.yaml of domain pygame.
        restless: keep moving once the goal is reached (maze: walk off and come back; reacher: circle inside the target). A short episode is
            otherwise mostly standstill, which teaches a world model nothing and makes the repeated last frame unbeatable.
    Raises:
        ValueError: no player for this task.
    """
    if task.id in point_maze.LAYOUTS:
        return MazePlayer(point_maze.LAYOUTS[task.id], restless)
    if task.id == "pygame-pong":
        return PongPlayer()
    if task.id == "pygame-reacher-easy":
        return ReacherPlayer(restless)
    raise ValueError(f"no scripted MiniArcade player for task {task.id!r}")


def hold(env: Env) -> int:
    """Control steps one action lasts: a proportional controller that ignores it would overshoot."""
    return env.task.action_repeat * env.frame_skip


def drive(error: list[float], step: float, held: int) -> np.ndarray:
    """Proportional control of a first-order plant: the action that removes the error while it is held, at full speed when it is too far.

    Args:
        error: wanted minus actual, one number a dimension of the action.
        step: how far an action of 1 moves in a control step.
        held: control steps the action lasts.
    """
    return np.clip(np.array(error, dtype=np.float32) / (step * held), -1.0, 1.0)


def ways(count: int) -> list[np.ndarray]:
    """Actions [2] of full strength, evenly spread over the directions."""
    angles = 2 * math.pi * np.arange(count) / count
    way_N2 = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return list((way_N2 / np.abs(way_N2).max(axis=1, keepdims=True)).astype(np.float32))


class MazePlayer:
    """Walks a shortest path of cells to the goal: aims at the last cell of the path that is straight ahead.

    A restless one then walks to random cells at least `point_maze.LEAST_PATH` away and back to the goal, in turn.
    """

    def __init__(self, layout: tuple[str, ...], restless: bool = True) -> None:
        self.grid, self.restless = point_maze.grid_of(layout), restless
        self.away: Cell | None = None  # where it walks when not to the goal

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """To the goal first."""
        self.away = None

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action toward the waypoint, float32 [2]."""
        x, y, goal_x, goal_y = map(float, env.state())
        goal = self.grid.cell_at((goal_x, goal_y))
        to_x, to_y = self.grid.centre(self.away or goal)
        if self.restless and math.hypot(x - to_x, y - to_y) < point_maze.REACHED:
            far = [c for c in self.grid.free_cells() if len(self.grid.path(goal, c)) > point_maze.LEAST_PATH]
            self.away = far[rng.integers(len(far))] if self.away is None else None
        to_x, to_y = self.grid.centre(self.straight_ahead(self.grid.path(self.grid.cell_at((x, y)), self.away or goal)))
        return drive([to_x - x, to_y - y], point_maze.SPEED, hold(env))

    @staticmethod
    def straight_ahead(path: list[Cell]) -> Cell:
        """The last cell of the path before its first turn."""
        ahead = path[min(1, len(path) - 1)]
        for cell in path[2:]:
            if cell[0] != path[0][0] and cell[1] != path[0][1]:
                break
            ahead = cell
        return ahead


class PongPlayer:
    """Meets the ball where it will cross the paddle's plane, off-centre so that it leaves away from the opponent."""

    def __init__(self) -> None:
        self.aim = 0.0  # share of the paddle's reach by which it is struck off-centre
        self.coming = False

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Forgets the last rally."""
        self.aim, self.coming = 0.0, False

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action toward the meeting place, float32 [1]; toward the middle while the ball goes away."""
        x, y, vx, vy, paddle, opponent = map(float, env.state())
        coming = vx < 0 and x >= pong.LEFT_PLANE
        if coming and not self.coming:
            self.aim = float(rng.uniform(0.4, 0.85)) * (1.0 if opponent < 0.5 else -1.0)
        self.coming = coming
        target = self._meeting_height(y + vy * (x - pong.LEFT_PLANE) / -vx) - self.aim * pong.REACH if coming else 0.5
        return drive([pong.clamp_paddle(target) - paddle], pong.PADDLE_SPEED, hold(env))

    @staticmethod
    def _meeting_height(straight: float) -> float:
        """Folds a height reached without the long sides back into the court."""
        low, high = pong.BALL_RADIUS, 1 - pong.BALL_RADIUS
        turn = (straight - low) % (2 * (high - low))
        return low + min(turn, 2 * (high - low) - turn)


class ReacherPlayer:
    """Inverse kinematics, the nearer of the two solutions, then proportional control of both angles.

    A restless one circles inside the target instead of resting in its middle, without losing reward.
    """

    ORBIT = 0.65  # of the target's radius
    PACE = 0.9  # radians of the circle an action

    def __init__(self, restless: bool = True) -> None:
        self.orbit = self.ORBIT * reacher_easy.TARGET_RADIUS if restless else 0.0
        self.phase = 0.0

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Draws where on its circle it begins."""
        self.phase = float(rng.uniform(-math.pi, math.pi))

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """The action toward the nearest pose whose tip is at the aim, float32 [2]."""
        _, _, target_x, target_y, angle1, angle2 = map(float, env.state())
        self.phase += self.PACE
        poses = inverse_kinematics((target_x + self.orbit * math.cos(self.phase), target_y + self.orbit * math.sin(self.phase)))
        errors = [[reacher_easy.wrap(a - angle1), reacher_easy.wrap(b - angle2)] for a, b in poses]
        return drive(min(errors, key=lambda e: max(map(abs, e))), reacher_easy.TURN, hold(env))


def inverse_kinematics(target: Point) -> list[tuple[float, float]]:
    """Both pairs of joint angles that bring the tip to a point, or as near as the arm allows."""
    x, y = target[0] - reacher_easy.BASE[0], target[1] - reacher_easy.BASE[1]
    upper, lower = reacher_easy.UPPER, reacher_easy.LOWER
    cosine = (x * x + y * y - upper**2 - lower**2) / (2 * upper * lower)
    bend = math.acos(min(max(cosine, -1.0), 1.0))
    return [(math.atan2(y, x) - math.atan2(lower * math.sin(b), upper + lower * math.cos(b)), b) for b in (bend, -bend)]
