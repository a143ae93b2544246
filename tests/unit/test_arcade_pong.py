"""MiniArcade's pong: where the ball goes, what a game is worth, a court that nothing leaves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.arcade import made, mean_total
from veridream.envs.miniarcade import pong
from veridream.envs.miniarcade.pong import Pong, PongScene


def scene_of(**changes: Any) -> PongScene:
    scene = PongScene(ball_x=0.5, ball_y=0.5, ball_vx=-pong.BALL_SPEED, ball_vy=0.0, paddle=0.5, opponent=0.5, error=0.0, pause=0)
    return replace(scene, **changes)


def test_the_ball_comes_back_from_a_paddle_at_the_mirrored_place():
    x = pong.LEFT_PLANE + 0.25 * pong.BALL_SPEED
    after = Pong._fly(scene_of(ball_x=x), np.random.default_rng(0))
    assert (after.ball_x, after.ball_y) == (pytest.approx(pong.LEFT_PLANE + 0.75 * pong.BALL_SPEED), 0.5)
    assert (after.ball_vx, after.ball_vy) == (pong.BALL_SPEED, 0.0)


def test_where_the_paddle_is_hit_decides_the_slope():
    x = pong.LEFT_PLANE + 0.5 * pong.BALL_SPEED
    for share in (-1.0, -0.5, 0.5, 0.99):
        after = Pong._fly(scene_of(ball_x=x, paddle=0.5 - share * pong.REACH), np.random.default_rng(0))
        assert after.ball_vy == pytest.approx(share * pong.STEEPEST)
    missed = Pong._fly(scene_of(ball_x=x, paddle=0.5 - 1.01 * pong.REACH), np.random.default_rng(0))
    assert missed.ball_vx < 0


def test_the_long_sides_reflect():
    after = Pong._fly(scene_of(ball_y=1 - pong.BALL_RADIUS - 0.01, ball_vy=0.03), np.random.default_rng(0))
    assert after.ball_y == pytest.approx(1 - pong.BALL_RADIUS - 0.02)
    assert after.ball_vy == -0.03


def test_a_game_ends_at_three_points_of_either_side():
    env = made("pygame-pong")
    env.reset(0)
    rewards = []
    while True:
        env._scene = env.scene if env.scene.pause else scene_of(ball_x=-0.05, points=env.scene.points)
        one = env.step(np.zeros(1))
        rewards.append(one.reward)
        if one.is_terminal:
            break
    assert sum(rewards) == -3.0 and sorted(set(rewards)) == [-1.0, 0.0]
    assert not one.success
    with pytest.raises(RuntimeError, match="the game is over"):
        env.step(np.zeros(1))
    env._scene = scene_of(ball_x=1.05, ball_vx=pong.BALL_SPEED, points=(2, 2))
    one = env.step(np.zeros(1))
    assert (one.reward, one.is_terminal, one.success) == (1.0, True, True)


@given(seed=st.integers(0, 2**63 - 1))
@settings(max_examples=25, deadline=None)
def test_pong_stays_in_its_court(seed: int):
    env = made("pygame-pong")
    rng = np.random.default_rng(seed)
    env.reset(seed)
    for _ in range(150):
        one = env.step(rng.uniform(-1, 1, 1))
        s = env.scene
        assert pong.BALL_RADIUS - 1e-12 <= s.ball_y <= 1 - pong.BALL_RADIUS + 1e-12
        assert all(pong.HALF_HEIGHT <= p <= 1 - pong.HALF_HEIGHT for p in (s.paddle, s.opponent))
        assert env.state().min() >= -0.05 and env.state().max() <= 1.0
        if one.is_terminal:
            break


def test_the_player_beats_chance():
    """Mean return of 16 whole games."""
    assert mean_total("pygame-pong", "expert", 16, 2, 100) >= 1.0
    assert mean_total("pygame-pong", "random", 16, 2, 100) <= -1.0
