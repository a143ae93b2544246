"""Several renderers in one process: closing or dropping one must not touch the frames of another."""

import gc

import numpy as np
import pytest

from veridream.envs.registry import make


def first_frame(task_id):
    env = make(task_id, 32)
    env.reset(0)
    return env, env.render()


def closed(env):
    env.close()


def dropped(env):
    """Nothing to do: the caller lets go of it."""


def in_a_cycle(env):
    env.itself = env


@pytest.mark.parametrize("leave", [closed, dropped, in_a_cycle])
def test_leaving_one_environment_leaves_the_frames_of_another_alone(leave):
    alone, truth = first_frame("cup-catch")
    alone.close()
    first, _ = first_frame("pendulum-spin")
    second, before = first_frame("cup-catch")
    np.testing.assert_array_equal(before, truth)
    leave(first)
    del first
    gc.collect()
    np.testing.assert_array_equal(second.render(), truth)
    second.close()
