"""What Snakemake, DVC and the audit each say is to be made again. A job is named "stage/name", as its receipt is under results/<scale>/receipts."""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from helpers.project import run
from veridream.provenance.graph import ancestors, parents
from veridream.provenance.receipts import load_receipts
from veridream.provenance.workflow import command, environment

FRAME = ("plan", "metrics")  # the stages of dvc.yaml that are no rule
BELOW = "Input files updated by another job: "
REGROUPED = "Set of input files has changed since last execution"


@dataclass(frozen=True)
class Said:
    """What one state of the project is, by each witness."""

    own: set[str]  # Snakemake: jobs with a reason of their own, as far as it looks for one in a job that runs anyway
    planned: set[str]  # Snakemake: all jobs that would run
    audit: set[str]  # the audit: receipts that do not hold, and jobs without one
    aside: set[str]  # the audit: receipts of jobs that the rules no longer have
    dvc: set[str]  # DVC: stages that are not as recorded

    def text(self) -> str:
        return f"{len(self.audit)} jobs, {len(self.planned - self.audit)} below; {len(self.dvc)} stages in DVC"


NOTHING = Said(set(), set(), set(), set(), set())


@dataclass(frozen=True)
class Recorded:
    """The jobs and DVC stages of a finished and recorded scale."""

    receipts: Mapping[str, Mapping[str, Any]]  # job -> receipt
    stages: Mapping[str, Mapping[str, Any]]  # of dvc.yaml

    @classmethod
    def of(cls, project: Path, scale: str = "smoke") -> "Recorded":
        found = load_receipts(project / "results" / scale / "receipts")
        return cls({job_of(k): r for k, r in found.items()}, yaml.safe_load((project / "dvc.yaml").read_text())["stages"])

    def below(self, jobs: Iterable[str]) -> set[str]:
        """These jobs and every recorded one that reads, at any distance, what they make."""
        changed = set(jobs)
        return changed | {job for job, above in ancestors(parents(self.receipts)).items() if above & changed}

    def dvc_stages(self, jobs: Iterable[str], bytes_of: Iterable[str] = ()) -> set[str]:
        """The stages DVC must name: those of the changed jobs' rules, whose code and params it keeps by rule, and makers and readers of changed bytes."""
        rules, paths = {job.split("/")[0] for job in jobs}, set(bytes_of)
        out = set()
        for name, stage in self.stages.items():
            touched = {next(iter(o)) if isinstance(o, dict) else o for o in (*stage.get("outs", ()), *stage.get("plots", ()), *stage.get("deps", ()))}
            if rule_of(name) in rules or (touched & paths and rule_of(name) not in FRAME):
                out.add(name)
        return out


def job_of(receipt: str) -> str:
    """From ".../receipts/plan_mpc/none.json"."""
    return receipt.split("/receipts/")[1].removesuffix(".json")


def rule_of(stage: str) -> str:
    """From "smoke-finetune_world_model-2"."""
    return re.sub(r"-\d+$", "", stage.split("-", 1)[1])


def dry_run(project: Path, scale: str = "smoke") -> dict[str, str]:
    """{job: reason} of `snakemake -n`."""
    words = command(scale, extra=["-n", "--printshellcmds", "--quiet", "host"])
    r = subprocess.run(words, cwd=project, env=environment(project), capture_output=True, text=True, timeout=300)
    said = r.stdout + r.stderr
    assert r.returncode == 0, said[-4000:]
    out, reason = {}, None
    for line in said.splitlines():
        if line.startswith("Reason: "):
            reason = line.removeprefix("Reason: ")
        elif reason is not None and (made := re.search(r"\bpython src/.* --receipt (\S+)", line)):
            out[job_of(made[1])], reason = reason, None
    assert bool(out) != ("Nothing to be done" in said), f"this is no dry run as the tests know it:\n{said[-2000:]}"
    return out


def audited(project: Path, scale: str = "smoke") -> tuple[set[str], set[str]]:
    """(jobs that must run, jobs that no rule has) by `make audit-all`."""
    r = run(project, "audit_artefact.py", "--all", "--scale", scale, "--json")
    assert r.returncode in (0, 1), r.stderr[-4000:]
    whole = json.loads(r.stdout)
    assert whole["holds"] == (r.returncode == 0) == (not whole["broken"] and not whole["ledger"]["problems"])
    return {job_of(k) for k in whole["out_of_date"]}, {job_of(k) for k in whole["leftover"]}


def dvc_status(project: Path, scale: str = "smoke") -> set[str]:
    """Stages that `dvc status` names, once the plan is that of today (every command of ours sees to that)."""
    assert run(project, "refresh_plan.py", "--scale", scale).returncode == 0
    r = run(project, "-m", "dvc", "status", "--json")
    assert r.returncode == 0, r.stderr[-4000:]
    return {name for name in json.loads(r.stdout) if rule_of(name) not in FRAME}


def ask(project: Path, scale: str = "smoke") -> Said:
    """All three, each in a process of its own."""
    reasons = dry_run(project, scale)
    own = {job for job, why in reasons.items() if any(not part.startswith((BELOW, REGROUPED)) for part in why.split("; "))}
    return Said(own, set(reasons), *audited(project, scale), dvc_status(project, scale))
