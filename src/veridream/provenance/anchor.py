"""The anchor: `ledger/<scale>/chain.json`, committed to git, ties every receipt and the ledger's other files down at the moment of `make record`.

Receipts hold each other through their chains, the newest ones are held by nobody: whoever rewrote them all would be believed. The anchor holds
the seal of every receipt, with what the job read and made, and a digest of each stage of dvc.yaml and dvc.lock, under a seal of its own.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from veridream.params.yaml_text import parse_yaml
from veridream.provenance.digest import ROOT, canonical
from veridream.provenance.receipts import as_written, seal

LEDGER = ("dvc.yaml", "dvc.lock")
REST = "(the rest)"  # what stands in a DVC file beside its stages


def plan_path(scale: str) -> str:
    """Code digest and params slice of every job (DVC params). One dot: DVC takes `x.plan.json` for YAML, which costs it seconds a stage."""
    return f"ledger/{scale}/plan.json"


def metrics_path(scale: str) -> str:
    """The receipts' counts (DVC metrics)."""
    return f"ledger/{scale}/metrics.json"


def anchor_path(scale: str) -> str:
    return f"ledger/{scale}/chain.json"


def digest_of(obj: Any) -> str:
    """sha256 of the canonical JSON of a value."""
    return hashlib.sha256(canonical(obj).encode()).hexdigest()


def dvc_digests(text: str, scale: str) -> dict[str, str]:
    """{stage of this scale: digest} of a dvc.yaml or dvc.lock. Raises ValueError where the text is no such file."""
    try:
        whole = parse_yaml(text)
        stages = dict(whole.pop("stages", None) or {})
        rest = whole
        return {REST: digest_of(rest)} | {name: digest_of(s) for name, s in sorted(stages.items()) if name.startswith(f"{scale}-")}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError) as e:
        raise ValueError(f"not readable as YAML ({e})") from None


def made_from(receipt: dict[str, Any]) -> str:
    """Digest of all that decides a job's outcome: its stage, params, code and the bytes it read."""
    return digest_of([receipt["stage"], receipt["params"], receipt["code"], receipt["inputs"]])


def _job(receipt: dict[str, Any]) -> dict[str, Any]:
    outputs = {path: content["sha256"] for path, content in receipt["outputs"].items()}
    said = {"seal": receipt["seal"], "made_from": made_from(receipt), "counts": digest_of(receipt["counts"])}
    return {**said, "inputs": sorted(receipt["inputs"]), "outputs": outputs}


def anchor(scale: str, receipts: dict[str, dict[str, Any]], plan: Any, metrics: Any, root: Path = ROOT) -> dict[str, Any]:
    """What the anchor says of these receipts, of the plan and metrics they generate, and of the DVC files as they stand.

    Raises ValueError that names a DVC file which cannot be read.
    """
    jobs = {key: _job(r) for key, r in receipts.items()}
    dvc = {}
    for name in LEDGER:
        if (root / name).is_file():
            try:
                dvc[name] = dvc_digests((root / name).read_text(), scale)
            except ValueError as e:
                raise ValueError(f"{name} is damaged: {e}; bring it back from git") from None
    files = {metrics_path(scale): hashlib.sha256(as_written(metrics).encode()).hexdigest()}
    whole = {"jobs": jobs, "dvc": dvc, "files": files, "plan": digest_of(plan)}
    return {**whole, "seal": seal(whole)}


def parse_anchor(text: str) -> dict[str, Any]:
    """Raises ValueError where a byte of it was changed."""
    whole = json.loads(text)
    if not isinstance(whole, dict) or whole.get("seal") != seal(whole) or text != as_written(whole):
        raise ValueError("edited after it was written: its seal does not fit")
    return whole


def anchored_seals(scale: str, root: Path = ROOT) -> dict[str, str]:
    """{receipt: its seal when it was recorded}; empty where nothing is recorded, or the anchor is damaged (which the audit of the ledger names)."""
    path = root / anchor_path(scale)
    try:
        return {key: job["seal"] for key, job in parse_anchor(path.read_text())["jobs"].items()} if path.is_file() else {}
    except ValueError:
        return {}
