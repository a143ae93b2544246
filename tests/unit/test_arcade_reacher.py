"""MiniArcade's reacher: the arm's geometry, its reward, its player."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.arcade import made, mean_total
from veridream.envs.miniarcade import reacher_easy
from veridream.envs.miniarcade.experts import inverse_kinematics
from veridream.envs.miniarcade.reacher_easy import ReacherScene


@given(angle1=st.floats(-math.pi, 3.14), angle2=st.floats(-3.1, 3.1))
def test_inverse_kinematics_undoes_the_arm(angle1: float, angle2: float):
    _, tip = reacher_easy.joints(angle1, angle2)
    for pose in inverse_kinematics(tip):
        assert math.dist(reacher_easy.joints(*pose)[1], tip) < 1e-6


def test_reacher_reward_is_one_inside_and_decays_outside():
    env = made("pygame-reacher-easy")
    env.reset(0)
    _, tip = reacher_easy.joints(0.3, 0.8)
    for away, reward in ((0.0, 1.0), (0.9 * reacher_easy.TARGET_RADIUS, 1.0), (reacher_easy.TARGET_RADIUS + 0.1, 0.3 / math.e)):
        env._scene = ReacherScene(0.3, 0.8, (tip[0] + away, tip[1]))
        one = env.step(np.zeros(2))
        assert one.reward == pytest.approx(reward)
        assert one.success == (reward == 1.0)
    env._scene = ReacherScene(3.1, 0.0, (0.9, 0.5))
    env.step(np.array([1.0, -0.5]))
    assert env.scene.angle1 == pytest.approx(3.1 + reacher_easy.TURN - 2 * math.pi)
    assert env.scene.angle2 == pytest.approx(-0.5 * reacher_easy.TURN)


def test_the_player_beats_chance():
    """Mean return of 16 episodes of 100 control steps."""
    assert mean_total("pygame-reacher-easy", "expert", 16, 2, 50) >= 70.0
    assert mean_total("pygame-reacher-easy", "random", 16, 2, 50) <= 20.0
