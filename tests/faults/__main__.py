"""Deal faults to real runs at the smallest scale and count what survives; exits 1 when anything does not.

python -m faults                     all of them, 100 kills and more, about 20 minutes on two idle cores
python -m faults --only 17 81        those again, each by itself
"""

import argparse
import collections
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from faults import draws
from faults.jobs import Bench
from faults.limits import NotHere
from faults.processes import end_all
from faults.runs import Chain
from faults.scene import Undisturbed, copy_sources, undisturbed


class Score:
    """survived / tried of each kind."""

    def __init__(self) -> None:
        self.tried, self.survived, self.not_here = collections.Counter[str](), collections.Counter[str](), collections.Counter[str]()

    def tell(self, fault: draws.Fault, done: str, wrong: list[str]) -> None:
        self.tried[fault.kind] += 1
        self.survived[fault.kind] += not wrong
        print(f"{'NOT SURVIVED' if wrong else 'survived'} {fault}: {done}", flush=True)
        for line in wrong[:12]:
            print(f"    {line}", flush=True)

    def table(self) -> str:
        kinds = [k for k in (*draws.ON_RUNS, *draws.ON_JOBS) if self.tried[k] or self.not_here[k]]
        rows = [f"| {k} | {self.survived[k]} / {self.tried[k]} |" + (f" {self.not_here[k]} not possible here" if self.not_here[k] else "") for k in kinds]
        kills = [sum(c[k] for k in kinds if k.startswith(draws.KILL)) for c in (self.survived, self.tried)]
        whole = [sum(c.values()) for c in (self.survived, self.tried)]
        total = [f"| **{draws.KILL}, all kinds** | {kills[0]} / {kills[1]} |", f"| **all** | {whole[0]} / {whole[1]} |"]
        return "\n".join(["| fault | survived / tried |", "|---|---|", *rows, *total])


def on_jobs(faults: list[draws.Fault], whole: Undisturbed, at: Path, score: Score, until: float) -> None:
    with Bench.on(whole, at / "bench") as bench:
        for fault in faults:
            if time.monotonic() > until:
                return
            try:
                score.tell(fault, *bench.deal(fault))
            except NotHere as e:
                score.not_here[fault.kind] += 1
                print(f"not here {fault}: {e}", flush=True)


def on_runs(faults: list[draws.Fault], whole: Undisturbed, at: Path, score: Score, until: float, alone: bool) -> None:
    project = at / "runs"
    project.mkdir()
    copy_sources(whole, project)
    try:
        for some in [[f] for f in faults] if alone else [faults]:
            Chain(project, whole, score.tell).deal(some, until)
    finally:
        end_all(project)


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="python -m faults")
    ap.add_argument("--only", type=int, nargs="+", metavar="N", help="these numbers alone")
    ap.add_argument("--part", choices=("runs", "jobs"), help="faults of whole runs, or of single jobs, alone")
    ap.add_argument("--seed", type=int, default=draws.SEED)
    ap.add_argument("--minutes", type=float, default=float("inf"), help="deal no new fault after that long (the undisturbed run not counted)")
    ap.add_argument("--at", type=Path, help="keep the undisturbed run in this folder, for the next call (default: a temporary folder)")
    a = ap.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # started in the background, we and all we start would ignore it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # disks are unmounted on the way out
    faults = [f for f in draws.drawn(a.seed) if a.only is None or f.number in a.only]
    runs, jobs = ([f for f in faults if (f.kind in draws.ON_RUNS) == wanted and a.part in (None, name)] for wanted, name in ((True, "runs"), (False, "jobs")))
    with tempfile.TemporaryDirectory(prefix="veridream-faults-") as scratch:
        at = Path(scratch).resolve()
        began = time.monotonic()
        whole = undisturbed((a.at or at / "whole").resolve())
        print(f"seed {a.seed}: {len(runs) + len(jobs)} faults; the undisturbed run took {time.monotonic() - began:.0f} s", flush=True)
        until, score = time.monotonic() + 60 * a.minutes, Score()
        if jobs:
            on_jobs(jobs, whole, at, score, until)
        if runs:
            on_runs(runs, whole, at, score, until, alone=a.only is not None)
    print(f"\nseed {a.seed}, {(time.monotonic() - began) / 60:.1f} minutes, load {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores\n{score.table()}")
    return 0 if score.survived == score.tried and score.tried.total() else 1


if __name__ == "__main__":
    sys.exit(main())
