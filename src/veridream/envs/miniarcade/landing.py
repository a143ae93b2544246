"""pygame-landing: bring a lander down softly on the pad; then again, on another pad.

Action 0 is the sideways thrust, action 1 above 0 the main engine's; gravity pulls all the time. Contact ends a round: with the legs on the pad,
slowly enough in both directions, it is a landing, else a crash. The lander rests for `PAUSE` control steps, during which actions do nothing,
and starts anew high above another pad.
Reward of a control step: the decrease of |x - pad_x| + height, in image sides; plus 1 for a landing, minus 1 for a crash.
`success`: `LANDINGS` landings. State: [x, y, vx, vy, pad_x, pause]: the lander's middle, velocities in unit lengths a control step.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.base import Env
from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.experts import hold
from veridream.envs.miniarcade.game import PIXEL, Game

GROUND = 5 * PIXEL
HALF = 2.6 * PIXEL  # half the lander's width and height
REST = GROUND + HALF  # its middle at contact
PAD_HALF = 4.5 * PIXEL
ON_PAD = PAD_HALF - 1.5 * PIXEL  # farthest the lander's middle may be from the pad's
GRAVITY, MAIN, SIDE = 0.08 * PIXEL, 0.24 * PIXEL, 0.10 * PIXEL  # unit lengths a control step squared
SOFT_X, SOFT_Y = 0.5 * PIXEL, 0.9 * PIXEL  # fastest a landing may be
TOP = 1 - HALF
PAUSE = 4  # control steps
LANDINGS = 3

SKY, MOON, ROCK, PAD, GOOD = (58, 22, 34), (96, 44, 50), (196, 112, 72), (60, 120, 230), (70, 230, 110)
SHELL, BROKEN, GLASS, FLAME = (230, 230, 220), (20, 14, 18), (60, 170, 220), (255, 190, 40)


@dataclass(frozen=True)
class LandingScene:
    x: float
    y: float
    vx: float
    vy: float
    pad: float
    main: float = 0.0  # thrusts of the last control step, as shares; only for the picture
    side: float = 0.0
    pause: int = 0  # control steps until the next round
    landed: bool = False  # how the last round ended
    landings: int = 0
    success: bool = False
    over: bool = False  # never


class Landing(Game[LandingScene]):
    """The game; see the module."""

    state_dim = 6
    action_dim = 2

    def start(self, rng: np.random.Generator) -> LandingScene:
        """High up, moving a little, and a pad anywhere."""
        x, y, pad = (float(rng.uniform(*ends)) for ends in ((0.15, 0.85), (0.78, 0.9), (PAD_HALF, 1 - PAD_HALF)))
        return LandingScene(x, y, float(rng.uniform(-0.5, 0.5)) * PIXEL, -float(rng.uniform(0, 0.4)) * PIXEL, pad)

    def advance(self, scene: LandingScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[LandingScene, float]:
        """Thrust and gravity, then the motion, then the contact."""
        if scene.pause > 1:
            return replace(scene, pause=scene.pause - 1), 0.0
        if scene.pause == 1:
            return replace(self.start(rng), landings=scene.landings, success=scene.success), 0.0
        main, side = max(action[1], 0.0), action[0]
        vx, vy = scene.vx + SIDE * side, scene.vy + MAIN * main - GRAVITY
        x, y = scene.x + vx, scene.y + vy
        if not HALF <= x <= 1 - HALF:
            x, vx = min(max(x, HALF), 1 - HALF), 0.0
        if y > TOP:
            y, vy = TOP, 0.0
        contact, y = y <= REST, max(y, REST)
        progress = abs(scene.x - scene.pad) + scene.y - abs(x - scene.pad) - y
        scene = replace(scene, x=x, y=y, vx=vx, vy=vy, main=main, side=side)
        if not contact:
            return scene, progress
        landed = abs(x - scene.pad) <= ON_PAD and abs(vx) <= SOFT_X and -vy <= SOFT_Y
        landings = scene.landings + landed
        scene = replace(scene, vx=0.0, vy=0.0, main=0.0, side=0.0, pause=PAUSE, landed=landed)
        return replace(scene, landings=landings, success=landings >= LANDINGS), progress + (1.0 if landed else -1.0)

    def observe(self, scene: LandingScene) -> tuple[float, ...]:
        """[x, y, vx, vy, pad_x, pause]."""
        return scene.x, scene.y, scene.vx, scene.vy, scene.pad, scene.pause

    def paint_backdrop(self, canvas: Canvas) -> None:
        """Night, a moon, rock."""
        canvas.fill(SKY)
        canvas.disc((0.2, 0.7), 4 * PIXEL, MOON)
        canvas.rectangle(0.0, 0.0, 1.0, GROUND, ROCK)

    def paint(self, canvas: Canvas, scene: LandingScene) -> None:
        """Pad, flames, lander. After a landing the pad is green, after a crash the lander is black."""
        landed, crashed = (scene.pause > 0 and scene.landed), (scene.pause > 0 and not scene.landed)
        canvas.rectangle(scene.pad - PAD_HALF, GROUND - 4 * PIXEL, 2 * PAD_HALF, 4 * PIXEL, GOOD if landed else PAD)
        x, y = scene.x, scene.y
        if scene.main > 0:
            canvas.capsule((x, y - HALF), (x, y - HALF - 3 * PIXEL * scene.main), 1.4 * PIXEL, FLAME)
        if scene.side:
            away = -math.copysign(1.0, scene.side)
            canvas.capsule((x + away * HALF, y), (x + away * (HALF + 2 * PIXEL * abs(scene.side)), y), 0.9 * PIXEL, FLAME)
        shell = BROKEN if crashed else SHELL
        for foot in (-1, 1):
            canvas.capsule((x + foot * PIXEL, y), (x + foot * 2 * PIXEL, y - 2 * PIXEL), 0.6 * PIXEL, shell)
        canvas.disc((x, y + 0.4 * PIXEL), 2.2 * PIXEL, shell)
        canvas.disc((x, y + 0.8 * PIXEL), 1.1 * PIXEL, FLAME if crashed else GLASS)


class LandingPlayer:
    """Two speed controllers: toward the pad as fast as can still be braked, and down no faster than the height allows; it waits above the
    ground until it is over the pad."""

    def reset(self, env: Env, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, env: Env, rng: np.random.Generator) -> np.ndarray:
        """[side, main], float32 [2]."""
        x, y, vx, vy, pad, _ = map(float, env.state())
        held = hold(env)
        away, height = pad - x, max(y - REST, 0.0)
        fast = min(math.sqrt(SIDE * abs(away)), 1.4 * PIXEL)
        want_x = math.copysign(min(fast, abs(away) / (2 * held)), away)
        fall = min(math.sqrt((MAIN - GRAVITY) * height), 1.5 * PIXEL)
        want_y = -max(min(fall, height / (2 * held)), 0.35 * PIXEL)
        if abs(away) > ON_PAD + 2 * max(height - 5 * PIXEL, 0.0):
            want_y = max(want_y, 0.0)
        side = (want_x - vx) / (SIDE * held)
        main = ((want_y - vy) / held + GRAVITY) / MAIN
        return np.clip(np.array([side, main], dtype=np.float32), -1.0, 1.0)
