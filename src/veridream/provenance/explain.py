"""Why an artefact would be made again: which params key, module, line of the environment or input changed, with the difference."""

import difflib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from veridream.params.load import ParamsError
from veridream.provenance.audit import artefacts_of, relative_artefact
from veridream.provenance.digest import ROOT, lock_digest, module_digest
from veridream.provenance.git import find_version
from veridream.provenance.jobs import NoSuchJob
from veridream.provenance.receipts import run_facts
from veridream.provenance.records import Records

LOCK = "requirements/lock.txt"


@dataclass(frozen=True)
class Cause:
    """One reason. kind: params, code, environment, input, history, bytes, job (the rules have none) or receipt (there is none)."""

    kind: str
    text: str
    diff: str = ""


@dataclass
class Explanation:
    artefact: str
    receipt: str | None
    stage: str | None
    own: list[Cause] = field(default_factory=list)
    above: dict[str, list[Cause]] = field(default_factory=dict)  # receipt of a job upstream -> its reasons, the nearest first

    @property
    def runs(self) -> bool:
        """Whether its own job is out of date, whatever the jobs above it give."""
        return bool(self.own)


def explain(artefact: str | Path, root: Path = ROOT, now: Callable[[str], dict[str, Any]] | None = None, deep: bool = False) -> list[Explanation]:
    """For each artefact the path stands for (see audit): the reasons of its own job, and those of every job above it. Raises NotAnArtefact."""
    wanted = relative_artefact(artefact, root)
    records = Records(Path(wanted).parts[1], root, now, deep)
    found = _Finder(records)
    out = []
    for path in artefacts_of(wanted, records):
        if path not in records.makers:
            damaged = "; ".join(records.damaged.values())
            out.append(Explanation(path, None, None, [Cause("receipt", f"no receipt says how it was made{f' ({damaged})' if damaged else ''}")]))
            continue
        key = records.makers[path][0]
        one = Explanation(path, key, records.receipts[key]["stage"], found.causes(key))
        one.above = {k: causes for k in _upstream(key, records) if (causes := found.causes(k))}
        out.append(one)
    records.cache.save()
    return out


class _Finder:
    def __init__(self, records: Records):
        self.records, self.root = records, records.root
        self._causes: dict[str, list[Cause]] = {}
        self._diffs: dict[tuple[str, str], str] = {}

    def causes(self, key: str) -> list[Cause]:
        """The reasons of one job, its upstream left aside."""
        if key not in self._causes:
            self._causes[key] = self._find(key)
        return self._causes[key]

    def _find(self, key: str) -> list[Cause]:
        records, receipt = self.records, self.records.receipts[key]
        out = []
        try:
            out += [Cause("params", change) for change in records.params_changes(key)]
        except (NoSuchJob, ParamsError) as e:
            out.append(Cause("job", str(e)))
        commit = run_facts(self.root / key).get("commit")
        for name in records.modules_changed(receipt):
            path, _, mark = name.partition(" ")
            text = f"{path} {'was not there' if mark == '(new)' else 'is gone or no longer imported' if mark else 'changed'}"
            out.append(Cause("code", text, "" if mark else self._code_diff(path, receipt["modules"][path], commit)))
        if records.environment_problems(receipt):
            out.append(Cause("environment", f"{LOCK} changed", self._lock_diff(receipt["environment"], commit)))
        out += [Cause("input", why) for why in records.input_problems(receipt)]
        out += [Cause("history", why) for why in records.history_problems(key)]
        for artefact in receipt["outputs"]:
            out += [Cause("bytes", f"{artefact}: {why}") for why in records.output_problems(key, artefact)]
        return out

    def _code_diff(self, path: str, digest: str, commit: str | None) -> str:
        if (path, digest) not in self._diffs:
            found = find_version(path, lambda source: _digest_or_none(source, path) == digest, self.root, [commit])
            self._diffs[path, digest] = self._diff(path, found)
        return self._diffs[path, digest]

    def _lock_diff(self, digest: str, commit: str | None) -> str:
        if (LOCK, digest) not in self._diffs:
            found = find_version(LOCK, lambda text: lock_digest(text) == digest, self.root, [commit])
            self._diffs[LOCK, digest] = self._diff(LOCK, found, context=0)
        return self._diffs[LOCK, digest]

    def _diff(self, path: str, found: tuple[str, bytes] | None, context: int = 2) -> str:
        if found is None:
            return "git does not hold the version it was made with"
        old, new = found[1].decode(errors="replace"), (self.root / path).read_text(errors="replace")
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"{path} at {found[0][:10]}", f"{path} now", n=context, lineterm="")
        return "\n".join(lines)


def as_json(found: list[Explanation]) -> list[dict[str, Any]]:
    return [{**asdict(e), "runs": e.runs} for e in found]


def as_text(found: list[Explanation]) -> str:
    """A paragraph an artefact; equal reasons of several jobs stand once, with the jobs they hold for."""
    return "\n\n".join(_paragraph(e) for e in found)


def _paragraph(e: Explanation) -> str:
    made = f" ({e.stage})" if e.stage else ""
    if not e.own and not e.above:
        return f"{e.artefact}{made} is up to date: nothing in it or above it has changed"
    head = "would be made again" if e.own else "would be made again if the jobs above it give other bytes"
    lines = [f"{e.artefact}{made} {head}"]
    if e.own:
        lines += ["its own job:", *(line for cause in e.own for line in _lines(cause))]
    grouped: dict[Cause, list[str]] = {}
    for key, causes in e.above.items():
        for cause in causes:
            grouped.setdefault(cause, []).append(key)
    for cause, keys in grouped.items():
        jobs = ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")
        lines += [f"above it, {jobs}:", *_lines(cause)]
    if any(cause.kind in ("bytes", "history", "receipt") for causes in [e.own, *e.above.values()] for cause in causes):
        lines.append("Snakemake does not look at bytes and history: delete what is named here, then run the workflow")
    return "\n".join(lines)


def _lines(cause: Cause) -> list[str]:
    return [f"  {cause.kind:11} {cause.text}", *(f"      {line}" for line in cause.diff.splitlines())]


def _upstream(key: str, records: Records) -> list[str]:
    """Jobs above, the nearest first."""
    out: dict[str, None] = {}
    todo = [key]
    while todo:
        above = [records.makers[p][0] for k in todo for p in records.receipts[k]["inputs"] if p in records.makers]
        todo = [k for k in dict.fromkeys(above) if k not in out and k != key]
        out.update(dict.fromkeys(todo))
    return list(out)


def _digest_or_none(source: bytes, where: str) -> str | None:
    try:
        return module_digest(source, where)
    except (ValueError, SyntaxError):
        return None
