"""Writes a Croissant card (JSON-LD) of a scale's data, results/<scale>/croissant.json: index tables, stores, sha256 of each."""

import argparse
import sys
from pathlib import Path

from veridream.data.croissant import croissant
from veridream.io.store_manifest import StoreError
from veridream.provenance.receipts import write_json


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--scale", default="laptop", help="the folder under results/ (default: laptop)")
    ap.add_argument("--out", type=Path, metavar="JSON", help="where to write it (default: results/<scale>/croissant.json)")
    a = ap.parse_args()
    results = Path("results") / a.scale
    out = a.out or results / "croissant.json"
    try:
        card = croissant(a.scale, results)
        write_json(out, card)
    except (StoreError, FileNotFoundError) as e:
        print(f"describe_dataset: {e}", file=sys.stderr)
        return 1
    print(f"{out}: {len(card['distribution'])} files, {len(card['recordSet'])} record sets")
    return 0


if __name__ == "__main__":
    sys.exit(main())
