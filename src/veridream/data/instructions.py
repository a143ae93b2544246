"""A task's instruction as numbers, for the agent tokens: hashed words and runs of two and three words.

The paper conditions on CLIP's text embedding. Weights of CLIP are no part of this project, so instructions are hashed: nothing to download,
the same everywhere, defined for unseen tasks, and near for instructions that share words.
"""

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence

import numpy as np

LONGEST = 3  # two tasks differ in the order of words that pairs alone do not tell


def instruction_features(text: str, n: int) -> np.ndarray:
    """float32 [n] of root mean square 1 (all 0 without a word): each run of one to LONGEST words adds +1 or -1 at a place, both given by its sha256."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    out = np.zeros(n, dtype=np.float32)
    for i, k in itertools.product(range(len(words)), range(1, LONGEST + 1)):
        if i + k > len(words):
            continue
        digest = hashlib.sha256(" ".join(words[i : i + k]).encode()).digest()
        out[int.from_bytes(digest[:4], "big") % n] += 1.0 if digest[4] & 1 else -1.0
    length = float(np.sqrt(np.mean(out**2)))
    return out / np.float32(length) if length else out


def task_features(tasks: Sequence[str] | np.ndarray, instructions: Mapping[str, str], n: int) -> np.ndarray:
    """float32 [B,n] of the tasks of a batch. Raises ValueError for a task without an instruction."""
    missing = sorted(set(tasks) - set(instructions))
    if missing:
        raise ValueError(f"task {missing[0]} has no instruction; agent tokens need one (params/tasks.yaml)")
    each = {t: instruction_features(instructions[t], n) for t in set(tasks)}
    return np.stack([each[t] for t in tasks])
