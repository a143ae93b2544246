import numpy as np
import pytest

from helpers.counter_env import CounterEnv, decode
from veridream.curiosity.collection import collect_curiosity
from veridream.envs.base import AgentEnv
from veridream.io.episode_store import open_store
from veridream.params.tasks import task
from veridream.provenance.digest import content_id

RENDER = {"size": 16, "quality": "fast"}
PARAMS = {"role": "targeted", "task": "pygame-pong", "behaviour": "curiosity", "seed": 1, "episodes": 3, "render": RENDER, "max_steps": 9, "frame_skip": 1}


class Planned(Exception):
    pass


def env():
    return AgentEnv(task("pygame-pong"), CounterEnv(lengths=(7, 12, 5)), 16, 1, 9)


def drawn(rng):
    return lambda: rng.uniform(-1, 1, 1).astype(np.float32)


def collect(tmp_path, name, policy=drawn, key=None, work="work"):
    path = tmp_path / name / "targeted" / "pygame-pong" / "curiosity-s1.zarr"
    return path, collect_curiosity(env(), path, PARAMS, policy, tmp_path / work, key or {"model": "m"})


def stop_in_episode(number):
    """A policy that fails in its `number`-th episode, as a kill would."""
    begun = []

    def policy(rng):
        begun.append(1)
        act = drawn(rng)

        def fail():
            raise Planned

        return fail if len(begun) == number else act

    return policy


def test_an_interrupted_collection_goes_on_where_it_stopped_and_ends_with_the_same_bytes(tmp_path):
    whole, counts = collect(tmp_path, "whole", work="other")
    assert counts == {"episodes": 3, "frames": 8 + 10 + 6, "replayed": 0}
    with pytest.raises(Planned):
        collect(tmp_path, "cut", stop_in_episode(3))
    resumed, counts = collect(tmp_path, "again", stop_in_episode(2))  # plans one episode only
    assert counts["replayed"] == 2
    assert content_id(resumed) == content_id(whole)


def test_stored_actions_are_the_ones_the_simulator_saw(tmp_path):
    path, _ = collect(tmp_path, "whole")
    s = open_store(path)
    for row in range(s.frames):
        seen = decode(s.frame[row])[3]
        assert (seen is None) == bool(s.is_first[row])
        if seen is not None:
            assert abs(seen - s.prev_action[row, 0]) <= 0.005 + 1e-6


def test_what_another_model_left_in_the_work_folder_is_not_replayed(tmp_path):
    collect(tmp_path, "one")
    _, counts = collect(tmp_path, "two", key={"model": "another"})
    assert counts["replayed"] == 0
    _, counts = collect(tmp_path, "three", key={"model": "another"})
    assert counts["replayed"] == 3


@pytest.mark.parametrize("actions, words", [(3, "goes on after its 3 saved actions"), (9, "ended after 7 of 9 saved actions")])
def test_a_replay_that_does_not_fit_the_simulator_is_refused(tmp_path, actions, words):
    collect(tmp_path, "one")
    np.save(tmp_path / "work" / "episode-00000.npy", np.zeros((actions, 1), np.float32))
    with pytest.raises(ValueError, match=words):
        collect(tmp_path, "two")
