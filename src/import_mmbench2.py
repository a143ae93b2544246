"""Imports one task of the public MMBench2 data, raw or chunked, into an episode store.

    python src/import_mmbench2.py --source mmbench2/expert --task walker-walk --behaviour expert --out results/mmbench2/data

Writes <out>/corpus/<task>/<behaviour>-s0.zarr. The data hold no simulator state and no seeds: the store has one state column of zeros.
"""

import argparse
import shutil
import sys
from pathlib import Path

from veridream import spec
from veridream.io.episode_store import EpisodeWriter
from veridream.io.mmbench2 import frame_blocks, read_episodes, read_rows
from veridream.io.progress import Progress
from veridream.io.store_manifest import StoreError, attrs_for
from veridream.params.tasks import UnknownTask, task


def import_task(source: Path, task_id: str, behaviour: str, out: Path) -> Path:
    """The store's path. Nothing is left under it after an error."""
    t = task(task_id)
    rows = read_rows(source / f"{task_id}.pt")
    episodes = len(set(rows["episode"].tolist()))
    size = next(frame_blocks(source, task_id)).shape[1]
    path = out / "corpus" / task_id / f"{behaviour}-s0.zarr"
    part = path.with_name(f".{path.name}.part")
    if path.exists():
        raise StoreError(f"{path}: it exists already; delete it first")
    attrs = attrs_for(task_id, "corpus", behaviour, 0, episodes, size, renderer="MMBench2", determinism="tolerant", versions={"MMBench2": "1"})
    shutil.rmtree(part, ignore_errors=True)  # of a killed import
    with EpisodeWriter(part, attrs, size=size, state_dim=1) as writer, Progress(f"import_mmbench2 {task_id}", episodes) as progress:
        for e in read_episodes(source, task_id, t.action_dim):
            writer.append(e)
            progress.update(frames=writer.frames)
    part.rename(path)
    return path


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--source", type=Path, required=True, help="folder with the task's files")
    ap.add_argument("--task", required=True)
    known = [b for b in spec.BEHAVIOURS if b != "switched"]  # the data do not say what acted in which step
    ap.add_argument("--behaviour", choices=known, required=True, help="what acted; partition zeros is noop, mixed-* is noise")
    ap.add_argument("--out", type=Path, required=True)
    a = ap.parse_args()
    try:
        print(import_task(a.source, a.task, a.behaviour, a.out))
    except (StoreError, UnknownTask, FileNotFoundError) as e:
        sys.exit(f"import_mmbench2: {e}")


if __name__ == "__main__":
    main()
