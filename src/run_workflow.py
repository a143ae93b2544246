"""Run the workflow to the end: one run a scale at a time, the doctor's GL backend, a clean stop on Ctrl-C.

Extra arguments go to Snakemake as they are: python src/run_workflow.py --scale smoke -n
"""

import argparse
import compileall
import contextlib
import os
import signal
import subprocess
import sys
import types

from veridream.params.load import ParamsError, load_params
from veridream.params.machine import skipped, told
from veridream.params.model import Params
from veridream.params.split import empty_sides
from veridream.provenance.chain import mend
from veridream.provenance.digest import ROOT
from veridream.provenance.graph import first_to_remake
from veridream.provenance.guard import Guard, end_group
from veridream.provenance.ledger import refresh_plan
from veridream.provenance.leftovers import discard_interrupted
from veridream.provenance.lock import Locked
from veridream.provenance.workflow import DERIVED, WorkflowFailed, clear_stale_locks, command, environment, known_jobs, planned, scale_lock

TARGETS = ("all", "collect")  # rules of the Snakefile
# Snakemake's own way of choosing among the jobs that may run, an optimisation after each finished one, costs up to 1.3 CPU seconds a job.
CHOICE = ["--scheduler", "greedy"]


class Runner:
    """Runs Snakemake in a process group of its own and hands on signals, so that it and all its jobs stop together, whichever of them is killed."""

    def __init__(self, lock: int):
        self.lock, self.caught, self.guard = lock, 0, Guard()
        self.child: subprocess.Popen[bytes] | None = None
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self._forward)

    def __call__(self, argv: list[str]) -> int:
        """The exit code; 128 + n after signal n, whoever it was sent to."""
        if not self.caught:
            watched = self.guard.watch_me
            self.child = subprocess.Popen(argv, cwd=ROOT, env=environment(), pass_fds=(self.lock,), start_new_session=True, preexec_fn=watched)
            if self.caught:  # between the test and the start
                self._stop()
            code = self.child.wait()
            end_group(self.child.pid)  # a killed Snakemake leaves its jobs
            self.guard.done()
        if self.caught:
            print(f"\nstopped by signal {self.caught}; finished artefacts are kept, the same command goes on from here", file=sys.stderr)
            return 128 + self.caught
        return code if code >= 0 else 128 - code

    def _forward(self, signum: int, frame: types.FrameType | None) -> None:
        self.caught = signum
        self._stop()

    def _stop(self) -> None:
        if self.child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child.pid, signal.SIGINT)  # Snakemake's SIGTERM would wait for the running jobs


def build(scale: str, profile: str, target: str, runner: Runner) -> int:
    """Makes everything below a target rule that is out of date; with `all`, mends the chain of receipts too.

    Receipts that nobody vouches for, or that are out of date in a way that Snakemake cannot see, are removed, and their jobs run again, once.
    """
    removed: set[str] = set()
    while not (code := make_all(scale, profile, target, runner)) and target == "all":
        mended = mend(scale)
        if mended.relinked:
            print(f"{len(mended.relinked)} receipts now name the new receipts of their inputs, whose bytes came out as they were", file=sys.stderr)
        for receipt, why in sorted(mended.removed.items()):
            print(f"removed, its job runs again: {receipt}: {why}", file=sys.stderr)
        if again := sorted(removed & set(mended.removed)):
            print(f"run_workflow: receipts still do not fit together: {', '.join(again)}", file=sys.stderr)
            return 1
        if not mended.removed:
            break
        removed |= set(mended.removed)
    if code:
        return code
    print(f"scale {scale}: everything is up to date{'' if target == 'all' else f' for {target}'}", file=sys.stderr)
    return 0


def make_all(scale: str, profile: str, target: str, runner: Runner) -> int:
    """Runs Snakemake until it plans nothing.

    Snakemake decides before it starts, so it would remake all that stands below a remade artefact. Where there is something to save, only
    the first jobs that must run do, and then Snakemake decides again: outputs that came out as they were, by content id, stop it there.
    """
    before: dict[str, str] = {}
    while now := planned(scale, target=target):
        own = [path for path, why in now.items() if why != DERIVED]
        standing = now != before and any((ROOT / path).exists() for path in now)
        first = first_to_remake(own, known_jobs(scale)) if standing else []
        if first:
            print(f"out of date: {len(now)} files; first {len(first)} of them, then what still differs", file=sys.stderr)
        code = runner(command(scale, profile, [*CHOICE, "--", *(first or [target])]))
        if code or not first:
            return code
        before = now
    return 0


def check_target(scale: str, target: str) -> Params:
    """The params of the scale. Raises ParamsError where the target asks for more than they are for."""
    params = load_params(scale)
    if target == "all" and params.split.heldout == 0:
        raise ParamsError(f"scale {scale} holds no episode out (split.heldout: 0), so no model can be scored on it: make collect SCALE={scale}")
    if lacking := empty_sides(params):
        raise ParamsError(f"scale {scale}: {'; '.join(lacking)}. Raise collect.counts, or change the shares of split, or split.salt")
    return params


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", default="laptop", help="how much is computed: a file of params/scales (default: laptop)")
    ap.add_argument("--target", default="all", choices=TARGETS, help="all, or collect: the corpus and the test set, checked and indexed, and no model")
    ap.add_argument("--profile", default="local", help="where it runs: a folder of workflow/profiles (default: local)")
    ap.add_argument("--discard-work", action="store_true", help="first remove what interrupted trainings of the scale left, which start anew then")
    a, extra = ap.parse_known_args()
    known = sorted(p.stem for p in (ROOT / "params" / "scales").glob("*.yaml"))
    if a.scale not in known:
        ap.error(f"unknown scale {a.scale!r}; known: {', '.join(known)}")
    if not (ROOT / "workflow" / "profiles" / a.profile).is_dir():
        ap.error(f"unknown profile {a.profile!r}; known: {', '.join(sorted(p.name for p in (ROOT / 'workflow' / 'profiles').iterdir()))}")
    try:
        with scale_lock(a.scale) as lock:
            if cleared := clear_stale_locks(a.scale):
                print(f"removed the Snakemake locks of a killed run: {', '.join(cleared)}", file=sys.stderr)
            gone = skipped(check_target(a.scale, a.target))
            if a.discard_work:
                print("".join(f"removed {path}\n" for path in discard_interrupted(a.scale)) or "no interrupted training to discard", file=sys.stderr)
            refresh_plan(a.scale)
            compileall.compile_dir(ROOT / "src", quiet=2)  # for the jobs, which write no bytecode
            runner = Runner(lock)
            named = ["--", a.target] if a.target != "all" else []
            code = runner(command(a.scale, a.profile, [*extra, *named])) if extra else build(a.scale, a.profile, a.target, runner)
            if gone:
                print(f"scale {a.scale}: {told(gone)}\nInstall what they need, then make doctor and the same command again.", file=sys.stderr)
            return code
    except (Locked, ParamsError, WorkflowFailed) as e:
        print(f"run_workflow: {e}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
