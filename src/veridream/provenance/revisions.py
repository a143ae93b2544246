"""What changed between two revisions, read from the ledger that was committed with each: params, environment, metrics, artefacts and why."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veridream.params.load import raw_params
from veridream.provenance.anchor import anchor_path, metrics_path, parse_anchor, plan_path
from veridream.provenance.digest import ROOT, code_modules, job_domains
from veridream.provenance.explain import LOCK, Cause
from veridream.provenance.git import commit_of, file_at, folders_at
from veridream.provenance.jobs import split_receipt
from veridream.provenance.records import changes


class NoLedger(ValueError):
    """A revision holds no ledger of the scale, or a damaged one: the text says which."""


@dataclass(frozen=True)
class Change:
    """One artefact that differs. change: changed, added, removed."""

    artefact: str
    change: str
    receipt: str
    causes: tuple[Cause, ...]


@dataclass
class Difference:
    scale: str
    commits: tuple[str, str]
    params: list[str] = field(default_factory=list)
    environment: list[str] = field(default_factory=list)  # "-package==1", "+package==2"
    metrics: list[str] = field(default_factory=list)
    artefacts: list[Change] = field(default_factory=list)


@dataclass
class _Side:
    """One revision's ledger and the folder its code and params stand in."""

    commit: str
    folder: Path
    jobs: dict[str, Any]
    plan: dict[str, Any]
    metrics: dict[str, Any]
    lock: list[str]

    def outputs(self) -> dict[str, tuple[str, str]]:
        """{artefact: (sha256, receipt of its maker)}."""
        return {path: (sha, key) for key, job in self.jobs.items() for path, sha in job["outputs"].items()}

    def job(self, key: str) -> tuple[Any, dict[str, Any]] | None:
        """(code digest, params slice) of a job; None where this side has none."""
        _, stage, name = split_receipt(key)
        entry = self.plan.get(stage)
        if entry is None or entry["jobs"].get(name) is None:
            return None
        code = entry["code"]
        return code[name] if isinstance(code, dict) else code, {**entry["params"], **entry["jobs"][name]}

    def modules(self, key: str) -> dict[str, str]:
        """{module: digest} of a job's code at this revision."""
        script, job = f"src/{split_receipt(key)[1]}.py", self.job(key)
        domains = job_domains(job[1]) if job else ()
        return code_modules(script, self.folder, domains) if (self.folder / script).is_file() else {}


def compare(rev1: str, rev2: str, scale: str, root: Path = ROOT) -> Difference:
    """Raises NoSuchRevision, NoLedger."""
    with tempfile.TemporaryDirectory() as folder:
        a, b = (_side(commit_of(rev, root), rev, scale, Path(folder) / str(i), root) for i, rev in enumerate((rev1, rev2)))
        out = Difference(scale, (a.commit, b.commit))
        out.params = changes(raw_params(scale, a.folder / "params"), raw_params(scale, b.folder / "params"))
        out.environment = [f"-{x}" for x in a.lock if x not in b.lock] + [f"+{x}" for x in b.lock if x not in a.lock]
        out.metrics = changes(a.metrics, b.metrics)
        out.artefacts = _artefacts(a, b, bool(out.environment))
        return out


def _side(commit: str, rev: str, scale: str, folder: Path, root: Path) -> _Side:
    folder.mkdir()
    folders_at(commit, ("src", "params"), folder, root)

    def read(path: str, parse: Callable[[str], Any] = json.loads) -> dict[str, Any]:
        data = file_at(commit, path, root)
        if data is None:
            raise NoLedger(f"{rev} holds no {path}: it was never recorded there; `make record SCALE={scale}`, then commit dvc.yaml, dvc.lock and ledger/")
        try:
            return dict(parse(data.decode()))
        except ValueError as e:
            raise NoLedger(f"{path} at {rev} is damaged: {e}") from None

    lock = (file_at(commit, LOCK, root) or b"").decode().splitlines()
    return _Side(commit, folder, read(anchor_path(scale), parse_anchor)["jobs"], read(plan_path(scale)), read(metrics_path(scale)), lock)


def _artefacts(a: _Side, b: _Side, environment: bool) -> list[Change]:
    old, new = a.outputs(), b.outputs()
    differing = {p for p in {*old, *new} if p not in old or p not in new or old[p][0] != new[p][0]}
    modules: dict[tuple[Any, Any], list[str]] = {}
    out = []
    for path in sorted(differing):
        key = new[path][1] if path in new else old[path][1]
        if path not in old or path not in new:
            word = "added" if path in new else "removed"
            other = key in (a if word == "added" else b).jobs
            out.append(Change(path, word, key, (Cause("job", f"{key} stands on both sides" if other else "its job stands on this side alone"),)))
            continue
        then, now, causes = a.job(key), b.job(key), []
        if then and now:
            causes += [Cause("params", text) for text in changes(then[1], now[1])]
            if then[0] != now[0]:
                pair = (then[0], now[0])
                if pair not in modules:
                    modules[pair] = _modules_changed(a.modules(key), b.modules(key))
                causes += [Cause("code", f"{name} changed") for name in modules[pair]]
                causes += [Cause("environment", f"{LOCK} changed")] if environment else []
        causes += [Cause("input", p) for p in b.jobs[key]["inputs"] if p in differing]
        out.append(Change(path, "changed", key, tuple(causes) or (Cause("bytes", "the same params, code and inputs gave other bytes"),)))
    return out


def _modules_changed(then: dict[str, str], now: dict[str, str]) -> list[str]:
    return sorted(k for k in {*then, *now} if then.get(k) != now.get(k))


def as_json(d: Difference) -> dict[str, Any]:
    artefacts = [
        {"artefact": c.artefact, "change": c.change, "receipt": c.receipt, "causes": [{"kind": x.kind, "text": x.text} for x in c.causes]} for c in d.artefacts
    ]
    return {"scale": d.scale, "commits": list(d.commits), "params": d.params, "environment": d.environment, "metrics": d.metrics, "artefacts": artefacts}


def as_text(d: Difference) -> str:
    """Sections; artefacts that changed for the same reasons stand together, those that only followed their inputs last."""
    lines = [f"scale {d.scale}, {d.commits[0][:10]} -> {d.commits[1][:10]}"]
    for title, rows in (("params", d.params), ("environment", d.environment), ("metrics", d.metrics)):
        lines += [f"{title}: {len(rows)} changed" if rows else f"{title}: the same", *(f"  {row}" for row in rows)]
    lines.append(f"artefacts: {len(d.artefacts)} differ" if d.artefacts else "artefacts: the same")
    groups: dict[tuple[str, ...], list[Change]] = {}
    for c in d.artefacts:
        own = tuple(f"{x.kind}: {x.text}" for x in c.causes if x.kind != "input")
        groups.setdefault((c.change, *(own or ("only its inputs",))), []).append(c)
    for (word, *reasons), members in sorted(groups.items(), key=lambda item: item[0][1:] == ("only its inputs",)):
        lines += [f"  {word} by {'; '.join(reasons)}:", *(f"    {c.artefact}" for c in members)]
    return "\n".join(lines)
