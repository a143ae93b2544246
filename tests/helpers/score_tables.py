"""Seeded score tables, MPC tables and clips with the columns of spec and believable ranges; no model behind them.

Built-in effects, so that tests know the sign: harder sequences have higher predictors and lower dPSNR; unseen tasks are harder;
coverage-aware arms gain a little; targeted data gains a lot on unseen tasks, in the order noop < random < expert < curiosity < combined.
"""

import zlib
from typing import Any

import numpy as np

from veridream import spec

SEEN = {
    "cup-catch": 5000,
    "walker-walk": 1500,
    "mw-push": 900,
    "lunarlander-hover": 2600,
    "atari-pong": 700,
    "pygame-point-maze-var1": 7800,
    "pygame-pong": 3600,
}
UNSEEN = {"cup-catch-var1": 0, "pygame-point-maze-var4": 0, "pygame-reacher-easy": 0}
DOMAIN = {
    "cup-catch": "dmcontrol",
    "walker-walk": "dmcontrol",
    "mw-push": "metaworld",
    "lunarlander-hover": "box2d",
    "atari-pong": "atari",
    "cup-catch-var1": "dmcontrol",
}
GAIN = {"control": 0.05, "uniform_tokenizer": 0.2, "uniform_dynamics": 0.35, "uniform_both": 0.5}
TARGETED = {"noop": 2.0, "random": 4.0, "expert": 5.0, "curiosity": 5.6, "combined": 7.0, "matched": 6.0}
MPC = {"none": 0.12, "uniform_both": 0.28, "noop": 0.16, "random": 0.23, "curiosity": 0.33, "expert": 0.36, "combined": 0.39, "matched": 0.36}


def _noise(*key: Any) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def score_rows(model: str = "base", sequences: int = 32, horizon: int = 8, seed: int = 0) -> list[dict[str, Any]]:
    """One dict a sequence, every column of spec. The same sequences for every model of one seed."""
    rows = []
    for seen, tasks in ((True, SEEN), (False, UNSEEN)):
        for task, frames in tasks.items():
            for i in range(sequences):
                rows.append(_row(model, task, frames, seen, i, horizon, seed))
    return rows


def _row(model: str, task: str, frames: int, seen: bool, i: int, horizon: int, seed: int) -> dict[str, Any]:
    r = _noise(seed, task, i)
    easy = np.log10(frames + 100.0) - 3.0 if seen else -1.2
    source = model.removeprefix("targeted_")
    gain = GAIN.get(model, 0.5 if source in TARGETED else 0.0) if seen else TARGETED.get(source, 0.0)
    own = _noise(seed, task, i, model)
    m = float(np.exp(r.normal(-2.4, 0.7)))
    trouble = float(r.normal(0.0, 1.0)) - 0.8 * easy - 0.35 * gain
    u_r, u_f, u_s = (m * float(np.exp(a + b * trouble + own.normal(0.0, 0.25))) for a, b in ((0.1, 0.55), (-1.1, 0.45), (-0.9, 0.5)))
    dpsnr = 2.0 - 2.6 * trouble + 1.2 * (np.log(m) + 2.4) + float(own.normal(0.0, 1.0)) - (0.0 if seen else 4.0)
    recon = 27.0 + 3.0 * easy + gain + float(r.normal(0.0, 1.0)) - (0.0 if seen else 9.0)
    copy_psnr = 21.0 - 2.0 * (np.log(m) + 2.4) + float(r.normal(0.0, 0.6))
    asr_true = float(np.exp(r.normal(-3.0, 0.3)))
    asr = max(0.98, 1.0 + 0.25 * max(0.0, easy + 0.6 + 0.4 * gain) + float(own.normal(0.0, 0.12)))
    b = "expert" if i % 2 else "noise"
    steps = lambda level: (level * np.linspace(0.7, 1.3, horizon)).tolist()  # noqa: E731
    motion = max(m, spec.MOTION_FLOOR)
    return {
        "model": model,
        "task": task,
        "domain": DOMAIN.get(task, "pygame"),
        "seen": seen,
        "behaviour": b,
        "store": f"{'corpus' if seen else 'test'}/{task}/{b}-s0",
        "episode": i // 4,
        "start": i % 4,
        "frames_train": frames,
        "state_x": float(r.uniform(0, 1)),
        "state_y": float(r.uniform(0, 1)),
        "recon_psnr": recon,
        "recon_psnr_fg": recon - 7.0,
        "decoded_motion": float(np.clip(0.93 + own.normal(0, 0.04), 0.0, 2.0)),
        "rollout_psnr": copy_psnr + dpsnr,
        "copy_psnr": copy_psnr,
        "dpsnr": dpsnr,
        "pixel_mse": 10 ** (-(copy_psnr + dpsnr) / 10),
        "copy_mse": 10 ** (-copy_psnr / 10),
        "latent_rms": float(0.25 * np.exp(0.3 * trouble)) * (1.0 + m),
        "asr": asr,
        "asr_shuffled": asr * asr_true,
        "asr_true": asr_true,
        "m": m,
        "m_pred": m * 0.9,
        "u_r": u_r,
        "u_f": u_f,
        "u_s": u_s,
        "u_r_norm": u_r / motion,
        "u_f_norm": u_f / motion,
        "u_s_norm": u_s / motion,
        "u_s_sd_norm": float(np.sqrt(u_s)) / motion,
        "u_r_steps": steps(u_r),
        "u_f_steps": steps(u_f),
        "u_s_steps": steps(u_s),
        "psnr_steps": steps(copy_psnr + dpsnr),
        "copy_psnr_steps": steps(copy_psnr),
    }


def mpc_rows(model: str, episodes: int = 6, seed: int = 0) -> list[dict[str, Any]]:
    """One dict an episode on the unseen tasks, MPC_COLUMNS."""
    rows = []
    for task in UNSEEN:
        for e in range(episodes):
            start, own = _noise(seed, task, e, "start"), _noise(seed, task, e, model)
            score = float(np.clip(MPC.get(model.removeprefix("targeted_"), 0.2) + start.normal(0, 0.05) + own.normal(0, 0.03), 0, 1))
            rows.append(dict(zip(spec.MPC_COLUMNS, (model, task, e, 1000 + e, 32, 32 * score, score > 0.5, score), strict=True)))
    return rows


def columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows as columns, as io.tables.read_parquet gives them."""
    return {k: [r[k] for r in rows] if k in spec.SCORE_STEP_COLUMNS else np.array([r[k] for r in rows]) for k in rows[0]}


def clips(
    tasks: tuple[str, ...] = ("cup-catch", "pygame-pong", "pygame-point-maze-var4"), size: int = 16, frames: int = 12, context: int = 4
) -> dict[str, Any]:
    """A moving square, its dimmed reconstruction, and a rollout that drifts off (more on unseen tasks); keys as in hallucination.clips."""
    out: dict[str, Any] = {}
    for c, task in enumerate(tasks):
        for name, T in (("0", frames), ("1", frames), ("trace", 2 * frames)):
            r, pull = _noise("clips", task, name), 1 if task in SEEN else 3
            truth, model = (np.full((T, size, size, 3), 40, np.uint8) for _ in range(2))
            for t in range(T):
                x, drift = (t * (c + 1)) % (size - 4), min(pull * max(0, t - context) // 3, size - 8)
                truth[t, 4:8, x : x + 4] = (240, 200, 60)
                model[t, 4 + drift : 8 + drift, x : x + 4] = (230, 190, 70)
            values = {k: (pull * r.uniform(0.02, 0.06, T) * np.linspace(1, 3, T)).astype(np.float32) for k in ("u_r", "u_f", "u_s")}
            values |= {k: r.uniform(15, 30, T).astype(np.float32) for k in ("psnr", "copy_psnr")}
            for v in values.values():
                v[:context] = np.nan
            ids = {
                "m": np.float32(0.08),
                "context": np.int64(context),
                "store": np.array(f"corpus/{task}/expert-s0"),
                "episode": np.int64(c),
                "start": np.int64(0),
                "seen": np.bool_(task in SEEN),
            }
            frames_of = {"truth": truth, "recon": (truth.astype(int) * 9 // 10).astype(np.uint8), "model": model}
            out |= {f"{task}/{name}/{k}": v for k, v in (frames_of | values | ids).items()}
    return out


def count_rows() -> list[dict[str, Any]]:
    """Rows of index/frame_counts.csv."""
    rows = []
    for role, tasks in (("corpus", SEEN), ("targeted", UNSEEN), ("test", UNSEEN)):
        for task, n in tasks.items():
            n = n or 3200
            counts = {"train_episodes": n // 33, "train_frames": n, "heldout_episodes": n // 132, "heldout_frames": n // 4}
            rows.append(dict(task=task, domain=DOMAIN.get(task, "pygame"), seen=task in SEEN, role=role, episodes=n // 26, frames=n + n // 4, **counts))
    return rows
