"""The videos behind an export: which held-out windows, and what the model and its controls make of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from veridream.data.corpus import Corpus
from veridream.data.index import Index
from veridream.hallucination.selection import Sequences, choose_sequences, task_generator
from veridream.metrics.action_shuffle import derangement
from veridream.nn.dynamics import Dynamics
from veridream.nn.sampler import rollout
from veridream.nn.tokenizer import Tokenizer
from veridream.wmb.layout import MODEL, PERMUTED

POOL = 2  # windows drawn for each item; the more moving are kept


def choose_items(index: Index, corpus: Corpus, tasks: list[str], count: int, context: int, horizon: int, seed: int) -> Sequences:
    """`count` held-out windows of context + horizon frames a task: of POOL times as many, those that move most after the context.

    The choice looks at the truth alone. A video in which nothing moves asks nothing of a model, and a still picture would score 10 on it.
    """
    pool = choose_sequences(index, tasks, POOL * count, context + horizon, seed)
    keep: list[int] = []
    for t in sorted(set(pool.windows.task.tolist())):
        rows = np.flatnonzero(pool.windows.task == t)
        frames = corpus.frames(pool.take(rows).windows, pool.frames).astype(np.float32) / 255.0
        motion = ((frames[:, context:] - frames[:, context - 1 : context]) ** 2).mean(axis=(1, 2, 3, 4))
        keep += sorted(rows[np.argsort(-motion, kind="stable")[:count]].tolist())
    return pool.take(np.array(keep))


def given_actions(actions: np.ndarray, context: int, seed: int) -> dict[str, np.ndarray]:
    """{entry: float32 [B,T,16]}, what each entry that is rolled out acts by, of the true actions of B >= 2 sequences.

    The permuted ones are true in the context and another sequence's after it; the seed says whose.
    """
    other = derangement(len(actions), np.random.default_rng(seed))
    return {MODEL: actions, PERMUTED: np.concatenate([actions[:, :context], actions[other, context:]], axis=1)}


@torch.no_grad()
def imagine(
    tokenizer: Tokenizer,
    dynamics: Dynamics,
    frames: np.ndarray,
    actions: Mapping[str, np.ndarray],
    mask: np.ndarray,
    context: int,
    settings: Mapping[str, Any],
    seed: int,
) -> dict[str, np.ndarray]:
    """{entry: uint8 [B, 1 + horizon, H, W, 3]} of B >= 2 sequences of one task; each starts at the last context frame.

    Args:
        frames: uint8 [B,T,H,W,3]; actions: see `given_actions`, row t led to frame t; mask: float32 [B,16].
        settings: substeps and tau_ctx, as for scoring.
        seed: of the rollout's noise.
    """
    z = tokenizer.encode(torch.from_numpy(frames).float() / 255.0)
    truth, horizon = frames[:, context - 1 :], frames.shape[1] - context
    recon = _bytes(tokenizer.decode(z)[:, context - 1 :])
    out = {"simulator": truth, "reconstruction": recon, "frozen": truth[:, :1].repeat(horizon + 1, axis=1)}
    for entry, acts in actions.items():
        noise, given = torch.Generator().manual_seed(seed), (torch.from_numpy(acts), torch.from_numpy(mask))
        made = rollout(dynamics, z[:, :context], *given, horizon, settings["substeps"], settings["tau_ctx"], 1, "first", noise)
        whole = tokenizer.decode(torch.cat([z[:, :context], made.z_BHLD], dim=1))[:, context:]
        out[entry] = np.concatenate([recon[:, :1], _bytes(whole)], axis=1)
    return out


def _bytes(frames: torch.Tensor) -> np.ndarray:
    return np.rint(frames.clamp(0.0, 1.0).numpy() * 255.0).astype(np.uint8)


def noise_seed(seed: int, task: str) -> int:
    """Of a task's rollouts; independent of which other tasks there are."""
    return int(task_generator(seed, f"wmb {task}").integers(2**31))
