import numpy as np
import pytest

from helpers.counter_env import decode
from helpers.stores import make_store, store_path
from veridream.data.corpus import Corpus, action_mask
from veridream.data.index import build_index
from veridream.data.windows import WindowIndex, Windows
from veridream.io.store_manifest import StoreError

TASKS = ["pygame-pong", "pygame-reacher-easy"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("c")
    paths = [make_store(store_path(root, task=t), [50, 7, 80], t, size=8, env=k + 1) for k, t in enumerate(TASKS)]
    return paths, build_index(paths, "a", 0.5, TASKS, [])


@pytest.fixture(params=["memory", "chunks"])
def corpus(made, request):
    return Corpus(made[0], memory_limit=1 << 30 if request.param == "memory" else 0)


def one(task, episode, start):
    return Windows(np.array([f"corpus/{task}/random-s0"], object), np.array([episode]), np.array([start]), np.array([task], object))


def test_pixels_say_where_they_come_from(corpus, made):
    widx = WindowIndex.build(made[1], 9)
    w = widx.take(np.arange(0, len(widx), 3))
    frames = corpus.frames(w, 9)
    assert frames.shape == (len(w), 9, 8, 8, 3) and frames.dtype == np.uint8
    offsets = {0: 0, 1: 50, 2: 57}
    for b in range(len(w)):
        for t in range(9):
            env, episode, step, _ = decode(frames[b, t])
            assert (TASKS[env - 1], episode, step) == (w.task[b], w.episode[b], w.start[b] + t - offsets[int(w.episode[b])])


def test_a_window_that_starts_an_episode(corpus):
    w = one("pygame-pong", 1, 50)
    actions, rewards = corpus.actions(w, 4), corpus.rewards(w, 4)
    assert actions.shape == (1, 4, 16) and actions.dtype == np.float32
    assert not actions[0, 0].any() and actions[0, 1:, 0].all() and not actions[0, :, 1:].any()
    assert rewards.tolist() == [[0, 1, 2, 3]] and corpus.reward_mask(w, 4).tolist() == [[0, 1, 1, 1]]
    later = one("pygame-pong", 1, 51)
    assert corpus.rewards(later, 3).tolist() == [[1, 2, 3]] and corpus.reward_mask(later, 3).tolist() == [[1, 1, 1]]
    np.testing.assert_array_equal(corpus.actions(later, 3), actions[:, 1:])


def test_masks(corpus):
    both = Windows(*(np.concatenate([getattr(one(t, 0, 0), f) for t in TASKS]) for f in ("store", "episode", "start", "task")))
    assert corpus.mask(both).tolist() == [[1.0] + [0.0] * 15, [1.0] * 2 + [0.0] * 14]
    assert action_mask("walker-walk").sum() == 6
    action_mask("walker-walk")[:] = 0  # a caller may write into its copy
    assert action_mask("walker-walk").sum() == 6


def test_median_image(corpus, made):
    index = made[1].select(task="pygame-pong")
    frames = np.concatenate([corpus.rows("corpus/pygame-pong/random-s0", o, o + n) for o, n in zip(index.offset, index.length, strict=True)])
    np.testing.assert_array_equal(corpus.median_image(index, "pygame-pong"), np.sort(frames, axis=0)[(len(frames) - 1) // 2])
    assert corpus.median_image(index, "pygame-pong", most=10).shape == (8, 8, 3)
    with pytest.raises(ValueError, match="no episode of task mw-push"):
        corpus.median_image(index, "mw-push")


def test_memory_and_chunks_agree(made):
    rng = np.random.default_rng(0)
    held, read = Corpus(made[0]), Corpus(made[0], memory_limit=0)
    for _ in range(40):
        lo = int(rng.integers(0, 136))
        hi = int(rng.integers(lo + 1, 138))
        np.testing.assert_array_equal(held.rows("corpus/pygame-pong/random-s0", lo, hi), read.rows("corpus/pygame-pong/random-s0", lo, hi))


def test_refusals(corpus, made, tmp_path):
    with pytest.raises(StoreError, match="store corpus/mw-push/random-s0 is in the index but was not given"):
        corpus.frames(one("mw-push", 0, 0), 2)
    with pytest.raises(ValueError, match=r"rows 130\.\.140 are not within its 137 frames"):
        corpus.frames(one("pygame-pong", 2, 130), 10)
    with pytest.raises(StoreError, match="needs at least one store"):
        Corpus([])
    with pytest.raises(StoreError, match="stands twice"):
        Corpus([made[0][0], made[0][0]])
    with pytest.raises(StoreError, match="corpus/pygame-pong/expert-s0 has 16"):
        Corpus([*made[0], make_store(store_path(tmp_path, behaviour="expert"), [3], behaviour="expert", size=16)])
