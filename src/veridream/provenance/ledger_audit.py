"""Whether the committed ledger is whole: dvc.yaml, dvc.lock and ledger/ are what `make record` wrote, and the receipts are those it wrote down."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from veridream.provenance.anchor import LEDGER, anchor_path, digest_of, dvc_digests, made_from, parse_anchor, plan_path
from veridream.provenance.ledger import HEADER, canonical_text, planned_now
from veridream.provenance.receipts import as_written, succession
from veridream.provenance.records import Records


@dataclass
class LedgerState:
    recorded: bool = False
    problems: list[str] = field(default_factory=list)  # a file is not what `make record` wrote, or a receipt not what it wrote down
    notes: list[str] = field(default_factory=list)  # what has lawfully changed since

    @property
    def holds(self) -> bool:
        return not self.problems


def audit_ledger(records: Records) -> LedgerState:
    """The state of one scale's ledger. A scale that was never recorded holds, and says so."""
    scale, root = records.scale, records.root
    path = root / anchor_path(scale)
    texts = {name: (root / name).read_bytes() for name in LEDGER if (root / name).is_file()}
    if not path.is_file():
        mentioned = [name for name, text in texts.items() if f"\n  {scale}-".encode() in text]
        lost = (
            [f"{anchor_path(scale)} is missing, though {' and '.join(mentioned)} record the scale; bring it back from git, or record again"]
            if mentioned
            else []
        )
        return LedgerState(bool(mentioned), lost, [] if mentioned else [f"scale {scale} is not recorded; `make record SCALE={scale}` does"])
    try:
        anchor = parse_anchor(path.read_text())
    except ValueError as e:
        return LedgerState(True, [f"{anchor_path(scale)}: damaged ({e}); bring it back from git"])
    state = LedgerState(True)
    for name in LEDGER:
        state.problems += _dvc_problems(name, texts.get(name), scale, anchor["dvc"].get(name, {}))
    for name, digest in anchor["files"].items():
        file = root / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            state.problems.append(f"{name} is not what was recorded; bring it back from git")
    state.problems += _plan_problems(records, anchor["plan"])
    for key, job in sorted(anchor["jobs"].items()):
        if key in records.receipts:
            _compare(key, job, records, state)
        elif key not in records.damaged:
            state.notes.append(f"{key} is recorded and not here; `make restore SCALE={scale}` brings it back")
    if new := sorted(set(records.receipts) - set(anchor["jobs"])):
        state.notes.append(f"{len(new)} receipts are not recorded yet, {new[0]} the first; `make record SCALE={scale}` takes them in")
    return state


def _compare(key: str, job: dict[str, Any], records: Records, state: LedgerState) -> None:
    """A receipt and what was recorded of it."""
    receipt = records.receipts[key]
    if receipt["seal"] == job["seal"]:
        return
    outputs = {path: content["sha256"] for path, content in receipt["outputs"].items()}
    same_job, same_bytes = job["made_from"] == made_from(receipt), job["outputs"] == outputs
    if same_job and same_bytes and job["counts"] != digest_of(receipt["counts"]):
        state.problems.append(f"{key} claims other counts than were recorded for the same params, code, inputs and outputs")
    elif receipt["seal"] not in succession(records.root / key):
        state.problems.append(f"{key} is not the receipt that was recorded, and no run of its job here wrote it")
    elif same_job and not same_bytes:
        state.notes.append(f"{key}: the same params, code and inputs gave other bytes than were recorded (another machine?)")
    else:
        state.notes.append(
            f"{key} is not the receipt that was recorded: its job, or one above it, ran again since; `make record SCALE={records.scale}` takes it in"
        )


def _dvc_problems(name: str, text: bytes | None, scale: str, recorded: dict[str, str]) -> list[str]:
    if text is None:
        return [f"{name} is missing; bring it back from git"]
    try:
        decoded = text.decode()
        found = dvc_digests(decoded, scale)
        if name == "dvc.yaml" and decoded != canonical_text(decoded):
            return [f"{name} was edited: its text is not the generated one ({HEADER.splitlines()[0]})"]
    except ValueError as e:
        return [f"{name} is damaged: {e}; bring it back from git"]
    odd = sorted(s for s in {*found, *recorded} if found.get(s) != recorded.get(s))
    return (
        [f"{name}: {', '.join(odd)} {'is' if len(odd) == 1 else 'are'} not what was recorded; bring it back from git, or record what DVC changed"]
        if odd
        else []
    )


def _plan_problems(records: Records, recorded: str) -> list[str]:
    """The plan may be the recorded one, or today's (see refresh_plan); anything else was edited."""
    path = records.root / plan_path(records.scale)
    why = f"{plan_path(records.scale)} is neither what was recorded nor what the rules pass now; bring it back from git"
    try:
        text = path.read_text()
        found = json.loads(text)
        if text == as_written(found) and (digest_of(found) == recorded or found == planned_now(found, records.scale, records.root, records.now)):
            return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # missing, no JSON, or of another form
        return [why]
    return [why]
