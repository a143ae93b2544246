"""How any model is trained and where: optimiser, engine, looks at held-out data, device. Part of the tree in veridream.params.model."""

from typing import Annotated, Literal

from pydantic import Field

from veridream.params.strict import Count, Positive, Strict


class Optimiser(Strict):
    kind: Literal["adamw", "muon"] = Field(default="adamw", description="muon: orthogonalised momentum (fp32) for block matrices, AdamW for the rest")
    lr: float = Field(default=1e-4, gt=0, description="AdamW learning rate")
    muon_lr: float = Field(default=1e-2, gt=0, description="Muon learning rate (unused with adamw)")
    betas: tuple[float, float] = Field(default=(0.9, 0.999), strict=False, description="AdamW betas")
    weight_decay: float = Field(default=1e-2, ge=0, description="decoupled weight decay of matrices")
    warmup: Count = Field(default=1000, description="linear warm-up, steps")
    schedule: Literal["constant", "cosine"] = Field(default="constant", description="learning rate after warm-up; cosine ends at a tenth")
    clip: float = Field(default=1.0, gt=0, description="gradient norm clip")


class Engine(Strict):
    """How a training computes its steps; the paper uses none of it."""

    accumulate: Positive = Field(default=1, description="parts in which a worker computes its share of each batch, one after another (gradient accumulation)")
    ema: float = Field(default=0.0, ge=0, lt=1, description="decay of a running average of the weights, which is then what is published; 0: none")
    recompute: bool = Field(default=False, description="compute activations again in the backward pass: less memory for a third more time")


class Watch(Strict):
    """Looks at held-out windows while a base model trains; logged beside the losses. Finetunes are scored right after and need none."""

    every: Count = Field(default=0, description="steps between two looks; 0: none")
    windows: Annotated[int, Field(ge=2)] = Field(default=8, description="held-out windows a task")
    strips: Count = Field(default=0, description="tasks drawn at each look, truth above model, as PNG in the work folder")
    substeps: Positive = Field(default=4, description="denoising substeps of the dynamics' rollouts; a power of two")


class Compute(Strict):
    """Where models are trained and run. Bitwise results are promised for the CPU in fp32 alone."""

    device: Literal["cpu", "cuda"] = Field(default="cpu", description="cuda: each worker of a training, and every other job with a model, takes one GPU")
    precision: Literal["fp32", "bf16"] = Field(default="fp32", description="bf16: autocast in training; weights, optimiser and losses stay fp32 (slow on CPUs)")
    compile: bool = Field(default=False, description="torch.compile of the networks in training; needs a C++ compiler on a CPU")
