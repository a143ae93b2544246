"""How the project's own scripts call Snakemake: the command line, the environment of the jobs, what is planned, locks a killed run left."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from veridream.params.load import SCALE_NAME
from veridream.provenance.child import die_with_parent
from veridream.provenance.digest import ROOT
from veridream.provenance.lock import hold_lock

# Sums depend on the number of threads, so jobs set it from their params; this is the floor for libraries that read it at import.
QUIET_THREADS = {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMEXPR_NUM_THREADS": "1"}
# Python 3.11 keeps a bytecode file that a full disk or a limit cut short, and then every later import of it fails. So jobs write none; the launcher does.
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}


DERIVED = "upstream is remade"


class WorkflowFailed(RuntimeError):
    """Snakemake could not say what it would do: the text is what it wrote."""


def command(scale: str, profile: str = "local", extra: Sequence[str] = ()) -> list[str]:
    """The one way Snakemake is run, with this interpreter."""
    where = ["--snakefile", "Snakefile", "--workflow-profile", f"workflow/profiles/{profile}", "--config", f"scale={scale}"]
    return [sys.executable, "-m", "snakemake", *where, *extra]


def environment(root: Path = ROOT, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the jobs: this interpreter first on PATH, quiet threads, no bytecode written, the GL backend the doctor found. What is set stays."""
    env = dict(os.environ if base is None else base)
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", os.defpath)])
    for name, value in (QUIET_THREADS | NO_BYTECODE).items():
        env.setdefault(name, value)
    doctor = root / ".doctor.json"
    if "MUJOCO_GL" not in env and doctor.is_file():
        found = json.loads(doctor.read_text()).get("MUJOCO_GL")
        if found:
            env["MUJOCO_GL"] = found
    return env


@contextlib.contextmanager
def scale_lock(scale: str, root: Path = ROOT) -> Iterator[int]:
    """Held by whatever changes results/<scale>. Raises Locked, which says who holds it; WorkflowFailed for what is no name of a scale."""
    if not re.fullmatch(SCALE_NAME, scale):
        raise WorkflowFailed(f"{scale!r} is no name of a scale: letters, digits and underscores only")
    with hold_lock(root / "results" / scale / ".lock", f"results/{scale}") as fd:
        yield fd


def planned(scale: str, root: Path = ROOT, target: str = "all") -> dict[str, str]:
    """{output that Snakemake would remake: why}; empty when nothing is to do. Raises WorkflowFailed with Snakemake's own words.

    Why: "missing", "params changed", ... where its job has a reason of its own; DERIVED where only something upstream is to be remade.
    """
    return {path: why for path, why in summary(scale, root, target).items() if why is not None}


def summary(scale: str, root: Path = ROOT, target: str = "all") -> dict[str, str | None]:
    """{output of the DAG of a target rule: as in `planned`, None where it stays}."""
    words = command(scale, extra=["--summary", "--", target])
    env, ends = environment(root), die_with_parent  # Ctrl-C is the caller's; one that outlived us would look like a run
    r = subprocess.run(words, capture_output=True, text=True, cwd=root, env=env, start_new_session=True, preexec_fn=ends)
    lines = r.stdout.splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith("output_file\t")), None)
    if r.returncode or head is None:
        raise WorkflowFailed(f"snakemake --summary failed:\n{(r.stderr or r.stdout).strip()}")
    rows = [line.split("\t") for line in lines[head + 1 :] if line]
    return {path: None if plan == "no update" else DERIVED if status == "ok" else status for path, *_, status, plan in rows}


def known_jobs(scale: str, root: Path = ROOT) -> dict[str, dict[str, list[str]]]:
    """{receipt: {inputs, outputs}} of every job that ever finished here, by its receipt or, where Snakemake has removed that, its run file.

    (A run file is no output of a rule, so it outlives the start of a rerun.) A file that cannot be read counts as not there.
    """
    out: dict[str, dict[str, list[str]]] = {}
    for path in sorted((root / "results" / scale / "receipts").rglob("[!.]*.json"), key=lambda p: not p.name.endswith(".run.json")):
        key = path.relative_to(root).as_posix().removesuffix(".run.json").removesuffix(".json") + ".json"
        try:
            whole = json.loads(path.read_text())
            out[key] = {"inputs": list(whole["inputs"]), "outputs": list(whole["outputs"])}
        except (ValueError, KeyError, TypeError):
            continue
    return out


def clear_stale_locks(scale: str, root: Path = ROOT) -> list[str]:
    """Removes the locks a killed Snakemake left on results/<scale>; returns their names. Call it with the scale's lock held.

    Snakemake's locks carry no process, so they outlive it. One that a live Snakemake of this folder may own is left alone.
    """
    folder = root / ".snakemake" / "locks"
    found = sorted(folder.glob("*.lock")) if folder.is_dir() else []
    ours = [p for p in found if f"results/{scale}/" in p.read_text()]
    if not ours or _running(scale, root):
        return []
    for p in ours:
        p.unlink(missing_ok=True)
    return [p.name for p in ours]


def _running(scale: str, root: Path) -> list[int]:
    """Processes in this folder that run Snakemake on this scale (or on one that their command line does not name)."""
    out = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            words = (proc / "cmdline").read_bytes().decode(errors="replace").split("\0")
            here = (proc / "cwd").resolve() == root.resolve()
        except OSError:  # ended meanwhile, or another user's
            continue
        named = [w.removeprefix("scale=") for w in words if w.startswith("scale=")]
        if here and any(Path(w).name == "snakemake" for w in words[:4]) and (not named or scale in named):
            out.append(int(proc.name))
    return out
