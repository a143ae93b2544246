"""Reads the two public layouts of MMBench2 data.

Raw, a task:      <task>.pt (tensors episode, action, reward, terminated, one row an observation) and <task>-<i>.png, i = 0, 1, ...: horizontal
                  strips of square frames, the rows in order.
Chunked, a task:  <task>_shard####.chunks and <task>_index.json {shard name: frames}. A shard is b"WMCHUNK1", the header's length (u32, little
                  endian), a JSON header {version, codec, num_frames, H, W, chunks: [[offset, bytes, frames], ...], crc32 (optional)}, then the
                  chunks: horizontal strips as lossless WebP. Offsets count from the first chunk's first byte.

Rows follow the convention of our own store: action and reward of row t led to observation t and are NaN in an episode's first row. What acted
in a step is not among them: a store of this data has one behaviour, the partition's.
"""

import io
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from veridream import spec
from veridream.io.episode_store import Episode
from veridream.io.store_manifest import StoreError

MAGIC = b"WMCHUNK1"
COLUMNS = ("episode", "action", "reward", "terminated")


def _strip(source: Any, name: str) -> np.ndarray:
    """Frames [n,H,H,3] of a horizontal strip of square frames."""
    from PIL import Image, UnidentifiedImageError

    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None  # a strip of 4,000 frames is no decompression bomb
    try:
        strip = np.asarray(Image.open(source).convert("RGB"))
    except (UnidentifiedImageError, OSError) as e:
        raise StoreError(f"{name}: not a readable image ({e}); fetch the file again") from None
    finally:
        Image.MAX_IMAGE_PIXELS = limit
    h, w = strip.shape[:2]
    if w % h:
        raise StoreError(f"{name}: a strip of {w} x {h} pixels holds no whole number of square frames")
    return np.ascontiguousarray(strip.reshape(h, w // h, h, 3).swapaxes(0, 1))


def read_shard(path: Path) -> Iterator[np.ndarray]:
    """The chunks of one .chunks file in order, uint8 [n,H,W,3] each. Raises StoreError naming the file and chunk."""
    data = path.read_bytes()
    if data[:8] != MAGIC or len(data) < 12:
        raise StoreError(f"{path}: does not begin with {MAGIC.decode()}; not a chunked shard")
    (length,) = struct.unpack("<I", data[8:12])
    try:
        header = json.loads(data[12 : 12 + length])
        chunks, frames, codec = header["chunks"], header["num_frames"], header["codec"]
    except (ValueError, KeyError, TypeError) as e:
        raise StoreError(f"{path}: damaged header ({e}); fetch the file again") from None
    if codec != "webp":
        raise StoreError(f"{path}: codec {codec!r}; only webp shards are read")
    blobs, seen = memoryview(data)[12 + length :], 0
    for i, (offset, size, n) in enumerate(chunks):
        blob = bytes(blobs[offset : offset + size])
        if len(blob) != size or ("crc32" in header and zlib.crc32(blob) != header["crc32"][i]):
            raise StoreError(f"{path}: chunk {i} is truncated or damaged; fetch the file again")
        out = _strip(io.BytesIO(blob), f"{path}: chunk {i}")
        if len(out) != n:
            raise StoreError(f"{path}: chunk {i} holds {len(out)} frames, its header says {n}")
        seen += n
        yield out
    if seen != frames:
        raise StoreError(f"{path}: {seen} frames in its chunks, its header says {frames}")


def frame_blocks(root: Path, task: str) -> Iterator[np.ndarray]:
    """A task's frames in order, in blocks uint8 [n,H,W,3]: from its shards if an index is there, else from its PNG strips.

    Raises FileNotFoundError when the folder holds neither, StoreError on a damaged or missing file.
    """
    index = root / f"{task}_index.json"
    if index.is_file():
        for name, frames in json.loads(index.read_text()).items():
            path = root / (name if name.endswith(".chunks") else f"{name}.chunks")
            if not path.is_file():
                raise StoreError(f"{path}: {index.name} lists it, but it is missing; fetch it")
            blocks = list(read_shard(path))
            if sum(map(len, blocks)) != frames:
                raise StoreError(f"{path}: holds {sum(map(len, blocks))} frames, {index.name} says {frames}")
            yield from blocks
        return
    if not (root / f"{task}-0.png").is_file():
        raise FileNotFoundError(f"{root}: neither {index.name} nor {task}-0.png is there; give the folder that holds the task's files")
    i = 0
    while (path := root / f"{task}-{i}.png").is_file():
        yield _strip(path, str(path))
        i += 1


def read_rows(path: Path) -> dict[str, np.ndarray]:
    """The columns of <task>.pt as numpy arrays of equal length. Raises StoreError. Reads tensors only, no pickled objects."""
    import pickle

    import torch

    try:
        table = torch.load(path, map_location="cpu", weights_only=True)
        out = {c: np.asarray(table[c]) for c in COLUMNS}
    except (pickle.UnpicklingError, RuntimeError, ValueError, TypeError, KeyError, IndexError, EOFError) as e:
        raise StoreError(f"{path}: not a table of the tensors {', '.join(COLUMNS)} ({type(e).__name__}: {e})") from None
    if len({len(v) for v in out.values()}) != 1:
        raise StoreError(f"{path}: columns differ in length: { {k: len(v) for k, v in out.items()} }")
    return out


def read_episodes(root: Path, task: str, action_dim: int) -> Iterator[Episode]:
    """The task's episodes in order. Their seeds and states are unknown: seed 0, one state column of zeros.

    Raises StoreError where frames and rows do not match, or rows break the convention.
    """
    rows = read_rows(root / f"{task}.pt")
    if rows["action"].ndim != 2 or not action_dim <= rows["action"].shape[1] <= spec.ACTION_DIM:
        raise StoreError(f"{root / f'{task}.pt'}: actions have shape {rows['action'].shape}, expected {action_dim} to {spec.ACTION_DIM} columns")
    ends = [*(np.flatnonzero(np.diff(rows["episode"])) + 1).tolist(), len(rows["episode"])]
    blocks, pending, at = frame_blocks(root, task), np.zeros((0,), np.uint8), 0
    for end in ends:
        parts = [pending] if len(pending) else []
        while sum(map(len, parts)) < end - at:
            try:
                parts.append(next(blocks))
            except StopIteration:
                have = at + sum(map(len, parts))
                raise StoreError(f"{root}: {task} has {len(rows['episode'])} rows and only {have} frames; a frame file is missing") from None
        frames = np.concatenate(parts)
        pending = frames[end - at :]
        yield _episode(frames[: end - at], {k: v[at:end] for k, v in rows.items()}, action_dim)
        at = end
    if len(pending) or next(blocks, None) is not None:
        raise StoreError(f"{root}: {task} has more frames than its {at} rows; the files do not belong together")


def _episode(frames: np.ndarray, rows: dict[str, np.ndarray], action_dim: int) -> Episode:
    t = len(frames)
    action = np.zeros((t, spec.ACTION_DIM), np.float32)
    action[:, :action_dim] = np.clip(rows["action"][:, :action_dim], -1.0, 1.0)
    action[0] = np.nan
    terminal = np.zeros(t, bool)
    terminal[-1] = bool(rows["terminated"][-1])
    reward = rows["reward"].astype(np.float32).reshape(t).copy()
    return Episode(frames, action, reward, terminal, np.zeros((t, 1), np.float32), seed=0, success=False)
