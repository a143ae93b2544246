"""What a scale would cost: jobs, hours and bytes by stage, from the measured benchmarks of a finished run scaled by the amount of work.

A rate is (measured seconds - start-up) / units of work, summed over the measured jobs of a kind; start-up is that of the quickest job measured.
A kind that the reference run never ran has no rate, and is counted as unknown, not as nothing.
"""

import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from veridream.params.load import load_params
from veridream.provenance.digest import ROOT
from veridream.provenance.jobs import RECEIPT_NAMES, workflow_jobs
from veridream.provenance.receipts import read_receipt
from veridream.provenance.work import Work, work_of

UNBENCHED = {"compare_to_paper": "benchmarks/compare_to_paper.tsv", "render_report": "benchmarks/render_report.tsv"}


@dataclass(frozen=True)
class GpuHours:
    """Hours on one card by stage, and in words how they were found. They come from arithmetic (nn.operations), not from a measured run."""

    by_stage: Mapping[str, float]
    how: str


class NothingMeasured(ValueError):
    """The reference scale has no finished, benchmarked job."""


@dataclass(frozen=True)
class Measured:
    """One finished job of the reference run. cpu is None where Snakemake's benchmark has no number (a job too short to be sampled)."""

    work: Work
    seconds: float
    cpu: float | None
    bytes: int


@dataclass
class Rate:
    """Of one kind of job, per unit of work and of disk."""

    seconds: float
    cpu: float
    bytes: float
    amount: float  # of work that was measured


@dataclass
class StageCost:
    """A stage's jobs: hours are the sum of the jobs' times, cpu_hours that of their processors, bytes of all outputs. Unknown kinds count nowhere."""

    stage: str
    jobs: int = 0
    hours: float = 0.0
    cpu_hours: float = 0.0
    bytes: float = 0.0
    extrapolated: float = 1.0  # the most by which a kind's amount of work exceeds what was measured
    unknown: dict[str, int] = field(default_factory=dict)  # kind -> jobs without a rate


@dataclass
class Estimate:
    scale: str
    reference: str
    measured: int
    startup: float  # seconds
    stages: list[StageCost]

    def total(self, name: str) -> float:
        return float(sum(getattr(s, name) for s in self.stages))


def measurements(scale: str, root: Path = ROOT) -> list[Measured]:
    """The benchmarked jobs of a finished run, those of the present params alone. Raises ParamsError."""
    params, out = load_params(scale, root=root / "params"), []
    results = root / "results" / scale
    for stage, jobs in workflow_jobs(params).items():
        for wildcards in jobs:
            name = RECEIPT_NAMES[stage].format(**wildcards)
            table = results / UNBENCHED.get(stage, f"benchmarks/{stage}/{name}.tsv")
            receipt = results / "receipts" / stage / f"{name}.json"
            if table.is_file() and receipt.is_file():
                row = next(csv.DictReader(table.read_text().splitlines(), delimiter="\t"))
                made = sum(c["bytes"] for c in read_receipt(receipt)["outputs"].values())
                out.append(Measured(work_of(params, stage, wildcards), float(row["s"]), _number(row.get("cpu_time")), made))
    return out


def estimate(scale: str, reference: str, root: Path = ROOT) -> Estimate:
    """Raises ParamsError, NothingMeasured."""
    measured = measurements(reference, root)
    if not measured:
        raise NothingMeasured(f"results/{reference} holds no finished, benchmarked job; run `make reproduce SCALE={reference}` first, or name another run")
    startup = min(m.seconds for m in measured)
    rates = _rates(measured, startup)
    params = load_params(scale, root=root / "params")
    stages = []
    for stage, jobs in workflow_jobs(params).items():
        cost = StageCost(stage, len(jobs))
        amounts: dict[str, float] = {}
        for wildcards in jobs:
            work = work_of(params, stage, wildcards)
            rate = rates.get(work.kind)
            if rate is None:
                cost.unknown[work.kind] = cost.unknown.get(work.kind, 0) + 1
                continue
            amounts[work.kind] = amounts.get(work.kind, 0.0) + work.amount
            cost.hours += (startup + rate.seconds * work.amount) / 3600
            cost.cpu_hours += (min(startup, 1.0) + rate.cpu * work.amount) / 3600
            cost.bytes += rate.bytes * work.disk
        cost.extrapolated = max((a / rates[k].amount for k, a in amounts.items()), default=1.0)
        stages.append(cost)
    return Estimate(scale, reference, len(measured), startup, stages)


def _rates(measured: list[Measured], startup: float) -> dict[str, Rate]:
    kinds: dict[str, list[Measured]] = {}
    for m in measured:
        kinds.setdefault(m.work.kind, []).append(m)
    out = {}
    for kind, some in kinds.items():
        amount, disk = sum(m.work.amount for m in some), sum(m.work.disk for m in some)
        cpu = sum(m.seconds if m.cpu is None else m.cpu for m in some)
        seconds = sum(max(0.0, m.seconds - startup) for m in some)
        out[kind] = Rate(seconds / amount, max(0.0, cpu - len(some) * min(startup, 1.0)) / amount, sum(m.bytes for m in some) / disk, amount)
    return out


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:  # "NA" or "-": the job was over before it was sampled
        return None


def as_json(e: Estimate, gpu: GpuHours) -> dict[str, Any]:
    totals = {name: e.total(name) for name in ("jobs", "hours", "cpu_hours", "bytes")}
    return {**asdict(e), "total": totals, "gpu_hours": {"by_stage": dict(gpu.by_stage), "total": sum(gpu.by_stage.values()), "how": gpu.how}}


def as_text(e: Estimate, gpu: GpuHours) -> str:
    """A table; what is unknown is said below it."""
    lines = [f"scale {e.scale}, from {e.measured} measured jobs of results/{e.reference} ({e.startup:.1f} s start-up a job)", ""]
    lines.append(f"{'stage':22} {'jobs':>6} {'hours':>12} {'CPU hours':>12} {'GPU hours':>10} {'disk':>10}  scaled by")
    for s in e.stages:
        known = s.jobs > sum(s.unknown.values())
        numbers = (f"{s.hours:.4g}", f"{s.cpu_hours:.4g}", _bytes(s.bytes)) if known else ("unknown",) * 3
        part = " +?" if s.unknown and known else ""
        row = f"{s.stage:22} {s.jobs:>6} {numbers[0]:>12} {numbers[1]:>12} {gpu.by_stage.get(s.stage, 0):>10.4g} {numbers[2]:>10}"
        lines.append(f"{row}  {f'{s.extrapolated:.3g}' if known else '-'}{part}")
    whole = (f"{e.total('hours'):.4g}", f"{e.total('cpu_hours'):.4g}", f"{sum(gpu.by_stage.values()):.4g}", _bytes(e.total("bytes")))
    lines.append(f"{'total':22} {e.total('jobs'):>6.0f} {whole[0]:>12} {whole[1]:>12} {whole[2]:>10} {whole[3]:>10}")
    lines += ["", "hours: the jobs' times one after another; CPU hours: what their processes used; both on the machine and device that was measured."]
    lines.append(f"GPU hours: {gpu.how}")
    for s in e.stages:
        lines += [f"unknown: {n} jobs of {kind}: results/{e.reference} ran none" for kind, n in s.unknown.items()]
    if (most := max(s.extrapolated for s in e.stages)) > 100:
        lines.append(f"Numbers scaled by more than 100 (here up to {most:.3g}) are orders of magnitude, not promises.")
    return "\n".join(lines)


def _bytes(n: float) -> str:
    power = min(4, max(0, (len(str(int(n))) - 1) // 3))
    return f"{n / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"
