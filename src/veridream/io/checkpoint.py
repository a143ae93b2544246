"""A checkpoint is a folder: tensors.safetensors, meta.json, and `done`, written last, which holds the digest of the other two.

The same tensors and meta give the same bytes. A folder without `done` was never finished; one whose files do not match it is damaged.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from veridream.provenance.stage import StageError

TENSORS, META, DONE = "tensors.safetensors", "meta.json", "done"
WRAPPERS = ("_orig_mod.", "module.")  # key prefixes of compiled and data-parallel wrappers; save the raw module instead


class CheckpointError(StageError, ValueError):
    pass


def _digest(folder: Path) -> str:
    h = hashlib.sha256()
    for name in (TENSORS, META):
        with (folder / name).open("rb") as f:
            h.update(hashlib.file_digest(f, "sha256").digest())
    return h.hexdigest()


def save_checkpoint(folder: str | Path, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
    """Writes a new checkpoint folder. `meta` is JSON-ready.

    Raises FileExistsError when the folder exists, CheckpointError for keys of a wrapped module, a non-finite number in `meta`, a disk that takes no more.
    """
    folder = Path(folder)
    wrapped = [k for k in tensors if k.startswith(WRAPPERS)]
    if wrapped:
        raise CheckpointError(f"{folder}: key {wrapped[0]!r} is that of a wrapped module; save the raw module's state_dict")
    folder.mkdir(parents=True)
    try:
        save_file({k: t.detach().contiguous().clone() for k, t in sorted(tensors.items())}, folder / TENSORS)
    except SafetensorError as e:  # its own kind, though the system refused
        raise CheckpointError(f"{folder / TENSORS}: writing failed: {e}; make room on that disk and run the workflow again") from e
    try:
        (folder / META).write_text(json.dumps(meta, sort_keys=True, indent=1, allow_nan=False) + "\n")
    except ValueError as e:
        raise CheckpointError(f"{folder}: meta is not JSON-ready ({e})") from None
    for name in (TENSORS, META):
        with (folder / name).open("rb") as f:
            os.fsync(f.fileno())
    (folder / DONE).write_text(_digest(folder) + "\n")


def load_checkpoint(folder: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """(tensors, meta). Raises FileNotFoundError for no folder, CheckpointError for an unfinished or damaged one."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is missing; run the workflow to make it")
    if not (folder / DONE).is_file():
        raise CheckpointError(f"{folder}: unfinished checkpoint (no `{DONE}`); delete it and run the workflow again")
    absent = [n for n in (TENSORS, META) if not (folder / n).is_file()]
    if absent or _digest(folder) != (folder / DONE).read_text().strip():
        reason = f"{absent[0]} is missing" if absent else "its digest differs"
        raise CheckpointError(f"{folder}: damaged checkpoint ({reason}); delete it and run the workflow again")
    try:
        return load_file(folder / TENSORS), json.loads((folder / META).read_text())
    except (SafetensorError, ValueError) as e:
        raise CheckpointError(f"{folder}: cannot be read ({e}); delete it and run the workflow again") from None


def load_module(module: nn.Module, tensors: Mapping[str, Tensor], where: str | Path) -> None:
    """Copies tensors into the module, strictly. Raises CheckpointError that names missing, unknown and misshapen keys."""
    own = module.state_dict()
    problems = [f"missing {k}" for k in own if k not in tensors] + [f"unknown {k}" for k in tensors if k not in own]
    problems += [f"{k} is {tuple(tensors[k].shape)}, expected {tuple(v.shape)}" for k, v in own.items() if k in tensors and tensors[k].shape != v.shape]
    if problems:
        raise CheckpointError(f"{where}: does not fit {type(module).__name__}: {'; '.join(problems[:5])}")
    module.load_state_dict(dict(tensors), strict=True)
