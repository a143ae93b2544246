"""Operations of a scale's GPU stages by arithmetic (nn.cost), and the hours they would take on one card at an assumed share of its peak.

Counted are the networks' matrix products: of training every pass; of dreams every denoising pass with its cache, and one encoding and one decoding
of each frame. Simulators, LPIPS, loading and the small batches of a live planner are not in it, so planning will take longer than it says.
"""

from veridream import spec
from veridream.nn import cost
from veridream.params.model import Cem, Finetune, Params
from veridream.params.tasks import task
from veridream.provenance.jobs import workflow_jobs
from veridream.provenance.work import corpus_frames

PEAK = 989e12  # operations a second: H100 SXM, bf16 without sparsity, as its maker gives it
SHARE = 0.4  # of the peak that is assumed to be reached
CARD = "H100"


def gpu_hours(p: Params) -> dict[str, float]:
    """Hours on one card, by stage; empty for a scale that runs on CPUs."""
    return {k: v / (PEAK * SHARE * 3600) for k, v in stage_operations(p).items()} if p.compute.device == "cuda" else {}


def stage_operations(p: Params) -> dict[str, float]:
    """Of all jobs of each stage that runs a network."""
    jobs, seen = workflow_jobs(p), len(p.tasks.seen) + len(p.tasks.unseen)
    models = {stage: sum(w["model"] != spec.NO_MODEL for w in jobs[stage]) for stage in ("score_rollouts", "plan_mpc")}
    steps = {t: min(p.collect.max_steps, task(t).horizon) for t in p.tasks.unseen}
    tokenizer, dynamics, encoding = tokenizer_training(p), dynamics_training(p), corpus_frames(p) * _encode(p)
    s = p.score
    sequence = _dream(p, s.context, s.horizon, s.substeps, s.seeds) + (s.context + s.horizon) * _encode(p) + s.horizon * _decode(p)
    finetunes = [_finetune(f, tokenizer, dynamics) + encoding for f, n in ((p.arms, len(spec.ARMS)), (p.finetune, len(spec.TARGETED))) for _ in range(n)]
    curious = _plan(p, p.curiosity.cem, carried=1) + p.curiosity.cem.candidates * p.curiosity.cem.iterations * p.curiosity.cem.horizon * (
        _encode(p) + _decode(p)
    )
    return {
        "train_tokenizer": tokenizer * p.tokenizer.train.steps,
        "encode_latents": encoding,
        "train_dynamics": dynamics * p.dynamics.train.steps,
        "finetune_world_model": sum(finetunes),
        "score_rollouts": models["score_rollouts"] * seen * s.sequences * sequence,
        "plan_mpc": models["plan_mpc"] * sum(steps.values()) * p.mpc.episodes * _plan(p, p.mpc.cem, carried=p.mpc.cem.seeds) / p.mpc.cem.execute,
        "collect_curiosity": sum(steps[w["task"]] for w in jobs["collect_curiosity"]) * p.targeted.episodes * curious / p.curiosity.cem.execute,
    }


def tokenizer_training(p: Params) -> float:
    """Of one step."""
    t = p.tokenizer.train
    return t.batch * t.window * cost.tokenizer_step_flops(p.tokenizer.arch, p.render.size, t.window, t.engine.recompute)


def dynamics_training(p: Params) -> float:
    """Of one step."""
    t, a = p.dynamics.train, p.tokenizer.arch
    frame = cost.dynamics_step_flops(p.dynamics.arch, a.latents, a.latent_dim, t.window, t.bootstrap_share, t.engine.recompute)
    return t.batch * t.window * frame


def _finetune(f: Finetune, tokenizer: float, dynamics: float) -> float:
    return f.tokenizer_steps * tokenizer + f.dynamics_steps * dynamics


def _encode(p: Params) -> int:
    return cost.encode_flops(p.tokenizer.arch, p.render.size, p.tokenizer.train.window)


def _decode(p: Params) -> int:
    return cost.decode_flops(p.tokenizer.arch, p.render.size, p.tokenizer.train.window)


def _dream(p: Params, context: int, horizon: int, substeps: int, seeds: int) -> float:
    """A rollout of `horizon` frames, its context run once."""
    a, t = p.dynamics.arch, p.tokenizer.arch
    ahead = sum(cost.rollout_flops(a, t.latents, t.latent_dim, context + h, substeps, seeds) for h in range(horizon))
    return context * cost.dynamics_flops(a, t.latents, t.latent_dim, context, True) + ahead


def _plan(p: Params, c: Cem, carried: int) -> float:
    """One plan. carried: rollouts a candidate that go on each by itself; the other seeds share one past."""
    return c.candidates * c.iterations * carried * _dream(p, 0, c.horizon, c.substeps, c.seeds // carried)
