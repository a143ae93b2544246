"""The index of every episode: where it lies, which split it is in. One row an episode, stored as parquet.

Split: corpus episodes by a hash of (salt, store, episode), so an episode never changes sides when others are added, and all base models are
scored on the same ones; targeted stores are training data, test stores are held out.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from veridream import spec
from veridream.io.store_manifest import StoreAttrs, StoreError, read_attrs, read_manifest, store_id
from veridream.io.tables import read_parquet, write_parquet
from veridream.params.split import split_of, wanted_sides
from veridream.params.tasks import task as task_of


@dataclass(frozen=True)
class Index:
    """Parallel arrays, one entry an episode."""

    store: np.ndarray  # store id, "<role>/<task>/<behaviour>-s<seed>"
    task: np.ndarray
    domain: np.ndarray
    role: np.ndarray  # corpus | targeted | test
    behaviour: np.ndarray
    episode: np.ndarray  # int64, number within its store
    offset: np.ndarray  # int64, its first row in the store
    length: np.ndarray  # int64, rows (agent steps + 1)
    split: np.ndarray  # train | heldout | tune | spare
    seen: np.ndarray  # bool, is the task one of the pretraining tasks

    def __len__(self) -> int:
        return len(self.store)

    def select(self, **wanted: Any) -> "Index":
        """Episodes whose columns equal the given values; a list, tuple or set means any of them. Order is kept; may be empty.

        Example: `index.select(role="corpus", split="train", task=["cup-catch", "mw-push"])`.
        """
        keep = np.ones(len(self), dtype=bool)
        for name, value in wanted.items():
            if name not in COLUMNS:
                raise ValueError(f"no column {name!r} in the index; it has {', '.join(COLUMNS)}")
            values = list(value) if isinstance(value, (list, tuple, set, frozenset, np.ndarray)) else [value]
            column = getattr(self, name)
            keep &= np.logical_or.reduce([column == v for v in values]) if values else False
        return self.take(np.flatnonzero(keep))

    def take(self, rows: np.ndarray) -> "Index":
        """The episodes at these positions."""
        return Index(**{n: getattr(self, n)[rows] for n in COLUMNS})

    def tasks(self) -> list[str]:
        """Distinct tasks, sorted."""
        return sorted(set(self.task.tolist()))

    def frames(self) -> int:
        return int(self.length.sum())


COLUMNS = tuple(f.name for f in fields(Index))
_KINDS = {"episode": np.int64, "offset": np.int64, "length": np.int64, "seen": np.bool_}


def load_index(*paths: str | Path) -> Index:
    """Reads one index, or several as one. Raises FileNotFoundError or ValueError naming the file and the missing column."""
    parts = [read_parquet(p, COLUMNS) for p in paths]
    whole = {n: np.concatenate([np.asarray(part[n]) for part in parts]) for n in COLUMNS}
    return Index(**{n: whole[n].astype(_KINDS[n]) if n in _KINDS else whole[n] for n in COLUMNS})


def save_index(path: str | Path, index: Index) -> None:
    write_parquet(path, {n: getattr(index, n) for n in COLUMNS})


def build_index(
    stores: Sequence[str | Path],
    salt: str,
    heldout: float,
    seen: Sequence[str],
    unseen: Sequence[str],
    tune: float = 0.0,
    episodes: Mapping[str, Mapping[str, int]] | None = None,
) -> Index:
    """The index of these stores, in the order of their ids.

    Args:
        heldout, tune: shares of the corpus on these sides.
        episodes: {task: {behaviour: n}}: training episodes of the corpus beyond the first n of their store are `spare`; none given: none is.

    Raises:
        StoreError: a store cannot be read, two have one id, its path contradicts its attributes, or stores of one domain were made
            with different simulators, renderers or render settings.
        ValueError: a task that is neither seen nor unseen, or that lacks a train or held-out episode (which none needs when `heldout` is 0).
    """
    first = episodes or {}
    known = dict.fromkeys(seen, True) | dict.fromkeys(unseen, False)
    rows: list[dict[str, Any]] = []
    attrs: dict[str, StoreAttrs] = {}
    for path in sorted(stores, key=store_id):
        sid = store_id(path)
        if sid in attrs:
            raise StoreError(f"{path}: the store id {sid} stands twice; give each store once")
        attrs[sid] = a = _attrs(path, sid)
        if a.task not in known:
            raise ValueError(f"{path}: task {a.task} is neither in tasks.seen nor in tasks.unseen; add it or leave the store out")
        offset = 0
        for i, e in enumerate(read_manifest(path)["episodes"]):
            side = split_of(a.role, salt, sid, i, heldout, tune)
            if side == "train" and a.role == "corpus" and i >= first.get(a.task, {}).get(a.behaviour, i + 1):
                side = "spare"
            where = {
                "store": sid,
                "task": a.task,
                "domain": a.domain,
                "role": a.role,
                "behaviour": a.behaviour,
                "episode": i,
                "offset": offset,
                "length": e["length"],
            }
            rows.append({**where, "split": side, "seen": known[a.task]})
            offset += e["length"]
    _same_simulators(attrs)
    index = Index(**{n: np.array([r[n] for r in rows], dtype=_KINDS.get(n, object)) for n in COLUMNS})
    _both_sides(index, heldout, tune, seen, unseen)
    return index


def _attrs(path: str | Path, sid: str) -> StoreAttrs:
    a = read_attrs(path)
    says = f"{a.role}/{a.task}/{a.behaviour}-s{a.seed}"
    if says != sid:
        raise StoreError(f"{path}: its attributes say {says}, its path says {sid}; move it back or collect it again")
    return a


def _same_simulators(attrs: Mapping[str, StoreAttrs]) -> None:
    """Trajectories and frames do not carry over between versions, so mixing them in one corpus is refused."""
    first: dict[tuple[str, str], tuple[str, Any]] = {}
    for sid, a in attrs.items():
        facts = {
            "versions": (a.domain, a.versions),
            "renderer": (a.task, a.renderer),
            "size": ("", a.size),
            "quality": ("", a.quality),
            "frame_skip": ("", a.frame_skip),
        }
        for name, (scope, value) in facts.items():
            other, seen_value = first.setdefault((name, scope), (sid, value))
            if value != seen_value:
                raise StoreError(f"{sid} was made with {name} {value}, {other} with {seen_value}; one corpus has one {name}: collect one of them again")


def _both_sides(index: Index, heldout: float, tune: float, seen: Sequence[str], unseen: Sequence[str]) -> None:
    sides = [("corpus", side) for side in wanted_sides(heldout, tune)]
    for tasks, needed, remedy in (
        (seen, sides, "collect more episodes of it (collect.counts), or change the shares of split, or split.salt"),
        (unseen, (("test", "heldout"),), "collect test episodes of it (targeted.test_episodes; test_behaviours that it can show)"),
    ):
        for t in tasks:
            for role, side in needed:
                if not len(index.select(task=t, role=role, split=side)):
                    have = len(index.select(task=t, role=role))
                    raise ValueError(f"task {t} has no {side} episode among its {have} {role} episodes; {remedy}")


def frame_counts(index: Index) -> list[dict[str, Any]]:
    """Rows {task, domain, seen, role, episodes, frames, train_*, heldout_*, skipped}, by task and role (the data of Fig. 3)."""
    out = []
    for t in index.tasks():
        for role in spec.ROLES:
            part = index.select(task=t, role=role)
            if not len(part):
                continue
            row: dict[str, Any] = {
                "task": t,
                "domain": part.domain[0],
                "seen": bool(part.seen[0]),
                "role": role,
                "episodes": len(part),
                "frames": part.frames(),
            }
            for side in spec.SPLITS:
                one = part.select(split=side)
                row |= {f"{side}_episodes": len(one), f"{side}_frames": one.frames()}
            out.append(row | {"skipped": ""})
    return out


def skipped_counts(gone: Mapping[str, str], role: str) -> list[dict[str, Any]]:
    """Rows like those of `frame_counts` for tasks that were asked for and left out: no episodes, and why. gone: task -> why."""
    none = dict.fromkeys(("episodes", "frames", *(f"{side}_{what}" for side in spec.SPLITS for what in ("episodes", "frames"))), 0)
    known = {"seen": role == "corpus", "role": role}
    return [{"task": t, "domain": task_of(t).domain, **known, **none, "skipped": why} for t, why in sorted(gone.items())]


def write_counts(path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """The frame counts as CSV, one row a task and role; `seen` is true or false."""
    with Path(path).open("w", newline="") as f:
        out = csv.DictWriter(f, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows({**r, "seen": str(r["seen"]).lower()} for r in rows)


def check_verdicts(contents: Mapping[Path, str], verdicts: Sequence[Path]) -> None:
    """Every store (path -> its recorded sha256) needs a verdict that calls exactly that content valid. Raises StoreError naming both."""
    by_store: dict[str, tuple[Path, dict[str, Any]]] = {}
    for v in verdicts:
        try:
            one = json.loads(v.read_text())
            by_store[one["store"]] = v, one
        except (ValueError, KeyError, TypeError) as e:
            raise StoreError(f"{v}: damaged verdict ({e!r}); delete it and run the workflow again") from None
    for path, content in contents.items():
        if store_id(path) not in by_store:
            raise StoreError(f"{path}: no verdict was given for {store_id(path)}; run validate_store on it")
        v, one = by_store.pop(store_id(path))
        if one.get("valid") is not True:
            raise StoreError(f"{v}: does not call {path} valid; collect the store again")
        if one.get("content") != content:
            raise StoreError(f"{v}: is about another content of {path} ({one.get('content')}, now {content}); run validate_store again")
    if by_store:
        raise StoreError(f"{next(iter(by_store.values()))[0]}: verdict on {next(iter(by_store))}, which was not given as a store; pass both or neither")
