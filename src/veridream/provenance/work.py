"""How much work and how many bytes each job is, in units that a measured run turns into seconds and bytes. Pure functions of the params.

Units: frames for simulators and checks; for networks, tokens x width^2 x depth x passes, to which the arithmetic of a transformer is
proportional where attention is short; one for a job whose size hardly matters. They carry no constant: only ratios between scales count.
"""

from dataclasses import dataclass
from typing import Any

from veridream import spec
from veridream.params.model import Cem, Params
from veridream.params.slices import curiosity_stores, store_row, stores
from veridream.params.tasks import task


@dataclass(frozen=True)
class Work:
    """One job's size. kind: jobs of one kind share a rate; amount: units of work; disk: units of output bytes."""

    kind: str
    amount: float
    disk: float


def work_of(params: Params, stage: str, wildcards: dict[str, Any]) -> Work:
    """The size of the job that these wildcards name."""
    match stage:
        case "collect_episodes" | "validate_store" | "collect_curiosity":
            return _store_work(params, stage, wildcards)
        case "index_episodes":
            n = len(stores(params))
            return Work(stage, n, n)
        case "train_tokenizer":
            t = params.tokenizer.train
            return Work(stage, t.steps * t.batch * t.window * _tokenizer_frame(params), _weights(params, tokenizer=True))
        case "encode_latents":
            frames, arch = corpus_frames(params), params.tokenizer.arch
            return Work(stage, frames * _tokenizer_frame(params), frames * arch.latents * arch.latent_dim)
        case "train_dynamics":
            d = params.dynamics.train
            return Work(stage, d.steps * d.batch * d.window * _dynamics_frame(params), _weights(params, tokenizer=False))
        case "finetune_world_model":
            f = params.arms if wildcards["model"] in spec.ARMS else params.finetune
            t, d = params.tokenizer.train, params.dynamics.train
            amount = f.tokenizer_steps * t.batch * t.window * _tokenizer_frame(params) + f.dynamics_steps * d.batch * d.window * _dynamics_frame(params)
            return Work(stage, amount, _weights(params, tokenizer=True) + _weights(params, tokenizer=False))
        case "score_rollouts":
            s, tasks = params.score, len(params.tasks.seen) + len(params.tasks.unseen)
            return Work(stage, tasks * s.sequences * (s.context + s.horizon * s.substeps * s.seeds) * _dynamics_frame(params), tasks * s.sequences)
        case "plan_mpc":
            steps = sum(_steps(params, t) for t in params.tasks.unseen) * params.mpc.episodes
            if wildcards["model"] == spec.NO_MODEL:
                return Work("plan_mpc, random actions", steps, params.mpc.episodes)
            return Work(stage, steps * _plan(params.mpc.cem) * _dynamics_frame(params), params.mpc.episodes)
    return Work(stage, 1.0, 1.0)


def corpus_frames(params: Params) -> int:
    """Frames of the corpus: episodes x steps."""
    return sum(s["episodes"] * _steps(params, s["task"]) for s in stores(params) if s["role"] == "corpus")


def _store_work(params: Params, stage: str, w: dict[str, Any]) -> Work:
    if w["behaviour"] == "curiosity":
        row = next(s for s in curiosity_stores(params) if s["task"] == w["task"])
    else:
        row = store_row(params, w["role"], w["task"], w["behaviour"], w["seed"])
    t, frames = task(row["task"]), row["episodes"] * _steps(params, row["task"])
    disk = frames * params.render.size**2
    if stage == "validate_store":
        return Work(stage, frames, 1.0)
    if stage == "collect_curiosity":
        return Work(stage, frames * _plan(params.curiosity.cem) * _dynamics_frame(params), disk)
    scripted = row["behaviour"] in ("noop", "random")
    if t.expert != "cem" or scripted:
        return Work(f"{stage}, {t.domain}", frames * params.collect.frame_skip, disk)
    e = params.collect.expert
    return Work(f"{stage}, {t.domain}, planned in the simulator", frames * e.candidates * e.iterations * e.horizon / e.execute, disk)


def _steps(params: Params, task_id: str) -> int:
    return min(params.collect.max_steps, task(task_id).horizon)


def _plan(cem: Cem) -> float:
    """Imagined steps for each step executed."""
    return cem.candidates * cem.iterations * cem.horizon * cem.substeps * cem.seeds / cem.execute


def _tokenizer_frame(params: Params) -> float:
    a = params.tokenizer.arch
    tokens = (params.render.size // a.patch) ** 2 + a.latents
    return tokens * a.width**2 * (a.encoder_depth + a.decoder_depth)


def _dynamics_frame(params: Params) -> float:
    a = params.dynamics.arch
    return (params.tokenizer.arch.latents // a.pack + a.registers) * a.width**2 * a.depth


def _weights(params: Params, tokenizer: bool) -> float:
    a = params.tokenizer.arch
    return a.width**2 * (a.encoder_depth + a.decoder_depth) if tokenizer else params.dynamics.arch.width**2 * params.dynamics.arch.depth
