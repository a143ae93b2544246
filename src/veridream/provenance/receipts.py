"""Receipts: what a job read, made and was. `<artefact>.id` beside an artefact holds its content id and the name of its maker's receipt.

A receipt holds only what an identical rerun repeats; times, host and git state go to `<receipt>.run.json` beside it.
Its `seal` is the digest of the rest, so that an edited receipt is noticed; its `chain` holds the seals of the receipts that vouch for its
inputs, so that a receipt which was rewritten with a fitting seal is noticed by every job below it.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from veridream.provenance.digest import canonical, content_id

# trees: for each output that is a folder, the sha256 of each of its files, so that the audit can name the one that differs
FIELDS = ("stage", "params", "code", "modules", "environment", "inputs", "outputs", "trees", "chain", "counts", "seal")
CONTENT = ("sha256", "bytes", "files")
REMEMBERED = 50  # earlier seals that a run file keeps


def id_path(artefact: str | Path) -> Path:
    return Path(f"{artefact}.id")


def run_path(receipt: str | Path) -> Path:
    """Where the volatile facts of the run stand: times, host, git state, versions, and the seals of the receipts it replaced."""
    return Path(receipt).with_suffix(".run.json")


def as_written(obj: Any) -> str:
    """The one text of a JSON file: sorted, indented, ending in a line break."""
    return json.dumps(obj, sort_keys=True, indent=1, allow_nan=False) + "\n"


def write_json(path: str | Path, obj: Any) -> None:
    """Atomic: a reader sees the old file or the new one. Leaves an equal file untouched."""
    path = Path(path)
    text = as_written(obj)
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


def write_id(artefact: str | Path, content: dict[str, Any], receipt: str) -> None:
    """Publishes an artefact's content id and who made it. An equal file stays untouched, so that equal bytes start nothing downstream."""
    write_json(id_path(artefact), {**content, "receipt": receipt})


def read_id(artefact: str | Path) -> dict[str, Any]:
    """{sha256, bytes, files, receipt} as it was published; without a receipt where no job made it. Raises ValueError on a damaged id."""
    p = id_path(artefact)
    remedy = f"{p}: damaged content id; delete it and {artefact}, and run the workflow again"
    try:
        out = json.loads(p.read_text())
    except ValueError:
        raise ValueError(remedy) from None
    if not isinstance(out, dict) or not isinstance(out.get("sha256"), str):
        raise ValueError(remedy)
    return out


def recorded_id(artefact: str | Path) -> dict[str, Any]:
    """The content id an artefact was published with. Raises FileNotFoundError or ValueError that says what to do."""
    if not Path(artefact).exists():
        raise FileNotFoundError(f"{artefact} is missing; run the workflow to make it")
    if not id_path(artefact).is_file():
        return content_id(artefact)
    return {k: v for k, v in read_id(artefact).items() if k in CONTENT}


def chain_of(inputs: Iterable[str | Path]) -> dict[str, str]:
    """{receipt of each input's maker: its seal}. Files that no job makes have none. Raises FileNotFoundError, ValueError on a damaged receipt."""
    out: dict[str, str] = {}
    for path in inputs:
        maker = read_id(path).get("receipt") if id_path(path).is_file() else None
        if maker is None or maker in out:
            continue
        if not Path(maker).is_file():
            raise FileNotFoundError(f"{maker} is missing, the receipt of {path}; run the workflow to make it")
        out[maker] = read_receipt(maker)["seal"]
    return out


def run_facts(receipt: str | Path) -> dict[str, Any]:
    """What the run file says; empty where it was left behind (a restored artefact) or is unreadable."""
    path = run_path(receipt)
    try:
        whole = json.loads(path.read_text()) if path.is_file() else {}
    except ValueError:
        return {}
    return whole if isinstance(whole, dict) else {}


def succession(receipt: str | Path) -> list[str]:
    """Seals that this job's receipts had here, the newest first, by its run file."""
    facts = run_facts(receipt)
    return list(dict.fromkeys(s for s in (facts.get("seal"), *facts.get("succeeds", ())) if s))[:REMEMBERED]


def seal(receipt: dict[str, Any]) -> str:
    """Digest of everything in a receipt but the seal itself."""
    return hashlib.sha256(canonical({k: v for k, v in receipt.items() if k != "seal"}).encode()).hexdigest()


def read_receipt(path: str | Path) -> dict[str, Any]:
    """Raises FileNotFoundError, or ValueError that says how the receipt is damaged. Its very text counts, not only what it says."""
    remedy = "delete it and run the workflow again"
    try:
        text = Path(path).read_text()
        receipt = json.loads(text)
    except ValueError as e:
        raise ValueError(f"{path}: damaged receipt ({e}); {remedy}") from None
    missing = [k for k in FIELDS if not isinstance(receipt, dict) or k not in receipt]
    if missing:
        raise ValueError(f"{path}: damaged receipt (lacks {', '.join(missing)}); {remedy}")
    if receipt["seal"] != seal(receipt) or text != as_written(receipt):
        raise ValueError(f"{path}: damaged receipt (edited after it was written: its seal does not fit); {remedy}")
    return receipt  # type: ignore[no-any-return]


def receipt_paths(root: str | Path) -> Iterator[Path]:
    """Every receipt under a folder, sorted; run files and hidden files are not receipts."""
    yield from (p for p in sorted(Path(root).rglob("*.json")) if not p.name.endswith(".run.json") and not p.name.startswith("."))


def load_receipts(root: str | Path) -> dict[str, dict[str, Any]]:
    """{path of a receipt: receipt} under results/<scale>/receipts. Raises ValueError on a damaged one."""
    return {p.as_posix(): read_receipt(p) for p in receipt_paths(root)}
