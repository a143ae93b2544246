"""One suite that every task's environment passes: seeds, isolation, flags, horizon, frames, golden thumbnails, states, versions, snapshots, scores."""

import os

import numpy as np
import pytest

from helpers import thumbnails
from veridream.envs.base import AgentEnv, NotSupported
from veridream.envs.behaviours import make_behaviour
from veridream.envs.experts import make_expert
from veridream.envs.mujoco_planner import Planned
from veridream.envs.registry import make
from veridream.envs.score import normalised_score

CEM = {"candidates": 12, "elites": 3, "iterations": 2, "horizon": 8, "execute": 4}


def play(env, seed, steps=6, action_seed=0):
    """Frames, states, rewards of an episode under random actions."""
    rng = np.random.default_rng(action_seed)
    env.reset(seed)
    frames, states, rewards = [env.render()], [env.state()], []
    for _ in range(steps):
        step = env.step(rng.uniform(-1, 1, env.action_dim))
        frames.append(env.render())
        states.append(env.state())
        rewards.append(step.reward)
        if step.is_last:
            break
    return np.array(frames), np.array(states), np.array(rewards)


def same(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def test_same_seed_same_episode_whatever_came_before(env):
    first = play(env, 11)
    play(env, 12, steps=9, action_seed=5)
    same(first, play(env, 11))


def test_an_episode_of_a_fresh_environment_equals_one_after_others(env, twin):
    play(env, 3)
    later = play(env, 2**62 + 7)
    same(play(twin, 2**62 + 7), later)


def test_other_seeds_differ(env):
    states = []
    for seed in (0, 1, 2, 2**32, 2**32 + 1):
        env.reset(seed)
        states.append((env.state().tobytes(), env.render().tobytes()))
    assert len({s for s, _ in states}) == len(states)
    assert len({f for _, f in states}) >= 4


def test_global_numpy_state_is_neither_read_nor_changed(env):
    before = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(1)  # noqa: NPY002
        first = play(env, 5)
        np.random.seed(2)  # noqa: NPY002
        marked = np.random.get_state()  # noqa: NPY002
        same(first, play(env, 5))
        after = np.random.get_state()  # noqa: NPY002
        np.testing.assert_array_equal(marked[1], after[1])
        assert marked[2:] == after[2:]
    finally:
        np.random.set_state(before)  # noqa: NPY002


def test_shapes_types_and_ranges(env):
    step = env.reset(4)
    assert (step.reward, step.is_terminal, step.is_last, step.success) == (0.0, False, False, False)
    for _ in range(3):
        frame, state = env.render(), env.state()
        assert frame.shape == (env.size, env.size, 3) and frame.dtype == np.uint8
        assert frame.std() > 2, "a blank frame"
        assert state.shape == (env.state_dim,) and state.dtype == np.float32 and np.isfinite(state).all()
        step = env.step(np.full(env.action_dim, 0.3, np.float32))
        assert type(step.reward) is float and np.isfinite(step.reward)
        assert type(step.is_terminal) is bool and type(step.is_last) is bool and type(step.success) is bool
    assert env.action_dim == env.task.action_dim
    assert max(env.task.coverage.dims) < env.state_dim


def test_the_first_frame_is_the_golden_one(env):
    env.reset(thumbnails.SEED)
    frame, stored = env.render(), thumbnails.read()
    if os.environ.get("VERIDREAM_THUMBNAILS") == "rewrite":
        thumbnails.put(env.task.id, frame)
    elif env.task.id in stored:
        thumbnails.check(env.task.id, frame, stored[env.task.id])
    elif "vulkan" in env.task.needs:
        pytest.skip(f"no golden thumbnail of {env.task.id} is recorded yet: look at the frame, then make thumbnails TASKS={env.task.id}")
    else:
        pytest.fail(f"{env.task.id} has no golden thumbnail: look at its frame in the gallery, then make thumbnails TASKS={env.task.id}")


def test_the_rate_is_the_registrys(env):
    raw = env.raw
    if not isinstance(raw, Planned):
        pytest.skip("its physics steps a control step are not known here")
    assert 1 / (raw.model.opt.timestep * raw.substeps * env.task.action_repeat) == pytest.approx(env.task.control_hz)


def test_a_frame_is_a_copy_and_rendering_changes_nothing(env):
    env.reset(6)
    a = env.render()
    b = env.render()
    np.testing.assert_array_equal(a, b)
    a[:] = 0
    np.testing.assert_array_equal(env.render(), b)
    unseen = play_without_rendering(env, 6)
    np.testing.assert_array_equal(unseen, play(env, 6)[1][-1])


def play_without_rendering(env, seed, steps=6):
    rng = np.random.default_rng(0)
    env.reset(seed)
    for _ in range(steps):
        if env.step(rng.uniform(-1, 1, env.action_dim)).is_last:
            break
    return env.state()


def test_things_move_between_frames(env):
    frames, states, _ = play(env, 8, steps=10)
    changed = np.abs(np.diff(frames.astype(int), axis=0)).max(axis=(1, 2, 3))
    still = getattr(env.raw, "waits", False)  # said by an adapter in whose world nothing moves while the agent keeps still
    assert np.mean(changed > 25) > (0.4 if still else 0.7), changed
    assert np.abs(np.diff(states, axis=0)).max() > 0


def test_bad_actions_are_refused_and_large_ones_clipped(env):
    env.reset(1)
    with pytest.raises(ValueError, match="not finite"):
        env.step(np.full(env.action_dim, np.nan))
    with pytest.raises(ValueError, match="shape"):
        env.step(np.zeros(env.action_dim + 1))
    env.reset(1)
    env.step(np.full(env.action_dim, 9.0))
    large = env.state()
    env.reset(1)
    env.step(np.ones(env.action_dim))
    np.testing.assert_array_equal(env.state(), large)
    with pytest.raises(ValueError, match="seed"):
        env.reset(-1)


def test_the_horizon_ends_an_episode_and_stepping_on_is_an_error(env):
    short = AgentEnv(env.task, env.raw, env.size, frame_skip=1, max_steps=3)
    assert short.horizon == 3
    short.reset(0)
    flags = [short.step(np.zeros(short.action_dim)) for _ in range(3)]
    assert [f.is_last for f in flags] == [False, False, True]
    assert not any(f.is_terminal for f in flags)
    with pytest.raises(RuntimeError, match="reset"):
        short.step(np.zeros(short.action_dim))
    short.reset(0)
    assert not short.step(np.zeros(short.action_dim)).is_last


def test_an_agent_step_is_that_many_control_steps(env):
    env.reset(9)
    action = np.full(env.action_dim, 0.4, np.float32)
    step = env.step(action)
    state = env.state()
    env.reset(9)
    singles = [env.raw.step(action) for _ in range(env.task.action_repeat * 2)]
    np.testing.assert_array_equal(env.state(), state)
    assert step.reward == pytest.approx(sum(s.reward for s in singles))


def test_two_environments_do_not_disturb_each_other(env, twin, neighbour):
    alone = play(env, 21)
    neighbour.reset(0)
    twin.reset(77)
    rng = np.random.default_rng(0)
    env.reset(21)
    np.testing.assert_array_equal(env.render(), alone[0][0])
    for t in range(1, len(alone[0])):
        neighbour.step(np.full(neighbour.action_dim, 0.5))
        twin.step(np.full(twin.action_dim, -0.5))
        neighbour.render(), twin.render()
        env.step(rng.uniform(-1, 1, env.action_dim))
        np.testing.assert_array_equal(env.render(), alone[0][t])
        np.testing.assert_array_equal(env.state(), alone[1][t])


def test_versions_and_renderer_are_recorded(env):
    assert env.versions and all(isinstance(v, str) and v[0].isdigit() for v in env.versions.values())
    assert len(env.renderer) > 5
    assert env.determinism in ("bitwise", "tolerant")


def test_snapshot_and_restore_repeat_the_future_bit_for_bit(env):
    env.reset(31)
    rng = np.random.default_rng(1)
    actions = rng.uniform(-1, 1, (10, env.action_dim))
    env.step(actions[0])
    try:
        snap = env.snapshot()
    except NotSupported as e:
        assert env.task.id in str(e)
        with pytest.raises(NotSupported):
            env.restore((None, 0, False, False))
        return
    runs = []
    for _ in range(2):
        out = [(env.state(), env.render(), env.step(a)) for a in actions[1:6]]
        runs.append(out + [(env.state(), env.render(), None)])
        env.reset(99)
        env.step(actions[6])
        env.restore(snap)
    for (s1, f1, r1), (s2, f2, r2) in zip(*runs, strict=True):
        np.testing.assert_array_equal(s1, s2)
        np.testing.assert_array_equal(f1, f2)
        assert r1 == r2


def run(env, behaviour, seed):
    env.reset(seed)
    act = make_behaviour(behaviour, env, lambda: make_expert(env, CEM), np.random.default_rng(seed)).act
    total = 0.0
    while True:
        action = act()
        assert action.dtype == np.float32 and action.shape == (env.action_dim,)
        step = env.step(action)
        total += step.reward
        if step.is_last:
            return normalised_score(env.task, env.frame_skip, env.horizon, total, step.success), total


def test_the_expert_beats_random_and_scores_are_in_range(env, fact):
    seeds = range(2) if env.task.expert == "cem" else range(4)
    random = [run(env, "random", s) for s in seeds]
    assert all(0.0 <= score <= 1.0 for score, _ in random)
    fact("random", np.mean([score for score, _ in random]))
    if env.task.expert is None:
        with pytest.raises(ValueError, match=env.task.id):
            run(env, "expert", 0)
        return
    expert = [run(env, "expert", s) for s in seeds]
    assert all(0.0 <= score <= 1.0 for score, _ in expert)
    fact("expert", np.mean([score for score, _ in expert]))
    assert np.mean([r for _, r in expert]) > np.mean([r for _, r in random])


@pytest.mark.parametrize("behaviour", ["noop", "transformed", "noise"])
def test_behaviours_are_reproducible(env, behaviour):
    if env.task.expert is None and behaviour != "noop":
        pytest.skip("the task has no expert")
    outs = []
    for _ in range(2):
        env.reset(41)
        b = make_behaviour(behaviour, env, lambda: make_expert(env, CEM), np.random.default_rng(41))
        actions = []
        for _ in range(3):
            actions.append(b.act())
            env.step(actions[-1])
        outs.append((np.array(actions), b.parameters))
    np.testing.assert_array_equal(outs[0][0], outs[1][0])
    assert outs[0][1] == outs[1][1]
    assert np.abs(outs[0][0]).max() <= 1.0


def test_behaviours_take_over_from_each_other(env):
    """An expert that begins in the middle of an episode, at a state that others left it."""
    weights = {"noop": 0.2, "random": 0.2, "expert": 0.2, "transformed": 0.2, "noise": 0.2}
    outs = []
    for _ in range(2):
        env.reset(43)
        b = make_behaviour("switched", env, lambda: make_expert(env, CEM), np.random.default_rng(43), {"shortest": 1, "longest": 2, "weights": weights})
        actions, acted = [], []
        for _ in range(6):
            actions.append(b.act())
            acted.append(b.acting)
            if env.step(actions[-1]).is_last:
                break
        outs.append((np.array(actions), acted, b.parameters))
    np.testing.assert_array_equal(outs[0][0], outs[1][0])
    assert outs[0][1:] == outs[1][1:]
    assert np.isfinite(outs[0][0]).all() and np.abs(outs[0][0]).max() <= 1.0
    assert env.task.expert or set(outs[0][1]) <= {"noop", "random"}


def test_unknown_tasks_and_sizes_are_refused():
    with pytest.raises(ValueError, match="cup-catch"):
        make("cup-cach", 32)
    with pytest.raises(ValueError, match="size"):
        make("cup-catch", 2)
    with pytest.raises(ValueError, match="quality"):
        make("cup-catch", 32, quality="best")
