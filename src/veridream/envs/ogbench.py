"""OGBench tasks: a point or an ant in a maze (og-point-*, og-ant-*), an ant on an open field (og-ant), an ant that pushes a ball (og-antball).

Bodies, joints, motors and the control step (0.1 s) are the package's own point and ant; walls, goals and colours are laid into its model here.
(The package's mazes are fixed and draw start and goal from numpy's global state; this adapter draws them from the episode's seed.)
The camera looks straight down: x to the right, y up. Reaching the goal ends nothing.
"""

import copy
import importlib.metadata
import math
import tempfile
import xml.etree.ElementTree as ET
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from veridream.envs.base import Determinism, Quality, RawStep
from veridream.envs.mujoco_render import Camera, FrameRenderer
from veridream.envs.ogbench_mazes import MAZES, Maze
from veridream.params.tasks import Task

POINT_RADIUS, POINT_REACH = 0.7, 0.8  # m; of the body, and of the goal's disc: reached when the middle of the body is inside
ANT_RADIUS, ANT_REACH, BALL_RADIUS, BALL_REACH = 1.1, 1.0, 0.5, 1.0
BORDER = 0.6  # m of the outer wall in view
FIELD_VIEW = 9.0  # m in view on the open field
FIELD_GOAL = (1.5, 3.5)  # m from the ant to a new goal there
FOVY = 20.0  # degrees: narrow, so that walls hide little
WALL_HEIGHT = 1.0
LEG = 0.16  # m, thickness of the ant's legs
LEAST_LEG, MOST_THICKENING = 0.9, 2.5  # pixels; factor
STANDING = (0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)  # hip and ankle of the four legs, rad
COLOURS = {"self": "1 .4 .05 1", "self_white": ".95 .95 .75 1", "wall": ".24 .24 .33 1", "target": ".06 .36 .15 1"}
FLOOR = (".08 .08 .13", ".16 .16 .23")  # checker, squares of 1 m


def make(task: Task, size: int, quality: Quality) -> "OgBench":
    """The adapter of a task of this domain."""
    if task.id == "og-ant":
        return OpenField(task, size, quality)
    if task.id not in MAZES:
        raise ValueError(f"no adapter for OGBench task {task.id}")
    maze = MAZES[task.id]
    return AntBall(task, maze, size, quality) if task.id == "og-antball" else MazeRun(task, maze, size, quality)


def make_expert(task: Task) -> Any:
    """The expert of a task of this domain."""
    from veridream.envs import ogbench_experts

    return ogbench_experts.make_expert(task)


def build_xml(robot_xml: str, maze: Maze | None, reach: float, ball: bool = False) -> str:
    """The package's model of a robot with walls, a goal disc and perhaps a ball.

    Args:
        robot_xml: path of the package's model.
        maze: walls and floor; None for an open field, seen by a camera that goes with the robot.
        reach: radius of the goal's disc, m.
    """
    root = ET.parse(robot_xml).getroot()
    world, torso = _found(root, ".//worldbody"), _found(root, ".//body[@name='torso']")
    for body in root.iter("body"):
        for light in body.findall("light"):  # they go with the robot: a bright patch on the floor
            body.remove(light)
    for name, colour in COLOURS.items():
        for material in root.findall(f".//material[@name='{name}']"):
            material.set("rgba", colour)
    for leg in ("aux_1_geom", "left_leg_geom", "left_ankle_geom"):  # one leg is lighter: it tells the ant's heading
        for geom in root.findall(f".//geom[@name='{leg}']"):
            geom.set("material", "self_white")
    texture = _found(root, ".//texture[@name='grid']")
    texture.set("rgb1", FLOOR[0])
    texture.set("rgb2", FLOOR[1])
    _found(root, ".//material[@name='grid']").set("texrepeat", ".5 .5")
    goal = ET.SubElement(world, "body", name="goal", mocap="true", pos="0 0 .03")
    ET.SubElement(goal, "geom", name="target", type="cylinder", size=f"{reach} .03", material="target", contype="0", conaffinity="0")
    if maze is None:
        height = camera_distance(FIELD_VIEW)
        ET.SubElement(torso, "camera", name="chase", mode="trackcom", pos=f"0 0 {height}", xyaxes="1 0 0 0 1 0", fovy=str(FOVY))
    else:
        for i, (x, y, dx, dy) in enumerate(maze.walls()):
            box = {"name": f"wall{i}", "type": "box", "pos": f"{x} {y} {WALL_HEIGHT / 2}", "size": f"{dx} {dy} {WALL_HEIGHT / 2}"}
            ET.SubElement(world, "geom", box, material="wall", contype="1", conaffinity="1")
    if ball:
        body = ET.SubElement(world, "body", name="ball", pos=f"0 0 {BALL_RADIUS}")
        ET.SubElement(body, "freejoint", name="ball_root")
        look = {"type": "sphere", "size": str(BALL_RADIUS), "mass": ".3", "rgba": ".9 .9 .95 1"}
        ET.SubElement(body, "geom", look, name="ball", conaffinity="1", condim="6", friction=".8 .02 .02", priority="1")
    return ET.tostring(root, encoding="unicode")


def _found(root: ET.Element, path: str) -> ET.Element:
    element = root.find(path)
    if element is None:
        raise RuntimeError(f"the package's model has no {path}; ogbench 1.2.2 is expected")
    return element


def camera_distance(view: float) -> float:
    """How far (m) the camera is from a floor of which it sees a square of side `view` (m)."""
    return view / 2 / math.tan(math.radians(FOVY / 2))


class OgBench(ABC):
    """What the tasks share. State of the point: x, y, goal x, y (m).

    State of the ant: place (3, m), orientation (quaternion, 4), hip and ankle of each leg (8, rad), their velocities (6 + 8), goal x, y.
    """

    determinism: Determinism = "bitwise"
    maze: Maze | None = None
    ball = False

    def __init__(self, task: Task, size: int, quality: Quality) -> None:
        import mujoco
        from ogbench.locomaze.ant import AntEnv
        from ogbench.locomaze.point import PointEnv

        self._mujoco = mujoco
        self.is_ant = not task.id.startswith("og-point")
        self.reach = BALL_REACH if self.ball else ANT_REACH if self.is_ant else POINT_REACH
        robot = AntEnv if self.is_ant else PointEnv
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "world.xml"
            path.write_text(build_xml(robot.xml_file, self.maze, self.reach, self.ball))
            self._env = robot(xml_file=str(path))
        self.model, self.data = self._env.model, self._env.data
        self.action_dim = int(self.model.nu)
        self.state_dim = (15 + 14 if self.is_ant else 2) + 2 + (6 if self.ball else 0)
        view = FIELD_VIEW if self.maze is None else self.maze.side + 2 * BORDER
        drawn, note = self._drawn(view / size)
        above = Camera(lookat=(0.0, 0.0, 0.0), distance=camera_distance(view), azimuth=90.0, elevation=-90.0, fovy=FOVY)
        self._frames = FrameRenderer(drawn, self.data, above if task.camera == "top" else task.camera, size, quality)
        self.versions = {k: importlib.metadata.version(k) for k in ("ogbench", "mujoco", "gymnasium")}
        self.renderer = f"{self._frames.description}; camera {task.camera}, {view:g} m wide{note}"
        self._bits = mujoco.mjtState.mjSTATE_INTEGRATION
        self._rng = np.random.default_rng(0)

    def _drawn(self, pixel: float) -> tuple[Any, str]:
        """The model that is drawn, and a note for the store: in small frames the ant is drawn thicker than it is. pixel: its side, m."""
        factor = round(float(np.clip(LEAST_LEG * pixel / LEG, 1.0, MOST_THICKENING)), 2)
        if not self.is_ant or factor == 1.0:
            return self.model, ""
        drawn = copy.deepcopy(self.model)
        torso = drawn.body("torso").id
        for g in range(drawn.ngeom):
            if drawn.body_rootid[drawn.geom_bodyid[g]] == torso:
                drawn.geom_size[g, 0] *= factor
        return drawn, f"; the ant drawn {factor:g} times as thick"

    def reset(self, seed: int) -> None:
        self._mujoco.mj_resetData(self.model, self.data)
        self._rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        self._start(self._rng)
        self._mujoco.mj_forward(self.model, self.data)

    def step(self, action: np.ndarray) -> RawStep:
        self._env.step(np.asarray(action, dtype=np.float64))
        reward, success = self._judge()
        return RawStep(float(reward), False, bool(success))

    def render(self) -> np.ndarray:
        m = self._mujoco
        for update in (m.mj_kinematics, m.mj_comPos, m.mj_camlight):  # the last step left them one physics step behind
            update(self.model, self.data)
        return self._frames.render()

    def state(self) -> np.ndarray:
        parts = [self.data.qpos[:15], self.data.qvel[:14], self.goal] if self.is_ant else [self.data.qpos, self.goal]
        return np.concatenate(parts).astype(np.float32)

    def snapshot(self) -> Any:
        state = np.empty(self._mujoco.mj_stateSize(self.model, self._bits))
        self._mujoco.mj_getState(self.model, self.data, state, self._bits)
        return state, self._rng.bit_generator.state

    def restore(self, snap: Any) -> None:
        state, self._rng.bit_generator.state = snap
        self._mujoco.mj_setState(self.model, self.data, state, self._bits)

    def close(self) -> None:
        self._frames.close()
        self._env.close()

    @property
    def xy(self) -> np.ndarray:
        """Middle of the robot, m."""
        xy: np.ndarray = self.data.qpos[:2]
        return xy

    @property
    def goal(self) -> np.ndarray:
        """Middle of the goal, m. Part of the simulator's state: a body moved by hand."""
        goal: np.ndarray = self.data.mocap_pos[0, :2]
        return goal

    def _place(self, xy: np.ndarray, rng: np.random.Generator) -> None:
        """Puts the robot there; the ant stands, turned at random."""
        self.data.qpos[:2] = xy
        if self.is_ant:
            turn = rng.uniform(-math.pi, math.pi) / 2
            self.data.qpos[2:7] = 0.55, math.cos(turn), 0.0, 0.0, math.sin(turn)
            self.data.qpos[7:15] = np.array(STANDING) + rng.uniform(-0.1, 0.1, 8)

    @abstractmethod
    def _start(self, rng: np.random.Generator) -> None:
        """Draws the first state and the goal of an episode."""

    @abstractmethod
    def _judge(self) -> tuple[float, bool]:
        """Reward, in [0, 1], and success of the control step that was just made."""


class MazeRun(OgBench):
    """To the goal along free cells. Reward: how near it is, by the shortest way, from 0 (as far as the maze allows) to 1."""

    maze: Maze

    def __init__(self, task: Task, maze: Maze, size: int, quality: Quality) -> None:
        self.maze = maze
        super().__init__(task, size, quality)

    def _start(self, rng: np.random.Generator) -> None:
        start, goal = self.maze.draw(rng)
        room = self.maze.unit / 2 - (ANT_RADIUS if self.is_ant else POINT_RADIUS)
        self._place(self.maze.centre(start) + room * rng.uniform(-1, 1, 2), rng)
        self.goal[:] = self.maze.centre(goal)

    def _judge(self) -> tuple[float, bool]:
        reward = self.maze.near(self.xy, self.maze.cell_at(self.goal))
        return reward, bool(np.linalg.norm(self.xy - self.goal) < self.reach)


class OpenField(OgBench):
    """One goal after the other on a floor without end. Reward: 1 at the goal, falling to 0 at the farthest distance of a new one."""

    def _start(self, rng: np.random.Generator) -> None:
        self._place(rng.uniform(-0.5, 0.5, 2), rng)
        self._next_goal()

    def _next_goal(self) -> None:
        away, angle = self._rng.uniform(*FIELD_GOAL), self._rng.uniform(-math.pi, math.pi)
        self.goal[:] = self.xy + away * np.array([math.cos(angle), math.sin(angle)])

    def _judge(self) -> tuple[float, bool]:
        away = float(np.linalg.norm(self.xy - self.goal))
        if away < self.reach:
            self._next_goal()
        return max(0.0, 1.0 - away / FIELD_GOAL[1]), away < self.reach


class AntBall(OgBench):
    """The ball's middle into the goal. Reward: 0.7 for a ball at the goal and 0.3 for an ant at the ball, less with distance.

    State: the ant's, then place and velocity of the ball (6).
    """

    maze: Maze
    ball = True

    def __init__(self, task: Task, maze: Maze, size: int, quality: Quality) -> None:
        self.maze = maze
        super().__init__(task, size, quality)

    @property
    def ball_xy(self) -> np.ndarray:
        xy: np.ndarray = self.data.qpos[15:17]
        return xy

    def state(self) -> np.ndarray:
        ball = [self.data.qpos[15:18], self.data.qvel[14:17]]
        return np.concatenate([super().state(), *ball]).astype(np.float32)

    def _start(self, rng: np.random.Generator) -> None:
        """Ant, ball and goal in different cells; the ball in an inner one, where the ant can get behind it."""
        n = len(self.maze.rows)
        inner = [c for c in self.maze.free if 0 < c[0] < n - 1 and 0 < c[1] < n - 1]
        ball = inner[rng.integers(len(inner))]
        others = [c for c in self.maze.free if c != ball]
        ant, goal = (others[i] for i in rng.choice(len(others), 2, replace=False))
        self._place(self.maze.centre(ant) + rng.uniform(-0.5, 0.5, 2), rng)
        self.ball_xy[:] = self.maze.centre(ball) + rng.uniform(-0.5, 0.5, 2)
        self.goal[:] = self.maze.centre(goal)

    def _judge(self) -> tuple[float, bool]:
        far = self.maze.side * math.sqrt(2)
        ball, ant = (float(np.linalg.norm(self.ball_xy - xy)) for xy in (self.goal, self.xy))
        return max(0.0, 0.7 * (1.0 - ball / far) + 0.3 * (1.0 - ant / far)), ball < self.reach
