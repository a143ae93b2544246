"""What a scale's results hold that nothing needs: state of finished jobs, halves that a kill left, artefacts of jobs that the rules no longer have."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from veridream.params.load import load_params
from veridream.provenance.digest import ROOT
from veridream.provenance.jobs import receipts_of
from veridream.provenance.receipts import id_path, run_path
from veridream.provenance.records import Records
from veridream.provenance.stage import PUBLISHED
from veridream.provenance.workflow import WorkflowFailed


@dataclass(frozen=True)
class Leftover:
    """A file or folder that can go. path: relative to the project's root."""

    path: str
    why: str
    bytes: int


def leftovers(scale: str, root: Path = ROOT) -> list[Leftover]:
    """Sorted by path; the DVC cache left aside. Changes nothing. Raises ParamsError."""
    wanted = set(receipts_of(load_params(scale, root=root / "params"), scale))
    results = root / "results" / scale
    found: dict[Path, str] = {}
    for folder in sorted(results.glob("work/*/*")):
        name = folder.name.removesuffix(".stale")
        receipt = f"results/{scale}/receipts/{folder.parent.name}/{name}.json"
        if name != folder.name:
            found[folder] = "set aside: made under other params, code or inputs"
        elif receipt not in wanted:
            found[folder] = "the rules have no such job any more"
        elif (root / receipt).is_file():
            found[folder] = "its job is finished"
    for part in results.rglob(".*.part"):
        if part.name.startswith("."):
            found[part] = "half-written by a job that was killed"
    records = Records(scale, root)
    kept = {path for key, r in records.receipts.items() if key in wanted for path in r["outputs"]}
    for key in sorted(set(records.receipts) - wanted):
        outputs = [root / path for path in records.receipts[key]["outputs"] if path not in kept]
        for path in (root / key, run_path(root / key), *outputs, *map(id_path, outputs)):
            if path.exists():
                found[path] = "the rules have no such job any more"
    for run in sorted(results.glob("receipts/**/*.run.json")):
        key = run.relative_to(root).as_posix().removesuffix(".run.json") + ".json"
        if key not in wanted and not (root / key).exists():
            found[run] = "the rules have no such job any more"
    return [Leftover(p.relative_to(root).as_posix(), why, _size(p)) for p, why in sorted(found.items()) if not any(q in found for q in p.parents)]


def remove(found: list[Leftover], root: Path = ROOT) -> None:
    """Deletes them. Call it with the scale's lock held."""
    for one in found:
        path = root / one.path
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def discard_interrupted(scale: str, root: Path = ROOT) -> list[str]:
    """Removes the work folders of the scale's trainings that were never published; their paths. Call it with the scale's lock held."""
    stages = ("train_tokenizer", "train_dynamics", "finetune_world_model")
    found = [f for stage in stages for f in sorted((root / "results" / scale / "work" / stage).glob("*")) if not (f / PUBLISHED).exists()]
    for folder in found:
        shutil.rmtree(folder)
    return [f.relative_to(root).as_posix() for f in found]


def unused_cache(delete: bool = False, root: Path = ROOT) -> str:
    """What the DVC cache holds that neither the work tree nor any commit names, in a sentence. Raises WorkflowFailed with DVC's own words."""
    if not (root / "dvc.yaml").is_file():
        return "nothing is recorded here (no dvc.yaml), so the DVC cache is left alone"
    words = [sys.executable, "-m", "dvc", "gc", "--workspace", "--all-commits", "--force", *([] if delete else ["--dry"])]
    r = subprocess.run(words, capture_output=True, text=True, cwd=root)
    if r.returncode:
        raise WorkflowFailed(f"dvc gc failed:\n{r.stderr.strip()}")
    n = sum(int(x) for x in re.findall(r"Removed (\d+) objects", r.stdout + r.stderr))
    verb = "removed" if delete else "can go"
    return f"DVC cache: {n} objects {verb} that neither the work tree nor any commit names"


def _size(path: Path) -> int:
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return sum(p.stat().st_size for p in files)
