"""Score and MPC tables as plain columns: checks, selection, pairing. A table is {column name: array of n rows}."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from veridream import spec

Columns = dict[str, np.ndarray]

ASR_IGNORED = 1.1  # "action ignored": action-shuffle ratio at or below this (Sec. 2.1)
MOVING = 1e-3  # mean squared change over the horizon, pixels in [0, 1]; below it a sequence is near-stationary
DIVERGED_DB = 0.0  # "scene divergent": rollout dPSNR at or below this
DERIVED: dict[str, Callable[[Columns], np.ndarray]] = {
    "1/m": lambda t: 1.0 / np.maximum(t["m"], spec.MOTION_FLOOR),  # the divisor of every normalised predictor, alone
    "-m": lambda t: -t["m"],
    "-frames_train": lambda t: -t["frames_train"].astype(float),
    "action_ignored": lambda t: (t["asr"] <= ASR_IGNORED).astype(float),
    "scene_divergent": lambda t: (t["dpsnr"] <= DIVERGED_DB).astype(float),
}


def column(t: Columns, name: str) -> np.ndarray:
    """A column of the table or one derived from it (1/m, -m, -frames_train, and the two failure labels as 0 or 1)."""
    return DERIVED[name](t) if name in DERIVED else t[name]


def as_columns(table: Mapping[str, Any], required: Iterable[str], name: str) -> Columns:
    """The scalar columns of a table as arrays of equal length; list columns (one value a step) become object arrays.

    Raises ValueError that names the table and the missing or uneven column.
    """
    missing = [c for c in required if c not in table]
    if missing:
        raise ValueError(f"{name}: column {', '.join(missing)} is missing; score it again with this version")
    out: Columns = {}
    for c, v in table.items():
        if c in spec.SCORE_STEP_COLUMNS:
            a = np.empty(len(v), dtype=object)
            a[:] = [np.asarray(x, dtype=float) for x in v]
        else:
            a = np.asarray(v)
        out[c] = a.astype(str) if a.dtype.kind in "OU" and c not in spec.SCORE_STEP_COLUMNS else a
    lengths = {c: len(v) for c, v in out.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name}: columns differ in length: {lengths}")
    return out


def by_model(tables: Iterable[tuple[str, Mapping[str, Any]]], required: Iterable[str]) -> dict[str, Columns]:
    """{model: its table}. Each table holds one model, named in its `model` column. Raises ValueError on a mix or a repeat."""
    out: dict[str, Columns] = {}
    for name, table in tables:
        cols = as_columns(table, required, name)
        models = np.unique(cols["model"])
        if len(models) != 1:
            raise ValueError(f"{name}: holds models {', '.join(map(str, models)) or 'of no row'}; one table holds exactly one model")
        if str(models[0]) in out:
            raise ValueError(f"{name}: model {models[0]} was given twice")
        out[str(models[0])] = cols
    return out


def take(cols: Columns, rows: np.ndarray) -> Columns:
    """Those rows (indices or mask) of every column."""
    return {c: v[rows] for c, v in cols.items()}


def where(cols: Columns, part: str) -> Columns:
    """Rows of "seen" tasks, "unseen" tasks, "all", the "moving" ones of seen tasks, or of one task id."""
    if part == "all":
        return cols
    if part == "moving":
        return take(cols, cols["seen"].astype(bool) & (cols["copy_mse"] >= MOVING))
    if part in ("seen", "unseen"):
        return take(cols, cols["seen"].astype(bool) == (part == "seen"))
    return take(cols, cols["task"] == part)


def pair(a: Columns, b: Columns, keys: tuple[str, ...] = ("store", "episode", "start")) -> tuple[Columns, Columns]:
    """The two tables in one order of sequence ids. Raises ValueError unless both hold exactly the same sequences, each once."""
    ids = [[tuple(str(t[k][i]) for k in keys) for i in range(len(t[keys[0]]))] for t in (a, b)]
    if len(set(ids[0])) != len(ids[0]) or sorted(ids[0]) != sorted(ids[1]):
        names = [str(t["model"][0]) if len(t["model"]) else "empty" for t in (a, b)]
        odd = sorted(set(ids[0]) ^ set(ids[1]))[:1]
        raise ValueError(
            f"models {names[0]} and {names[1]} were not scored on the same sequences{f' (first difference {odd[0]})' if odd else ''}; score both again"
        )
    order = [np.array(sorted(range(len(i)), key=i.__getitem__), dtype=int) for i in ids]
    return take(a, order[0]), take(b, order[1])
