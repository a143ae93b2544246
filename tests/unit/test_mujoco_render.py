"""Several renderers in one process: closing or dropping one must not touch the frames of another. Averaging down is exact."""

import gc

import numpy as np
import pytest

from veridream.envs.mujoco_render import shrink
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


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 16, 32])
def test_shrinking_is_the_mean_of_each_block_rounded_half_up(factor):
    """16 is the largest factor whose sums fit 16 bits; white stays white on both sides of it."""
    frame = np.random.default_rng(0).integers(0, 256, (2 * factor, 3 * factor, 3)).astype(np.uint8)
    frame[:factor, :factor] = 255
    means = frame.reshape(2, factor, 3, factor, 3).astype(np.int64).sum(axis=(1, 3))
    small = shrink(frame, factor)
    np.testing.assert_array_equal(small, (2 * means + factor**2) // (2 * factor**2))
    assert small.dtype == np.uint8 and (small[0, 0] == 255).all()
