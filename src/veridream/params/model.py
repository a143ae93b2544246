"""The one home of every hyperparameter: a strict pydantic tree. Defaults are the paper's; what a run can do without and pays for (agent tokens
and their heads, LPIPS, looks at held-out data, GPUs) is off, and on in params/scales/paper.yaml.

`params/base.yaml`, the JSON schema and the docs table are generated from here (`make params`); a test fails when they drift.
A scale (`params/scales/<scale>.yaml`) is an overlay that names only what it changes.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from veridream import spec
from veridream.params.strict import Count, Fraction, Positive, Strict
from veridream.params.training import Compute, Engine, Optimiser, Watch

Segment = Literal["noop", "random", "expert", "transformed", "noise"]
Behaviour = Literal["noop", "random", "expert", "transformed", "noise", "switched"]


class Tasks(Strict):
    seen: list[str] = Field(
        default=["cup-catch", "walker-walk", "mw-push", "lunarlander-hover", "atari-pong", "pygame-point-maze-var1", "pygame-pong"],
        min_length=2,
        description='pretraining tasks: ids of params/tasks.yaml, the name of a domain for all of its, "all" for all',
    )
    unseen: list[str] = Field(
        default=["cup-catch-var1", "pygame-point-maze-var4", "pygame-reacher-easy"], min_length=1, description="tasks held out of pretraining, named likewise"
    )

    @model_validator(mode="after")
    def _disjoint(self):
        both = [*self.seen, *self.unseen]
        twice = sorted({t for t in both if both.count(t) > 1})
        if twice:
            raise ValueError(f"named twice: {', '.join(twice)}; each task is either seen or unseen, once")
        return self


class Render(Strict):
    size: Positive = Field(default=224, description="image side, pixels; one setting for a whole corpus (App. A)")
    quality: Literal["fast", "full"] = Field(default="fast", description="fast: shadows, reflections and multisampling off in MuJoCo-based domains")


class CemExpert(Strict):
    """Cross-entropy method on the simulator's own saved and restored state: the general expert where no scripted one exists."""

    candidates: Positive = Field(default=64, description="action sequences an iteration")
    elites: Positive = Field(default=8, description="sequences the next distribution is fitted to")
    iterations: Positive = Field(default=3, description="refits a plan")
    horizon: Positive = Field(default=20, description="agent steps looked ahead")
    execute: Positive = Field(default=2, description="agent steps executed before replanning")


class Switched(Strict):
    """The behaviour `switched`: segments within an episode (App. D, which gives neither lengths nor weights: these are ours)."""

    shortest: Positive = Field(default=20, description="agent steps of the shortest segment; lengths are uniform")
    longest: Positive = Field(default=100, description="agent steps of the longest")
    weights: dict[Segment, Fraction] = Field(
        default={"expert": 0.3, "noise": 0.25, "random": 0.25, "transformed": 0.15, "noop": 0.05},
        description="share of each behaviour in the segments; sums to 1. Tasks without an expert share it out between noop and random",
    )

    @model_validator(mode="after")
    def _consistent(self):
        _sums_to_one("weights", self.weights.values())
        if self.shortest > self.longest:
            raise ValueError(f"shortest ({self.shortest}) exceeds longest ({self.longest})")
        return self


def _sums_to_one(name: str, shares: Iterable[float]) -> None:
    total = sum(shares)
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"{name} sum to {total:g}, they must sum to 1")


class Collect(Strict):
    seed: Count = Field(default=0, description="seed of the corpus; an episode's seed is hash(task, behaviour, seed, index)")
    max_steps: Positive = Field(default=1000, description="agent steps an episode is cut at; the task's own horizon if shorter")
    frame_skip: Positive = Field(default=1, description="extra action repeat on top of the task's own, so that consecutive frames differ at small sizes")
    counts: list[Positive] = Field(
        default=[260] * 7, min_length=1, description="episodes of the seen tasks, before the permutation; one entry a seen task, or one for all"
    )
    counts_seed: Count = Field(default=0, description="seed of the permutation that says which task gets which count, so that coverage is not task identity")
    shares: dict[Behaviour, Fraction] = Field(
        default={"switched": 1.0},
        description="share of each behaviour in a task's episodes (each at least one); sums to 1. switched: they alternate within an episode (App. D). "
        "Of a task without an expert, the others share all",
    )
    switched: Switched = Switched()
    expert: CemExpert = CemExpert()
    missing: Literal["error", "skip"] = Field(
        default="error", description="tasks whose simulator this machine lacks (make doctor says which): error: their jobs fail; skip: all goes on without them"
    )

    @model_validator(mode="after")
    def _consistent(self):
        _sums_to_one("shares", self.shares.values())
        return self


class Targeted(Strict):
    episodes: Positive = Field(default=50, description="episodes a behaviour on each unseen task (Sec. 6)")
    seed: Count = Field(default=1, description="seed of the targeted stores")
    test_episodes: Positive = Field(default=20, description="held-out episodes a behaviour on each unseen task")
    test_behaviours: list[Behaviour] = Field(default=["expert", "noise"], description="behaviours of the unseen test set (paper: expert and human)")
    test_seed: Count = Field(default=2, description="seed of the test stores")


class Replicate(Strict):
    """The base model once more, by another draw of what the paper leaves to chance: the training seed, and which task has how many episodes."""

    seed: Count = Field(description="initialisation and batch sampling, of tokenizer and dynamics")
    counts_seed: Count = Field(description="its own permutation of collect.counts")


class Split(Strict):
    heldout: Fraction = Field(default=0.13, description="share of corpus episodes held out, by a hash of the episode key; 0: a corpus that is collected only")
    tune: Fraction = Field(default=0.0, description="share of a third side: choices between settings are made on it (src/score_tune.py), nothing is reported")
    salt: str = Field(default="veridream", description="salt of that hash")

    @model_validator(mode="after")
    def _leaves_some(self):
        if self.heldout + self.tune >= 1.0 > self.heldout:
            raise ValueError(f"heldout ({self.heldout:g}) and tune ({self.tune:g}) leave nothing to train on")
        return self


class TokenizerArch(Strict):
    patch: Positive = Field(default=14, description="patch side, pixels; divides render.size (Table 12)")
    width: Positive = Field(default=512, description="token width")
    heads: Positive = Field(default=8, description="attention heads")
    encoder_depth: Positive = Field(default=12, description="encoder blocks")
    decoder_depth: Positive = Field(default=12, description="decoder blocks")
    latents: Positive = Field(default=64, description="latent tokens a frame")
    latent_dim: Positive = Field(default=64, description="numbers a latent token, tanh-bounded")
    time_every: Count = Field(default=1, description="causal time attention of the latents in every n-th block; 0: per-frame tokenizer")
    init_std: float = Field(default=0.02, gt=0, description="initial std of position, latent and query embeddings")
    norm_before_tanh: bool = Field(default=False, description="RMSNorm before the bottleneck (departure that small scales need)")


class TokenizerTrain(Strict):
    steps: Positive = Field(default=300_000, description="optimiser steps")
    batch: Positive = Field(default=96, description="sequences a step")
    window: Positive = Field(default=24, description="frames a sequence (1: independent frames)")
    mask_max: Fraction = Field(default=0.9, description="masking ratio is uniform on [0, mask_max] per frame")
    mask_every: Positive = Field(default=1, description="mask on every n-th step; other steps see all patches")
    loss_on: Literal["masked", "all"] = Field(default="masked", description="patches the pixel loss is taken on")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="share of what each layer adds that is dropped in training (released code: 0.05); 0: none")
    foreground_weight: float = Field(default=0.0, ge=0, description="extra weight of pixels further than 0.1 from the task's median image")
    lpips_weight: float = Field(
        default=0.0, ge=0, description="weight of LPIPS (AlexNet; paper: 0.2). Without its weights in models/lpips it is left out, which the receipt then says"
    )
    lpips_every: Positive = Field(default=2, description="LPIPS is taken on every n-th frame of a sequence")
    loaders: Count = Field(default=0, description="processes a worker that read frames ahead; 0: each step reads its own")
    sampling: Literal["frames", "sqrt", "uniform"] = Field(default="frames", description="task weights: by frames (paper's base), their square root, uniform")
    seed: Count = Field(default=0, description="initialisation and batch sampling")
    checkpoint_every: Positive = Field(default=2000, description="steps between checkpoints in work/")
    workers: Positive = Field(default=1, description="processes that share each batch (data parallel); part of the lineage, since sums depend on it")
    threads: Positive = Field(default=2, description="CPU threads of each worker; part of the lineage")
    optimiser: Optimiser = Optimiser()
    engine: Engine = Engine()
    watch: Watch = Watch()


class Tokenizer(Strict):
    arch: TokenizerArch = TokenizerArch()
    train: TokenizerTrain = TokenizerTrain()


class DynamicsArch(Strict):
    width: Positive = Field(default=1024, description="token width (Table 12)")
    heads: Positive = Field(default=8, description="attention heads")
    depth: Positive = Field(default=16, description="blocks")
    time_every: Positive = Field(default=2, description="causal time attention in every n-th block")
    time_window: Count = Field(default=0, description="frames it looks at, its own included, so that long dreams stay within what was trained; 0: all")
    pack: Positive = Field(default=2, description="latent tokens packed into one spatial token")
    registers: Positive = Field(default=4, description="register tokens a frame; without agent tokens the first carries the reward read-out")
    agents: Count = Field(default=0, description="agent tokens a frame, which see all tokens while none sees them, and carry the heads (paper: 4); 0: none")
    task_features: Positive = Field(default=512, description="hashed features of an instruction that the agent tokens are made from (paper: CLIP text, 512)")
    reward_horizon: Positive = Field(default=1, description="rewards predicted at a frame, of the transition into it first (paper: 8); above 1 needs agents")
    bc_horizon: Count = Field(default=0, description="actions that a behaviour-cloning head predicts at a frame (paper: 8); 0: none; needs agents")
    k_max: Positive = Field(default=64, description="finest denoising grid; a power of two")
    reward_bins: Positive = Field(default=255, description="two-hot bins on symlog [-10, 10]")

    @model_validator(mode="after")
    def _consistent(self):
        if self.k_max & (self.k_max - 1):
            raise ValueError(f"k_max is {self.k_max}; the shortcut grid needs a power of two")
        if not self.agents and (self.reward_horizon > 1 or self.bc_horizon):
            raise ValueError("reward_horizon above 1 and bc_horizon are read from agent tokens; set agents (the paper has 4)")
        return self


class DynamicsTrain(Strict):
    steps: Positive = Field(default=180_000, description="optimiser steps")
    batch: Positive = Field(default=512, description="sequences a step")
    window: Positive = Field(default=24, description="frames a sequence")
    bootstrap_from: Fraction = Field(default=0.0555, description="self-consistency rows join after this share of the steps (paper: step 10k)")
    bootstrap_share: Fraction = Field(default=0.25, description="share of self-consistency rows then")
    reward_weight: float = Field(default=0.1, ge=0, description="weight of the reward head's cross entropy (Sec. 5 gives none)")
    bc_weight: float = Field(default=0.1, ge=0, description="weight of the behaviour-cloning head's error, whose gradient ends at the head")
    sampling: Literal["frames", "sqrt", "uniform"] = Field(default="frames", description="task weights, as for the tokenizer")
    seed: Count = Field(default=0, description="initialisation and batch sampling")
    checkpoint_every: Positive = Field(default=2000, description="steps between checkpoints in work/")
    workers: Positive = Field(default=1, description="processes that share each batch, as for the tokenizer")
    threads: Positive = Field(default=2, description="CPU threads of each worker; part of the lineage")
    optimiser: Optimiser = Optimiser()
    engine: Engine = Engine()
    watch: Watch = Watch()


class Dynamics(Strict):
    arch: DynamicsArch = DynamicsArch()
    train: DynamicsTrain = DynamicsTrain()


class Finetune(Strict):
    """Continues a model: tokenizer first, then dynamics on its latents. Other settings are those of pretraining."""

    tokenizer_steps: Positive = Field(description="extra tokenizer steps")
    dynamics_steps: Positive = Field(description="extra dynamics steps")
    tokenizer_lr_scale: float = Field(default=1.0, gt=0, description="learning rates over those of pretraining")
    dynamics_lr_scale: float = Field(default=1.0, gt=0, description="learning rates over those of pretraining")
    warmup: Count = Field(default=1000, description="linear warm-up from the resume point, steps")
    target_mass: Fraction = Field(default=0.5, description="sampling mass of the collected tasks (targeted finetunes only; alpha, Sec. 2.7)")
    seed: Count = Field(default=0, description="batch sampling")
    accumulate: Positive = Field(default=1, description="parts in which each batch is computed, one after another; a finetune is one process")
    threads: Positive = Field(default=1, description="CPU threads; part of the lineage")


class Score(Strict):
    sequences: Positive = Field(default=48, description="held-out sequences a task (Sec. 4)")
    context: Positive = Field(default=8, description="context frames")
    horizon: Positive = Field(default=16, description="frames rolled out, open loop, true actions")
    substeps: Positive = Field(default=4, description="denoising substeps K; a power of two, at least 2 (u_f needs a difference)")
    seeds: Annotated[int, Field(ge=2)] = Field(default=4, description="noise seeds of u_s; their mean latent is what u_r is taken on")
    tau_ctx: Fraction = Field(default=0.1, description="context corruption")
    shuffle_substeps: Positive = Field(default=1, description="substeps of the action-shuffle ratio")
    clips: Count = Field(default=2, description="rendered example sequences a task")
    trace_steps: Positive = Field(default=96, description="length of the run-time traces, if episodes allow")
    seed: Count = Field(default=0, description="choice of sequences and noise")
    threads: Positive = Field(default=1, description="CPU threads; part of the lineage")


class Cem(Strict):
    candidates: Positive = Field(description="action sequences an iteration")
    elites: Positive = Field(description="sequences refitted to")
    iterations: Positive = Field(description="refits a plan")
    horizon: Positive = Field(description="imagined steps")
    execute: Positive = Field(description="steps executed in the simulator before replanning")
    context: Positive = Field(default=24, description="most real frames given as context")
    substeps: Positive = Field(default=4, description="denoising substeps K")
    seeds: Positive = Field(default=2, description="noise seeds (rollouts) a candidate")
    tau_ctx: Fraction = Field(default=0.1, description="context corruption")
    init_std: float = Field(default=1.0, gt=0, description="initial std of the action distribution")
    min_std: float = Field(default=0.05, gt=0, description="its floor")
    noise_colour: float = Field(
        default=0.0, ge=0, le=2, description="power of a plan's noise over time falls as 1 / frequency^colour: 0 white (paper), 1 pink, 2 red; smoother plans"
    )
    warm_start: Literal["last_plan", "behaviour"] = Field(
        default="last_plan",
        description="first mean of a plan: the last plan moved on, or the actions that the behaviour-cloning head gives in the dream "
        "(needs dynamics.arch.bc_horizon; the released code takes init_std 0.3 with it)",
    )

    @model_validator(mode="after")
    def _elites_fit(self):
        if self.elites > self.candidates:
            raise ValueError(f"elites ({self.elites}) exceed candidates ({self.candidates})")
        return self


class Curiosity(Strict):
    cem: Cem = Cem(candidates=128, elites=32, iterations=3, horizon=32, execute=16)
    max_share: Fraction = Field(default=0.5, description="plan score = (1 - max_share) * mean + max_share * max of u_r_norm over the horizon (Sec. 2.8)")
    threads: Positive = Field(default=1, description="CPU threads; part of the lineage")


class Mpc(Strict):
    cem: Cem = Cem(candidates=32, elites=8, iterations=3, horizon=32, execute=16)
    objective: Literal["reward", "goal"] = Field(
        default="reward",
        description="what plans are chosen by: the rewards the model predicts (paper), or how near the last imagined latents come to those of the last "
        "frame of the expert's own episode from the same start",
    )
    episodes: Positive = Field(default=10, description="closed-loop episodes on each unseen task")
    seed: Count = Field(default=3, description="seed of the episodes' starts, the same for every model")
    threads: Positive = Field(default=1, description="CPU threads; part of the lineage")


class Wmb(Strict):
    """WorldModelBench's questions asked of our own rollouts, protocol wmb-sim."""

    items: Annotated[int, Field(ge=2)] | Literal[0] = Field(
        default=8, description="test videos a seen task, the more moving half of twice as many; 0: none of it"
    )
    models: list[str] = Field(default=[spec.BASE], description="models that are judged; base is one, its reconstructions set the tolerances for all")
    horizon: Positive = Field(default=16, description="imagined frames of a video, which starts with the last context frame")
    fps: Positive = Field(default=15, description="frames a second of the exported videos")
    seed: Count = Field(default=0, description="choice of windows, noise of the rollouts, whose actions are permuted")
    quantile: Annotated[float, Field(gt=0.5, le=1.0)] = Field(default=0.99, description="of the reconstruction control's deviations, as tolerance")
    lasting: Positive = Field(default=3, description="frames in a row a violation lasts")
    gap: Positive = Field(default=5, description="frames over which displacements are compared with the true dynamics")
    threads: Positive = Field(default=1, description="CPU threads; part of the lineage")

    @model_validator(mode="after")
    def _long_enough(self):
        unknown = sorted(set(self.models) - set(spec.MODELS))
        if unknown or spec.BASE not in self.models or len(set(self.models)) < len(self.models):
            raise ValueError(f"models is {self.models}; {spec.BASE} and, once each, others of {', '.join(spec.MODELS)}")
        if self.horizon < max(self.gap + self.lasting, 7):
            raise ValueError(f"horizon is {self.horizon}; gap ({self.gap}) and lasting ({self.lasting}) need their sum, a judge at least 8 frames")
        return self


class Stats(Strict):
    resamples: Positive = Field(default=2000, description="bootstrap resamples, over tasks, then sequences within")
    confidence: Annotated[float, Field(gt=0.5, lt=1.0)] = Field(default=0.95, description="level of every interval")
    seed: Count = Field(default=0, description="bootstrap draws")


class Params(Strict):
    tasks: Tasks = Tasks()
    render: Render = Render()
    collect: Collect = Collect()
    targeted: Targeted = Targeted()
    split: Split = Split()
    replicates: list[Replicate] = Field(
        default=[], description="the base model again, each with its own seed and counts; claims on it then need them all to agree"
    )
    tokenizer: Tokenizer = Tokenizer()
    dynamics: Dynamics = Dynamics()
    arms: Finetune = Finetune(tokenizer_steps=30_000, dynamics_steps=30_000)
    finetune: Finetune = Finetune(tokenizer_steps=50_000, dynamics_steps=30_000)
    score: Score = Score()
    curiosity: Curiosity = Curiosity()
    mpc: Mpc = Mpc()
    wmb: Wmb = Wmb()
    stats: Stats = Stats()
    compute: Compute = Compute()

    @model_validator(mode="after")
    def _consistent(self):
        t, d = self.tokenizer, self.dynamics
        if self.render.size % t.arch.patch:
            raise ValueError(f"tokenizer.arch.patch ({t.arch.patch}) does not divide render.size ({self.render.size})")
        if t.arch.width % t.arch.heads or d.arch.width % d.arch.heads:
            raise ValueError("width must be a multiple of heads, in tokenizer.arch and dynamics.arch")
        if t.arch.latents % d.arch.pack:
            raise ValueError(f"dynamics.arch.pack ({d.arch.pack}) does not divide tokenizer.arch.latents ({t.arch.latents})")
        if len(self.collect.counts) not in (1, len(self.tasks.seen)):
            raise ValueError(f"collect.counts has {len(self.collect.counts)} entries for {len(self.tasks.seen)} seen tasks; give one a task, or one in all")
        horizon = max(self.score.horizon, self.wmb.horizon if self.wmb.items else 0)
        steps = self.score.context + horizon
        if self.collect.max_steps + 1 < max(steps, d.train.window):
            raise ValueError(
                f"collect.max_steps ({self.collect.max_steps}) is too short for a score sequence, wmb video or training window of "
                f"{max(steps, d.train.window)} frames"
            )
        return self
