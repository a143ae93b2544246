"""Loading: params/base.yaml <- params/scales/<scale>.yaml <- overrides ("score.seeds=8"), then strict validation."""

import copy
import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from veridream import spec
from veridream.params.model import Params
from veridream.params.tasks import UnknownTask, registry, task
from veridream.params.yaml_text import parse_yaml

ROOT = Path(__file__).resolve().parents[3] / "params"
SCALE_NAME = "[A-Za-z0-9_]+"  # it becomes part of paths and shell commands


class ParamsError(ValueError):
    """A message for the user: names the file, the key and the remedy."""


def load_params(scale: str, overrides: Iterable[str] = (), root: Path = ROOT) -> Params:
    """The validated params of a scale. Raises ParamsError."""
    if not re.fullmatch(SCALE_NAME, scale):
        raise ParamsError(f"{scale!r} is no name of a scale: letters, digits and underscores only, since it becomes part of paths and commands")
    layers: list[tuple[str, dict[str, Any]]] = []
    path = root / "scales" / f"{scale}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in (root / "scales").glob("*.yaml"))
        raise ParamsError(f"unknown scale {scale!r}: there is no {path}; known scales: {', '.join(known)}")
    for p in (root / "base.yaml", path):
        layers.append((str(p), _read(p)))
    for text in overrides:
        layers.append((f"override {text!r}", _parse_override(text)))
    merged: dict[str, Any] = {}
    for source, layer in layers:
        _check_keys(layer, Params, source)
        merged = _merge(merged, layer)
    _expand(merged.get("tasks"))
    try:
        params = Params.model_validate(merged)
    except ValidationError as e:
        raise ParamsError(_explain(e, path)) from None
    _check_tasks(params, path)
    return params


def raw_params(scale: str, root: Path = ROOT) -> dict[str, Any]:
    """The scale's overlay on the base as they stand, unchecked: for params of another version of the model. Raises ParamsError on bad YAML."""
    layers = [_read(p) if p.is_file() else {} for p in (root / "base.yaml", root / "scales" / f"{scale}.yaml")]
    return _merge(*layers)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = parse_yaml(path.read_text())
    except yaml.YAMLError as e:
        raise ParamsError(f"{path}: not valid YAML: {e}") from None
    if data is not None and not isinstance(data, dict):
        raise ParamsError(f"{path}: must be a mapping of keys")
    return data or {}


def _parse_override(text: str) -> dict[str, Any]:
    key, eq, value = text.partition("=")
    if not eq or not key:
        raise ParamsError(f"override {text!r}: write key.path=value, for example score.seeds=8")
    out: Any = parse_yaml(value)
    for part in reversed(key.split(".")):
        out = {part: out}
    return out


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Mappings merge; anything else replaces. `collect.shares` and `weights` replace as a whole, since they must sum to 1."""
    out = copy.copy(base)
    for k, v in over.items():
        out[k] = _merge(out[k], v) if isinstance(v, dict) and isinstance(out.get(k), dict) and k not in ("shares", "weights") else v
    return out


def _check_keys(layer: dict[str, Any], model: type[BaseModel], source: str, at: str = "") -> None:
    for key, value in layer.items():
        if key not in model.model_fields:
            near = difflib.get_close_matches(str(key), model.model_fields, n=1)
            hint = f"did you mean {at}{near[0]}?" if near else f"known keys here: {', '.join(model.model_fields)}"
            raise ParamsError(f"{source}: unknown key {at}{key}; {hint}")
        kind = model.model_fields[key].annotation
        if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, BaseModel):
            _check_keys(value, kind, source, f"{at}{key}.")


def _expand(tasks: Any) -> None:
    """Puts the tasks of that side of the split, in the registry's order, for "all" and for the name of a domain."""
    for side in ("seen", "unseen"):
        if isinstance(tasks, dict) and isinstance(tasks.get(side), list):
            of_word = {w: [t.id for t in registry().values() if t.unseen == (side == "unseen") and w in ("all", t.domain)] for w in map(str, tasks[side])}
            tasks[side] = [t for w in tasks[side] for t in of_word[str(w)] or [w]]


def _explain(error: ValidationError, path: Path) -> str:
    lines = []
    for e in error.errors():
        key = ".".join(map(str, e["loc"])) or "params"
        got = "" if isinstance(e["input"], (dict, BaseModel)) else f" (got {e['input']!r})"
        lines.append(f"{path}: {key}: {e['msg'].removeprefix('Value error, ')}{got}")
    return "\n".join(lines)


def _check_tasks(params: Params, path: Path) -> None:
    for name in ("seen", "unseen"):
        for t in getattr(params.tasks, name):
            try:
                task(t)
            except UnknownTask as e:
                raise ParamsError(f"{path}: tasks.{name}: {e}") from None
    _check_behaviours(params.tasks.seen, "collect.shares", [b for b, share in params.collect.shares.items() if share > 0], params, path)
    if "switched" in params.targeted.test_behaviours:
        _check_behaviours(params.tasks.unseen, "targeted.test_behaviours", ["switched"], params, path)


def _check_behaviours(tasks: Iterable[str], key: str, wanted: list[str], params: Params, path: Path) -> None:
    """A task without an expert must be left something to show."""
    plain = [b for b in wanted if b not in spec.EXPERT_BEHAVIOURS]
    weights = params.collect.switched.weights
    for t in tasks:
        if task(t).expert is not None:
            continue
        if not plain:
            raise ParamsError(f"{path}: {key}: {t} has no expert, and all of {', '.join(wanted)} need one; leave the task out, or add noop or random")
        if "switched" in wanted and not any(weights.get(b) for b in set(weights) - set(spec.EXPERT_BEHAVIOURS)):
            raise ParamsError(f"{path}: collect.switched.weights: nothing but experts, and {t} has none; give noop or random a weight")
