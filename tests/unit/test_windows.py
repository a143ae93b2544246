import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.counter_env import decode
from helpers.stores import make_store, store_path
from veridream.data.corpus import Corpus
from veridream.data.index import build_index
from veridream.data.sampling import task_weights
from veridream.data.windows import WindowIndex, sample_windows, window_keys


def index_of(tmp, lengths, other=None):
    """Episodes of pygame-pong and, if given, of pygame-reacher-easy; all in the training split (targeted stores are)."""
    paths = [make_store(store_path(tmp, "targeted"), lengths, size=8, role="targeted", env=1)]
    tests = [make_store(store_path(tmp, "test"), [2], size=8, role="test")]
    tasks = ["pygame-pong"]
    if other:
        paths.append(make_store(store_path(tmp, "targeted", "pygame-reacher-easy"), other, "pygame-reacher-easy", size=8, role="targeted", env=2))
        tests.append(make_store(store_path(tmp, "test", "pygame-reacher-easy"), [2], "pygame-reacher-easy", size=8, role="test"))
        tasks.append("pygame-reacher-easy")
    return paths, build_index([*paths, *tests], "x", 0.5, [], tasks).select(role="targeted")


@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.integers(1, 20), min_size=1, max_size=6), T=st.integers(1, 8))
def test_no_window_crosses_an_episode(tmp_path_factory, lengths, T):
    paths, index = index_of(tmp_path_factory.mktemp("w"), lengths)
    if max(lengths) < T:
        with pytest.raises(ValueError, match=f"task pygame-pong: no window of {T} frames, its longest episode has {max(lengths)}"):
            WindowIndex.build(index, T)
        return
    widx = WindowIndex.build(index, T)
    assert len(widx) == sum(max(0, n - T + 1) for n in lengths)
    windows = widx.take(np.arange(len(widx)))
    corpus = Corpus(paths)
    frames, actions = corpus.frames(windows, T), corpus.actions(windows, T)
    for b in range(len(widx)):
        rows = [decode(f) for f in frames[b]]
        assert {r[1] for r in rows} == {int(windows.episode[b])}
        first = rows[0][2]
        assert [r[2] for r in rows] == list(range(first, first + T))
        for t in range(1, T):  # every transition inside the window is real, and led to the row it stands in
            assert rows[t][3] == pytest.approx(actions[b, t, 0], abs=1e-6)
    assert len({(int(e), int(s)) for e, s in zip(windows.episode, windows.start, strict=True)}) == len(widx)


def test_literal_windows_of_two_tasks(tmp_path):
    _, index = index_of(tmp_path, [3, 1, 2], other=[4])
    widx = WindowIndex.build(index, 2)
    assert widx.tasks == ("pygame-pong", "pygame-reacher-easy")
    assert widx.task.tolist() == [0, 0, 0, 1, 1, 1]
    assert widx.episode.tolist() == [0, 0, 2, 0, 0, 0]
    assert widx.start.tolist() == [0, 1, 4, 0, 1, 2]
    assert widx.bounds.tolist() == [0, 3, 6]
    assert widx.counts() == {"pygame-pong": 3, "pygame-reacher-easy": 3}
    w = widx.take(np.array([2, 3]))
    assert window_keys(w) == ["targeted/pygame-pong/random-s0#2@4", "targeted/pygame-reacher-easy/random-s0#0@0"]
    assert w.task.tolist() == ["pygame-pong", "pygame-reacher-easy"] and len(w) == 2


def test_the_order_of_the_index_does_not_matter(tmp_path):
    _, index = index_of(tmp_path, [3, 5, 2], other=[4, 6])
    a = WindowIndex.build(index, 2)
    b = WindowIndex.build(index.take(np.array([4, 2, 0, 3, 1])), 2)
    for name in ("store", "episode", "start", "task", "bounds"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("T, context", [(0, 0), (3, 3), (3, -1)])
def test_impossible_windows(tmp_path, T, context):
    _, index = index_of(tmp_path, [5])
    with pytest.raises(ValueError, match="0 <= context < T"):
        WindowIndex.build(index, T, context)
    with pytest.raises(ValueError, match="no episodes to take windows from"):
        WindowIndex.build(index.select(role="corpus"), 2)


@pytest.fixture(scope="module")
def widx(tmp_path_factory):
    return WindowIndex.build(index_of(tmp_path_factory.mktemp("s"), [30, 20], other=[6])[1], 4)


def test_a_batch_is_a_pure_function_of_seed_and_step(widx):
    p = task_weights("uniform", widx.counts())
    batches = {(seed, step): sample_windows(widx, p, 16, seed, step) for seed in range(3) for step in range(5)}
    np.random.default_rng(0).random(100)  # draws elsewhere do not matter, nor does the order of the steps
    for (seed, step), ids in reversed(batches.items()):
        np.testing.assert_array_equal(sample_windows(widx, p, 16, seed, step), ids)
    assert len({b.tobytes() for b in batches.values()}) == len(batches)
    assert next(iter(batches.values())).dtype == np.int64


def test_tasks_come_by_weight_and_windows_evenly(widx):
    p = {"pygame-pong": 0.25, "pygame-reacher-easy": 0.75}
    ids = np.concatenate([sample_windows(widx, p, 1000, 0, s) for s in range(20)])
    counts = np.bincount(ids, minlength=len(widx)) / len(ids)
    assert len(widx) == 27 + 17 + 3
    assert counts[44:].sum() == pytest.approx(0.75, abs=0.02)
    assert counts[44:] == pytest.approx([0.25] * 3, abs=0.02)
    assert counts[:44] == pytest.approx([0.25 / 44] * 44, abs=0.004)


def test_a_task_of_no_weight_is_never_drawn(widx):
    for p, allowed in (({"pygame-pong": 1.0, "pygame-reacher-easy": 0.0}, range(44)), ({"pygame-pong": 0.0, "pygame-reacher-easy": 1.0}, range(44, 47))):
        assert set(sample_windows(widx, p, 2000, 1, 1).tolist()) <= set(allowed)


@pytest.mark.parametrize("p", [{"pygame-pong": 1.0}, {"pygame-pong": 0.5, "pygame-reacher-easy": 0.4}, {"pygame-pong": 1.5, "pygame-reacher-easy": -0.5}])
def test_wrong_weights(widx, p):
    with pytest.raises(ValueError, match="weights"):
        sample_windows(widx, p, 4, 0, 0)
