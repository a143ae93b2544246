"""Golden thumbnails: each task's first frame at seed 0 as 8 x 8 mean colours, one line a task in tests/contract/thumbnails.txt.

A line is the task, the changes that its first frame is too symmetric to show (or "-"), and the rows of the picture from top to bottom, six
hexadecimal digits a block. Two thumbnails differ by the largest difference of one colour of one block. Another rasteriser moves a block's
mean by a level or two; a picture that is upside down, mirrored, black or seen from elsewhere moves some block by more than `TOLERANCE`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from veridream.params.tasks import registry
from veridream.provenance.digest import ROOT

FILE = ROOT / "tests" / "contract" / "thumbnails.txt"
BLOCKS, SEED, SIZE = 8, 0, 32  # blocks a side; of the episode; pixels a side of the frame, quality fast
TOLERANCE = 8.0  # levels of 255


class Golden(NamedTuple):
    """One line: blocks float [8,8,3], and the names of the `CHANGES` that it cannot tell from itself."""

    blocks: np.ndarray
    blind: tuple[str, ...]


def moved(blocks: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The picture of a camera that looks past by so many blocks; the border repeats what is there."""
    n = np.arange(BLOCKS)
    return blocks[np.ix_(np.clip(n + rows, 0, BLOCKS - 1), np.clip(n + columns, 0, BLOCKS - 1))]


def nearer(blocks: np.ndarray) -> np.ndarray:
    """The picture of a camera at three quarters of the distance: its middle 6 x 6 blocks on 8 x 8."""
    at = 1 + (np.arange(BLOCKS) * 6) // BLOCKS
    return blocks[np.ix_(at, at)]


# What must not pass for the golden picture.
CHANGES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "upside-down": lambda b: b[::-1],
    "mirrored": lambda b: b[:, ::-1],
    "turned": lambda b: b[::-1, ::-1],
    "transposed": lambda b: b.swapaxes(0, 1),
    "bgr": lambda b: b[..., ::-1],
    "black": np.zeros_like,
    "flat": lambda b: np.broadcast_to(b.mean(axis=(0, 1)), b.shape),
    "left": lambda b: moved(b, 0, -1),
    "right": lambda b: moved(b, 0, 1),
    "up": lambda b: moved(b, -1, 0),
    "down": lambda b: moved(b, 1, 0),
    "nearer": nearer,
}


def thumbnail(frame_HWC: np.ndarray) -> np.ndarray:
    """Mean colours of 8 x 8 blocks, float [8,8,3], of a uint8 frame whose sides are multiples of 8."""
    h, w, c = frame_HWC.shape
    return frame_HWC.reshape(BLOCKS, h // BLOCKS, BLOCKS, w // BLOCKS, c).mean(axis=(1, 3))


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Levels, 0 to 255: the largest over blocks and colours."""
    return float(np.abs(a - b).max())


def blind_to(blocks: np.ndarray) -> tuple[str, ...]:
    """The changes that leave a picture within the tolerance of itself."""
    return tuple(name for name, change in CHANGES.items() if difference(change(blocks), blocks) <= TOLERANCE)


def text_of(blocks: np.ndarray) -> str:
    """The picture's rows as they stand in the file."""
    return " ".join("".join(f"{v:02x}" for v in row.reshape(-1)) for row in np.rint(blocks).astype(np.uint8))


def read(path: Path = FILE) -> dict[str, Golden]:
    """{task: its line}. Raises ValueError naming a line that is none."""
    out: dict[str, Golden] = {}
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        words = line.split()
        if len(words) != 2 + BLOCKS or any(len(w) != 6 * BLOCKS for w in words[2:]):
            raise ValueError(f"{path}:{number}: not a task, its symmetries and {BLOCKS} rows of {BLOCKS} colours; rewrite it with make thumbnails")
        blocks = np.array([list(bytes.fromhex(w)) for w in words[2:]], dtype=float).reshape(BLOCKS, BLOCKS, 3)
        out[words[0]] = Golden(blocks, tuple(words[1].split(",")) if words[1] != "-" else ())
    return out


def put(task_id: str, frame_HWC: np.ndarray, path: Path = FILE) -> None:
    """Writes a task's line anew, with what it is blind to; the other lines stay, in the registry's order."""
    blocks = np.rint(thumbnail(frame_HWC))
    whole = {**read(path), task_id: Golden(blocks, blind_to(blocks))}
    lines = [f"{t} {','.join(whole[t].blind) or '-'} {text_of(whole[t].blocks)}\n" for t in registry() if t in whole]
    path.write_text("".join(lines))


def check(task_id: str, frame_HWC: np.ndarray, golden: Golden) -> None:
    """Raises AssertionError with both pictures' largest difference and where it is, if a frame is not the golden one."""
    seen = thumbnail(frame_HWC)
    off = np.abs(seen - golden.blocks).max(axis=-1)
    row, column = (int(i) for i in np.unravel_index(np.argmax(off), off.shape))
    likely = [name for name, change in CHANGES.items() if difference(seen, change(golden.blocks)) <= TOLERANCE]
    assert off.max() <= TOLERANCE, (
        f"{task_id}: its first frame is not the golden one: block ({row}, {column}) is {seen[row, column].round().tolist()}, "
        f"golden {golden.blocks[row, column].tolist()}{'; it looks ' + likely[0] if likely else ''}. "
        f"If the new picture is right: make thumbnails TASKS={task_id}"
    )
