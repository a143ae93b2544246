"""Data-parallel training: torchrun starts the processes, DDP averages their gradients.

A training run whose params ask for more than one worker is handed to torchrun by the stage's process, which waits and then takes the finished
run from the work folder. Every process draws the whole batch's ids and noise, a function of (seed, step), and works on its own rows:
rank, rank + world, ... So the batches do not depend on the number of processes, and the weights are those of one process up to the order
of float sums. With two processes that order is fixed, and a run repeats its bytes.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from veridream.provenance.child import die_with_parent
from veridream.provenance.digest import ROOT
from veridream.provenance.receipts import write_json
from veridream.provenance.stage import MORE_MEMORY, StageError, lack_of_memory

REQUEST = "request.json"
BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}


@dataclass(frozen=True)
class Part:
    """This process among those of the run, or one of the parts it computes its share in."""

    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """The process that writes files and shows progress."""
        return self.rank == 0

    def rows(self, n: int) -> np.ndarray:
        """This process's share of rows 0..n-1, int64."""
        return np.arange(self.rank, n, self.world)

    def split(self, n: int) -> list["Part"]:
        """n parts that together have this part's rows."""
        return [Part(self.rank + self.world * i, self.world * n) for i in range(n)]


def part() -> Part:
    """Which part of the run this process is; the whole outside torchrun."""
    return Part(dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else Part()


def summed(values: Mapping[str, float]) -> dict[str, float]:
    """Sums over processes; every process must call it with the same keys in the same order."""
    if part().world == 1:
        return dict(values)
    total = torch.tensor(list(values.values()), dtype=torch.float64)
    dist.all_reduce(total)
    return dict(zip(values, total.tolist(), strict=True))


def gathered(items: Sequence[str]) -> list[str]:
    """All processes' items, by rank."""
    if part().world == 1:
        return list(items)
    out: list[Any] = [None] * part().world
    dist.all_gather_object(out, list(items))
    return [x for one in out for x in one]


def merged(values: Mapping[str, float]) -> dict[str, float]:
    """All processes' entries; their keys differ."""
    if part().world == 1:
        return dict(values)
    out: list[Any] = [None] * part().world
    dist.all_gather_object(out, dict(values))
    return {k: v for one in out for k, v in one.items()}


def told_by_first(value: int) -> int:
    """The first process's value, on every process."""
    told = [value]
    if part().world > 1:
        dist.broadcast_object_list(told)
    return told[0]


def shared_gradients(module: nn.Module) -> nn.Module:
    """The module, its gradients averaged over processes by its backward pass. A parameter may sit out a step."""
    return module if part().world == 1 else DistributedDataParallel(module, forward_sync_buffers=False, find_unused_parameters=True)


def launch(module: str, request: Mapping[str, Any], work: Path, workers: int, threads: int) -> None:
    """Runs `python -m module` in `workers` processes of `threads` threads on this machine; returns when all have finished.

    Raises StageError with the first failed process's message.
    """
    folder = work.with_name(f".{work.name}.torchrun")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_json(folder / REQUEST, request)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", f"--nproc-per-node={workers}"]
    quiet = {"TORCH_CPP_LOG_LEVEL": "ERROR"}  # DDP warns when no parameter sat out the first step
    env = {**os.environ, **quiet, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": str(threads), "GLOO_SOCKET_IFNAME": "lo"}
    try:
        done = subprocess.run([*torchrun, "-m", module, str(folder)], env=env, preexec_fn=die_with_parent)
        errors = sorted(folder.glob("error-*.txt"), key=lambda p: p.stat().st_mtime_ns)
        if done.returncode:
            unsaid = f"a training process ended with status {done.returncode}; see the lines above. Where the system killed it, {MORE_MEMORY}"
            raise StageError(errors[0].read_text() if errors else unsaid)
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def _joined(folder: Path, backend: str) -> Iterator[None]:
    """Inside the run's process group; an expected failure leaves its message in `folder`."""
    die_with_parent()
    dist.init_process_group(backend)
    try:
        yield
    except (StageError, ValueError, OSError, MemoryError, RuntimeError) as e:
        expected = isinstance(e, (StageError, ValueError, OSError))
        if said := str(e) if expected else lack_of_memory(e):
            (folder / f"error-{part().rank}.txt").write_text(said)
        raise
    finally:
        dist.destroy_process_group()


def worker(runs: Mapping[str, Callable[..., Any]], folder: Path) -> None:
    """One process of `launch`: calls runs[request["run"]] with the rest of the request as keywords. Its params may name a compute.device."""
    request = json.loads((folder / REQUEST).read_text())
    run, device = runs[request.pop("run")], request["params"].get("compute", {}).get("device", "cpu")
    with _joined(folder, BACKENDS[device]):
        run(**request)
