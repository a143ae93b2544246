"""What lineage costs: parsing the Snakefile, planning with nothing to do, a run with nothing to do, the frame of a job, auditing 2,000 receipts.

    python benchmarks/lineage.py                    all of it, ten minutes on two cores
    python benchmarks/lineage.py --only audit       parts: parse, plan, jobs, audit

Everything happens in a copy of the project in a temporary folder. "plan" needs no results: it fakes every output of a scale by a few bytes and
lets Snakemake take them as made. The quickest of three calls counts; CPU seconds tell on a busy machine what an idle one would take.
"""

import argparse
import functools
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from veridream.params.load import load_params
from veridream.params.model import Params
from veridream.params.slices import stage_params
from veridream.provenance.audit import audit_all
from veridream.provenance.digest import ROOT, code_modules, combined_digest, environment_digest, job_domains, tree_id
from veridream.provenance.jobs import RECEIPT_NAMES, workflow_jobs
from veridream.provenance.receipts import seal, write_id, write_json
from veridream.provenance.workflow import command, environment, summary

PARTS = ("src", "params", "workflow", "requirements", "Snakefile")
SCALES = ("smoke", "laptop", "paper")
EMPTY_STAGE = '''"""A job without work."""

from veridream.provenance.stage import stage

with stage("do_nothing", outputs=("nothing",)) as job:
    job.out["nothing"].write_text("")
'''


def cpu() -> float:
    own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def best(call: Callable[[], object], times: int = 3) -> tuple[float, float]:
    """(wall seconds, CPU seconds) of the quickest call."""
    taken = []
    for _ in range(times):
        began, used = time.perf_counter(), cpu()
        call()
        taken.append((time.perf_counter() - began, cpu() - used))
    return min(taken)


def runs(project: Path, *words: str) -> Callable[[], object]:
    return lambda: subprocess.run(words, cwd=project, env=environment(project), check=True, capture_output=True)


def row(what: str, seconds: tuple[float, float], limit: str = "") -> None:
    print(f"| {what} | {seconds[0]:.2f} | {seconds[1]:.2f} | {limit} |", flush=True)


def parse(project: Path) -> None:
    for scale in SCALES:
        row(f"parsing the Snakefile, {scale}", best(runs(project, *command(scale, extra=["--list"]))), "2")


def plan(project: Path) -> None:
    """A finished scale, faked: each output a few bytes, taken as made by `snakemake --touch`."""
    for scale in SCALES:
        for name in summary(scale, project):
            path = project / name
            folder = path.suffix in ("", ".zarr")
            (path if folder else path.parent).mkdir(parents=True, exist_ok=True)
            (path / "x" if folder else path).write_text("x")
        runs(project, *command(scale, extra=["--touch"]))()
        row(
            f"`snakemake -n`, nothing to do ({scale}, {len(summary(scale, project))} files)",
            best(runs(project, *command(scale, extra=["-n"]))),
            "30" if scale == "paper" else "5",
        )


def jobs(project: Path) -> None:
    (project / "src/do_nothing.py").write_text(EMPTY_STAGE)
    words = [sys.executable, "src/do_nothing.py", "--receipt", "results/x/receipts/do_nothing/x.json", "--nothing", "results/x/nothing"]
    row("a job without work, start to publish", best(runs(project, *words)), "1.5")
    for stage in RECEIPT_NAMES:
        row(f"start of `{stage}` (its imports)", best(runs(project, sys.executable, f"src/{stage}.py", "--help"), 2))


def receipts(project: Path, scale: str, most: int) -> int:
    """Collection and validation jobs of a scale as they would be: real params and code, stores of eight small files."""
    params, lock, n = load_params(scale, root=project / "params"), environment_digest(project / "requirements/lock.txt"), 0
    for wildcards in workflow_jobs(params)["validate_store"]:
        if n >= most:
            break
        stage = "collect_curiosity" if wildcards["behaviour"] == "curiosity" else "collect_episodes"
        store = f"results/{scale}/data/{wildcards['role']}/{wildcards['task']}/{wildcards['behaviour']}-s{wildcards['seed']}.zarr"
        verdict = store.replace("/data/", "/validation/").replace(".zarr", ".json")
        for part in range(8):
            file = project / store / f"c/{part}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(f"{store} {part}".encode() * 500)
        (project / verdict).parent.mkdir(parents=True, exist_ok=True)
        (project / verdict).write_text("{}")
        made = one(project, params, scale, stage, wildcards, lock, [], store)
        one(project, params, scale, "validate_store", wildcards, lock, [(store, *made)], verdict)
        n += 2
    return n


@functools.cache
def closure(project: Path, stage: str, domains: tuple[str, ...]) -> dict[str, str]:
    return code_modules(f"src/{stage}.py", project, domains)


def one(
    project: Path, params: Params, scale: str, stage: str, wildcards: dict, lock: str, read: list[tuple[str, str, str, dict]], output: str
) -> tuple[str, str, dict]:
    """Writes one receipt; returns (its path, its seal, the output's content id)."""
    p = json.loads(json.dumps(stage_params(params, stage, scale=scale, **{k: str(v) for k, v in wildcards.items()})))
    modules = closure(project, stage, job_domains(p))
    key = f"results/{scale}/receipts/{stage}/{RECEIPT_NAMES[stage].format(**wildcards)}.json"
    content, tree = tree_id(project / output)
    whole = {"stage": stage, "params": p, "code": combined_digest(modules, lock), "modules": modules, "environment": lock, "counts": {}}
    whole |= {"inputs": {path: c for path, _, _, c in read}, "chain": {maker: s for _, maker, s, _ in read}}
    whole |= {"outputs": {output: content}, "trees": {output: tree} if (project / output).is_dir() else {}}
    whole["seal"] = seal(whole)
    write_json(project / key, whole)
    write_id(project / output, content, key)
    return key, whole["seal"], content


def audit(project: Path) -> None:
    n = receipts(project, "paper", 2000)
    time.sleep(3)  # what was only just written is not remembered
    for what, deep in (("first", False), ("again", False), ("--deep", True)):
        began, used = time.perf_counter(), cpu()
        whole = audit_all("paper", project, deep=deep)
        row(
            f"`audit --all` of {n} receipts, {what} ({whole.files_read} files read, {whole.files_known} known)",
            (time.perf_counter() - began, cpu() - used),
            "60",
        )
        assert whole.holds, list(whole.broken.items())[:3]


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = {"parse": parse, "plan": plan, "jobs": jobs, "audit": audit}
    ap.add_argument("--only", choices=steps, action="append")
    a = ap.parse_args()
    print("| what | seconds | CPU seconds | limit |\n|---|---|---|---|")
    for name in a.only or steps:
        with tempfile.TemporaryDirectory() as folder:
            for part in PARTS:
                source, target = ROOT / part, Path(folder) / part
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__")) if source.is_dir() else shutil.copy2(source, target)
            steps[name](Path(folder))


if __name__ == "__main__":
    main()
