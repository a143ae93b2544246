"""The audit: from an artefact back to the first stores through the receipts, and whether every link still holds.

A link is one artefact and the job that made it. It holds when its bytes are those the receipt names, each input is what that input's
maker publishes under the receipt that the job saw, and the params and code the rules would use today are those it was made with.
`audit_all` asks the same of everything under a scale at once, and whether the committed ledger is whole. The jobs it names are those that
Snakemake plans for a reason of their own.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from veridream.params.load import ParamsError, load_params
from veridream.provenance.digest import ROOT
from veridream.provenance.jobs import receipts_of
from veridream.provenance.ledger_audit import LedgerState, audit_ledger
from veridream.provenance.receipts import run_facts, run_path
from veridream.provenance.records import Records


class NotAnArtefact(ValueError):
    """Nothing of that name belongs to the workflow: the text says what does."""


@dataclass(frozen=True)
class Link:
    """One artefact of a chain. `stage` is None for what no job makes: a file of the repository, or an orphan under results/."""

    artefact: str
    depth: int
    sha256: str | None
    stage: str | None
    receipt: str | None
    params: dict[str, Any]
    code: str | None
    environment: str | None
    modules_changed: tuple[str, ...]
    commit: str | None
    dirty: bool | None
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


@dataclass
class Whole:
    """The state of everything under one scale."""

    scale: str
    jobs: int
    artefacts: int
    files_read: int  # whose bytes were read; the others were known by size, times and inode
    files_known: int
    broken: dict[str, list[str]] = field(default_factory=dict)  # receipt, or artefact without one -> why
    unmade: list[str] = field(default_factory=list)  # receipts of jobs that the rules have and that never ran here
    leftover: list[str] = field(default_factory=list)  # receipts of jobs that the rules no longer have: nothing needs them, `make gc` removes them
    ledger: LedgerState = field(default_factory=LedgerState)

    @property
    def holds(self) -> bool:
        return not self.broken and self.ledger.holds

    @property
    def out_of_date(self) -> list[str]:
        """Receipts of the jobs that must run, what stands below them left aside."""
        return sorted({*self.unmade, *(k for k in self.broken if k.startswith(f"results/{self.scale}/receipts/"))})


def audit(artefact: str | Path, root: Path = ROOT, now: Callable[[str], dict[str, Any]] | None = None, deep: bool = False) -> list[Link]:
    """The chain of an artefact, nearest first, each artefact once.

    Args:
        artefact: a path under results/<scale>/, absolute or relative to the root; a file inside an artefact, an id or a receipt will do.
        root, now, deep: see Records.
    Raises:
        NotAnArtefact: outside results/, or nothing there and no receipt that names it.
    """
    wanted = relative_artefact(artefact, root)
    records = Records(Path(wanted).parts[1], root, now, deep)
    chain = walk(wanted, records)
    records.cache.save()
    return chain


def walk(wanted: str, records: Records) -> list[Link]:
    """The chain of what a path relative to the root stands for. Raises NotAnArtefact."""
    chain: list[Link] = []
    seen: set[str] = set()
    todo = [(p, 0) for p in reversed(artefacts_of(wanted, records))]
    while todo:
        path, depth = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        chain.append(_link(path, depth, records))
        if path in records.makers:
            todo += [(p, depth + 1) for p in reversed(records.receipts[records.makers[path][0]]["inputs"])]
    return chain


def audit_all(scale: str, root: Path = ROOT, now: Callable[[str], dict[str, Any]] | None = None, deep: bool = False) -> Whole:
    """Every receipt and artefact of a scale, and its ledger. Raises NotAnArtefact where the scale has no receipts."""
    records = Records(scale, root, now, deep)
    if not records.receipts and not records.damaged:
        raise NotAnArtefact(f"results/{scale} holds no receipts; run the workflow, or `make restore SCALE={scale}`")
    wanted = _wanted(records) if now is None else {*records.receipts, *records.damaged}
    leftover = sorted({*records.receipts, *records.damaged} - wanted)
    broken = {key: why for key, why in records.failing().items() if key in wanted}
    absent = sorted(wanted - {*records.receipts, *records.damaged})
    lost = [key for key in absent if run_path(root / key).exists()]
    broken |= {key: ["its receipt is missing, and the job has run here before; the next run makes it again"] for key in lost}
    for key in sorted(wanted & set(records.receipts)):
        for path in (p for p in records.receipts[key]["inputs"] if p.startswith("results/")):
            makers = records.makers.get(path, [])
            if not makers:
                broken.setdefault(path, [f"receipt missing: no receipt says how this was made, and {key} read it"])
            elif not wanted.intersection(makers):
                broken.setdefault(key, []).append(f"input {path} is of a job that the rules no longer have")
    n = sum(len(r["outputs"]) for r in records.receipts.values())
    jobs, unmade = len(records.receipts) + len(records.damaged), [key for key in absent if key not in lost]
    return Whole(scale, jobs, n, records.cache.read, records.cache.trusted, broken, unmade, leftover, audit_ledger(records))


def _wanted(records: Records) -> set[str]:
    """The receipts of every job of the rules; those that are there where the params cannot be read (each of them then says why)."""
    try:
        return set(receipts_of(load_params(records.scale, root=records.root / "params"), records.scale))
    except ParamsError:
        return {*records.receipts, *records.damaged}


def as_json(chain: list[Link]) -> dict[str, Any]:
    return {"holds": all(link.holds for link in chain), "links": [{**asdict(link), "holds": link.holds} for link in chain]}


def as_text(chain: list[Link]) -> str:
    """One paragraph a link, indented by its distance from the artefact asked for; the verdict last."""
    lines: list[str] = []
    for link in chain:
        pad = "  " * link.depth
        lines.append(f"{pad}{link.artefact}  {'HOLDS' if link.holds else 'BROKEN'}")
        about = [f"sha256 {link.sha256[:12] if link.sha256 else '-'}", link.stage or "a source: no job makes it"]
        if link.stage:
            commit = f"commit {link.commit[:10]}{' + local changes' if link.dirty else ''}" if link.commit else "commit unknown"
            about += [f"code {link.code}", f"environment {link.environment}", commit]
        lines.append(f"{pad}  {' · '.join(about)}")
        if link.params:
            lines.append(f"{pad}  params {json.dumps(link.params, sort_keys=True)}")
        lines += [f"{pad}  ! {problem}" for problem in link.problems]
    broken = [link.artefact for link in chain if not link.holds]
    verdict = f"BROKEN: {len(broken)} of {len(chain)} links: {', '.join(broken)}" if broken else f"HOLDS: all {len(chain)} links"
    return "\n".join([*lines, "", verdict])


def whole_as_json(whole: Whole) -> dict[str, Any]:
    return {**asdict(whole), "holds": whole.holds, "out_of_date": whole.out_of_date}


def whole_as_text(whole: Whole) -> str:
    """What is broken, a line each; the ledger; the verdict last."""
    lines = [f"{key}  BROKEN\n" + "\n".join(f"  ! {why}" for why in whys) for key, whys in whole.broken.items()]
    lines += [f"ledger  BROKEN\n  ! {why}" for why in whole.ledger.problems]
    lines += [f"note: {text}" for text in (*_aside(whole), *whole.ledger.notes[:10])]
    if len(whole.ledger.notes) > 10:
        lines.append(f"note: and {len(whole.ledger.notes) - 10} more")
    bytes_ = f"{whole.files_read} files read, {whole.files_known} known by size, times and inode (--deep reads all)"
    counts = f"{whole.jobs} jobs, {whole.artefacts} artefacts of scale {whole.scale}; {bytes_}"
    n = len(whole.broken) + len(whole.ledger.problems)
    return "\n".join([*lines, f"HOLDS: {counts}" if whole.holds else f"BROKEN: {n} of {counts}"])


def _aside(whole: Whole) -> list[str]:
    """What is neither right nor wrong: jobs not made yet, and what jobs left that the rules no longer have."""
    unmade, left = whole.unmade, whole.leftover
    out = [f"{len(unmade)} jobs never ran here, {unmade[0]} the first; `make reproduce SCALE={whole.scale}` runs them"] if unmade else []
    return out + ([f"{len(left)} receipts are of jobs that the rules no longer have, {left[0]} the first; `make gc SCALE={whole.scale}`"] if left else [])


def _link(path: str, depth: int, records: Records) -> Link:
    if path not in records.makers:
        problems = []
        if path.startswith("results/"):
            damaged = f"; {'; '.join(records.damaged.values())}" if records.damaged else ""
            problems = [f"receipt missing: no receipt says how this was made{damaged}"]
        elif records.sha256(path) is None:
            problems = ["missing"]
        return Link(path, depth, records.sha256(path), None, None, {}, None, None, (), None, None, tuple(problems))
    key = records.makers[path][0]
    r = records.receipts[key]
    run = run_facts(records.root / key)
    problems = [*records.output_problems(key, path), *records.job_problems(key)]
    changed = records.modules_changed(r)
    sha = r["outputs"][path]["sha256"]
    return Link(path, depth, sha, r["stage"], key, r["params"], r["code"], r["environment"], changed, run.get("commit"), run.get("dirty"), tuple(problems))


def relative_artefact(artefact: str | Path, root: Path = ROOT) -> str:
    """The path relative to the root. Raises NotAnArtefact where it does not lie under results/<scale>/."""
    path = Path(artefact)
    full = path if path.is_absolute() else root / path
    full = full.parent.resolve() / full.name
    parts = full.relative_to(root.resolve()).parts if full.is_relative_to(root.resolve()) else ()
    if len(parts) < 3 or parts[0] != "results":
        raise NotAnArtefact(f"{artefact} is not an artefact of the workflow; give a path under results/<scale>/, such as results/laptop/claims/claims.csv")
    return "/".join(parts)


def artefacts_of(wanted: str, records: Records) -> list[str]:
    """The artefacts a path stands for: itself, the one that contains it, the one its .id belongs to, or all outputs of its receipt."""
    if wanted in records.receipts:
        return list(records.receipts[wanted]["outputs"])
    plain = wanted.removesuffix(".id")
    for path in (plain, *(p.as_posix() for p in Path(plain).parents)):
        if path in records.makers:
            return [path]
    if not (records.root / plain).exists():
        raise NotAnArtefact(f"{wanted} does not exist, and no receipt under results/{records.scale}/receipts names it; run the workflow to make it")
    return [plain]
