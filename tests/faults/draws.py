"""Which fault, on what, when: drawn by seed, so that any one can be dealt again by its number."""

from dataclasses import dataclass

import numpy as np

SEED = 20260
KILL = "kill -9"
# kind -> faults in the full harness, on whole runs of the workflow and on single jobs
ON_RUNS = {
    f"{KILL}, a stage of a run": 24,
    f"{KILL}, a worker of a run": 8,
    f"{KILL}, snakemake": 12,
    f"{KILL}, the launcher": 12,
    f"{KILL}, all of a run": 6,
    "SIGINT to a run": 5,
    "SIGTERM to a run": 5,
    "full /tmp under a run": 2,
}
ON_JOBS = {
    f"{KILL}, a job": 48,
    "SIGINT to a job": 8,
    "SIGTERM to a job": 8,
    "disk full": 14,
    "file too large": 10,
    "read error": 14,
    "out of memory, killed by the kernel": 8,
    "out of memory, refused": 8,
    "full /tmp": 6,
    "dead lock holder": 4,
}


@dataclass(frozen=True)
class Fault:
    number: int
    kind: str
    pick: float  # in [0, 1): which job, or which of a run's stages
    moment: float  # in [0, 1): when, or how much

    def __str__(self) -> str:
        return f"#{self.number} {self.kind} (pick {self.pick:.4f}, moment {self.moment:.4f})"


def drawn(seed: int = SEED) -> list[Fault]:
    """All faults of the full harness, numbered. Those of a kind are spread over the runs; a fault depends on the seed and its number alone."""
    kinds = [k for k, n in ON_RUNS.items() for _ in range(n)]
    order = np.random.default_rng([seed, 0]).permutation(len(kinds))
    whole = [kinds[i] for i in order] + [k for k, n in ON_JOBS.items() for _ in range(n)]
    return [Fault(i, k, *map(float, np.random.default_rng([seed, i]).random(2))) for i, k in enumerate(whole, 1)]
