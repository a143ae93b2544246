"""Receipts: what a job read, made and was. `<artefact>.id` beside an artefact holds its content id.

A receipt holds only what an identical rerun repeats; times, host and git state go to `<receipt>.run.json` beside it.
Its `seal` is the digest of the rest, so that an edited receipt is noticed.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from veridream.provenance.digest import canonical, content_id

FIELDS = ("stage", "params", "code", "modules", "environment", "inputs", "outputs", "counts", "seal")


def id_path(artefact: str | Path) -> Path:
    return Path(f"{artefact}.id")


def run_path(receipt: str | Path) -> Path:
    """Where the volatile facts of the run stand: times, host, git state, versions."""
    return Path(receipt).with_suffix(".run.json")


def write_json(path: str | Path, obj: Any) -> None:
    """Atomic: a reader sees the old file or the new one. Leaves an equal file untouched."""
    path = Path(path)
    text = json.dumps(obj, sort_keys=True, indent=1, allow_nan=False) + "\n"
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def recorded_id(artefact: str | Path) -> dict[str, Any]:
    """The content id an artefact was published with. Raises FileNotFoundError or ValueError that says what to do."""
    p = id_path(artefact)
    if not Path(artefact).exists():
        raise FileNotFoundError(f"{artefact} is missing; run the workflow to make it")
    if not p.is_file():
        return content_id(artefact)
    remedy = f"{p}: damaged content id; delete it and {artefact}, and run the workflow again"
    try:
        out = json.loads(p.read_text())
    except ValueError:
        raise ValueError(remedy) from None
    if not isinstance(out, dict) or not isinstance(out.get("sha256"), str):
        raise ValueError(remedy)
    return out


def seal(receipt: dict[str, Any]) -> str:
    """Digest of everything in a receipt but the seal itself."""
    return hashlib.sha256(canonical({k: v for k, v in receipt.items() if k != "seal"}).encode()).hexdigest()[:16]


def read_receipt(path: str | Path) -> dict[str, Any]:
    """Raises ValueError that says how the receipt is damaged."""
    try:
        receipt = json.loads(Path(path).read_text())
    except ValueError as e:
        raise ValueError(f"{path}: damaged receipt ({e}); delete it and run the workflow again") from None
    missing = [k for k in FIELDS if not isinstance(receipt, dict) or k not in receipt]
    if missing:
        raise ValueError(f"{path}: damaged receipt (lacks {', '.join(missing)}); delete it and run the workflow again")
    if receipt["seal"] != seal(receipt):
        raise ValueError(f"{path}: damaged receipt (edited after it was written: its seal does not fit); delete it and run the workflow again")
    return receipt  # type: ignore[no-any-return]


def receipt_paths(root: str | Path) -> Iterator[Path]:
    """Every receipt under a folder, sorted; run files and hidden files are not receipts."""
    yield from (p for p in sorted(Path(root).rglob("*.json")) if not p.name.endswith(".run.json") and not p.name.startswith("."))


def load_receipts(root: str | Path) -> dict[str, dict[str, Any]]:
    """{path of a receipt: receipt} under results/<scale>/receipts. Raises ValueError on a damaged one."""
    return {p.as_posix(): read_receipt(p) for p in receipt_paths(root)}
