"""Our rollouts as benchmark folders: the published layout, so that its own script runs on them unchanged.

<entry>/worldmodelbench.json   items of five fields
        images/<stem>.jpg      the frame each video starts from
        videos/<stem>.mp4      that frame and `horizon` more
        manifest.jsonl         where each came from

Entries: the model, and four controls: simulator (the true frames), reconstruction (true frames through the tokenizer), frozen (the first
frame held), permuted_actions (the model under the actions of another sequence of the task).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from veridream.data.index import Index
from veridream.hallucination.selection import Sequences
from veridream.io.video import enlarge, write_mp4
from veridream.params.tasks import Task
from veridream.params.tasks import task as task_of
from veridream.wmb.items import LIST, Item, digest, write_items

MODEL = "model"
PERMUTED = "permuted_actions"
CONTROLS = ("simulator", "reconstruction", "frozen", PERMUTED)
ENTRIES = (MODEL, *CONTROLS)
MANIFEST = "manifest.jsonl"
SIDE = 224  # videos are enlarged to about this side, each pixel repeated: small things survive yuv420p, and a judge sees what it is used to
CRF, PRESET = 12, "veryfast"
# The published domains, where ours fit; locomotion is no domain of the benchmark.
DOMAINS = dict.fromkeys(("maniskill", "metaworld", "robodesk", "ogbench"), "robotics") | dict.fromkeys(("atari", "pygame", "box2d"), "video games")
OTHER_DOMAIN = "locomotion"


def item_of(task: Task, store: str, episode: int, start: int, seed: int) -> Item:
    """The condition of one window. store: store id; start: row of the episode that the video starts at."""
    stem = f"mmb2__{task.id}__{store.rsplit('/', 1)[1]}-ep{episode:04d}__t{start:04d}__s{seed}"
    scene = f"One frame of the simulated task {task.id} of the suite {task.domain}, as its camera {task.camera} sees it, some steps into an episode."
    return Item(DOMAINS.get(task.domain, OTHER_DOMAIN), task.domain, scene, task.instruction, f"images/{stem}.jpg")


def export_task(
    folder: Path,
    videos: Mapping[str, np.ndarray],
    index: Index,
    sequences: Sequences,
    actions: Mapping[str, np.ndarray],
    context: int,
    fps: int,
    seed: int,
    made_by: Mapping[str, str],
) -> list[Item]:
    """Writes the images and videos of one task's sequences under folder/<entry>/ and appends to the manifests; returns their items.

    videos: {entry: uint8 [B,T,H,W,3]}, the simulator's among them. actions: {entry: float32 [B,T,A]} of the entries that are rolled out, the
    model's among them, which are the true ones; of the others the manifest names those. made_by: content ids of the networks, for the manifest.
    """
    items: list[Item] = []
    w = sequences.windows
    for i in range(len(sequences)):
        row = int(w.start[i]) + context - 1
        start = row - int(index.offset[sequences.row[i]])
        item = item_of(task_of(str(w.task[i])), str(w.store[i]), int(w.episode[i]), start, seed)
        facts = {"stem": item.stem, "task": str(w.task[i]), "store": str(w.store[i]), "episode": int(w.episode[i]), "row": row, "start": start}
        facts |= {"horizon": sequences.frames - context, "seed": seed}
        for entry, frames in videos.items():
            acted = digest(np.ascontiguousarray(actions.get(entry, actions[MODEL])[i]).tobytes())
            line = {**facts, "entry": entry, "actions": acted, "made_by": {} if entry in ("simulator", "frozen") else dict(made_by)}
            _export(folder / entry, item, frames[i], videos["simulator"][i][0], fps, line)
        items.append(item)
    return items


def _export(folder: Path, item: Item, frames: np.ndarray, first: np.ndarray, fps: int, line: dict[str, Any]) -> None:
    for name in ("images", "videos"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    Image.fromarray(enlarge(first[None], SIDE)[0]).save(folder / item.first_frame, quality=95)
    big = enlarge(frames, SIDE)
    write_mp4(folder / "videos" / item.video, big, fps, CRF, PRESET)
    line |= {"frames": digest(np.ascontiguousarray(frames).tobytes()), "fps": fps, "codec": f"h264 yuv420p crf {CRF}", "side": int(big.shape[1])}
    with (folder / MANIFEST).open("a", encoding="utf-8") as f:
        f.write(json.dumps(line, sort_keys=True) + "\n")


def finish_export(folder: Path, items: Sequence[Item]) -> None:
    """The lists of items, written last: an export without them was never finished."""
    for entry in ENTRIES:
        write_items(folder / entry / LIST, items)


def read_manifest(folder: Path) -> list[dict[str, Any]]:
    """Rows of an entry's manifest. Raises FileNotFoundError, or ValueError that names the line."""
    out = []
    for n, text in enumerate((folder / MANIFEST).read_text(encoding="utf-8").splitlines(), 1):
        try:
            out.append(json.loads(text))
        except ValueError as e:
            raise ValueError(f"{folder / MANIFEST}: line {n} is damaged ({e}); export again") from None
    return out
