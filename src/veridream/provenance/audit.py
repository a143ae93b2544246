"""The audit: from an artefact back to the first stores through the receipts, and whether every link still holds.

A link is one artefact and the job that made it. It holds when its bytes are those the receipt names, each input is what that input's
maker publishes, and the params and code the rules would use today are those it was made with.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from veridream.params.load import ParamsError
from veridream.provenance.digest import ROOT, code_modules, combined_digest, content_id, environment_digest, job_domains
from veridream.provenance.jobs import NoSuchJob, params_now
from veridream.provenance.receipts import id_path, read_receipt, receipt_paths, run_path

Receipt = dict[str, Any]


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


class Records:
    """The receipts of one scale, and what is wrong with each. Hashes are taken once.

    Args:
        scale: the folder under results/.
        root: the project's root; paths in receipts are relative to it.
        now: receipt path -> the params slice the rules pass today.
    """

    def __init__(self, scale: str, root: Path = ROOT, now: Callable[[str], dict[str, Any]] | None = None):
        self.scale, self.root = scale, root
        self.now = now or params_now(root / "params")
        self.receipts: dict[str, Receipt] = {}
        self.damaged: dict[str, str] = {}
        self.makers: dict[str, list[str]] = {}
        self._ids: dict[str, str | None] = {}
        self._modules: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
        for path in receipt_paths(root / "results" / scale / "receipts"):
            key = path.relative_to(root).as_posix()
            try:
                self.receipts[key] = read_receipt(path)
            except ValueError as e:
                self.damaged[key] = str(e).replace(str(path), key)
        for key, receipt in self.receipts.items():
            for artefact in receipt["outputs"]:
                self.makers.setdefault(artefact, []).append(key)

    def sha256(self, path: str) -> str | None:
        """Content id of what lies on disk now, recomputed; None when it is missing."""
        if path not in self._ids:
            there = (self.root / path).exists()
            self._ids[path] = content_id(self.root / path)["sha256"] if there else None
        return self._ids[path]

    def modules_changed(self, receipt: Receipt) -> tuple[str, ...]:
        """Modules of the stage's code whose meaning differs now: "src/...py", with "(new)" or "(gone)" where it applies."""
        now, then = self._code(receipt["stage"], job_domains(receipt["params"])), receipt["modules"]
        marks = {k: "" if k in now and k in then else " (new)" if k in now else " (gone)" for k in sorted({*now, *then})}
        return tuple(k + mark for k, mark in marks.items() if now.get(k) != then.get(k))

    def job_problems(self, key: str) -> list[str]:
        """Why a job's receipt does not hold, its outputs' bytes left aside."""
        receipt = self.receipts[key]
        return [*self._params_problems(key, receipt), *self._code_problems(receipt), *self._input_problems(receipt)]

    def output_problems(self, key: str, artefact: str) -> list[str]:
        """Why an output is not what its receipt says."""
        then, now = self.receipts[key]["outputs"][artefact]["sha256"], self.sha256(artefact)
        if now is None:
            return ["output is missing"]
        out = [] if now == then else [f"output bytes differ: receipt {then[:12]}, disk {now[:12]}"]
        side = id_path(self.root / artefact)
        if not side.is_file():
            out.append(f"{artefact}.id is missing")
        elif _published(side) != then:
            out.append(f"{artefact}.id does not name what the receipt names")
        rivals = [m for m in self.makers[artefact] if m != key]
        return out + [f"{m} claims the same output" for m in rivals]

    def failing(self) -> dict[str, list[str]]:
        """{receipt: problems} of every receipt that does not hold, damaged ones included. Reads every artefact."""
        out = {key: [why] for key, why in self.damaged.items()}
        for key, receipt in self.receipts.items():
            bytes_ = [f"{artefact}: {why}" for artefact in receipt["outputs"] for why in self.output_problems(key, artefact)]
            if problems := [*self.job_problems(key), *bytes_]:
                out[key] = problems
        return out

    def _code(self, stage: str, domains: tuple[str, ...]) -> dict[str, str]:
        key = (stage, domains)
        if key not in self._modules:
            script = f"src/{stage}.py"
            self._modules[key] = code_modules(script, self.root, domains) if (self.root / script).is_file() else {}
        return self._modules[key]

    def _params_problems(self, key: str, receipt: Receipt) -> list[str]:
        try:
            now = json.loads(json.dumps(self.now(key)))
        except (NoSuchJob, ParamsError) as e:
            return [f"params: {e}"]
        then, flat = _flat(receipt["params"]), _flat(now)
        changed = [f"{k} {_show(then, k)} -> {_show(flat, k)}" for k in sorted({*then, *flat}) if k not in then or k not in flat or then[k] != flat[k]]
        return [f"params differ from what the rules pass now: {', '.join(changed)}"] if changed else []

    def _code_problems(self, receipt: Receipt) -> list[str]:
        out = []
        if combined_digest(receipt["modules"], receipt["environment"]) != receipt["code"]:
            out.append("receipt damaged: its code digest is not that of its modules and environment")
        if changed := self.modules_changed(receipt):
            out.append(f"code changed: {', '.join(changed)}")
        lock = environment_digest(self.root / "requirements" / "lock.txt")
        if lock != receipt["environment"]:
            out.append(f"environment changed: requirements/lock.txt was {receipt['environment']}, is {lock}")
        return out

    def _input_problems(self, receipt: Receipt) -> list[str]:
        out = []
        for path, read in receipt["inputs"].items():
            makers = self.makers.get(path)
            if makers:
                published = self.receipts[makers[0]]["outputs"][path]["sha256"]
                if published != read["sha256"]:
                    out.append(f"input {path} differs from what its maker publishes: read {read['sha256'][:12]}, published {published[:12]}")
            elif not path.startswith("results/") and self.sha256(path) != read["sha256"]:
                now = self.sha256(path)
                out.append(f"input {path} is missing" if now is None else f"input {path} differs: read {read['sha256'][:12]}, disk {now[:12]}")
        return out


def audit(artefact: str | Path, root: Path = ROOT, now: Callable[[str], dict[str, Any]] | None = None) -> list[Link]:
    """The chain of an artefact, nearest first, each artefact once.

    Args:
        artefact: a path under results/<scale>/, absolute or relative to the root; a file inside an artefact, an id or a receipt will do.
        root, now: see Records.
    Raises:
        NotAnArtefact: outside results/, or nothing there and no receipt that names it.
    """
    wanted = _relative(artefact, root)
    records = Records(Path(wanted).parts[1], root, now)
    chain: list[Link] = []
    seen: set[str] = set()
    todo = [(p, 0) for p in reversed(_targets(wanted, records))]
    while todo:
        path, depth = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        chain.append(_link(path, depth, records))
        if path in records.makers:
            todo += [(p, depth + 1) for p in reversed(records.receipts[records.makers[path][0]]["inputs"])]
    return chain


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
    run = _run(records.root / key)
    problems = [*records.output_problems(key, path), *records.job_problems(key)]
    changed = records.modules_changed(r)
    sha = r["outputs"][path]["sha256"]
    return Link(path, depth, sha, r["stage"], key, r["params"], r["code"], r["environment"], changed, run.get("commit"), run.get("dirty"), tuple(problems))


def _run(receipt: Path) -> dict[str, Any]:
    """The run file's facts; none where it was left behind (a restored artefact) or is unreadable."""
    path = run_path(receipt)
    try:
        return dict(json.loads(path.read_text())) if path.is_file() else {}
    except ValueError:
        return {}


def _published(side: Path) -> str | None:
    """The sha256 an id file names; None when it is damaged."""
    try:
        named = json.loads(side.read_text())
    except ValueError:
        return None
    return named.get("sha256") if isinstance(named, dict) else None


def _relative(artefact: str | Path, root: Path) -> str:
    path = Path(artefact)
    full = path if path.is_absolute() else root / path
    full = full.parent.resolve() / full.name
    parts = full.relative_to(root.resolve()).parts if full.is_relative_to(root.resolve()) else ()
    if len(parts) < 3 or parts[0] != "results":
        raise NotAnArtefact(f"{artefact} is not an artefact of the workflow; give a path under results/<scale>/, such as results/laptop/claims/claims.csv")
    return "/".join(parts)


def _targets(wanted: str, records: Records) -> list[str]:
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


def _flat(value: Any, at: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return {k: v for key, x in value.items() for k, v in _flat(x, f"{at}.{key}" if at else str(key)).items()}
    return {at: value}


def _show(flat: dict[str, Any], key: str) -> str:
    return json.dumps(flat[key]) if key in flat else "(absent)"
