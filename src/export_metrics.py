"""Writes a training's metrics in DVCLive's layout: python src/export_metrics.py results/laptop/dynamics/base.metrics.jsonl dvclive"""

import argparse
import sys
from pathlib import Path

from veridream.io.dvclive import write_dvclive

if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("metrics", type=Path, help="a metrics.jsonl")
    ap.add_argument("folder", type=Path, help="a new folder")
    a = ap.parse_args()
    try:
        write_dvclive(a.metrics, a.folder)
    except OSError as e:
        sys.exit(f"export_metrics: {e}; give a metrics file that is there, and a folder that is not")
