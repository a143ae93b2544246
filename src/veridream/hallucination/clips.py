"""Example sequences for strips, videos and run-time traces: scores/<model>.clips.npz, plain arrays, no objects.

`<task>/<k>/` holds clip k (0 .. score.clips - 1) of a task, `<task>/trace/` one longer rollout:
    truth, recon, model   uint8 [T,H,W,3]; in the context part `model` is the reconstruction
    u_r, u_f, u_s         float32 [T], raw, NaN in the context part
    psnr, copy_psnr       float32 [T], dB, NaN in the context part
    m                     float32 [], the sequence's latent motion: normalised predictors are u / max(m, spec.MOTION_FLOOR)
    context               int64 [], number of context frames
    store, episode, start, seen   the ids that lead back to the frames
The choice looks at the truth only, so it is the same for every model.
"""

from typing import Any

import numpy as np

from veridream.data.corpus import Corpus
from veridream.data.index import Index
from veridream.data.windows import Windows
from veridream.hallucination.dream import Batch, Dream, dream, to_batch
from veridream.hallucination.score import batch_seed, measure, one
from veridream.hallucination.selection import Sequences, heldout_rows
from veridream.metrics.psnr import mse
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Score


def choose_clips(corpus: Corpus, sequences: Sequences, context: int, clips: int) -> dict[int, tuple[str, int]]:
    """{position: (task, k)}: for each task `clips` sequences evenly spread over the more moving half (by the error of repeating the last context frame)."""
    out: dict[int, tuple[str, int]] = {}
    tasks = sequences.windows.task
    for t in sorted(set(tasks.tolist())):
        rows = np.flatnonzero(tasks == t)
        motion = [_copy_mse(corpus, sequences.take(rows[i : i + 1]), context) for i in range(len(rows))]
        order = rows[np.argsort(-np.array(motion), kind="stable")]
        n = min(clips, len(rows))
        for k in range(n):
            out[int(order[int((k + 0.5) / n * len(rows) / 2)])] = (t, k)
    return out


def _copy_mse(corpus: Corpus, one: Sequences, context: int) -> float:
    frames = corpus.frames(one.windows, one.frames).astype(np.float32) / 255.0
    return float(mse(np.broadcast_to(frames[:, context - 1 : context], frames[:, context:].shape), frames[:, context:])[0])


def choose_traces(index: Index, tasks: list[str], context: int, trace_steps: int) -> list[Sequences]:
    """One window a task: from the start of its longest held-out episode (the first of them), at most trace_steps frames. Grouped by length."""
    chosen: dict[int, list[int]] = {}
    for t in sorted(tasks):
        rows = heldout_rows(index, t)
        row = int(rows[np.argmax(index.length[rows])])
        frames = min(trace_steps, int(index.length[row]))
        if frames <= context:
            raise ValueError(f"task {t}: a trace of {frames} frames leaves nothing after {context} context frames; raise score.trace_steps")
        chosen.setdefault(frames, []).append(row)
    groups = [(frames, np.array(rows)) for frames, rows in sorted(chosen.items())]
    return [Sequences(Windows(index.store[r], index.episode[r], index.offset[r], index.task[r]), r, frames) for frames, r in groups]


def trace(tokenizer: Tokenizer, dynamics: Dynamics, corpus: Corpus, index: Index, group: Sequences, score: Score) -> dict[str, Any]:
    """The long rollouts of one group, packed."""
    w = group.windows
    batch = to_batch(corpus.frames(w, group.frames), corpus.actions(w, group.frames), corpus.mask(w))
    made = dream(tokenizer, dynamics, batch, score, group.frames - score.context, batch_seed(score.seed, group.frames))
    out: dict[str, Any] = {}
    for i, task in enumerate(w.task.tolist()):
        out |= pack(f"{task}/trace", index, group.take(np.array([i])), *one(batch, made, i), score.context)
    return out


def pack(prefix: str, index: Index, sequence: Sequences, batch: Batch, made: Dream, context: int) -> dict[str, Any]:
    """The arrays (see the module) of one sequence, a batch of one, under `prefix`."""
    w, values = sequence.windows, measure(batch, made)
    recon = _bytes(made.recon_BTHWC[0])
    out: dict[str, Any] = {
        "truth": _bytes(batch.frames_BTHWC[0].numpy()),
        "recon": recon,
        "model": np.concatenate([recon[:context], _bytes(made.model_BHHWC[0])]),
        "m": np.float32(values["m"][0]),
        "context": np.int64(context),
        "store": np.array(str(w.store[0])),
        "episode": np.int64(w.episode[0]),
        "start": np.int64(w.start[0]),
        "seen": np.bool_(index.seen[sequence.row[0]]),
    }
    for name in ("u_r", "u_f", "u_s", "psnr", "copy_psnr"):
        out[name] = np.concatenate([np.full(context, np.nan), values[f"{name}_steps"][0]]).astype(np.float32)
    return {f"{prefix}/{k}": v for k, v in out.items()}


def _bytes(frames: np.ndarray) -> np.ndarray:
    """[0, 1] -> uint8, rounded."""
    return np.rint(frames * 255.0).astype(np.uint8)
