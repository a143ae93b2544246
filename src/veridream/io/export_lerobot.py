"""An episode store as a LeRobot dataset, format v3.0: parquet tables, frames as PNG inside them (lossless), no video.

Our row t holds observation t and what led to it; LeRobot's row t holds observation t and the action taken then: actions, rewards and what
acted move one row up. An episode's last row has no action: it holds zeros (and what acted before it), with next.done true. `behaviour_index`
says what acted, a row of meta/behaviours.parquet.
"""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veridream.io.episode_store import EpisodeStore, StoreError

IMAGE, FILE = "observation.image", "chunk-000/file-000.parquet"
NUMBERS = ("observation.state", "action", "next.reward")
INDICES = ("frame_index", "episode_index", "index", "task_index", "behaviour_index")


def export_lerobot(store: EpisodeStore, root: Path) -> Path:
    """Writes the dataset into the folder <root>/<task>-<behaviour>; its path. Raises StoreError when it is there already."""
    a = store.attrs
    out = root / f"{a.task}-{a.behaviour}"
    if out.exists():
        raise StoreError(f"{out}: it exists already; delete it first")
    part = out.with_name(f".{out.name}.part")
    fps = a.control_hz / a.frame_skip
    lengths = store.length.tolist()
    columns = _columns(store, fps)
    _write(part / "data" / FILE, columns | {IMAGE: _images(store)})
    _write(part / "meta/episodes" / FILE, _episodes(store, columns))
    _write(part / "meta/tasks.parquet", {"task_index": np.array([0]), "task": [a.instruction]})
    _write(part / "meta/behaviours.parquet", {"behaviour_index": np.arange(len(a.acted_names)), "behaviour": a.acted_names})
    (part / "meta/stats.json").write_text(json.dumps({k: _stats(columns[k]) for k in NUMBERS}, indent=1))
    (part / "meta/info.json").write_text(json.dumps(_info(store, fps, sum(lengths)), indent=1))
    part.rename(out)
    return out


def _columns(store: EpisodeStore, fps: float) -> dict[str, np.ndarray]:
    a = store.attrs
    n, dim = store.frames, a.action_dim
    action, reward = np.zeros((n, dim), np.float32), np.zeros(n, np.float32)
    frame, episode, acted = np.zeros(n, np.int64), np.zeros(n, np.int64), store.acted.astype(np.int64)
    for i in range(len(store)):
        rows = store.rows(i)
        action[rows.start : rows.stop - 1] = store.prev_action[rows][1:, :dim]
        reward[rows.start : rows.stop - 1] = store.reward[rows][1:]
        acted[rows.start : rows.stop - 1] = store.acted[rows][1:]
        frame[rows], episode[rows] = np.arange(rows.stop - rows.start), i
    return {
        "observation.state": store.state.astype(np.float32),
        "action": action,
        "next.reward": reward,
        "next.done": store.is_last,
        "timestamp": (frame / fps).astype(np.float32),
        "frame_index": frame,
        "episode_index": episode,
        "index": np.arange(n, dtype=np.int64),
        "task_index": np.zeros(n, np.int64),
        "behaviour_index": acted,
    }


def _images(store: EpisodeStore) -> pa.Array:
    from PIL import Image

    rows: list[dict[str, Any]] = []
    for i in range(len(store)):
        for frame in np.asarray(store.frame[store.rows(i)]):
            png = io.BytesIO()
            Image.fromarray(frame).save(png, "png")
            rows.append({"bytes": png.getvalue(), "path": f"frame-{len(rows):06d}.png"})
    return pa.array(rows, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))


def _stats(values: np.ndarray) -> dict[str, list[float]]:
    v = values.reshape(len(values), -1).astype(np.float64)
    return {"min": v.min(0).tolist(), "max": v.max(0).tolist(), "mean": v.mean(0).tolist(), "std": v.std(0).tolist(), "count": [len(v)]}


def _episodes(store: EpisodeStore, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    zeros = np.zeros(len(store), np.int64)
    out: dict[str, Any] = {
        "episode_index": np.arange(len(store)),
        "tasks": [[store.attrs.instruction]] * len(store),
        "length": store.length,
        "dataset_from_index": store.offset,
        "dataset_to_index": store.offset + store.length,
    }
    out |= dict.fromkeys(("data/chunk_index", "data/file_index", "meta/episodes/chunk_index", "meta/episodes/file_index"), zeros)
    for name in NUMBERS:
        each = [_stats(columns[name][store.rows(i)]) for i in range(len(store))]
        out |= {f"stats/{name}/{k}": [e[k] for e in each] for k in each[0]}
    return out


def _info(store: EpisodeStore, fps: float, frames: int) -> dict[str, Any]:
    a = store.attrs

    def feature(dtype: str, *shape: int, names: list[str] | None = None) -> dict[str, Any]:
        return {"dtype": dtype, "shape": list(shape), "names": names}

    features = {
        IMAGE: feature("image", a.size, a.size, 3, names=["height", "width", "channels"]),
        "observation.state": feature("float32", store.state.shape[1]),
        "action": feature("float32", a.action_dim),
        "next.reward": feature("float32", 1),
        "next.done": feature("bool", 1),
        "timestamp": feature("float32", 1),
        **{k: feature("int64", 1) for k in INDICES},
    }
    counts = {"total_episodes": len(store), "total_frames": frames, "total_tasks": 1}
    sizes = {"chunks_size": 1000, "data_files_size_in_mb": 100, "video_files_size_in_mb": 500}
    path = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    head = {"codebase_version": "v3.0", "robot_type": a.domain, **counts, **sizes, "fps": fps, "splits": {"train": f"0:{len(store)}"}}
    return {**head, "data_path": path, "video_path": None, "features": features}


def _write(path: Path, columns: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {k: list(v) if isinstance(v, np.ndarray) and v.ndim > 1 else v for k, v in columns.items()}
    pq.write_table(pa.table(arrays), path)
