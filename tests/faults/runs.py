"""Faults of whole runs: the command a user types is started, struck, started again, until it ends by itself; then all must be as undisturbed.

A run goes on from where the last one was struck, so that many faults cost few whole runs. What a chain of faults led to is known at its end: when
that is not as it should be, each of the chain's faults counts as not survived.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from faults import limits
from faults.draws import KILL, Fault
from faults.processes import end_all, left_behind, living, of_role
from faults.scene import Undisturbed, different, partial
from veridream.provenance.workflow import environment

PATIENCE = 300  # seconds until a struck run counts as hanging
ROLE = {
    f"{KILL}, a stage of a run": "stage",
    f"{KILL}, a worker of a run": "worker",
    f"{KILL}, snakemake": "snakemake",
    f"{KILL}, the launcher": "launcher",
    "SIGINT to a run": "launcher",
    "SIGTERM to a run": "launcher",
}
SIGNAL = {"SIGINT to a run": signal.SIGINT, "SIGTERM to a run": signal.SIGTERM}
Told = Callable[[Fault, str, list[str]], None]


@dataclass
class Chain:
    """Runs of one project between two ends."""

    project: Path
    whole: Undisturbed
    tell: Told
    open: list[tuple[Fault, str]] = field(default_factory=list)  # dealt, and not known yet whether survived

    def deal(self, faults: list[Fault], until: float = float("inf")) -> list[Fault]:
        """Deals all that the time allows (`until`, of time.monotonic) and ends with a whole run; returns what was not dealt."""
        waiting = list(faults)
        while waiting and time.monotonic() < until:
            fault = self._next(waiting)
            dealt, done, wrong = self._strike(fault)
            if dealt:
                waiting.remove(fault)
                self.open.append((fault, done))
                wrong += left_behind(self.project)
                wrong += partial(self.project, self.whole)
                if wrong:
                    self._close(wrong)
            else:  # the run came to its end before
                self._close(wrong or different(self.project, self.whole))
        if self.open:
            self._close(self._finish())
        return waiting

    def _next(self, waiting: list[Fault]) -> Fault:
        """Workers come early in a run: their faults first while there are some to come, and later only when nothing else waits."""
        early = not (self.project / "results" / self.whole.scale / "dynamics" / "base.id").exists()
        wanted = [f for f in waiting if (ROLE.get(f.kind) == "worker") == (early and self._turn())]
        return (wanted or waiting)[0]

    def _turn(self) -> bool:
        return len(self.open) % 2 == 0

    def _start(self, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        words = [sys.executable, "src/run_workflow.py", "--scale", self.whole.scale]
        log = (self.project / "faults.log").open("wb")
        whole = {**environment(self.project), **(env or {})}
        return subprocess.Popen(words, cwd=self.project, env=whole, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def _strike(self, fault: Fault) -> tuple[bool, str, list[str]]:
        """(whether the fault met the run before its end, what was done, what did not hold at once)."""
        if fault.kind == "full /tmp under a run":
            with limits.full_folder(self.project.with_name("full")) as full:
                code, wrong = self._ended(self._start({"TMPDIR": str(full)}))
            return True, f"no room in TMPDIR, exit {code}", wrong
        child = self._start()
        began = time.monotonic()
        pid = self._victim(fault, child, began)
        if pid is None:
            code, wrong = self._ended(child)
            return False, "", wrong or ([f"the run ends with {code}:\n{self._log()}"] if code else [])
        number = SIGNAL.get(fault.kind, signal.SIGKILL)
        whom = list(living(self.project)) if fault.kind == f"{KILL}, all of a run" else [pid]
        words = " ".join(w for w in (living(self.project).get(pid).words if pid in living(self.project) else ("?",)) if not w.startswith("{"))[:70]
        for one in whom:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, number)
        after = time.monotonic() - began
        code, wrong = self._ended(child)
        if code == 0 and fault.kind != f"{KILL}, a worker of a run":
            return False, "", wrong  # it had just ended
        return True, f"{number.name} to {len(whom)} ({words}) after {after:.1f} s, exit {code}", wrong

    def _victim(self, fault: Fault, child: subprocess.Popen[bytes], began: float) -> int | None:
        """Waits for the moment: some seconds after the start, or a while after a run's first, second, ... job has begun. None when the run ended before."""
        role = ROLE.get(fault.kind, "launcher")
        nth = 1 if role == "worker" else max(int(fault.pick * 6), int(role == "stage"))
        counted = "launcher" if nth == 0 else "worker" if role == "worker" else "stage"
        wait = fault.moment * (2.5 if nth else 8)
        seen, last = set[int](), began
        while child.poll() is None:
            now = of_role(self.project, counted)
            if set(now) - seen:
                seen |= set(now)
                last = time.monotonic()
            struck = of_role(self.project, role)
            if struck and len(seen) >= max(nth, 1) and time.monotonic() - last >= wait:
                return struck[-1]
            time.sleep(0.01)
        return None

    def _ended(self, child: subprocess.Popen[bytes]) -> tuple[int, list[str]]:
        try:
            return child.wait(PATIENCE), []
        except subprocess.TimeoutExpired:
            end_all(self.project)
            return child.wait(), [f"the run hung:\n{self._log()}"]

    def _finish(self) -> list[str]:
        """The same command, undisturbed, to its end."""
        code = self._start().wait(3000)
        return [f"the same command again ends with {code}:\n{self._log()}"] if code else different(self.project, self.whole)

    def _close(self, wrong: list[str]) -> None:
        """The chain has ended, well or not; the next one starts from nothing."""
        for fault, done in self.open:
            self.tell(fault, done, wrong)
        if wrong and not self.open:
            raise RuntimeError("a run that no fault met went wrong:\n" + "\n".join(wrong))
        self.open = []
        end_all(self.project)
        for name in ("results", ".snakemake"):
            shutil.rmtree(self.project / name, ignore_errors=True)

    def _log(self) -> str:
        return (self.project / "faults.log").read_text(errors="replace")[-2500:]
