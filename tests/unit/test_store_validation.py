"""One test a rejected input. `rewrite` edits an array and signs the store anew, as a wrong writer would have left it."""

import json
import shutil

import numpy as np
import pytest
import zarr

from helpers.stores import make_store, store_path
from veridream.io import store_manifest
from veridream.io.store_manifest import CHUNK, SHARD
from veridream.io.store_validation import validate_store

LENGTHS = [7, 12, 5]  # rows 0..6, 7..18, 19..23


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return make_store(store_path(tmp_path_factory.mktemp("sound")), LENGTHS, size=8)


@pytest.fixture
def path(sound, tmp_path):
    return shutil.copytree(sound, store_path(tmp_path))


def sign(path, **manifest):
    """Files' checksums as they are now."""
    old = json.loads((path / "manifest.json").read_text())
    files = {f: {"bytes": (path / f).stat().st_size, "sha256": store_manifest.file_sha256(path / f)} for f in store_manifest.tree_files(path)}
    (path / "manifest.json").write_text(json.dumps({**old, "files": files, **manifest}))


def rewrite(path, name, edit):
    a = zarr.open_array(str(path / name), mode="r+")
    values = a[...]
    a[...] = edit(values) if callable(edit) else edit
    sign(path)


def at(row, value):
    def edit(values):
        values[row] = value
        return values

    return edit


def attributes(path, **changes):
    meta = json.loads((path / "zarr.json").read_text())
    meta["attributes"] = {k: v for k, v in {**meta["attributes"], **changes}.items() if v is not ...}
    (path / "zarr.json").write_text(json.dumps(meta))
    sign(path)


def says(path, *wanted):
    problems = validate_store(path)
    text = "\n".join(problems)
    assert all(p.startswith(str(path)) for p in problems), text
    for w in wanted:
        assert w in text, text
    return problems


def test_a_sound_store_has_no_problems(path):
    assert validate_store(path) == []


def test_nothing_there(tmp_path):
    assert len(validate_store(tmp_path / "no.zarr")) == 1


def test_missing_chunk(path):
    (path / "prev_action/c/0/0").unlink()
    assert len(says(path, "prev_action: chunk 0/0: file prev_action/c/0/0 is missing")) == 1


def test_missing_frame_chunk(tmp_path):
    path = make_store(store_path(tmp_path), [1100], size=8)
    (path / "frame/c/1/0/0/0").unlink()
    assert len(says(path, "frame: chunk 1/0/0/0 (rows 1024..2047): file frame/c/1/0/0/0 is missing")) == 1


def test_truncated_chunk(path):
    chunk = path / "frame/c/0/0/0/0"
    size = chunk.stat().st_size
    chunk.write_bytes(chunk.read_bytes()[:-10])
    assert len(says(path, f"frame: chunk 0/0/0/0 (rows 0..1023): file frame/c/0/0/0/0 is truncated, {size - 10} of {size} bytes")) == 1


def test_changed_chunk(path):
    chunk = path / "reward/c/0"
    raw = bytearray(chunk.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    chunk.write_bytes(raw)
    says(path, "reward: chunk 0: file reward/c/0 has changed since it was written")


def test_undecodable_chunk_behind_an_intact_checksum(tmp_path):
    path = make_store(store_path(tmp_path), [2 * CHUNK + 36], size=8)
    chunk = path / "frame/c/0/0/0/0"
    raw = bytearray(chunk.read_bytes())
    index = np.frombuffer(bytes(raw[-(SHARD * 16 + 4) : -4]), dtype="<u8").reshape(SHARD, 2)
    raw[int(index[2, 0]) + int(index[2, 1]) // 2] ^= 0xFF
    chunk.write_bytes(raw)
    sign(path)
    last = 2 * CHUNK + 35
    says(path, f"frame: chunk 2 (rows {2 * CHUNK}..{last}): cannot be decoded", f"episode 0 (rows 0..{last})")


def test_missing_metadata_of_an_array(path):
    (path / "state/zarr.json").unlink()
    says(path, "state: metadata: file state/zarr.json is missing", "state: metadata cannot be read")


def test_extra_file(path):
    (path / "frame/c/9").mkdir()
    (path / "frame/c/9/0").write_bytes(b"x")
    assert len(says(path, "frame/c/9/0: extra file")) == 1


@pytest.mark.parametrize("name", [".zgroup", "frame/.zarray", ".zattrs"])
def test_foreign_metadata(path, name):
    (path / name).write_text('{"zarr_format": 2}')
    assert len(says(path, f"{name}: foreign metadata of zarr format 2")) == 1


def test_left_lock(path):
    (path / ".lock").write_text("1\n")
    assert len(says(path, ".lock: lock of a writer")) == 1


def test_the_stamp_of_the_workflow_is_no_extra_file(path):
    (path / ".snakemake_timestamp").write_text("")
    assert validate_store(path) == []


def test_wrong_format_version(path):
    sign(path, format_version="1")
    assert len(says(path, "format version '1', this code reads '2'")) == 1


def test_wrong_format_version_in_the_attributes(path):
    attributes(path, format_version="0")
    assert len(says(path, "format_version is '0'")) == 1


@pytest.mark.parametrize("name", ["renderer", "task", "determinism", "versions"])
def test_missing_attribute(path, name):
    attributes(path, **{name: ...})
    assert len(says(path, f"attributes missing: {name}")) == 1


def test_missing_behaviour_parameters(path):
    attributes(path, behaviour_parameters=[{}])
    assert len(says(path, "attribute behaviour_parameters: expected a list with an entry for each of 3 episodes")) == 1


def test_attributes_against_the_registry_and_the_path(path):
    attributes(path, action_dim=3, seed=5)
    says(path, "attribute action_dim: 3, params/tasks.yaml says 1", "attributes say corpus/pygame-pong/random-s5, the path says corpus/pygame-pong/random-s0")


def test_unknown_task_and_behaviour(path):
    attributes(path, task="pygame-pang", behaviour="dance")
    says(path, "attribute task: 'pygame-pang' is none of", "attribute behaviour: 'dance' is none of")


def test_nan_action_outside_first_rows(path):
    rewrite(path, "prev_action", at(9, np.nan))
    says(path, "prev_action: row 9: NaN, but it is no is_first row", "episode 1 (rows 7..18)")


def test_action_in_a_first_row(path):
    rewrite(path, "prev_action", at(19, 0.0))
    says(path, "prev_action: row 19: holds an action, but an is_first row holds NaN", "episode 2 (rows 19..23)")


def test_nan_reward_outside_first_rows(path):
    rewrite(path, "reward", at(8, np.nan))
    says(path, "reward: row 8: NaN, but it is no is_first row")


def test_reward_in_a_first_row(path):
    rewrite(path, "reward", at(7, 1.0))
    says(path, "reward: row 7: 1.0, but an is_first row holds NaN")


def test_infinite_reward(path):
    rewrite(path, "reward", at(10, np.inf))
    says(path, "reward: row 10: inf is not finite")


def test_actions_shifted_by_one_row(path):
    rewrite(path, "prev_action", lambda a: np.roll(a, 1, axis=0))
    says(path, "prev_action: row 1: NaN", "prev_action: row 0: holds an action", "(and 2 more rows)", "rows shifted?")


def test_actions_shifted_within_episodes_that_keep_the_nan_rows(path):
    def shift(a):
        for lo, hi in ((1, 7), (8, 19), (20, 24)):
            a[lo:hi] = np.roll(a[lo:hi], 1, axis=0)
        return a

    rewrite(path, "prev_action", shift)
    problems = says(path, "episode 0 (rows 0..6): frame, prev_action, reward or state is not what was written", "episode 1", "episode 2")
    assert len(problems) == 3


def test_one_frame_moved(path):
    rewrite(path, "frame", lambda f: f[[0, 1, 2, 3, 4, 5, 6, 7, 9, 8, *range(10, 24)]])
    assert len(says(path, "episode 1 (rows 7..18)")) == 1


def test_action_out_of_range(path):
    rewrite(path, "prev_action", at((10, 0), 1.25))
    says(path, "prev_action: row 10: outside [-1, 1]: [1.25]")


def test_nonzero_padding(path):
    rewrite(path, "prev_action", at((3, 4), 0.5))
    says(path, "prev_action: row 3: padding beyond the 1 action dimensions is not zero")


def test_is_first_against_the_lengths(path):
    rewrite(path, "is_first", at(3, True))
    assert len(says(path, "is_first: row 3: True, but it is not the first row of an episode")) == 1


def test_is_last_against_the_lengths(path):
    rewrite(path, "is_last", at(18, False))
    assert len(says(path, "is_last: row 18: False, but it is the last row of an episode")) == 1


def test_is_terminal_within_an_episode(path):
    rewrite(path, "is_terminal", at(4, True))
    assert len(says(path, "is_terminal: row 4: set before the last row")) == 1


def test_another_behaviour_acted(path):
    rewrite(path, "acted", at(9, 1))
    assert len(says(path, "acted: row 9: 1 is not what a store of random alone holds, 0")) == 1


def test_names_of_what_acted(path):
    attributes(path, acted_names=["noop"])
    assert len(says(path, "attribute acted_names: ['noop'], a store of behaviour random has ['random']")) == 1


@pytest.fixture
def switched(tmp_path):
    return make_store(store_path(tmp_path / "switched", behaviour="switched"), LENGTHS, behaviour="switched", size=8)


def test_a_switched_store_has_no_problems(switched):
    assert validate_store(switched) == []


def test_what_acted_against_the_segments(switched):
    rewrite(switched, "acted", lambda a: np.roll(a, 1))
    assert len(says(switched, "acted: row ", "what the episode's segments say (of noop, random, expert, transformed, noise)")) == 1


@pytest.mark.parametrize(
    "segments, said",
    [
        ([{"behaviour": "noop", "steps": 5}], "episode 1: its segments have 5 steps, its rows 11"),
        ([{"behaviour": "dance", "steps": 11}], "episode 1: no list of segments, each with its behaviour and steps"),
        (None, "episode 1: no list of segments, each with its behaviour and steps"),
    ],
)
def test_segments_that_do_not_fit_the_rows(switched, segments, said):
    drawn = json.loads((switched / "zarr.json").read_text())["attributes"]["behaviour_parameters"]
    attributes(switched, behaviour_parameters=[drawn[0], {"segments": segments}, drawn[2]])
    assert len(says(switched, f"attribute behaviour_parameters: {said}")) == 1


def test_state_not_finite(path):
    rewrite(path, "state", at((20, 2), np.inf))
    says(path, "state: row 20: not finite", "episode 2")


@pytest.mark.parametrize("name, row", [("episode/length", 1), ("episode/offset", 2), ("episode/seed", 0), ("episode/return", 1)])
def test_episode_table(path, name, row):
    rewrite(path, name, lambda v: v + (np.arange(3) == row).astype(v.dtype))
    assert len(says(path, f"{name}: row {row}: ")) == 1


def test_lengths_that_do_not_sum_to_the_rows(path):
    episodes = json.loads((path / "manifest.json").read_text())["episodes"]
    episodes[2]["length"] = 4
    sign(path, episodes=episodes)
    says(path, "episode/length: the manifest's lengths sum to 23, the store has 24 rows", "episode/length: row 2: 5 is not the manifest's length, 4")


def test_a_lost_episode(path):
    episodes = json.loads((path / "manifest.json").read_text())["episodes"]
    sign(path, episodes=episodes[:2], frames=19)
    says(path, "attribute episodes_planned: 3, the store holds 2 episodes", "frame: uint8 (24, 8, 8, 3), expected uint8 (19, 8, 8, 3)")


def test_seeds_of_another_corpus(path):
    episodes = json.loads((path / "manifest.json").read_text())["episodes"]
    for e in episodes:
        e["seed"] += 1
    sign(path, episodes=episodes)
    assert len(says(path, "episode/seed in the manifest: row 0: ", "(and 2 more rows)")) == 1


def test_wrong_dtype(path):
    shutil.rmtree(path / "is_terminal")
    zarr.create_array(str(path / "is_terminal"), data=np.zeros(24, np.int32))
    sign(path)
    assert len(says(path, "is_terminal: int32 (24,), expected bool (24,)")) == 1


def test_wrong_shape(path):
    shutil.rmtree(path / "reward")
    zarr.create_array(str(path / "reward"), data=np.zeros(23, np.float32))
    sign(path)
    says(path, "reward: float32 (23,), expected float32 (24,)")


def test_missing_array(path):
    shutil.rmtree(path / "episode/success")
    says(path, "episode/success: metadata: file episode/success/zarr.json is missing", "episode/success: chunk 0: file episode/success/c/0 is missing")


def test_all_problems_are_told_at_once(path):
    (path / "reward/c/0").unlink()
    (path / ".zgroup").write_text("{}")
    zarr.open_array(str(path / "prev_action"), mode="r+")[...] = np.random.default_rng(0).uniform(-1, 1, (24, 16))
    says(path, "reward: chunk 0", ".zgroup", "prev_action: chunk 0/0", "prev_action: row 0: holds an action")
