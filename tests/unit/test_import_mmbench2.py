"""The public MMBench2 layouts, written here byte by byte, come back frame-exact and action-exact; damage is named."""

import io
import json
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from import_mmbench2 import import_task
from veridream.io.episode_store import open_store
from veridream.io.store_manifest import StoreError

LENGTHS, SIZE, TASK, ACTIONS = (7, 12, 5), 16, "walker-walk", 6
N = sum(LENGTHS)


@pytest.fixture
def truth():
    rng = np.random.default_rng(0)
    first = np.cumsum((0, *LENGTHS[:-1]))
    action, reward = rng.uniform(-1, 1, (N, 16)).astype(np.float32), rng.normal(size=N).astype(np.float32)
    action[:, ACTIONS:] = 0
    action[first], reward[first] = np.nan, np.nan
    terminated = np.zeros(N, bool)
    terminated[first[1:] - 1] = True
    episode = np.repeat(np.arange(3), LENGTHS)
    return {"frame": rng.integers(0, 256, (N, SIZE, SIZE, 3), dtype=np.uint8), "episode": episode, "action": action, "reward": reward, "terminated": terminated}


def strip(frames):
    return Image.fromarray(np.concatenate(list(frames), axis=1))


def write_table(root, truth):
    torch.save({k: torch.from_numpy(truth[k]) for k in ("episode", "action", "reward", "terminated")}, root / f"{TASK}.pt")


def raw(root, truth, cut=10):
    write_table(root, truth)
    for i in range(0, N, cut):
        strip(truth["frame"][i : i + cut]).save(root / f"{TASK}-{i // cut}.png")


def chunked(root, truth, shard=16, chunk=5, checksums=True):
    write_table(root, truth)
    index = {}
    for s in range(0, N, shard):
        frames, blobs, entries, at = truth["frame"][s : s + shard], [], [], 0
        for c in range(0, len(frames), chunk):
            out = io.BytesIO()
            strip(frames[c : c + chunk]).save(out, "webp", lossless=True)
            blobs.append(out.getvalue())
            entries.append([at, len(blobs[-1]), len(frames[c : c + chunk])])
            at += len(blobs[-1])
        header = {
            "format": "wm-chunked",
            "version": 1,
            "codec": "webp",
            "num_frames": len(frames),
            "H": SIZE,
            "W": SIZE,
            "chunk_frames": chunk,
            "chunks": entries,
        }
        if checksums:
            header["crc32"] = [zlib.crc32(b) for b in blobs]
        text = json.dumps(header).encode()
        name = f"{TASK}_shard{s // shard:04d}"
        (root / f"{name}.chunks").write_bytes(b"WMCHUNK1" + struct.pack("<I", len(text)) + text + b"".join(blobs))
        index[name] = len(frames)
    (root / f"{TASK}_index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("write", [raw, chunked], ids=["raw", "chunked"])
def test_frames_and_actions_are_exact(tmp_path, truth, write):
    write(tmp_path, truth)
    store = open_store(import_task(tmp_path, TASK, "expert", tmp_path / "out"))
    np.testing.assert_array_equal(np.asarray(store.frame[:]), truth["frame"])
    np.testing.assert_array_equal(store.prev_action, truth["action"])
    np.testing.assert_array_equal(store.reward, truth["reward"])
    np.testing.assert_array_equal(store.is_terminal, truth["terminated"])
    assert store.length.tolist() == list(LENGTHS) and store.attrs.task == TASK
    assert store.attrs.acted_names == ["expert"] and not store.acted.any()
    with pytest.raises(StoreError, match="exists already"):
        import_task(tmp_path, TASK, "expert", tmp_path / "out")


def flip(path, at=-9):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "write, damage, says",
    [
        (raw, lambda r: (r / f"{TASK}-2.png").unlink(), r"24 rows and only 20 frames"),
        (raw, lambda r: (r / f"{TASK}-0.png").unlink(), rf"neither {TASK}_index.json nor {TASK}-0.png"),
        (raw, lambda r: strip(np.zeros((3, SIZE, SIZE, 3), np.uint8)).save(r / f"{TASK}-3.png"), "more frames than its 24 rows"),
        (raw, lambda r: (r / f"{TASK}.pt").write_bytes(b"\x80\x02}q\x00."), "not a table of the tensors"),
        (chunked, lambda r: (r / f"{TASK}_shard0001.chunks").unlink(), "shard0001.chunks: .* it is missing"),
        (chunked, lambda r: flip(r / f"{TASK}_shard0000.chunks"), "shard0000.chunks: chunk 3 is truncated or damaged"),
        (chunked, lambda r: flip(r / f"{TASK}_shard0000.chunks", 0), "does not begin with WMCHUNK1"),
    ],
)
def test_damage_is_named_and_leaves_no_store(tmp_path, truth, write, damage, says):
    write(tmp_path, truth)
    damage(tmp_path)
    with pytest.raises((StoreError, FileNotFoundError), match=says):
        import_task(tmp_path, TASK, "expert", tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*-s0.zarr/manifest.json"))
    assert not (tmp_path / f"out/corpus/{TASK}/expert-s0.zarr").exists()


def test_shards_without_checksums_are_read(tmp_path, truth):
    chunked(tmp_path, truth, checksums=False)
    assert open_store(import_task(tmp_path, TASK, "noise", tmp_path / "out")).frames == N
