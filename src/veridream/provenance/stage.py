"""The frame of every stage script: arguments, checked inputs, atomic outputs, content ids, receipt last.

    with stage("validate_store", inputs=("store",), outputs=("verdict",)) as job:
        ...read job.inputs["store"][0], job.params; write job.out["verdict"]...

Leaving the block publishes: each output is renamed from `.<name>.part`, gets its `.id`, and the receipt is written last.
An exception leaves nothing under a final name and exits 1 with a message; a kill leaves only `.part` files, which the next run removes.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veridream.provenance.digest import ROOT, canonical, code_modules, combined_digest, environment_digest, job_domains, tree_id
from veridream.provenance.lock import Locked, hold_lock
from veridream.provenance.receipts import chain_of, id_path, recorded_id, run_path, seal, succession, write_id, write_json

CODE = ("src", "params", "workflow", "requirements", "Snakefile")  # what makes a run "dirty" when git does not have it as it stands
MORE_MEMORY = "there was too little memory: free some, run fewer jobs at once, or lower the batch; the same command goes on where it stopped"
PUBLISHED = "published"  # an empty file in the work folder of a job whose outputs and receipt stand


class StageError(Exception):
    """An expected failure: its text is the message for the user (file, row or key, remedy)."""


def lack_of_memory(e: BaseException) -> str | None:
    """The message where an allocation was refused, by Python, numpy or torch (which raises a RuntimeError); None for another exception."""
    refused = isinstance(e, MemoryError) or (isinstance(e, RuntimeError) and ("out of memory" in str(e) or "can't allocate memory" in str(e)))
    return f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else 'refused'}\n{MORE_MEMORY}" if refused else None


@dataclass
class Job:
    name: str
    params: dict[str, Any]
    inputs: dict[str, list[Path]]
    out: dict[str, Path]  # temporary paths; final names appear on success
    final: dict[str, Path]
    work: Path | None  # resumable state of a training stage; never a rule output
    counts: dict[str, Any] = field(default_factory=dict)  # deterministic facts for the receipt
    facts: dict[str, Any] = field(default_factory=dict)  # volatile facts (renderer, device) for the run file

    def input(self, name: str) -> Path:
        """The single path given for an input."""
        (path,) = self.inputs[name]
        return path


def _parse(name: str, inputs: Sequence[str], outputs: Sequence[str], work: bool, argv: Sequence[str] | None) -> argparse.Namespace:
    ap = argparse.ArgumentParser(prog=f"{name}.py", description=sys.modules["__main__"].__doc__)
    ap.add_argument("--params", type=json.loads, default={}, metavar="JSON", help="the stage's slice of the params")
    ap.add_argument("--code", default=None, metavar="DIGEST", help="code digest the workflow planned with; refused if the code has changed since")
    ap.add_argument("--receipt", required=True, metavar="PATH")
    if work:
        ap.add_argument("--work", required=True, type=Path, metavar="DIR", help="resumable state")
    for i in inputs:
        optional = i.endswith("?")
        ap.add_argument(f"--{i.rstrip('?')}", nargs="*" if optional else "+", required=not optional, default=[], type=Path, metavar="PATH")
    for o in outputs:
        ap.add_argument(f"--{o}", required=True, type=Path, metavar="PATH")
    return ap.parse_args(argv)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _git(*args: str) -> str | None:
    try:
        r = subprocess.run(["git", *args], capture_output=True, text=True, cwd=ROOT)
    except FileNotFoundError:
        return None
    return r.stdout.strip() if r.returncode == 0 else None


def _terminated(signum: int, frame: Any) -> None:
    raise SystemExit(128 + signum)


@contextlib.contextmanager
def stage(name: str, *, inputs: Sequence[str] = (), outputs: Sequence[str], work: bool = False, argv: Sequence[str] | None = None) -> Iterator[Job]:
    """See the module. Input names ending in "?" may be left out. Exit codes: 1 refused or failed, 128+n ended by signal n."""
    a = _parse(name, inputs, outputs, work, argv)
    script = f"src/{name}.py"
    modules, environment = code_modules(script, domains=job_domains(a.params)), environment_digest()
    now = combined_digest(modules, environment)
    if a.code is not None and a.code != now:
        sys.exit(f"{name}: the code of {script} changed while the workflow was running (planned {a.code}, found {now}); run the workflow again")
    names = [i.rstrip("?") for i in inputs]
    final = {o: getattr(a, o) for o in outputs}
    part = {o: p.with_name(f".{p.name}.part") for o, p in final.items()}
    job = Job(name, a.params, {i: getattr(a, i) for i in names}, part, final, a.work if work else None)
    started = datetime.datetime.now(datetime.UTC)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        with hold_lock(f"{Path(a.receipt).with_name('.' + Path(a.receipt).name)}.lock", f"{a.receipt} ({name})"), _swept(part.values()):
            read = [p for paths in job.inputs.values() for p in paths]
            ids_in, chain = {p.as_posix(): recorded_id(p) for p in read}, chain_of(read)
            yield job
            facts = {"stage": name, "params": a.params, "code": now, "modules": modules, "environment": environment, "inputs": ids_in, "chain": chain}
            _publish(job, Path(a.receipt), facts, {"inputs": sorted(ids_in), **_run_facts(started), **job.facts})
    except (StageError, Locked) as e:
        sys.exit(f"{name}: {e}")
    except (ValueError, OSError) as e:
        traceback.print_exc()
        sys.exit(f"{name}: {e}")
    except (MemoryError, RuntimeError) as e:
        if (said := lack_of_memory(e)) is None:
            raise
        traceback.print_exc()
        sys.exit(f"{name}: {said}")
    except KeyboardInterrupt:
        print(f"{name}: interrupted; nothing was published, the same command goes on", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _swept(parts: Iterable[Path]) -> Iterator[None]:
    """Temporary outputs: none before (a killed run's), none after."""
    for p in parts:
        _remove(p)
        p.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for p in parts:
            _remove(p)


def _publish(job: Job, receipt: Path, facts: dict[str, Any], run: dict[str, Any]) -> None:
    """Renames, content ids, run file, receipt last. A failure on the way (a full disk) leaves none of them."""
    missing = [str(job.final[o]) for o, p in job.out.items() if not p.exists()]
    if missing:
        raise StageError(f"finished without writing {', '.join(missing)}")
    ids, trees = {}, {}
    for o, p in job.out.items():
        final = job.final[o].as_posix()
        ids[final], tree = tree_id(p)
        if p.is_dir():
            trees[final] = tree
    try:
        receipt.unlink(missing_ok=True)  # from here to the end no receipt vouches for anything
        for o, p in job.final.items():
            _remove(p)
            os.replace(job.out[o], p)
            write_id(p, ids[p.as_posix()], receipt.as_posix())
        whole = json.loads(canonical({**facts, "outputs": ids, "trees": trees, "counts": job.counts}))
        whole["seal"] = seal(whole)
        before = succession(receipt)
        write_json(run_path(receipt), {**run, "outputs": sorted(ids), "seal": whole["seal"], "succeeds": [s for s in before if s != whole["seal"]]})
        write_json(receipt, whole)
        if job.work is not None and job.work.is_dir():
            (job.work / PUBLISHED).touch()
    except BaseException:
        for p in (receipt, *job.final.values(), *map(id_path, job.final.values())):
            _remove(p)
        raise


def _run_facts(started: datetime.datetime) -> dict[str, Any]:
    """What an identical rerun would not repeat."""
    own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.datetime.now(datetime.UTC) - started).total_seconds(), 2),
        "cpu_seconds": round(sum(os.times()[:4]), 2),
        "peak_mb": max(own.ru_maxrss, children.ru_maxrss) // 1024,
        "host": platform.node(),
        "machine": platform.platform(),
        "python": platform.python_version(),
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--", *CODE)),
        "argv": sys.argv,
    }
