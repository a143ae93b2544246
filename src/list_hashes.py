"""Print the lock with the sha256 of each package's file, from pip's own report of what it would install here (see `make hashes`)."""

import argparse
import json
from pathlib import Path
from typing import Any

HEAD = """# The files the public index serves for requirements/lock.txt on Linux x86_64 with Python 3.11. Regenerate: make hashes
# Its torch is the build with CUDA. Verify: pip download --no-deps --require-hashes --dest FOLDER --requirement requirements/hashes.txt
"""


def lines(report: dict[str, Any]) -> list[str]:
    """`name==version --hash=sha256:...`, sorted by name; of the report of `pip install --dry-run --report`. Raises ValueError for a file without one."""
    out = []
    for one in report["install"]:
        name, version = one["metadata"]["name"].lower().replace("_", "-"), one["metadata"]["version"]
        sha256 = one["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if not sha256:
            raise ValueError(f"{name}=={version}: the index gives no sha256 for {one['download_info'].get('url')}")
        out.append(f"{name}=={version} --hash=sha256:{sha256}")
    return sorted(out)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("report", type=Path, help="what pip install --dry-run --report wrote")
    print(HEAD + "\n".join(lines(json.loads(ap.parse_args().report.read_text()))))


if __name__ == "__main__":
    main()
