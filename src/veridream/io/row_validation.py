"""Do the rows of an episode store keep the conventions? Every problem names the array and the first bad row, and counts the others."""

from typing import Any

import numpy as np

from veridream.io.episode_store import EpisodeStore
from veridream.io.store_manifest import read_root_attributes


def different(name: str, have: np.ndarray | None, expected: np.ndarray, what: str) -> list[str]:
    """A problem when two arrays of one length disagree; NaN equals NaN."""
    if have is None or len(have) != len(expected):
        return []
    return _first(name, ~((have == expected) | (have != have) & (expected != expected)), lambda i: f"{have[i]} is not {what}, {expected[i]}")


def _first(name: str, bad: np.ndarray, says: Any) -> list[str]:
    """One problem that names the first bad row and counts the others."""
    rows = np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))
    if not len(rows):
        return []
    others = f" (and {len(rows) - 1} more rows)" if len(rows) > 1 else ""
    return [f"{name}: row {rows[0]}: {says(int(rows[0]))}{others}"]


def row_problems(store: EpisodeStore, v: dict[str, np.ndarray]) -> list[str]:
    """Row conventions and ranges, and what acted."""
    length = np.array([e["length"] for e in store.manifest["episodes"]], dtype=np.int64)
    n = store.frames
    first, last = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    if length.sum() != n or (length < 1).any():
        return []  # said already; rows cannot be told apart
    last[np.cumsum(length) - 1] = True
    first[np.cumsum(length) - length] = True
    out = []
    for name, expected, what in (("is_first", first, "the first row"), ("is_last", last, "the last row")):
        if name in v:
            out += _first(
                name, v[name] != expected, lambda i, e=expected, w=what: f"{not e[i]}, but it is {'' if e[i] else 'not '}{w} of an episode by episode/length"
            )
    if "is_terminal" in v:
        out += _first("is_terminal", v["is_terminal"] & ~last, lambda i: "set before the last row of its episode")
    if "reward" in v:
        r = v["reward"]
        out += _first("reward", np.isnan(r) & ~first, lambda i: "NaN, but it is no is_first row")
        out += _first("reward", ~np.isnan(r) & first, lambda i: f"{r[i]}, but an is_first row holds NaN (rows shifted?)")
        out += _first("reward", np.isinf(r), lambda i: f"{r[i]} is not finite")
    if "prev_action" in v:
        out += _actions(v["prev_action"], first, store.attrs.action_dim)
    if "state" in v:
        out += _first("state", ~np.isfinite(v["state"]), lambda i: f"not finite: {v['state'][i].tolist()}")
    if "acted" in v:
        out += _acted(store, v["acted"], length)
    return out


def _actions(a: np.ndarray, first: np.ndarray, action_dim: int) -> list[str]:
    nan = np.isnan(a)
    inner = ~first[:, None]
    out = _first("prev_action", nan & inner, lambda i: "NaN, but it is no is_first row (rows shifted?)")
    out += _first("prev_action", ~nan & ~inner, lambda i: "holds an action, but an is_first row holds NaN (rows shifted?)")
    out += _first("prev_action", inner & ~nan & ~(np.abs(a) <= 1.0), lambda i: f"outside [-1, 1]: {a[i, :action_dim].tolist()}")
    padding = np.zeros_like(nan)
    padding[:, action_dim:] = (a[:, action_dim:] != 0) & ~nan[:, action_dim:]
    return out + _first(
        "prev_action", padding & inner, lambda i: f"padding beyond the {action_dim} action dimensions is not zero: {a[i, action_dim:].tolist()}"
    )


def _acted(store: EpisodeStore, acted: np.ndarray, length: np.ndarray) -> list[str]:
    """Against the segments of each episode where behaviours are switched; constant elsewhere."""
    names = store.attrs.acted_names
    if store.attrs.behaviour != "switched":
        return different("acted", acted, np.zeros_like(acted), f"what a store of {store.attrs.behaviour} alone holds")
    drawn = read_root_attributes(store.path).get("behaviour_parameters")
    if not isinstance(drawn, list) or len(drawn) != len(length):
        return []  # said already
    out, expected = [], []
    for i, (one, n) in enumerate(zip(drawn, length.tolist(), strict=True)):
        try:
            codes = [names.index(s["behaviour"]) for s in one["segments"] for _ in range(s["steps"])]
        except (KeyError, TypeError, ValueError) as e:
            out.append(f"attribute behaviour_parameters: episode {i}: no list of segments, each with its behaviour and steps ({e!r})")
            continue
        if len(codes) != n - 1:
            out.append(f"attribute behaviour_parameters: episode {i}: its segments have {len(codes)} steps, its rows {n - 1}")
            continue
        expected += [*(codes[:1] or [0]), *codes]
    return out or different("acted", acted, np.array(expected, dtype=acted.dtype), f"what the episode's segments say (of {', '.join(names)})")
