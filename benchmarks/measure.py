"""Timing of two ways to do one thing, turn about in one run, so that a busy machine disturbs both alike; and the machine's own matrix speed."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Of this process's own CPU time where it computes in one thread, which a shared machine disturbs little; else of the clock."""
    clock = time.perf_counter if torch.cuda.is_available() or torch.get_num_threads() > 1 else time.process_time
    began = clock()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - began


@dataclass(frozen=True)
class Pair:
    """Our seconds and theirs, measured turn about."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> str:
        """Median of theirs over ours, and the smallest and largest pair."""
        each = sorted(b / a for a, b in zip(self.ours, self.theirs, strict=True))
        return f"{statistics.median(each):.2f} [{each[0]:.2f}, {each[-1]:.2f}]"


def turn_about(ours: Work, theirs: Work, repeats: int, warm: bool = True) -> Pair:
    """With `warm` each is called once before, uncounted; the order changes from turn to turn."""
    for work in (ours, theirs) if warm else ():
        work()
    out: tuple[list[float], list[float]] = ([], [])
    for i in range(repeats):
        for which in (0, 1) if i % 2 else (1, 0):
            out[which].append(seconds((ours, theirs)[which]))
    return Pair(*out)


def matrix_peak(device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32, n: int = 1024, repeats: int = 12) -> float:
    """Operations a second of a square matrix product, the best of several: what no training step can pass."""
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    best = min(seconds(lambda: torch.mm(a, b)) for _ in range(repeats))
    return 2 * n**3 / best
