"""Writes a small folder in WorldModelBench's layout, with videos and a results file, to try src/score_videos.py on.

python src/write_wmb_example.py example
"""

import argparse
import sys
from pathlib import Path

from veridream.wmb.example import MODEL, write_example

if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder", type=Path, help="a new folder")
    folder = ap.parse_args().folder
    try:
        write_example(folder)
    except FileExistsError:
        sys.exit(f"write_wmb_example: {folder} is there already; give a new folder, or remove it")
    print(f"{folder}: score it with --benchmark {folder} --videos {folder}/videos --answers {folder}/results.json --model {MODEL} --own-items")
