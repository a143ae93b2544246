"""Exports episode stores to another format, frame-exact and action-exact.

    python src/export_dataset.py --format minari --out exports results/smoke/data/corpus/atari-pong/random-s0.zarr

Minari writes under <out>/veridream/, LeRobot (format v3.0) a folder a store under <out>/.
"""

import argparse
import sys
from pathlib import Path

from veridream.io.episode_store import StoreError, open_store
from veridream.io.export_lerobot import export_lerobot
from veridream.io.export_minari import export_minari

FORMATS = {"minari": export_minari, "lerobot": export_lerobot}


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("stores", nargs="+", type=Path)
    ap.add_argument("--format", choices=FORMATS, required=True)
    ap.add_argument("--out", type=Path, required=True)
    a = ap.parse_args()
    try:
        a.out.mkdir(parents=True, exist_ok=True)
        for path in a.stores:
            print(FORMATS[a.format](open_store(path), a.out.absolute()))
    except (StoreError, FileNotFoundError) as e:
        sys.exit(f"export_dataset: {e}")


if __name__ == "__main__":
    main()
