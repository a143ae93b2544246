"""Published models: checkpoint folders from which a network is rebuilt, its architecture read from the checkpoint."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from veridream.io.checkpoint import CheckpointError, load_checkpoint, load_module, save_checkpoint
from veridream.nn.dynamics import Dynamics
from veridream.nn.tokenizer import Tokenizer


def save_tokenizer(folder: str | Path, tokenizer: Tokenizer, window: int, steps: int) -> None:
    """`window`: frames a training sequence; `steps`: optimiser steps in all."""
    meta = {"kind": "tokenizer", "arch": tokenizer.arch.model_dump(mode="json"), "size": tokenizer.size, "window": window, "steps": steps}
    save_checkpoint(folder, tokenizer.state_dict(), meta)


def save_dynamics(folder: str | Path, dynamics: Dynamics, window: int, steps: int) -> None:
    shape = {"latents": dynamics.latents, "latent_dim": dynamics.latent_dim}
    meta = {"kind": "dynamics", "arch": dynamics.arch.model_dump(mode="json"), **shape, "window": window, "steps": steps}
    save_checkpoint(folder, dynamics.state_dict(), meta)


def _read(folder: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    tensors, meta = load_checkpoint(folder)
    if meta.get("kind") != kind:
        raise CheckpointError(f"{folder}: holds a {meta.get('kind')}, expected a {kind}")
    return tensors, meta


def _built(module: nn.Module, tensors: dict[str, Any], folder: str | Path) -> None:
    load_module(module, tensors, folder)
    module.eval()


def load_tokenizer(folder: str | Path, device: torch.device | str = "cpu") -> tuple[Tokenizer, dict[str, Any]]:
    """(tokenizer in eval mode, meta). Raises CheckpointError or FileNotFoundError naming the folder."""
    tensors, meta = _read(folder, "tokenizer")
    tokenizer = Tokenizer(meta["arch"], meta["size"])
    _built(tokenizer, tensors, folder)
    tokenizer.window = meta["window"]
    return tokenizer.to(device), meta


def load_dynamics(folder: str | Path, device: torch.device | str = "cpu") -> tuple[Dynamics, dict[str, Any]]:
    """(dynamics in eval mode, meta)."""
    tensors, meta = _read(folder, "dynamics")
    dynamics = Dynamics(meta["arch"], meta["latents"], meta["latent_dim"])
    _built(dynamics, tensors, folder)
    return dynamics.to(device), meta


def load_world_model(tokenizer_dir: str | Path, dynamics_dir: str | Path, device: torch.device | str = "cpu") -> tuple[Tokenizer, Dynamics]:
    """Both halves, checked against each other. Raises CheckpointError when the dynamics was trained on latents of another shape."""
    tokenizer, _ = load_tokenizer(tokenizer_dir, device)
    dynamics, _ = load_dynamics(dynamics_dir, device)
    want, have = (tokenizer.arch.latents, tokenizer.arch.latent_dim), (dynamics.latents, dynamics.latent_dim)
    if want != have:
        raise CheckpointError(f"{dynamics_dir}: works on latents {have}, {tokenizer_dir} makes {want}; use a pair that was trained together")
    return tokenizer, dynamics
