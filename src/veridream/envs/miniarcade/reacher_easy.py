"""pygame-reacher-easy: turn the two joints of an arm until its tip rests in the target disc. Its colours are those of no other task.

Motion is first order: the joints turn at the action times `TURN`; links meet no obstacle, not even each other.
Reward of a control step: 1 with the tip inside the target, else 0.3 exp(-(distance to its rim) / 0.1).
`success`: the tip has been inside. State: [tip_x, tip_y, target_x, target_y, angle1, angle2]: angle1 of the upper link against the x axis,
angle2 of the lower against the upper link, both in radians in [-pi, pi).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.miniarcade.canvas import Canvas, Point
from veridream.envs.miniarcade.game import PIXEL, Game

BASE: Point = (0.5, 0.5)
UPPER, LOWER = 7.0 * PIXEL, 6.5 * PIXEL  # lengths of the links
LINK_RADIUS = 2.0 * PIXEL
TARGET_RADIUS = 2.6 * PIXEL
TURN = 0.11  # radians a control step
NEAREST, FARTHEST = 3.0 * PIXEL, 12.5 * PIXEL  # of a target's middle from the base

GROUND, UPPER_COLOUR, LOWER_COLOUR, HUB, TARGET = (62, 26, 74), (236, 72, 150), (140, 220, 40), (250, 240, 250), (70, 200, 245)


def wrap(angle: float) -> float:
    """The same angle in [-pi, pi)."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


def joints(angle1: float, angle2: float) -> tuple[Point, Point]:
    """Elbow and tip of the arm, unit coordinates."""
    elbow = BASE[0] + UPPER * math.cos(angle1), BASE[1] + UPPER * math.sin(angle1)
    return elbow, (elbow[0] + LOWER * math.cos(angle1 + angle2), elbow[1] + LOWER * math.sin(angle1 + angle2))


@dataclass(frozen=True)
class ReacherScene:
    angle1: float
    angle2: float
    target: Point
    success: bool = False
    over: bool = False  # never


class ReacherEasy(Game[ReacherScene]):
    """The game; see the module."""

    state_dim = 6
    action_dim = 2

    def start(self, rng: np.random.Generator) -> ReacherScene:
        """Any pose, and a target whose disc the tip is not in."""
        angle1, angle2 = (float(rng.uniform(-math.pi, math.pi)) for _ in range(2))
        _, tip = joints(angle1, angle2)
        while True:
            radius, angle = rng.uniform(NEAREST, FARTHEST), rng.uniform(-math.pi, math.pi)
            target = BASE[0] + float(radius * math.cos(angle)), BASE[1] + float(radius * math.sin(angle))
            if math.dist(tip, target) > 2 * TARGET_RADIUS:
                return ReacherScene(angle1, angle2, target)

    def advance(self, scene: ReacherScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[ReacherScene, float]:
        """Turns the joints; the reward is in the module's words."""
        angle1, angle2 = wrap(scene.angle1 + TURN * action[0]), wrap(scene.angle2 + TURN * action[1])
        _, tip = joints(angle1, angle2)
        outside = math.dist(tip, scene.target) - TARGET_RADIUS
        reward = 1.0 if outside <= 0 else 0.3 * math.exp(-outside / 0.1)
        return replace(scene, angle1=angle1, angle2=angle2, success=scene.success or outside <= 0), reward

    def observe(self, scene: ReacherScene) -> tuple[float, ...]:
        """[tip_x, tip_y, target_x, target_y, angle1, angle2]."""
        return *joints(scene.angle1, scene.angle2)[1], *scene.target, scene.angle1, scene.angle2

    def paint_backdrop(self, canvas: Canvas) -> None:
        """The bare ground."""
        canvas.fill(GROUND)

    def paint(self, canvas: Canvas, scene: ReacherScene) -> None:
        """Target, upper link, lower link over it, hub."""
        elbow, tip = joints(scene.angle1, scene.angle2)
        canvas.disc(scene.target, TARGET_RADIUS, TARGET)
        canvas.capsule(BASE, elbow, LINK_RADIUS, UPPER_COLOUR)
        canvas.capsule(elbow, tip, LINK_RADIUS, LOWER_COLOUR)
        canvas.disc(BASE, 1.2 * PIXEL, HUB)
