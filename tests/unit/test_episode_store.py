import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.counter_env import decode
from helpers.stores import make_episode, make_store, store_path
from veridream.io.episode_store import EpisodeWriter, StoreError, attrs_for, episode_digest, episode_seed, open_store, store_id
from veridream.io.store_validation import validate_store
from veridream.provenance.digest import content_id


def writer(path, episodes=1, size=16):
    return EpisodeWriter(path, attrs_for("pygame-pong", "corpus", "random", 0, episodes, size), size=size, state_dim=6)


def test_what_is_read_is_what_was_written(tmp_path):
    s = open_store(make_store(store_path(tmp_path), [3, 1, 2], size=16))
    assert s.is_first.tolist() == [True, False, False, True, True, False]
    assert s.is_last.tolist() == [False, False, True, True, False, True]
    assert s.offset.tolist() == [0, 3, 4] and s.length.tolist() == [3, 1, 2]
    np.testing.assert_array_equal(s.reward, np.array([np.nan, 1, 2, np.nan, np.nan, 1], np.float32))
    assert s.return_.tolist() == [3.0, 0.0, 1.0]
    assert s.success.tolist() == [True, True, False]
    assert s.seed.tolist() == [episode_seed("pygame-pong", "random", 0, i) for i in range(3)]
    assert s.state[:, :2].tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [2, 0], [2, 1]]
    assert s.rows(2) == slice(4, 6) and len(s) == 3 and s.frames == 6
    assert s.attrs.task == "pygame-pong" and s.attrs.domain == "pygame" and s.attrs.action_dim == 1
    assert s.id == "corpus/pygame-pong/random-s0"
    assert s.acted.tolist() == [0] * 6 and s.acted.dtype == np.uint8 and s.attrs.acted_names == ["random"]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_pixels_and_actions_agree_in_every_row(tmp_path_factory, lengths):
    s = open_store(make_store(store_path(tmp_path_factory.mktemp("s")), lengths, size=8))
    frames = s.frame[...]
    for e, n in enumerate(lengths):
        for t, row in enumerate(range(s.offset[e], s.offset[e] + n)):
            _, episode, step, action = decode(frames[row])
            assert (episode, step) == (e, t)
            if t == 0:
                assert action is None and np.isnan(s.prev_action[row]).all()
            else:
                assert action == pytest.approx(s.prev_action[row, 0], abs=1e-6)
    assert validate_store(s.path) == []


def test_several_shards_and_an_episode_across_them(tmp_path):
    lengths = [700, 1500, 3]
    s = open_store(make_store(store_path(tmp_path), lengths, size=8))
    assert sorted(f for f in s.manifest["files"] if f.startswith("frame/c")) == [f"frame/c/{k}/0/0/0" for k in range(3)]
    steps = [decode(f)[1:3] for f in s.frame[...]]
    assert steps == [(e, t) for e, n in enumerate(lengths) for t in range(n)]
    assert validate_store(s.path) == []


def test_same_episodes_same_bytes(tmp_path):
    a = content_id(make_store(store_path(tmp_path / "a"), [40, 1100, 1]))
    b = content_id(make_store(store_path(tmp_path / "b"), [40, 1100, 1]))
    assert a == b
    assert content_id(make_store(store_path(tmp_path / "c"), [40, 1100, 2])) != a


def test_an_all_black_store_is_complete(tmp_path):
    path = store_path(tmp_path)
    e = dataclasses.replace(make_episode(5, size=16), frame=np.zeros((5, 16, 16, 3), np.uint8))
    with writer(path) as w:
        w.append(e)
    assert (path / "frame" / "c" / "0" / "0" / "0" / "0").is_file()
    assert validate_store(path) == []


def test_few_files(tmp_path):
    assert content_id(make_store(store_path(tmp_path), [300] * 10, size=8))["files"] <= 32


def test_an_existing_store_is_refused_and_left_alone(tmp_path):
    path = make_store(store_path(tmp_path))
    before = content_id(path)
    with pytest.raises(StoreError, match=r"exists already.*delete it first"), writer(path):
        pass
    assert content_id(path) == before


def test_a_second_writer_is_refused(tmp_path):
    path = store_path(tmp_path)
    with writer(path) as w:
        w.append(make_episode(3, size=16))
        with pytest.raises(StoreError, match=f"process {os.getpid()} is writing it"), writer(path):
            pass
    assert validate_store(path) == []


@pytest.mark.parametrize("step", range(3))
def test_an_exception_leaves_a_store_that_nobody_opens(tmp_path, step):
    path = store_path(tmp_path)
    with pytest.raises(RuntimeError, match="boom"), writer(path, episodes=3) as w:
        for i in range(3):
            if i == step:
                raise RuntimeError("boom")
            w.append(make_episode(4, i, size=16))
    with pytest.raises(StoreError, match=r"no manifest\.json.*was writing it.*collect it again"):
        open_store(path)


def test_a_killed_writer_leaves_a_store_that_nobody_opens(tmp_path):
    path = store_path(tmp_path)
    code = f"""
import os, signal
from helpers.stores import make_episode
from veridream.io.episode_store import EpisodeWriter, attrs_for
with EpisodeWriter({str(path)!r}, attrs_for("pygame-pong", "corpus", "random", 0, 2, 16), 16, 6) as w:
    w.append(make_episode(2000, size=16))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}).returncode == -9
    assert (path / "frame/c/0/0/0/0").is_file()
    with pytest.raises(StoreError, match=r"no manifest\.json \(process \d+ was writing it\)"):
        open_store(path)


@pytest.mark.parametrize("appended", [1, 3])
def test_another_number_of_episodes_than_planned_is_a_failure(tmp_path, appended):
    path = store_path(tmp_path)
    with pytest.raises(StoreError, match=f"{appended} episodes were collected, 2 were planned"), writer(path, episodes=2) as w:
        for i in range(appended):
            w.append(make_episode(4, i, size=16))
    with pytest.raises(StoreError):
        open_store(path)


def changed(name, row, value):
    e = make_episode(4, size=16)
    a = getattr(e, name).copy()
    a[row] = value
    return dataclasses.replace(e, **{name: a})


@pytest.mark.parametrize(
    "episode, message",
    [
        (changed("prev_action", 0, 0.0), "row 0: prev_action and reward must be NaN"),
        (changed("reward", 0, 0.0), "row 0: prev_action and reward must be NaN"),
        (changed("prev_action", 2, np.nan), r"prev_action: row 2 holds"),
        (changed("prev_action", (1, 0), 1.5), r"prev_action: row 1 holds \[1.5,"),
        (changed("prev_action", (3, 5), 0.1), r"prev_action padding: row 3 holds"),
        (changed("reward", 3, np.inf), "reward: row 3 holds inf"),
        (changed("state", (2, 1), np.nan), "state: row 2 holds"),
        (changed("is_terminal", 1, True), "is_terminal: row 1 is set before the last row 3"),
        (dataclasses.replace(make_episode(4, size=16), reward=np.zeros(3, np.float32)), r"reward: float32 \(3,\), expected float32 \(4,\)"),
        (dataclasses.replace(make_episode(4, size=16), is_terminal=np.zeros(4, np.int32)), "is_terminal: int32"),
        (dataclasses.replace(make_episode(4, size=16), acted=np.zeros(4, np.int64)), r"acted: int64 \(4,\) up to 0, expected uint8 \(4,\) below 1"),
        (dataclasses.replace(make_episode(4, size=16), acted=np.ones(4, np.uint8)), r"acted: uint8 \(4,\) up to 1, expected uint8 \(4,\) below 1"),
        (make_episode(4, size=8), r"frame: uint8 \(4, 8, 8, 3\), expected uint8 \(4, 16, 16, 3\)"),
    ],
)
def test_a_wrong_episode_is_refused_with_array_and_row(tmp_path, episode, message):
    path = store_path(tmp_path)
    with pytest.raises(ValueError, match=f"episode 0: {message}"), writer(path) as w:
        w.append(episode)
    with pytest.raises(StoreError):
        open_store(path)


def test_a_switched_store_needs_what_acted(tmp_path):
    attrs = attrs_for("pygame-pong", "corpus", "switched", 0, 1, 16)
    with pytest.raises(ValueError, match="episode 0: acted: missing; a store of noop, random, expert, transformed, noise records"):
        with EpisodeWriter(store_path(tmp_path, behaviour="switched"), attrs, size=16, state_dim=6) as w:
            w.append(dataclasses.replace(make_episode(4, size=16), acted=None))


def test_other_format_versions_are_refused(tmp_path):
    path = make_store(store_path(tmp_path))
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "format_version": "0"}))
    with pytest.raises(StoreError, match="format version '0', this code reads '2'; collect the store again"):
        open_store(path)


def test_missing_damaged_and_incomplete(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such store; run the workflow"):
        open_store(tmp_path / "nothing.zarr")
    path = make_store(store_path(tmp_path))
    (path / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match="damaged manifest"):
        open_store(path)
    (path / "manifest.json").write_text('{"format_version": "2"}')
    with pytest.raises(StoreError, match="lacks frames, arrays, files, episodes"):
        open_store(path)


def test_store_ids():
    assert store_id("results/smoke/data/test/mw-push/noise-s2.zarr") == "test/mw-push/noise-s2"
    assert store_id("results/smoke/data/test/mw-push/.noise-s2.zarr.part") == "test/mw-push/noise-s2"


def test_episode_seeds_are_stable_and_distinct():
    assert episode_seed("pygame-pong", "random", 0, 0) == 8183134145091254527
    keys = [(t, b, s, i) for t in ("a", "b") for b in ("c", "d") for s in range(3) for i in range(50)]
    seeds = {episode_seed(*k) for k in keys}
    assert len(seeds) == len(keys) and all(0 <= s < 2**63 for s in seeds)


def test_the_digest_sees_every_array_and_any_nan_is_one_nan():
    e = make_episode(4, size=8)
    whole = episode_digest(e.frame, e.prev_action, e.reward, e.state)
    other = e.reward.copy()
    other.view(np.uint32)[0] = 0xFFC00001
    assert np.isnan(other[0]) and episode_digest(e.frame, e.prev_action, other, e.state) == whole
    assert episode_digest(e.frame, e.prev_action, e.reward, np.roll(e.state, 1, 0)) != whole
    assert episode_digest(np.roll(e.frame, 1, 0), e.prev_action, e.reward, e.state) != whole


def test_reading_json_facts_needs_no_zarr():
    code = "import sys, veridream.data.index as i; assert not {'zarr', 'torch'} & set(sys.modules), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def test_attrs_for_refuses_unknown_names():
    with pytest.raises(ValueError, match="role is 'train'; known: corpus"):
        attrs_for("pygame-pong", "train", "random", 0, 1, 8)
    with pytest.raises(ValueError, match="behaviour is 'rnd'"):
        attrs_for("pygame-pong", "corpus", "rnd", 0, 1, 8)
    with pytest.raises(ValueError, match="did you mean 'pygame-pong'"):
        attrs_for("pygame-pang", "corpus", "random", 0, 1, 8)
