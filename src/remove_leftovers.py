"""What can go from a scale's results (gc): state of finished jobs, halves, artefacts of jobs the rules no longer have, unused DVC cache.

Without --delete nothing is changed.
"""

import argparse
import contextlib
import json
import sys
from dataclasses import asdict

from veridream.params.load import ParamsError
from veridream.provenance.leftovers import leftovers, remove, unused_cache
from veridream.provenance.lock import Locked
from veridream.provenance.workflow import WorkflowFailed, scale_lock


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", default="laptop", help="the folder under results/ (default: laptop)")
    ap.add_argument("--delete", action="store_true", help="delete what is shown; the default only shows it")
    ap.add_argument("--json", action="store_true", help="print it as JSON")
    a = ap.parse_args()
    try:
        with scale_lock(a.scale) if a.delete else contextlib.nullcontext():
            found = leftovers(a.scale)
            if a.delete:
                remove(found)
            cache = unused_cache(a.delete)
    except (Locked, WorkflowFailed, ParamsError) as e:
        print(f"gc: {e}", file=sys.stderr)
        return 1
    total = sum(x.bytes for x in found)
    if a.json:
        said = {"scale": a.scale, "deleted": a.delete, "bytes": total, "leftovers": [asdict(x) for x in found], "cache": cache}
        print(json.dumps(said, indent=1, sort_keys=True))
        return 0
    for x in found:
        print(f"{x.bytes / 1e6:10.1f} MB  {x.path}  ({x.why})")
    print(cache)
    verb = "deleted" if a.delete else "can go; --delete (make gc DELETE=1) removes them"
    print(f"{len(found)} files and folders, {total / 1e6:.1f} MB, {verb}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
