"""pygame-pong: the player's paddle is on the left, a scripted opponent's on the right; the game ends at three points of either side.

The ball keeps its horizontal speed; where it meets a paddle decides how steeply it leaves. The opponent follows the ball no faster than
`OPPONENT_SPEED` and misjudges it by a draw from the game's random stream, so it can be beaten.
Reward: +1 for a point of the player, -1 for one of the opponent. `success`: the player has won the game.
State: [ball_x, ball_y, ball_vx, ball_vy, paddle_y, opponent_y], velocities in unit lengths a control step.
"""

from dataclasses import dataclass, replace

import numpy as np

from veridream.envs.miniarcade.canvas import Canvas
from veridream.envs.miniarcade.game import PIXEL, Game

BALL_RADIUS = 2.2 * PIXEL
BALL_SPEED = 1.4 * PIXEL  # horizontally, unit lengths a control step
STEEPEST = 1.3 * PIXEL  # vertical speed after a hit with a paddle's very end
PADDLE_SPEED = 1.6 * PIXEL
OPPONENT_SPEED = 0.45 * PIXEL
OPPONENT_ERROR = 4.5 * PIXEL  # standard deviation of its misjudgement
WIDTH, HALF_HEIGHT = 4 * PIXEL, 4.5 * PIXEL  # of a paddle
EDGE = 1 * PIXEL  # between a paddle and the side of the court
PAUSE = 4  # control steps the ball rests before a serve
POINTS = 3

LEFT_PLANE = EDGE + WIDTH + BALL_RADIUS  # the ball's middle when it meets a paddle
RIGHT_PLANE = 1 - LEFT_PLANE
REACH = HALF_HEIGHT + 0.8 * BALL_RADIUS  # farthest ball from a paddle's middle that is still hit

COURT, LINE, BALL, PLAYER, OPPONENT = (16, 74, 40), (30, 96, 56), (250, 226, 60), (244, 244, 244), (150, 170, 250)


@dataclass(frozen=True)
class PongScene:
    ball_x: float
    ball_y: float
    ball_vx: float  # the coming serve's while the ball rests
    ball_vy: float
    paddle: float
    opponent: float
    error: float  # the opponent's misjudgement of this rally's ball
    pause: int  # control steps until the serve
    points: tuple[int, int] = (0, 0)  # player, opponent

    @property
    def success(self) -> bool:
        return self.points[0] >= POINTS

    @property
    def over(self) -> bool:
        return max(self.points) >= POINTS


def clamp_paddle(y: float) -> float:
    """The paddle's middle kept inside the court."""
    return min(max(y, HALF_HEIGHT), 1 - HALF_HEIGHT)


class Pong(Game[PongScene]):
    """The game; see the module."""

    state_dim = 6
    action_dim = 1

    def start(self, rng: np.random.Generator) -> PongScene:
        """Paddles at random heights, the first serve."""
        paddle, opponent = (float(rng.uniform(HALF_HEIGHT, 1 - HALF_HEIGHT)) for _ in range(2))
        return self._serve(PongScene(0.5, 0.5, 0.0, 0.0, paddle, opponent, 0.0, 0), rng)

    def _serve(self, scene: PongScene, rng: np.random.Generator) -> PongScene:
        """The ball on the middle line at a random height, about to leave to a random side."""
        side = 1.0 if rng.random() < 0.5 else -1.0
        return replace(
            scene,
            ball_x=0.5,
            ball_y=float(rng.uniform(0.25, 0.75)),
            ball_vx=side * BALL_SPEED,
            ball_vy=float(rng.uniform(-0.8, 0.8)) * STEEPEST,
            error=float(rng.normal()) * OPPONENT_ERROR,
            pause=PAUSE,
        )

    def advance(self, scene: PongScene, action: tuple[float, ...], rng: np.random.Generator) -> tuple[PongScene, float]:
        """Moves the paddles, then the ball; a ball that left the court gives the point and the next serve."""
        scene = replace(scene, paddle=clamp_paddle(scene.paddle + PADDLE_SPEED * action[0]), opponent=self._opponent(scene))
        if scene.pause > 0:
            return replace(scene, pause=scene.pause - 1), 0.0
        scene = self._fly(scene, rng)
        if -BALL_RADIUS <= scene.ball_x <= 1 + BALL_RADIUS:
            return scene, 0.0
        won = scene.ball_x > 0.5
        scene = replace(scene, points=(scene.points[0] + won, scene.points[1] + (not won)))
        return scene if scene.over else self._serve(scene, rng), 1.0 if won else -1.0

    @staticmethod
    def _opponent(scene: PongScene) -> float:
        target = scene.ball_y + scene.error if scene.ball_vx > 0 and scene.pause == 0 else 0.5
        step = min(max(target - scene.opponent, -OPPONENT_SPEED), OPPONENT_SPEED)
        return clamp_paddle(scene.opponent + step)

    @staticmethod
    def _fly(scene: PongScene, rng: np.random.Generator) -> PongScene:
        """One control step of flight: reflection at the long sides, then at the paddle whose plane was crossed, at the crossing itself."""
        x, y, vy = scene.ball_x + scene.ball_vx, scene.ball_y + scene.ball_vy, scene.ball_vy
        if not BALL_RADIUS <= y <= 1 - BALL_RADIUS:
            y, vy = (2 * BALL_RADIUS if y < 0.5 else 2 * (1 - BALL_RADIUS)) - y, -vy
        leftward = scene.ball_vx < 0
        plane, paddle = (LEFT_PLANE, scene.paddle) if leftward else (RIGHT_PLANE, scene.opponent)
        crossed = scene.ball_x >= plane > x if leftward else scene.ball_x <= plane < x
        if crossed:
            part = (plane - scene.ball_x) / scene.ball_vx
            at = scene.ball_y + part * (y - scene.ball_y)
            if abs(at - paddle) <= REACH:
                vy = (at - paddle) / REACH * STEEPEST
                y = min(max(at + (1 - part) * vy, BALL_RADIUS), 1 - BALL_RADIUS)
                error = float(rng.normal()) * OPPONENT_ERROR if leftward else scene.error
                return replace(scene, ball_x=2 * plane - x, ball_y=y, ball_vx=-scene.ball_vx, ball_vy=vy, error=error)
        return replace(scene, ball_x=x, ball_y=y, ball_vy=vy)

    def observe(self, scene: PongScene) -> tuple[float, ...]:
        """[ball_x, ball_y, ball_vx, ball_vy, paddle_y, opponent_y]; the ball's velocity is 0 while it rests before a serve."""
        vx, vy = (0.0, 0.0) if scene.pause else (scene.ball_vx, scene.ball_vy)
        return min(max(scene.ball_x, 0.0), 1.0), scene.ball_y, vx, vy, scene.paddle, scene.opponent

    def paint_backdrop(self, canvas: Canvas) -> None:
        """The court and its middle line."""
        canvas.fill(COURT)
        for k in range(4):
            canvas.rectangle(0.5 - 0.5 * PIXEL, (8 * k + 2) * PIXEL, PIXEL, 4 * PIXEL, LINE)

    def paint(self, canvas: Canvas, scene: PongScene) -> None:
        """Paddles, then the ball over them."""
        for left, middle, colour in ((EDGE, scene.paddle, PLAYER), (1 - EDGE - WIDTH, scene.opponent, OPPONENT)):
            canvas.rectangle(left, middle - HALF_HEIGHT, WIDTH, 2 * HALF_HEIGHT, colour, rounding=PIXEL)
        canvas.disc((scene.ball_x, scene.ball_y), BALL_RADIUS, BALL)
