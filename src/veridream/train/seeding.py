"""Where every random number of training comes from: a hash of (words, seed, step). No state lives between steps, so resume is exact."""

import contextlib
import hashlib
import os
from collections.abc import Iterator

import torch

from veridream.provenance.stage import StageError


def derive(*key: int | str) -> int:
    """A seed in [0, 2**63) from words and numbers."""
    digest = hashlib.sha256("\0".join(f"{type(k).__name__}:{k}" for k in key).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(*key: int | str, device: torch.device | str = "cpu") -> torch.Generator:
    """A torch generator for this key, e.g. generator("tokenizer mask", seed, step). Each kind of device has its own numbers."""
    return torch.Generator(device).manual_seed(derive(*key))


@contextlib.contextmanager
def seeded_initialisation(*key: int | str) -> Iterator[None]:
    """Modules built inside take their initial weights from `key`; the global generator is as before afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(*key))
        yield


def prepare_device(name: str, threads: int) -> torch.device:
    """The device this process trains on, made ready: the CPU deterministic, or of several GPUs the one of torchrun's LOCAL_RANK.

    Raises StageError when a GPU is asked for and none is there.
    """
    if name == "cpu":
        deterministic_cpu(threads)
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise StageError("compute.device is cuda, but torch sees no GPU; install a torch with CUDA on a machine that has one, or set compute.device to cpu")
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    return device


def deterministic_cpu(threads: int) -> None:
    """Fixed thread count (sums depend on it) and deterministic kernels."""
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms would import the compiler, 2 s
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a debugging aid that costs time
