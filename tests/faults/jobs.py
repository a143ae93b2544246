"""Faults of single jobs: the stage's own command line, in a copy of a finished project in which that job's outputs are gone."""

import contextlib
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from faults import limits
from faults.draws import KILL, Fault
from faults.processes import end_all, left_behind
from faults.scene import StageJob, Undisturbed, copy_results, copy_sources, different, partial, stage_jobs
from veridream.provenance.workflow import environment

PATIENCE = 300  # seconds until a job counts as hanging
HELD = "import sys, os, signal; from veridream.provenance.lock import hold_lock\nwith hold_lock(sys.argv[1], 'x'): os.kill(os.getpid(), signal.SIGKILL)"
REFUSED = ("disk full", "file too large", "read error", "full /tmp")  # a job that fails by these says so itself
SIGNALS = {f"{KILL}, a job": signal.SIGKILL, "SIGINT to a job": signal.SIGINT, "SIGTERM to a job": signal.SIGTERM}
UNCLEAN = (f"{KILL}, a job", "out of memory, killed by the kernel", "dead lock holder")  # nobody is left to sweep; the next run does


@dataclass
class Bench:
    """A project on a memory disk (a plain folder where none can be mounted) to break jobs in."""

    project: Path
    whole: Undisturbed
    jobs: list[StageJob] = field(default_factory=list)
    mounted: bool = False

    @classmethod
    @contextlib.contextmanager
    def on(cls, whole: Undisturbed, folder: Path) -> Iterator["Bench"]:
        bench = cls(folder, whole, stage_jobs(whole))
        try:
            limits.mount(folder, 512)
            bench.mounted = True
        except limits.NotHere as e:
            print(f"faults: {e}; no full disks here", file=sys.stderr)
            folder.mkdir(parents=True)
        try:
            copy_results(whole, copy_sources(whole, folder))
            yield bench
        finally:
            end_all(folder)
            if bench.mounted:
                limits.unmount(folder)

    def start(self, job: StageJob, before: limits.Before | None = None, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        whole = {**environment(self.project), **(env or {})}
        words = [sys.executable, *job.argv]
        return subprocess.Popen(words, cwd=self.project, env=whole, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=before)

    def deal(self, fault: Fault) -> tuple[str, list[str]]:
        """(what was done, what did not hold). Raises NotHere where this machine cannot make the fault."""
        candidates = self.jobs if fault.kind != "read error" else [j for j in self.jobs if j.inputs]
        stages = sorted({j.stage for j in candidates})
        stage = stages[int(fault.pick * len(stages))]  # a stage first: there are many more scorings than trainings
        ours = [j for j in candidates if j.stage == stage]
        job = ours[int(fault.moment * 1e6) % len(ours)]
        job.forget(self.project)
        try:
            done, code, said = self._fault(fault, job)
        except limits.NotHere:
            self._heal()  # what the job was to make again is gone
            raise
        wrong = [*left_behind(self.project), *partial(self.project, self.whole)]
        if fault.kind not in UNCLEAN and code != -signal.SIGKILL:
            wrong += job.temporary(self.project)
        if code > 0 and fault.kind in REFUSED and f"{job.stage}: " not in said:
            wrong.append(f"it failed and did not say why in its own name:\n{said[-600:]}")
        if code < 0 and code not in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT) and fault.kind != "out of memory, refused":
            wrong.append(f"it crashed by signal {-code}")
        wrong += self._again(job)
        if wrong:
            self._heal()
        return f"{job.receipt.split('/receipts/')[1]}: {done}, exit {code}", wrong

    def _fault(self, fault: Fault, job: StageJob) -> tuple[str, int, str]:
        """(what was done, exit code, stderr)."""
        if fault.kind in SIGNALS:
            return self._signalled(job, SIGNALS[fault.kind], fault.moment)
        if fault.kind == "dead lock holder":
            lock = self.project / Path(job.receipt).with_name(f".{Path(job.receipt).name}.lock")
            env = {**os.environ, "PYTHONPATH": str(self.project / "src")}
            code = subprocess.run([sys.executable, "-c", HELD, str(lock)], env=env, cwd=self.project).returncode
            assert lock.exists(), "the lock of the dead holder must stand"
            return "its lock was held by a process that was killed", code, ""
        with contextlib.ExitStack() as stack:
            done, before, env = self._shortage(fault, job, stack)
            child = self.start(job, before, env)
            code, said = self._ended(child)
        return done, code, said

    def _shortage(self, fault: Fault, job: StageJob, stack: contextlib.ExitStack) -> tuple[str, limits.Before | None, dict[str, str]]:
        if fault.kind == "disk full":
            if not self.mounted:
                raise limits.NotHere("a full disk needs a memory disk")
            room = int(fault.moment * 1.1 * self._bytes(job))
            stack.enter_context(limits.disk_with(self.project, room))
            return f"{room} bytes of disk left", None, {}
        if fault.kind == "file too large":
            size = int(2 ** (3 + fault.moment * (math.log2(max(self._largest(job), 16)) - 3)))
            return f"no file above {size} bytes", limits.file_size(size), {}
        if fault.kind == "read error":
            files = sorted(
                p for i in job.inputs for p in ([self.project / i] if (self.project / i).is_file() else (self.project / i).rglob("*")) if p.is_file()
            )
            path = files[int(fault.moment * len(files))]
            stack.enter_context(limits.unreadable(path))
            return f"{path.relative_to(self.project)} cannot be read", None, {}
        if fault.kind == "full /tmp":
            return "no room in TMPDIR", None, {"TMPDIR": str(stack.enter_context(limits.full_folder(self.project.with_name("full"))))}
        if fault.kind == "out of memory, refused":
            size = int(2 ** (26 + fault.moment * 6))  # 64 MB to 4 GB
            return f"{size >> 20} MB of addresses", limits.address_space(size), {}
        megabytes = max(16, int((0.2 + 0.75 * fault.moment) * job.peak_mb))
        return f"{megabytes} MB of memory, it needs {job.peak_mb}", stack.enter_context(limits.memory_group(megabytes)), {}

    def _signalled(self, job: StageJob, signum: signal.Signals, moment: float) -> tuple[str, int, str]:
        """A moment after the end is halved until it is one before."""
        wait = moment * (job.seconds + 1.5)
        while True:
            child = self.start(job)
            try:
                child.wait(wait)
            except subprocess.TimeoutExpired:
                child.send_signal(signum)
                code, said = self._ended(child)
                return f"{signum.name} after {wait:.3f} s", code, said
            child.communicate()
            job.forget(self.project)
            wait /= 2

    def _ended(self, child: subprocess.Popen[str]) -> tuple[int, str]:
        try:
            said = child.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait(), "it hung"
        return child.returncode, said

    def _again(self, job: StageJob) -> list[str]:
        """The same command once more, undisturbed; what then is not as it was."""
        code, said = self._ended(self.start(job))
        wrong = [f"the same command again ends with {code}:\n{said[-1500:]}"] if code else different(self.project, self.whole)
        return wrong + job.temporary(self.project)

    def _heal(self) -> None:
        """The next fault finds whole results, whatever this one did."""
        shutil.rmtree(self.project / "results")
        copy_results(self.whole, self.project)

    def _sizes(self, job: StageJob) -> list[int]:
        root = self.whole.project
        paths = [q for n in job.written() for q in ([root / n] if (root / n).is_file() else (root / n).rglob("*"))]
        return [q.stat().st_size for q in paths if q.is_file()]

    def _bytes(self, job: StageJob) -> int:
        """On disk, in whole pages."""
        return sum(-(-n // 4096) * 4096 for n in self._sizes(job))

    def _largest(self, job: StageJob) -> int:
        return max(self._sizes(job))
