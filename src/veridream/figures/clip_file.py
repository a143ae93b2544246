"""Reading scores/<model>.clips.npz, whose keys veridream.hallucination.clips describes: short clips and one longer trace a task."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veridream import spec


@dataclass(frozen=True)
class Clip:
    """One rolled-out sequence of T frames; the first `context` rows of the rollout are given, and its values there are nan."""

    task: str
    name: str  # "0", "1", ... or "trace"
    seen: bool
    store: str
    episode: int
    start: int
    context: int
    m: float
    truth: np.ndarray  # uint8 [T,H,W,3]
    recon: np.ndarray
    model: np.ndarray
    values: dict[str, np.ndarray]  # u_r, u_f, u_s (raw), psnr, copy_psnr: float [T]

    @property
    def frames(self) -> int:
        return len(self.truth)

    def norm(self, predictor: str) -> np.ndarray:
        """The predictor over the sequence's latent motion, float [T]."""
        return np.asarray(self.values[predictor] / max(self.m, spec.MOTION_FLOOR))

    @property
    def dpsnr(self) -> float:
        """PSNR gain over repeating the last context frame, dB; MSE pooled over the rollout first (peak 1)."""
        truth, model = (x[self.context :].astype(np.float64) / 255.0 for x in (self.truth, self.model))
        last = self.truth[self.context - 1].astype(np.float64) / 255.0
        psnr = [min(spec.PSNR_CAP, -10.0 * np.log10(max(float(np.mean((x - truth) ** 2)), 1e-12))) for x in (model, last)]
        return float(psnr[0] - psnr[1])


def load_clips(path: Path) -> list[Clip]:
    """Every clip of a file, by task and name. Raises ValueError that names the file and the missing or uneven array."""
    with np.load(path, allow_pickle=False) as z:
        data = {k: z[k] for k in z.files}
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for key, value in data.items():
        task, name, field = key.split("/")
        groups.setdefault((task, name), {})[field] = value
    return [_clip(path, task, name, g) for (task, name), g in sorted(groups.items())]


def _clip(path: Path, task: str, name: str, g: dict[str, Any]) -> Clip:
    wanted = ("truth", "recon", "model", "m", "context", "store", "episode", "start", "seen", *spec.PREDICTORS, "psnr", "copy_psnr")
    missing = [w for w in wanted if w not in g]
    if missing:
        raise ValueError(f"{path}: clip {task}/{name} lacks {', '.join(missing)}; score the model again")
    values = {k: np.asarray(g[k], dtype=np.float64) for k in (*spec.PREDICTORS, "psnr", "copy_psnr")}
    odd = [k for k in ("recon", "model", *values) if len(g[k]) != len(g["truth"])]
    if odd:
        raise ValueError(f"{path}: clip {task}/{name}: {', '.join(odd)} and truth differ in length; score the model again")
    ids = (bool(g["seen"]), str(g["store"]), int(g["episode"]), int(g["start"]), int(g["context"]), float(g["m"]))
    return Clip(task, name, *ids, g["truth"], g["recon"], g["model"], values)


def examples(clips: list[Clip], traces: bool) -> list[Clip]:
    """The long traces, or the short clips; where a file has only one kind, that kind. Seen tasks first."""
    chosen = [c for c in clips if (c.name == "trace") == traces] or clips
    return sorted(chosen, key=lambda c: (not c.seen, c.task, c.name))
