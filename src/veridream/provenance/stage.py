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
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veridream.provenance.digest import ROOT, code_digest, code_modules, content_id, environment_digest
from veridream.provenance.receipts import id_path, recorded_id, write_json


class StageError(Exception):
    """An expected failure: its text is the message for the user (file, row or key, remedy)."""


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
    """See the module. Input names ending in "?" may be left out. Exit codes: 1 refused or failed, 128+n killed by signal n."""
    a = _parse(name, inputs, outputs, work, argv)
    script = f"src/{name}.py"
    now = code_digest(script)
    if a.code is not None and a.code != now:
        sys.exit(f"{name}: the code of {script} changed while the workflow was running (planned {a.code}, found {now}); run the workflow again")
    names = [i.rstrip("?") for i in inputs]
    final = {o: getattr(a, o) for o in outputs}
    part = {o: p.with_name(f".{p.name}.part") for o, p in final.items()}
    signal.signal(signal.SIGTERM, _terminated)
    started = datetime.datetime.now(datetime.UTC)
    try:
        ids_in = {p.as_posix(): recorded_id(p) for i in names for p in getattr(a, i)}
        for p in part.values():
            _remove(p)
            p.parent.mkdir(parents=True, exist_ok=True)
        job = Job(name, a.params, {i: getattr(a, i) for i in names}, part, final, a.work if work else None)
        yield job
        missing = [str(final[o]) for o, p in part.items() if not p.exists()]
        if missing:
            raise StageError(f"finished without writing {', '.join(missing)}")
    except (StageError, FileNotFoundError, ValueError, OSError) as e:
        for p in part.values():
            _remove(p)
        print(f"{name}: {e}", file=sys.stderr)
        if not isinstance(e, StageError):
            import traceback

            traceback.print_exc()
        sys.exit(1)
    except BaseException:
        for p in part.values():
            _remove(p)
        raise
    ids_out = {}
    for o, p in final.items():
        ids_out[p.as_posix()] = content_id(part[o])
        _remove(p)
        os.replace(part[o], p)
        write_json(id_path(p), ids_out[p.as_posix()])
    write_json(
        a.receipt,
        {
            "stage": name,
            "params": a.params,
            "code": now,
            "modules": code_modules(script),
            "environment": environment_digest(),
            "inputs": ids_in,
            "outputs": ids_out,
            "counts": job.counts,
        },
    )
    write_json(
        Path(a.receipt).with_suffix(".run.json"),
        {
            "started": started.isoformat(timespec="seconds"),
            "seconds": round((datetime.datetime.now(datetime.UTC) - started).total_seconds(), 2),
            "cpu_seconds": round(sum(os.times()[:4]), 2),
            "host": platform.node(),
            "machine": platform.platform(),
            "python": platform.python_version(),
            "commit": _git("rev-parse", "HEAD"),
            "dirty": bool(_git("status", "--porcelain", "-uno")),
            "argv": sys.argv,
            **job.facts,
        },
    )
