"""The golden thumbnails tell a wrong picture from the right one: proved on every stored one, without a simulator."""

import numpy as np
import pytest

from helpers import thumbnails
from helpers.thumbnails import BLOCKS, CHANGES, TOLERANCE, Golden, check, difference, read, thumbnail
from veridream.params.tasks import registry

STORED = read()
# What a picture may be blind to, since it is like that: a top view of an empty square, a thing in the middle. Never to these.
ALWAYS_SEEN = ("upside-down", "turned", "black", "flat", "nearer")


def frame_of(blocks: np.ndarray) -> np.ndarray:
    """A 32 x 32 frame with these mean colours."""
    return np.kron(blocks, np.ones((4, 4, 1))).astype(np.uint8)


def test_every_task_that_runs_in_the_pinned_environment_has_one():
    wanted = {t.id for t in registry().values() if t.domain != "maniskill"}
    assert set(STORED) >= wanted and set(STORED) <= set(registry())


@pytest.mark.parametrize("task_id", STORED)
def test_a_wrong_picture_is_caught(task_id):
    """Turned over, mirrored, black, in other colours, from a camera one block aside or nearer: unless the picture is too symmetric to tell."""
    golden = STORED[task_id]
    check(task_id, frame_of(golden.blocks), golden)
    for name, change in CHANGES.items():
        wrong = frame_of(change(golden.blocks))
        if name in golden.blind:
            assert difference(thumbnail(wrong), golden.blocks) <= TOLERANCE, f"{task_id} is listed as blind to {name} and is not"
            continue
        with pytest.raises(AssertionError, match=f"make thumbnails TASKS={task_id}"):
            check(task_id, wrong, golden)


@pytest.mark.parametrize("task_id", STORED)
def test_a_rasterisers_noise_passes(task_id):
    """Two levels on a block's mean, either way, and the half level of rounding."""
    golden = STORED[task_id]
    noise = np.random.default_rng(0).uniform(-2.5, 2.5, golden.blocks.shape)
    assert difference(golden.blocks + noise, golden.blocks) <= TOLERANCE
    check(task_id, frame_of(np.clip(np.rint(golden.blocks + noise), 0, 255)), golden)


def test_few_pictures_are_blind_and_none_to_what_matters_most():
    assert not {t: blind for t, g in STORED.items() if (blind := set(g.blind) & set(ALWAYS_SEEN))}
    assert sum("mirrored" in g.blind for g in STORED.values()) <= 0.1 * len(STORED)


def test_blocks_are_means_with_the_top_row_first():
    frame = np.zeros((32, 32, 3), np.uint8)
    frame[:4, 28:] = (200, 100, 50)
    frame[31, 0] = 160  # a sixteenth of the last row's first block
    blocks = thumbnail(frame)
    assert blocks[0, BLOCKS - 1].tolist() == [200, 100, 50]
    assert blocks[BLOCKS - 1, 0].tolist() == [10, 10, 10] and blocks.sum() == 380


def test_a_line_survives_the_file_and_the_others_stay(tmp_path):
    path = tmp_path / "thumbnails.txt"
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 256, (32, 32, 3)).astype(np.uint8) for _ in range(2))
    thumbnails.put("pygame-pong", first, path)
    thumbnails.put("cup-catch", np.full((32, 32, 3), 90, np.uint8), path)
    thumbnails.put("pygame-pong", second, path)
    back = read(path)
    assert list(back) == ["cup-catch", "pygame-pong"], "in the registry's order"
    assert difference(back["pygame-pong"].blocks, thumbnail(second)) <= 0.5
    assert set(back["cup-catch"].blind) == set(CHANGES) - {"black"}


def test_a_wrong_picture_is_named():
    blocks = np.random.default_rng(1).integers(0, 256, (BLOCKS, BLOCKS, 3)).astype(float)
    with pytest.raises(AssertionError, match="it looks mirrored"):
        check("pygame-pong", frame_of(blocks[:, ::-1]), Golden(blocks, ()))


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "thumbnails.txt"
    path.write_text("pygame-pong - 00ff\n")
    with pytest.raises(ValueError, match=r"thumbnails\.txt:1.*make thumbnails"):
        read(path)
