"""The driver against an environment whose pixels say what happened. Literal expected arrays throughout."""

import dataclasses

import numpy as np
import pytest

from helpers.counter_env import CounterEnv, decode
from veridream.data.collection import collect, record_episode
from veridream.envs.base import AgentEnv
from veridream.io.episode_store import episode_seed, open_store
from veridream.io.store_validation import validate_store
from veridream.params.tasks import task
from veridream.provenance.digest import content_id

PARAMS = {
    "role": "corpus",
    "task": "pygame-pong",
    "behaviour": "random",
    "seed": 3,
    "render": {"size": 16, "quality": "fast"},
    "max_steps": 50,
    "frame_skip": 1,
}


def agent(lengths, repeat=1, max_steps=None, **raw):
    return AgentEnv(task("pygame-pong"), CounterEnv(lengths, **raw), 16, frame_skip=repeat, max_steps=max_steps)


def constant(*actions):
    it = iter(actions)
    return lambda: (lambda: np.array([next(it)], np.float32), {"kind": "constant"})


def test_one_episode_row_by_row():
    e = record_episode(agent([3]), 5, constant(0.5, -1.0, 0.25))
    assert [decode(f) for f in e.frame] == [(1, 0, 0, None), (1, 0, 1, 0.5), (1, 0, 2, -1.0), (1, 0, 3, pytest.approx(0.25, abs=0.01))]
    np.testing.assert_array_equal(e.prev_action[:, 0], np.array([np.nan, 0.5, -1.0, 0.25], np.float32))
    assert np.isnan(e.prev_action[0]).all() and not e.prev_action[1:, 1:].any()
    np.testing.assert_array_equal(e.reward, np.array([np.nan, 1, 2, 3], np.float32))
    assert e.is_terminal.tolist() == [False, False, False, True]
    assert e.state.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]
    assert e.success and e.seed == 5 and e.behaviour == {"kind": "constant"}


def test_an_odd_length_under_action_repeat():
    e = record_episode(agent([5], repeat=2), 0, constant(0.1, 0.2, 0.3))
    assert [decode(f)[2] for f in e.frame] == [0, 2, 4, 5]
    np.testing.assert_array_equal(e.reward, np.array([np.nan, 1 + 2, 3 + 4, 5], np.float32))
    assert e.is_terminal.tolist() == [False, False, False, True]


def test_the_horizon_cuts_without_a_terminal_flag():
    e = record_episode(agent([9], max_steps=2), 0, constant(0.1, 0.2))
    assert len(e.frame) == 3 and not e.is_terminal.any() and not e.success


def test_the_shortest_episode():
    e = record_episode(agent([1]), 0, constant(0.1))
    assert len(e.frame) == 2 and e.is_terminal.tolist() == [False, True]


def test_actions_are_clipped_as_stored():
    e = record_episode(agent([2]), 0, constant(7.0, -7.0))
    assert e.prev_action[1:, 0].tolist() == [1.0, -1.0] and [decode(f)[3] for f in e.frame[1:]] == [1.0, -1.0]


@pytest.mark.parametrize("action", [np.array([np.nan]), np.array([np.inf]), np.zeros(2), np.float32(0.0)])
def test_a_bad_action_is_refused_with_its_step(action):
    actions = iter([np.zeros(1), action])
    with pytest.raises(ValueError, match="pygame-pong: step 2: action"):
        record_episode(agent([4]), 0, lambda: (lambda: next(actions), {}))


def test_every_row_of_a_collected_store(tmp_path):
    lengths = [3, 1, 7, 2]
    path = tmp_path / "data/corpus/pygame-pong/random-s3.zarr"
    env = agent(lengths)
    assert collect(env, path, {**PARAMS, "episodes": 4}) == {"episodes": 4, "frames": sum(lengths) + 4}
    s = open_store(path)
    assert s.length.tolist() == [4, 2, 8, 3]
    assert env.raw.seeds == s.seed.tolist() == [episode_seed("pygame-pong", "random", 3, i) for i in range(4)]
    for row, frame in enumerate(s.frame[...]):
        _, episode, step, action = decode(frame)
        assert row == s.offset[episode] + step
        assert (action is None) == bool(s.is_first[row]) == bool(np.isnan(s.prev_action[row]).all())
        if action is not None:
            assert action == pytest.approx(s.prev_action[row, 0], abs=0.006) and s.reward[row] == step
    assert s.is_terminal.tolist() == s.is_last.tolist()
    assert (s.attrs.versions, s.attrs.renderer, s.attrs.determinism, s.attrs.max_steps) == ({"counter": "1"}, "numpy", "bitwise", 50)
    assert validate_store(path) == []


def test_what_acted_stands_in_every_row(tmp_path):
    t = task("cartpole-swingup-sparse")  # has no expert: noop and random are left
    path = tmp_path / "corpus" / t.id / "switched-s3.zarr"
    switched = {"shortest": 2, "longest": 4, "weights": {"noop": 0.4, "random": 0.4, "expert": 0.2}}
    begun = []
    env = AgentEnv(t, CounterEnv([60], action_dim=t.action_dim), 16)
    collect(env, path, {**PARAMS, "task": t.id, "behaviour": "switched", "episodes": 3, "switched": switched}, lambda *x: begun.append(x))
    s = open_store(path)
    names = np.array(s.attrs.acted_names)[s.acted]
    assert set(names) == {"noop", "random"} and s.attrs.acted_names == ["noop", "random", "expert", "transformed", "noise"]
    inner = ~s.is_first
    np.testing.assert_array_equal(names[inner] == "noop", s.prev_action[inner, 0] == 0.0)
    np.testing.assert_array_equal(s.acted[s.offset], s.acted[s.offset + 1])
    assert begun == [(i, episode_seed(t.id, "switched", 3, i)) for i in range(3)]
    assert validate_store(path) == []


def test_one_behaviour_acts_throughout(tmp_path):
    path = tmp_path / "corpus/pygame-pong/random-s3.zarr"
    collect(agent([3, 5]), path, {**PARAMS, "episodes": 2})
    s = open_store(path)
    assert s.attrs.acted_names == ["random"] and s.acted.tolist() == [0] * s.frames


def test_collecting_twice_gives_the_same_bytes(tmp_path):
    ids = []
    for name in ("a", "b"):
        path = tmp_path / name / "corpus/pygame-pong/random-s3.zarr"
        collect(agent([3, 5]), path, {**PARAMS, "episodes": 2})
        ids.append(content_id(path))
    assert ids[0] == ids[1]


class Poisoned(CounterEnv):
    def step(self, action):
        one = super().step(action)
        return dataclasses.replace(one, reward=float("nan")) if (self.episode, self.count) == (1, 2) else one


def test_a_poisoned_reward_names_episode_and_step(tmp_path):
    path = tmp_path / "corpus/pygame-pong/random-s3.zarr"
    with pytest.raises(ValueError, match=r"episode 1 of corpus/pygame-pong/random-s3 \(seed \d+\): pygame-pong: reward is not finite \(nan\) at agent step 1"):
        collect(AgentEnv(task("pygame-pong"), Poisoned([4]), 16), path, {**PARAMS, "episodes": 3})
    assert not (path / "manifest.json").exists()


def test_a_planned_expert_needs_its_budget(tmp_path):
    t = task("cup-catch")
    env = AgentEnv(t, CounterEnv([3], action_dim=t.action_dim), 16)
    p = {**PARAMS, "task": "cup-catch", "behaviour": "expert", "episodes": 1}
    with pytest.raises(ValueError, match=r"collect\.expert"):
        collect(env, tmp_path / "corpus/cup-catch/expert-s3.zarr", p)
