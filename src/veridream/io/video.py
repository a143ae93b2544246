"""H.264 files from frames and back. ffmpeg comes with imageio-ffmpeg; the same frames give the same bytes on one machine."""

import subprocess
from pathlib import Path

import numpy as np


def write_mp4(path: Path, frames_THWC: np.ndarray, fps: int, crf: int = 20, preset: str = "medium") -> None:
    """uint8 frames as yuv420p: one thread, no metadata. Raises ValueError for odd sides, and with ffmpeg's words when it fails."""
    import imageio_ffmpeg  # brings the ffmpeg binary

    h, w = frames_THWC.shape[1:3]
    if h % 2 or w % 2:
        raise ValueError(f"{path.name}: frames are {w} x {h}; yuv420p needs even sides")
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{w}x{h}", "-r", str(fps), "-i", "-"]
    codec = ["-c:v", "libx264", "-preset", preset, "-crf", str(crf), "-pix_fmt", "yuv420p", "-threads", "1", "-movflags", "+faststart"]
    exact = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-an"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *source, *codec, *exact, str(path)]
    done = subprocess.run(command, input=np.ascontiguousarray(frames_THWC).tobytes(), capture_output=True)
    if done.returncode != 0 or not path.is_file():
        raise ValueError(f"ffmpeg could not write {path.name}: {done.stderr.decode(errors='replace').strip() or f'exit code {done.returncode}'}")


def read_mp4(path: Path, size: int | None = None) -> np.ndarray:
    """Frames uint8 [T,H,W,3] of a video. size: their side; a video enlarged by a whole factor is averaged back to it.

    Raises FileNotFoundError, or ValueError when it cannot be decoded or is not that size times a whole number.
    """
    import imageio_ffmpeg

    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing")
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-v",
        "error",
        "-threads",
        "1",
        "-i",
        str(path),
        "-f",
        "image2pipe",
        "-c:v",
        "ppm",
        "-pix_fmt",
        "rgb24",
        "-fps_mode",
        "passthrough",
        "-",
    ]
    done = subprocess.run(command, capture_output=True)
    if done.returncode != 0 or not done.stdout.startswith(b"P6\n"):
        raise ValueError(f"{path}: ffmpeg cannot decode it: {done.stderr.decode(errors='replace').strip() or 'no picture'}")
    head = done.stdout.split(b"\n", 3)[:3]
    w, h = map(int, head[1].split())
    skip = sum(len(x) + 1 for x in head)
    frames = np.frombuffer(done.stdout, dtype=np.uint8).reshape(-1, skip + w * h * 3)[:, skip:].reshape(-1, h, w, 3)
    return frames.copy() if size is None else shrink(frames, size, path.name)


def enlarge(frames_THWC: np.ndarray, least: int) -> np.ndarray:
    """Each pixel repeated by the largest whole factor that keeps the side within `least` (at least once)."""
    k = max(1, least // frames_THWC.shape[1])
    out: np.ndarray = frames_THWC.repeat(k, axis=1).repeat(k, axis=2)
    return out


def shrink(frames_THWC: np.ndarray, size: int, name: str = "video") -> np.ndarray:
    """Undoes `enlarge`: the mean of each block, rounded, uint8 [T,size,size,3]."""
    t, h, w = frames_THWC.shape[:3]
    if h != w or h % size:
        raise ValueError(f"{name}: pictures of {w} x {h} are not {size} x {size} enlarged by a whole factor")
    k = h // size
    if k == 1:
        return frames_THWC.copy()
    blocks = frames_THWC.reshape(t, size, k, size, k, 3).astype(np.uint32).sum(axis=(2, 4))
    return ((blocks + k * k // 2) // (k * k)).astype(np.uint8)
