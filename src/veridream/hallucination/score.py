"""Scores every chosen held-out sequence: the rows of scores/<model>.parquet (spec.SCORE_ID_COLUMNS, SCORE_COLUMNS, SCORE_STEP_COLUMNS).

Pooling: squared errors over the horizon first, then the logarithm. Motion m is per sequence, over the rollout steps. Predictors are the
means of their raw per-step values; normalised ones are those means over max(m, spec.MOTION_FLOOR).

Near-stationary sequences: repeating a still frame scores 40 to 60 dB, which pulls means of dpsnr down. The stated rule is that medians
are reported beside means; no row is dropped. NaN marks what does not exist: recon_psnr_fg without a foreground pixel, decoded_motion
where nothing moves.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from veridream import spec
from veridream.data.corpus import Corpus
from veridream.data.index import Index
from veridream.hallucination.dream import Batch, Dream, dream, to_batch
from veridream.hallucination.selection import Sequences, task_generator
from veridream.metrics.action_shuffle import derangement_within, shuffle_ratio
from veridream.metrics.foreground import foreground_psnr
from veridream.metrics.motion import decoded_motion_ratio, latent_motion, normalised
from veridream.metrics.psnr import mse, psnr, psnr_from_mse
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Score
from veridream.params.tasks import task as task_of

BATCH_BYTES = 1 << 27  # of float32 frames in one batch
BATCH = 32  # sequences, at most; the fastest on one thread at laptop scale


@dataclass(frozen=True)
class Scored:
    """Columns of the score table, and the dreams (batch of one) of the sequences that were asked to be kept, by position."""

    columns: dict[str, Any]
    kept: dict[int, tuple[Batch, Dream]]


def batch_seed(seed: int, number: int) -> int:
    """Noise seed of a batch; with the same sequences, every model meets the same noise."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint32)[0])


def median_images(corpus: Corpus, index: Index, tasks: list[str]) -> dict[str, np.ndarray]:
    """float32 [H,W,3] in [0, 1] a task: the median over its training frames, or over its test frames where it has no training frames (unseen tasks)."""
    out = {}
    for t in tasks:
        train = index.select(role="corpus", split="train", task=t)
        out[t] = corpus.median_image(train if len(train) else index.select(role="test", task=t), t).astype(np.float32) / 255.0
    return out


def score_sequences(
    tokenizer: Tokenizer,
    dynamics: Dynamics,
    corpus: Corpus,
    index: Index,
    sequences: Sequences,
    score: Score,
    model: str,
    keep: frozenset[int] = frozenset(),
    progress: Callable[[int], None] = lambda n: None,
) -> Scored:
    """Every column for every sequence, batched. `keep`: positions whose dreams are returned for clips; `progress` is told how many are done."""
    T, w = sequences.frames, sequences.windows
    actions, masks = corpus.actions(w, T), corpus.mask(w)
    other = _other_sequences(w.task, score.seed)
    medians = median_images(corpus, index, sorted(set(w.task.tolist())))
    size = max(1, min(BATCH, BATCH_BYTES // (T * corpus.size**2 * 12)))
    parts: list[dict[str, np.ndarray]] = []
    kept: dict[int, tuple[Batch, Dream]] = {}
    for number, first in enumerate(range(0, len(sequences), size)):
        rows = np.arange(first, min(first + size, len(sequences)))
        frames = corpus.frames(sequences.take(rows).windows, T)
        batch = to_batch(frames, actions[rows], masks[rows], actions[other[rows]])
        made = dream(tokenizer, dynamics, batch, score, T - score.context, batch_seed(score.seed, number))
        median_BHWC = np.stack([medians[t] for t in w.task[rows]])
        foreground = foreground_psnr(made.recon_BTHWC, batch.frames_BTHWC.numpy(), median_BHWC[:, None])
        parts.append(measure(batch, made) | {"recon_psnr_fg": foreground})
        for i in keep.intersection(rows.tolist()):
            kept[i] = one(batch, made, i - first)
        progress(len(rows))
    values = {c: np.concatenate([p[c] for p in parts]) for c in parts[0]}
    return Scored(_table(identify(corpus, index, sequences, score.context, model) | values), kept)


def _table(columns: dict[str, Any]) -> dict[str, Any]:
    """In the order of spec; per-step arrays as lists."""
    out = {c: columns[c] for c in (*spec.SCORE_ID_COLUMNS, *spec.SCORE_COLUMNS)}
    return out | {c: columns[c].astype(np.float64).tolist() for c in spec.SCORE_STEP_COLUMNS}


def _other_sequences(tasks: np.ndarray, seed: int) -> np.ndarray:
    """Row whose actions a row gets for the action-shuffle ratio: a derangement within each task, independent of which other tasks there are."""
    out = np.empty(len(tasks), dtype=np.int64)
    for t in sorted(set(tasks.tolist())):
        rows = np.flatnonzero(tasks == t)
        out[rows] = rows[derangement_within(tasks[rows].astype(str), task_generator(seed, f"shuffle {t}"))]
    return out


def one(batch: Batch, made: Dream, i: int) -> tuple[Batch, Dream]:
    """Sequence i of a batch as a batch of one, copied."""
    cut = slice(i, i + 1)
    arrays = {f.name: np.array(getattr(made, f.name)[cut]) for f in fields(Dream) if f.name != "shuffle_errors"}
    return Batch(batch.frames_BTHWC[cut].clone(), batch.prev_action_BTA[cut], None, batch.mask_BA[cut]), Dream(**arrays, shuffle_errors=None)


def identify(corpus: Corpus, index: Index, sequences: Sequences, context: int, model: str) -> dict[str, Any]:
    """The id columns, frames_train (frames of the task in the training split of the corpus; 0 for unseen tasks) and the coverage coordinates."""
    w, row = sequences.windows, sequences.row
    frames = {t: index.select(role="corpus", split="train", task=t).frames() for t in sorted(set(w.task.tolist()))}
    dims = [list(task_of(t).coverage.dims) for t in w.task]
    state = np.stack([corpus.stores[s].state[i + context - 1][d] for s, i, d in zip(w.store, w.start, dims, strict=True)]).astype(np.float64)
    return {
        "model": [model] * len(w),
        "task": w.task.tolist(),
        "domain": index.domain[row].tolist(),
        "seen": index.seen[row],
        "behaviour": index.behaviour[row].tolist(),
        "store": w.store.tolist(),
        "episode": w.episode,
        "start": w.start,
        "frames_train": np.array([frames[t] for t in w.task], dtype=np.int64),
        "state_x": state[:, 0],
        "state_y": state[:, 1],
    }


def measure(batch: Batch, made: Dream) -> dict[str, np.ndarray]:
    """All measured columns of a batch but recon_psnr_fg, float64 [B]; columns of spec.SCORE_STEP_COLUMNS [B, H]."""
    truth = batch.frames_BTHWC.numpy()
    horizon = made.model_BHHWC.shape[1]
    c = truth.shape[1] - horizon
    future, still = truth[:, c:], np.broadcast_to(truth[:, c - 1 : c], truth[:, c:].shape)
    pixel_mse, copy_mse = mse(made.model_BHHWC, future), mse(still, future)
    rollout_psnr, copy_psnr = psnr_from_mse(pixel_mse), psnr_from_mse(copy_mse)
    z, z_hat = made.z_BTLD.astype(np.float64), made.z_hat_BHLD.astype(np.float64)
    last = z[:, c - 1 : c]
    m = latent_motion(z[:, c - 1 :])
    out = {
        "recon_psnr": psnr(made.recon_BTHWC, truth),
        "decoded_motion": decoded_motion_ratio(made.recon_BTHWC, truth),
        "rollout_psnr": rollout_psnr,
        "copy_psnr": copy_psnr,
        "dpsnr": rollout_psnr - copy_psnr,
        "pixel_mse": pixel_mse,
        "copy_mse": copy_mse,
        "latent_rms": np.sqrt(((z_hat - z[:, c:]) ** 2).mean(axis=(1, 2, 3))),
        "m": m,
        "m_pred": latent_motion(np.concatenate([last, z_hat], axis=1)),
        "psnr_steps": psnr(made.model_BHHWC, future, keep=2),
        "copy_psnr_steps": psnr(still, future, keep=2),
    }
    if made.shuffle_errors is not None:
        shuffled, true = made.shuffle_errors.astype(np.float64)
        out |= {"asr": shuffle_ratio(shuffled, true), "asr_shuffled": shuffled, "asr_true": true}
    return out | _predictors(made, m)


def _predictors(made: Dream, m: np.ndarray) -> dict[str, np.ndarray]:
    out: dict[str, np.ndarray] = {}
    for name, steps in zip(spec.PREDICTORS, (made.u_r_BH, made.u_f_BH, made.u_s_BH), strict=True):
        steps = steps.astype(np.float64)
        mean = steps.mean(axis=1)
        out |= {f"{name}_steps": steps, name: mean, f"{name}_norm": normalised(mean, m)}
    return out | {"u_s_sd_norm": normalised(np.sqrt(out["u_s"]), m)}
