"""Where faults happen: copies of the project with a finished run in them, and what must hold after each fault."""

import compileall
import hashlib
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from helpers.project import copy_project, run

SCALE = "faults"
PER_RUN = ("logs", "benchmarks", "work")  # folders of a scale's results that no artefact is in
MADE_IN = ("results", ".snakemake")


@dataclass(frozen=True)
class Undisturbed:
    """A finished run and the sha256 of all that it published."""

    project: Path
    scale: str
    files: dict[str, str]  # path in results/<scale> -> sha256
    folders: frozenset[str]  # artefacts that are folders

    @classmethod
    def of(cls, project: Path, scale: str) -> "Undisturbed":
        files = digests(project / "results" / scale)
        named = (p.removesuffix(".id") for p in files if p.endswith(".id"))
        return cls(project, scale, files, frozenset(p for p in named if p not in files))


def build(folder: Path) -> Path:
    """The project's sources with the scale of the faults; no results."""
    copy_project(folder)
    shutil.copy2(Path(__file__).with_name("faults.yaml"), folder / "params" / "scales" / f"{SCALE}.yaml")
    compileall.compile_dir(folder / "src", quiet=1)  # once, and not by each of a thousand starts
    return folder


def undisturbed(folder: Path) -> Undisturbed:
    """Runs the scale in `folder` from nothing (or from what an earlier call has left there)."""
    build(folder)
    done = run(folder, "run_workflow.py", "--scale", SCALE, timeout=3000)
    if done.returncode:
        sys.exit(f"faults: the undisturbed run failed:\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}")
    return Undisturbed.of(folder, SCALE)


def digests(results: Path) -> dict[str, str]:
    """{path: sha256} of what stands under final names: no temporary files, no state, no logs, no run files."""
    out = {}
    for p in sorted(results.rglob("*")):
        inside = p.relative_to(results)
        if p.is_file() and inside.parts[0] not in PER_RUN and not any(w.startswith(".") for w in inside.parts) and not p.name.endswith(".run.json"):
            out[inside.as_posix()] = hashlib.sha256(p.read_bytes()).hexdigest()
    return out


def partial(project: Path, whole: Undisturbed) -> list[str]:
    """What stands under a final name and is not whole: other bytes than the undisturbed run's, or a folder with files missing."""
    results = project / "results" / whole.scale
    now = digests(results)
    other = [f"{p} has other bytes than an undisturbed run's" for p, d in now.items() if whole.files.get(p) != d]
    standing = tuple(f"{f}/" for f in whole.folders if (results / f).exists())
    return other + [f"{p} is missing in a folder that stands under its final name" for p in whole.files if p not in now and p.startswith(standing)]


def different(project: Path, whole: Undisturbed) -> list[str]:
    """As `partial`, and nothing may be missing: the end of a run."""
    now = digests(project / "results" / whole.scale)
    return partial(project, whole) + [f"{p} is missing at the end" for p in whole.files if p not in now]


@dataclass(frozen=True)
class StageJob:
    """One job of the finished run, to be run again by itself."""

    receipt: str
    argv: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    seconds: float
    peak_mb: int

    @property
    def stage(self) -> str:
        return Path(self.argv[0]).stem

    def written(self) -> list[str]:
        """Outputs, ids, the receipt and the folder of state: what a first run does not find."""
        work = [self.argv[self.argv.index("--work") + 1]] if "--work" in self.argv else []
        return [*self.outputs, *(f"{o}.id" for o in self.outputs), self.receipt, *work]

    def forget(self, project: Path) -> None:
        for name in self.written():
            p = project / name
            if p.is_dir():
                shutil.rmtree(p)
            else:
                p.unlink(missing_ok=True)

    def temporary(self, project: Path) -> list[str]:
        """Temporary outputs that stand now."""
        parts = [(project / o).with_name(f".{Path(o).name}.part") for o in self.outputs]
        return [f"{p.relative_to(project)} is left behind" for p in parts if p.exists()]


def stage_jobs(whole: Undisturbed) -> list[StageJob]:
    """Every job of a finished run, as it was called."""
    out = []
    for path in sorted((whole.project / "results" / whole.scale / "receipts").rglob("*.run.json")):
        r = json.loads(path.read_text())
        receipt = path.relative_to(whole.project).as_posix().removesuffix(".run.json") + ".json"
        out.append(StageJob(receipt, tuple(r["argv"]), tuple(r["inputs"]), tuple(r["outputs"]), r["seconds"], r["peak_mb"]))
    return out


def copy_sources(whole: Undisturbed, to: Path) -> Path:
    """A second project without results, from the very sources of the undisturbed run."""
    for p in whole.project.iterdir():
        if p.name not in (*MADE_IN, ".git"):
            (shutil.copytree if p.is_dir() else shutil.copy2)(p, to / p.name)
    return to


def copy_results(whole: Undisturbed, to: Path) -> Path:
    """The finished results, into a second project."""
    shutil.copytree(whole.project / "results" / whole.scale, to / "results" / whole.scale, symlinks=True)
    return to
