"""The resumable state of one training run, in its work folder.

    config.json        what the run depends on: params, code, input ids
    step-00000200/     checkpoints (io.checkpoint): model, its average, optimisers, running RMS; the last two are kept
    metrics.jsonl      one line a logged step; cut back to the checkpoint's step on resume

A work folder is resumed under the config it was made with, and under no other: a result is a function of the present params, code and inputs.
What happens to one of another config depends on whether anything would be lost:
- its job is published (stage left `published` in it): nothing would. It is set aside as `<work>.stale` (an older one is deleted) with a printed
  line, and training starts anew. So a finished scale is trained again after an edit of its params without a word from the user.
- it was interrupted: hours of training may stand in it, and an edit of the params may be a slip. The stage ends with an error that names the
  differing keys with both values, and changes nothing. Changed back, the same command goes on; to start anew, the user removes the folder,
  or has the launcher do so for all of a scale (`src/run_workflow.py --discard-work`).
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from veridream.io.checkpoint import DONE, load_checkpoint, load_module, save_checkpoint
from veridream.nn.optimiser import BaseOptimiser
from veridream.provenance.digest import canonical, code_digest, job_domains
from veridream.provenance.receipts import recorded_id, write_json
from veridream.provenance.stage import PUBLISHED, Job, StageError
from veridream.train.average import Average

KEEP = 2
CONFIG, METRICS = "config.json", "metrics.jsonl"
SHOWN = 12  # differing keys that a message lists


def flat(obj: Any, prefix: str = "") -> dict[str, str]:
    """{dotted key: canonical value} of nested mappings."""
    if not isinstance(obj, Mapping):
        return {prefix: canonical(obj)}
    return {k: v for name, value in obj.items() for k, v in flat(value, f"{prefix}.{name}" if prefix else str(name)).items()}


def differences(old: Any, new: Any) -> dict[str, str]:
    """{dotted key: "<old> there, <new> now"} of the keys whose values differ or which only one side has."""
    a, b = flat(old), flat(new)
    return {k: f"{_short(a.get(k))} there, {_short(b.get(k))} now" for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)}


def _short(value: str | None) -> str:
    return "absent" if value is None else value if len(value) <= 60 else f"{value[:57]}..."


def open_work(work: Path, config: Mapping[str, Any]) -> None:
    """Makes `work` ready for this config: as it is, or empty (see the module). Raises StageError on an interrupted training of another config."""
    path = work / CONFIG
    if work.is_dir() and any(work.iterdir()):
        try:
            found = differences(json.loads(path.read_text()), config)
        except (FileNotFoundError, ValueError):
            found = {CONFIG: "missing or unreadable"}
        if found and not (work / PUBLISHED).is_file():
            raise StageError(_refusal(work, found))
        if found:
            stale = work.with_name(work.name + ".stale")
            shutil.rmtree(stale, ignore_errors=True)
            os.replace(work, stale)
            print(f"{work}: finished under another config ({', '.join(found)}); set aside as {stale.name}", file=sys.stderr, flush=True)
    work.mkdir(parents=True, exist_ok=True)
    write_json(path, config)


def _refusal(work: Path, found: Mapping[str, str]) -> str:
    lines = [f"  {k}: {v}" for k, v in found.items()]
    if len(lines) > SHOWN:
        lines = [*lines[:SHOWN], f"  and {len(lines) - SHOWN} more"]
    steps = sorted(p.parent.relative_to(work).as_posix() for p in work.rglob(f"step-*/{DONE}"))
    where = f"its newest checkpoint is {steps[-1]}" if steps else "it has no checkpoint yet"
    return "\n".join(
        [
            f"{work} holds an interrupted training of another config ({where}):",
            *lines,
            "Change that back, and the same command goes on with it. To start anew instead, throw it away:",
            f"  rm -r {shlex.quote(str(work))}",
            "(src/run_workflow.py --discard-work does so for every interrupted training of a scale.)",
        ]
    )


def checkpoint_steps(work: Path) -> list[int]:
    """Steps of the finished checkpoints, ascending; removes unfinished ones."""
    steps = []
    for folder in work.glob("step-*"):
        if (folder / DONE).is_file():
            steps.append(int(folder.name.removeprefix("step-")))
        else:
            shutil.rmtree(folder)
    return sorted(steps)


def save_state(work: Path, step: int, model: nn.Module, optimisers: Sequence[BaseOptimiser], meta: Mapping[str, Any], average: Average | None = None) -> None:
    """Checkpoint after `step` optimiser steps; then drops all but the last KEEP."""
    folder = work / f"step-{step:08d}"
    shutil.rmtree(folder, ignore_errors=True)
    tensors = {f"model/{k}": v for k, v in model.state_dict().items()}
    for i, optimiser in enumerate(optimisers):
        tensors |= {f"optimiser/{i}/{k}": v for k, v in optimiser.tensors().items()}
    tensors |= {f"average/{k}": v for k, v in average.weights.items()} if average else {}
    save_checkpoint(folder, tensors, {"step": step, **meta})
    for old in checkpoint_steps(work)[:-KEEP]:
        shutil.rmtree(work / f"step-{old:08d}")


def load_state(work: Path, step: int, model: nn.Module, optimisers: Sequence[BaseOptimiser], average: Average | None = None) -> dict[str, Any]:
    """Restores model, optimisers and average in place; the meta that was saved. Raises CheckpointError on a damaged checkpoint."""
    folder = work / f"step-{step:08d}"
    tensors, meta = load_checkpoint(folder)
    load_module(model, {k.removeprefix("model/"): v for k, v in tensors.items() if k.startswith("model/")}, folder)
    if average:
        average.load({k.removeprefix("average/"): v for k, v in tensors.items() if k.startswith("average/")})
    for i, optimiser in enumerate(optimisers):
        optimiser.load({k.removeprefix(f"optimiser/{i}/"): v for k, v in tensors.items() if k.startswith(f"optimiser/{i}/")})
    return meta


def cut_metrics(path: Path, step: int) -> None:
    """Keeps the whole lines of steps <= `step`."""
    lines = path.read_text().splitlines(keepends=True) if path.is_file() else []
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
    part = path.with_name(f".{path.name}.part")
    part.write_text("".join(kept))
    os.replace(part, path)


def work_config(job: Job) -> dict[str, Any]:
    """What the result of a training job depends on: params, code digest, content ids of the inputs in the order given."""
    ids = {name: [recorded_id(p)["sha256"] for p in paths] for name, paths in job.inputs.items()}
    return {"params": job.params, "code": code_digest(f"src/{job.name}.py", domains=job_domains(job.params)), "inputs": ids}


def work_folder(job: Job) -> Path:
    """The job's work folder, ready for its config. Raises StageError when it holds another config's interrupted training, or was not asked for."""
    if job.work is None:
        raise StageError(f"{job.name} needs --work")
    open_work(job.work, work_config(job))
    return job.work
