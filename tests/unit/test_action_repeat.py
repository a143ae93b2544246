import numpy as np
import pytest

from helpers.counter_env import CounterEnv
from veridream.envs.base import AgentEnv, Env, RawEnv, RawStep, repeat_action
from veridream.params.tasks import task


def make(lengths, action_repeat=1, frame_skip=2, max_steps=None, terminal=True):
    t = task("pygame-pong").model_copy(update={"action_dim": 1, "action_repeat": action_repeat, "horizon": 50})
    return AgentEnv(t, CounterEnv(lengths, terminal=terminal), 16, frame_skip, max_steps)


def test_the_fake_is_a_raw_env():
    assert isinstance(CounterEnv(), RawEnv)
    env: Env = make([3])
    assert env.horizon == 50


def test_an_odd_episode_under_repeat_two_three_times():
    """The repeat stops at the end, and the next episode starts whole: 5 control steps are agent steps of 2, 2 and 1."""
    env = make([5, 5, 5])
    for episode in range(3):
        env.reset(episode)
        steps = [env.step(np.zeros(1)) for _ in range(3)]
        assert [s.reward for s in steps] == [1 + 2, 3 + 4, 5]
        assert [s.is_terminal for s in steps] == [False, False, True]
        assert [s.is_last for s in steps] == [False, False, True]
        assert env.raw.count == 5
        with pytest.raises(RuntimeError, match="reset"):
            env.step(np.zeros(1))
    assert env.raw.seeds == [0, 1, 2]


def test_repeat_is_the_product_of_the_tasks_own_and_the_skip():
    env = make([100], action_repeat=3, frame_skip=2)
    env.reset(0)
    assert env.step(np.zeros(1)).reward == sum(range(1, 7))


@pytest.mark.parametrize("max_steps, expected", [(None, 50), (4, 4), (80, 50)])
def test_the_horizon_is_the_smaller_one(max_steps, expected):
    env = make([10_000], max_steps=max_steps)
    env.reset(0)
    flags = [env.step(np.zeros(1)) for _ in range(expected)]
    assert [f.is_last for f in flags] == [False] * (expected - 1) + [True]
    assert not any(f.is_terminal for f in flags)


def test_end_and_horizon_in_the_same_step_is_terminal_too():
    env = make([4], max_steps=2)
    env.reset(0)
    env.step(np.zeros(1))
    last = env.step(np.zeros(1))
    assert last.is_terminal and last.is_last


def test_success_at_any_control_step_is_kept_for_the_episode():
    class Once:
        def __init__(self):
            self.n = 0

        def step(self, action):
            self.n += 1
            return RawStep(0.5, False, self.n == 2)

    raw = Once()
    assert repeat_action(raw, np.zeros(1), 4) == RawStep(2.0, False, True)
    assert repeat_action(raw, np.zeros(1), 4) == RawStep(2.0, False, False)


def test_stepping_before_any_reset_is_an_error():
    with pytest.raises(RuntimeError, match="reset"):
        make([3]).step(np.zeros(1))


def test_a_registry_row_that_contradicts_the_simulator_is_refused():
    t = task("mw-push")
    with pytest.raises(ValueError, match="action_dim"):
        AgentEnv(t, CounterEnv(), 16)
    with pytest.raises(ValueError, match="frame_skip"):
        make([3], frame_skip=0)
