"""Receipts: what a job read, made and was. `<artefact>.id` beside an artefact holds its content id.

A receipt holds only what an identical rerun repeats; times, host and git state go to `<receipt>.run.json` beside it.
"""

import json
import os
from pathlib import Path
from typing import Any

from veridream.provenance.digest import content_id


def id_path(artefact: str | Path) -> Path:
    return Path(f"{artefact}.id")


def write_json(path: str | Path, obj: Any) -> None:
    """Atomic: a reader sees the old file or the new one. Leaves an equal file untouched."""
    path = Path(path)
    text = json.dumps(obj, sort_keys=True, indent=1, allow_nan=False) + "\n"
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text)
    os.replace(part, path)


def recorded_id(artefact: str | Path) -> dict[str, Any]:
    """The content id an artefact was published with. Raises FileNotFoundError that says what to do."""
    p = id_path(artefact)
    if not Path(artefact).exists():
        raise FileNotFoundError(f"{artefact} is missing; run the workflow to make it")
    if not p.is_file():
        return content_id(artefact)
    out: dict[str, Any] = json.loads(p.read_text())
    return out


def load_receipts(root: str | Path) -> dict[str, dict[str, Any]]:
    """{path of a receipt: receipt} under results/<scale>/receipts. Raises ValueError on a damaged one."""
    out = {}
    for p in sorted(Path(root).rglob("*.json")):
        if p.name.endswith(".run.json") or p.name.startswith("."):
            continue
        try:
            out[p.as_posix()] = json.loads(p.read_text())
        except ValueError as e:
            raise ValueError(f"{p}: damaged receipt ({e}); delete it and run the workflow again") from None
    return out
