from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridream.data.index import Index
from veridream.hallucination.selection import choose_sequences


def make_index(episodes):
    """Rows (store, task, role, episode, offset, length, split, seen)."""
    store, task, role, episode, offset, length, split, seen = (np.array(c) for c in zip(*episodes, strict=True))
    n = len(store)
    as_object = [a.astype(object) for a in (store, task, np.array(["pygame"] * n), role, np.array(["expert"] * n))]
    return Index(*as_object, episode.astype(np.int64), offset.astype(np.int64), length.astype(np.int64), split.astype(object), seen.astype(bool))


def corpus(lengths, task="a", split="heldout", role="corpus", seen=True):
    offset = np.cumsum([0, *lengths[:-1]])
    return [(f"{role}/{task}/expert-s0", task, role, i, int(o), n, split, seen) for i, (n, o) in enumerate(zip(lengths, offset, strict=True))]


def test_windows_are_distinct_and_inside_held_out_episodes_of_the_right_role():
    index = make_index(
        corpus([10, 4, 9])
        + corpus([50], split="train", task="a")
        + corpus([8, 8], task="u", role="test", seen=False)
        + corpus([60], "u", "train", "targeted", False)
    )
    out = choose_sequences(index, ["u", "a"], sequences=7, frames=5, seed=0)
    assert out.windows.task.tolist() == ["a"] * 7 + ["u"] * 7
    assert set(out.windows.store) == {"corpus/a/expert-s0", "test/u/expert-s0"}
    first = index.offset[out.row]
    assert (out.windows.start >= first).all() and (out.windows.start + 5 <= first + index.length[out.row]).all()
    assert (index.split[out.row] == "heldout").all() and (out.windows.episode == index.episode[out.row]).all()
    assert len(set(zip(out.windows.store, out.windows.start, strict=True))) == 14


def test_windows_are_spread_evenly_over_episodes_and_starts():
    out = choose_sequences(make_index(corpus([33] * 4)), ["a"], sequences=10, frames=13, seed=3)
    assert sorted(Counter(out.windows.episode.tolist()).values()) == [2, 2, 3, 3]
    for e in range(4):
        local = out.windows.start[out.windows.episode == e] - 33 * e
        n = len(local)
        assert [int(s * n / 21) for s in local] == list(range(n))  # one in each n-th of the 21 starts


def test_short_episodes_leave_their_share_to_longer_ones():
    out = choose_sequences(make_index(corpus([5, 3, 30])), ["a"], sequences=10, frames=5, seed=0)
    assert Counter(out.windows.episode.tolist()) == {0: 1, 2: 9}


def test_a_pure_function_of_index_and_params_whatever_other_tasks_there_are():
    a, b = corpus([20] * 3), corpus([25] * 2, task="b")
    alone = choose_sequences(make_index(a), ["a"], 6, 5, 1)
    both = choose_sequences(make_index(b + a), ["b", "a"], 6, 5, 1)
    assert both.windows.start[:6].tolist() == alone.windows.start.tolist()
    assert both.windows.episode[:6].tolist() == alone.windows.episode.tolist()
    assert choose_sequences(make_index(a), ["a"], 6, 5, 2).windows.start.tolist() != alone.windows.start.tolist()


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(1, 8), st.integers(0, 99))
def test_every_possible_window_can_be_asked_for(lengths, frames, seed):
    room = sum(max(0, n - frames + 1) for n in lengths)
    if room:
        out = choose_sequences(make_index(corpus(lengths)), ["a"], room, frames, seed)
        assert len(set(out.windows.start.tolist())) == room
    with pytest.raises(ValueError, match=rf"task a: {room} heldout windows of {frames} frames"):
        choose_sequences(make_index(corpus(lengths)), ["a"], room + 1, frames, seed)
