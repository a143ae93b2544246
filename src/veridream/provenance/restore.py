"""Restore: the recorded bytes of this commit come back, and only what provably holds is marked as up to date."""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from veridream.params.yaml_text import parse_yaml
from veridream.provenance.chain import remember
from veridream.provenance.digest import ROOT
from veridream.provenance.graph import ancestors, parents
from veridream.provenance.receipts import write_id
from veridream.provenance.records import Records
from veridream.provenance.workflow import WorkflowFailed, command, environment


@dataclass
class Restored:
    sound: list[str] = field(default_factory=list)  # artefacts whose whole upstream holds
    stale: dict[str, list[str]] = field(default_factory=dict)  # receipt -> why it does not hold; the next run remakes these


def sound_receipts(records: Records, failing: dict[str, list[str]]) -> list[str]:
    """Receipts that hold and whose every ancestor holds. `snakemake --touch X` blesses X's whole upstream, so nothing less will do."""
    upstream = ancestors(parents(records.receipts))
    whole = {key for key, r in records.receipts.items() if all(p in records.makers or not p.startswith("results/") for p in r["inputs"])}
    good = whole - set(failing)
    return [key for key in records.receipts if {key} | upstream[key] <= good]


def checkout(scale: str, root: Path = ROOT, force: bool = False) -> None:
    """dvc checkout of a scale's stages. Raises WorkflowFailed with DVC's own words, for example where unrecorded results would be lost."""
    path = root / "dvc.yaml"
    stages = (parse_yaml(path.read_text()) or {}).get("stages", {}) if path.is_file() else {}
    names = [n for n in stages if n.startswith(f"{scale}-")]
    if not names:
        raise WorkflowFailed(f"dvc.yaml records nothing of scale {scale}; `make record SCALE={scale}` does, after a run")
    r = subprocess.run([sys.executable, "-m", "dvc", "checkout", *(["--force"] if force else []), *names], capture_output=True, text=True, cwd=root)
    if r.returncode:
        hint = "\nresults that are not recorded are in the way: record them first, or pass --force to lose them" if "unsaved" in r.stderr else ""
        raise WorkflowFailed(f"dvc checkout failed:\n{r.stderr.strip()}{hint}")


def settle(scale: str, root: Path = ROOT) -> Restored:
    """Verifies what was checked out, removes the receipts that do not hold, and marks the sound artefacts as up to date.

    A removed receipt makes Snakemake run its job again; nothing stale is ever blessed.
    """
    records = Records(scale, root)
    for key, receipt in records.receipts.items():
        if records.vouched(key) is not False:
            remember(root / key, receipt)
        for artefact, content in receipt["outputs"].items():
            if (root / artefact).exists():
                write_id(root / artefact, content, key)
    failing = records.failing()
    sound = sound_receipts(records, failing)
    for key in failing:
        (root / key).unlink(missing_ok=True)
    targets = [p for key in sound for p in records.receipts[key]["outputs"]]
    if sound:
        r = subprocess.run(command(scale, extra=["--touch", "--", *sound]), capture_output=True, text=True, cwd=root, env=environment(root))
        if r.returncode:
            raise WorkflowFailed(f"snakemake --touch failed:\n{r.stderr.strip()}")
    return Restored(sorted(targets), failing)
