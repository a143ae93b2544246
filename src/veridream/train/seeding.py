"""Where every random number of training comes from: a hash of (words, seed, step). No state lives between steps, so resume is exact."""

import contextlib
import hashlib
from collections.abc import Iterator

import torch


def derive(*key: int | str) -> int:
    """A seed in [0, 2**63) from words and numbers."""
    digest = hashlib.sha256("\0".join(f"{type(k).__name__}:{k}" for k in key).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(*key: int | str) -> torch.Generator:
    """A torch generator for this key, e.g. generator("tokenizer mask", seed, step)."""
    return torch.Generator().manual_seed(derive(*key))


@contextlib.contextmanager
def seeded_initialisation(*key: int | str) -> Iterator[None]:
    """Modules built inside take their initial weights from `key`; the global generator is as before afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(*key))
        yield


def deterministic_cpu(threads: int) -> None:
    """Fixed thread count (sums depend on it) and deterministic kernels."""
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms would import the compiler, 2 s
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a debugging aid that costs time
