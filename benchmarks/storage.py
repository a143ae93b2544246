"""Lossless storage of frames: bytes a frame, and reads of random windows a second, cold and warm. Every format in one run, on the same frames.

    PYTHONPATH=src python benchmarks/storage.py --size 224 --frames 384

Frames are real: five tasks of five domains, random actions. Formats: our store's layout and its rivals among zarr layouts, lossless WebP strips
of 16 frames, HDF5 with gzip, npz a 16 frames, raw. Cold: the files' pages are dropped from the page cache before each read.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import zarr
from PIL import Image
from zarr.codecs import BloscCodec, BloscShuffle, TransposeCodec, ZstdCodec

from veridream.envs.registry import make

TASKS = ("walker-walk", "mw-push", "lunarlander-hover", "atari-pong", "pygame-point-maze-var1")
STRIP = 16  # frames a WebP strip or npz file
Reader = Callable[[int, int], np.ndarray]  # (first, last + 1) -> frames


def frames_of(task: str, size: int, n: int) -> np.ndarray:
    """n frames of random play, uint8 [n,size,size,3]."""
    env, rng, out, seed = make(task, size), np.random.default_rng(0), [], 0
    try:
        while len(out) < n:
            step = env.reset(seed)
            out.append(env.render())
            while not step.is_last and len(out) < n:
                step = env.step(rng.uniform(-1, 1, env.action_dim))
                out.append(env.render())
            seed += 1
    finally:
        env.close()
    return np.stack(out)


def zarr_layout(chunk: int, shard: int, codec: object, order: tuple[int, ...] | None = None) -> Callable[[np.ndarray, Path], Reader]:
    def write(x: np.ndarray, path: Path) -> Reader:
        filters = [TransposeCodec(order=order)] if order else None
        row = x.shape[1:]
        a = zarr.create_array(
            store=str(path),
            shape=x.shape,
            dtype=x.dtype,
            chunks=(chunk, *row),
            shards=(chunk * shard, *row) if shard else None,
            filters=filters,
            compressors=codec,
            config={"write_empty_chunks": True},
        )
        a[...] = x
        return lambda i, j: zarr.open_array(str(path), mode="r")[i:j]

    return write


def webp(x: np.ndarray, path: Path) -> Reader:
    path.mkdir()
    for i in range(0, len(x), STRIP):
        Image.fromarray(np.concatenate(list(x[i : i + STRIP]), axis=1)).save(path / f"{i:06d}.webp", lossless=True, quality=100, method=4)

    def read(i: int, j: int) -> np.ndarray:
        first = i // STRIP * STRIP
        parts = [np.stack(np.split(np.asarray(Image.open(path / f"{s:06d}.webp").convert("RGB")), STRIP, axis=1)) for s in range(first, j, STRIP)]
        return np.concatenate(parts)[i - first : j - first]

    return read


def hdf5(x: np.ndarray, path: Path) -> Reader:
    import h5py

    with h5py.File(path, "w") as f:
        f.create_dataset("frame", data=x, chunks=(STRIP, *x.shape[1:]), compression="gzip", compression_opts=4)

    def read(i: int, j: int) -> np.ndarray:
        with h5py.File(path) as f:
            return f["frame"][i:j]

    return read


def npz(x: np.ndarray, path: Path) -> Reader:
    path.mkdir()
    for i in range(0, len(x), STRIP):
        np.savez_compressed(path / f"{i:06d}.npz", frame=x[i : i + STRIP])

    def read(i: int, j: int) -> np.ndarray:
        first = i // STRIP * STRIP
        return np.concatenate([np.load(path / f"{s:06d}.npz")["frame"] for s in range(first, j, STRIP)])[i - first : j - first]

    return read


def raw(x: np.ndarray, path: Path) -> Reader:
    path.write_bytes(x.tobytes())
    return lambda i, j: np.fromfile(path, np.uint8, (j - i) * x[0].size, offset=i * x[0].size).reshape(-1, *x.shape[1:])


FORMATS: dict[str, Callable[[np.ndarray, Path], Reader]] = {
    "raw": raw,
    "npz": npz,
    "HDF5 gzip-4": hdf5,
    "WebP lossless strips": webp,
    "zarr zstd-3, 32": zarr_layout(32, 32, ZstdCodec(level=3, checksum=True)),
    "zarr zstd-9, 16": zarr_layout(16, 64, ZstdCodec(level=9, checksum=True)),
    "zarr zstd-9, 32": zarr_layout(32, 32, ZstdCodec(level=9, checksum=True)),
    "zarr zstd-9, 64": zarr_layout(64, 16, ZstdCodec(level=9, checksum=True)),
    "zarr zstd-15, 32": zarr_layout(32, 32, ZstdCodec(level=15, checksum=True)),
    "zarr zstd-19, 32": zarr_layout(32, 32, ZstdCodec(level=19, checksum=True)),
    "zarr planar zstd-9, 32": zarr_layout(32, 32, ZstdCodec(level=9, checksum=True), (0, 3, 1, 2)),
    "zarr time-last zstd-9, 32": zarr_layout(32, 32, ZstdCodec(level=9, checksum=True), (1, 2, 3, 0)),
    "zarr blosc-zstd-5, 32": zarr_layout(32, 32, BloscCodec(cname="zstd", clevel=5, shuffle=BloscShuffle.noshuffle, blocksize=0)),
}


def files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]


def drop_cache(path: Path) -> None:
    for p in files(path):
        fd = os.open(p, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def reads_per_second(read: Reader, x: np.ndarray, window: int, path: Path, cold: bool, reads: int) -> float:
    rng, times = np.random.default_rng(1), []
    for i in rng.integers(0, len(x) - window + 1, reads):
        if cold:
            drop_cache(path)
        began = time.perf_counter()
        got = read(int(i), int(i) + window)
        times.append(time.perf_counter() - began)
        assert np.array_equal(got, x[i : i + window]), "not lossless"
    return 1.0 / statistics.median(times)


def measure(name: str, data: dict[str, np.ndarray], root: Path, reads: int) -> str:
    size, speed, seconds = [], {(w, c): [] for w in (16, 24) for c in (False, True)}, 0.0
    for x in data.values():
        path = root / "x"
        began = time.perf_counter()
        read = FORMATS[name](x, path)
        seconds += time.perf_counter() - began
        size.append(sum(p.stat().st_size for p in files(path)) / len(x))
        for window, cold in speed:
            speed[window, cold].append(reads_per_second(read, x, window, path, cold, reads))
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    cells = [f"{np.mean(size) / 1000:.2f}", *(f"{s / 1000:.2f}" for s in size), f"{sum(map(len, data.values())) / seconds:.0f}"]
    return "| " + " | ".join([name, *cells, *(f"{statistics.geometric_mean(v):.1f}" for v in speed.values())]) + " |"


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--size", type=int, default=224)
    ap.add_argument("--frames", type=int, default=384, help="a task")
    ap.add_argument("--formats", default="", help="only those whose name contains this")
    ap.add_argument("--reads", type=int, default=12, help="a window length and task")
    a = ap.parse_args()
    data = {t: frames_of(t, a.size, a.frames) for t in TASKS}
    head = ["format", "kB/frame", *TASKS, "frames/s written", "16 warm", "16 cold", "24 warm", "24 cold"]
    print(f"{a.size} px, {a.frames} frames a task; windows a second (geometric mean over tasks)\n")
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    with tempfile.TemporaryDirectory() as root:
        for name in (f for f in FORMATS if a.formats in f):
            print(measure(name, data, Path(root), a.reads), flush=True)


if __name__ == "__main__":
    main()
