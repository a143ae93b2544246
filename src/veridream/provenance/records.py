"""The receipts of one scale as they stand, and why each does or does not hold."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from veridream.params.load import ParamsError
from veridream.provenance.anchor import anchored_seals
from veridream.provenance.content_cache import ContentCache
from veridream.provenance.digest import ROOT, code_modules, combined_digest, environment_digest, job_domains, tree_id, tree_sha256
from veridream.provenance.jobs import NoSuchJob, params_now
from veridream.provenance.receipts import as_written, id_path, read_receipt, receipt_paths, succession

Receipt = dict[str, Any]
CACHE = ".content-ids.json"


class Records:
    """The receipts of one scale, and what is wrong with each. Every file is hashed once.

    Args:
        scale: the folder under results/.
        root: the project's root; paths in receipts are relative to it.
        now: receipt path -> the params slice the rules pass today.
        deep: read every byte, whatever an earlier audit remembers.
    """

    def __init__(self, scale: str, root: Path = ROOT, now: Callable[[str], dict[str, Any]] | None = None, deep: bool = False):
        self.scale, self.root = scale, root
        self.now = now or params_now(root / "params")
        self.cache = ContentCache(root / "results" / scale / CACHE, deep)
        self.receipts: dict[str, Receipt] = {}
        self.damaged: dict[str, str] = {}
        self.makers: dict[str, list[str]] = {}
        self.anchored = anchored_seals(scale, root)
        self._found: dict[str, tuple[str, Mapping[str, str]] | None] = {}
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
        for artefact, makers in self.makers.items():
            if len(makers) > 1:  # the one its id names comes first
                named = _text(id_path(root / artefact)) or ""
                first = [m for m in makers if f'"{m}"' in named]
                self.makers[artefact] = first + [m for m in makers if m not in first]

    def sha256(self, path: str) -> str | None:
        """Content id of what lies on disk now; None when it is missing."""
        found = self._content(path)
        return None if found is None else found[0]

    def vouched(self, key: str) -> bool | None:
        """Whether this receipt is one that its job wrote, by its run file here or by the committed ledger; None where neither knows the job."""
        known = {*succession(self.root / key), *((self.anchored[key],) if key in self.anchored else ())}
        return self.receipts[key]["seal"] in known if known else None

    def modules_changed(self, receipt: Receipt) -> tuple[str, ...]:
        """Modules of the stage's code whose meaning differs now: "src/...py", with "(new)" or "(gone)" where it applies."""
        now, then = self._code(receipt["stage"], job_domains(receipt["params"])), receipt["modules"]
        marks = {k: "" if k in now and k in then else " (new)" if k in now else " (gone)" for k in sorted({*now, *then})}
        return tuple(k + mark for k, mark in marks.items() if now.get(k) != then.get(k))

    def job_problems(self, key: str) -> list[str]:
        """Why a job's receipt does not hold, its outputs' bytes left aside."""
        receipt = self.receipts[key]
        parts = (self.params_problems(key), self.code_problems(receipt), self.environment_problems(receipt))
        return [p for part in (*parts, self.input_problems(receipt), self.history_problems(key)) for p in part]

    def output_problems(self, key: str, artefact: str) -> list[str]:
        """Why an output is not what its receipt says; of a folder, which of its files."""
        receipt = self.receipts[key]
        then, found = receipt["outputs"][artefact]["sha256"], self._content(artefact)
        if found is not None and found[0] != then:
            self.cache.forget(self.root / artefact)  # never accuse on the word of a cache
            del self._found[artefact]
            found = self._content(artefact)
        if found is None:
            return ["output is missing"]
        out = []
        if found[0] != then:
            out.append(f"output bytes differ: receipt {then[:12]}, disk {found[0][:12]}{_which(receipt['trees'].get(artefact), found[1])}")
        side = id_path(self.root / artefact)
        if not side.is_file():
            out.append(f"{artefact}.id is missing")
        elif _text(side) != as_written({**receipt["outputs"][artefact], "receipt": key}):
            out.append(f"{artefact}.id does not name what the receipt names")
        rivals = [m for m in self.makers[artefact] if m != key]
        return out + [f"{m} claims the same output" for m in rivals]

    def failing(self) -> dict[str, list[str]]:
        """{receipt: problems} of every receipt that does not hold, damaged ones included. Looks at every artefact."""
        out = {key: [why] for key, why in self.damaged.items()}
        for key, receipt in self.receipts.items():
            bytes_ = [f"{artefact}: {why}" for artefact in receipt["outputs"] for why in self.output_problems(key, artefact)]
            if problems := [*self.job_problems(key), *bytes_]:
                out[key] = problems
        self.cache.save()
        return out

    def params_changes(self, key: str) -> list[str]:
        """Keys of the job's slice that the rules pass otherwise now, "score.sequences 6 -> 5". Raises NoSuchJob, ParamsError."""
        return changes(self.receipts[key]["params"], json.loads(json.dumps(self.now(key))))

    def params_problems(self, key: str) -> list[str]:
        try:
            changed = self.params_changes(key)
        except (NoSuchJob, ParamsError) as e:
            return [f"params: {e}"]
        return [f"params differ from what the rules pass now: {', '.join(changed)}"] if changed else []

    def code_problems(self, receipt: Receipt) -> list[str]:
        out = []
        if combined_digest(receipt["modules"], receipt["environment"]) != receipt["code"]:
            out.append("receipt damaged: its code digest is not that of its modules and environment")
        if changed := self.modules_changed(receipt):
            out.append(f"code changed: {', '.join(changed)}")
        return out

    def environment_problems(self, receipt: Receipt) -> list[str]:
        lock = environment_digest(self.root / "requirements" / "lock.txt")
        return [f"environment changed: requirements/lock.txt was {receipt['environment']}, is {lock}"] if lock != receipt["environment"] else []

    def input_problems(self, receipt: Receipt) -> list[str]:
        out = []
        for path, read in receipt["inputs"].items():
            if makers := self.makers.get(path):
                published = self.receipts[makers[0]]["outputs"][path]["sha256"]
                if published != read["sha256"]:
                    out.append(f"input {path} differs from what its maker publishes: read {read['sha256'][:12]}, published {published[:12]}")
            elif not path.startswith("results/") and self.sha256(path) != read["sha256"]:
                now = self.sha256(path)
                out.append(f"input {path} is missing" if now is None else f"input {path} differs: read {read['sha256'][:12]}, disk {now[:12]}")
        return out

    def history_problems(self, key: str) -> list[str]:
        """Where the receipt and those of its inputs' makers do not belong together: one of them was rewritten, or remade behind the other's back."""
        receipt, chain, named, out = self.receipts[key], self.receipts[key]["chain"], set(self.damaged), []
        if self.vouched(key) is False:
            out.append(f"history: {key} is no receipt that a run of this job left here, nor the recorded one")
        for path, tree in receipt["trees"].items():
            if tree_sha256(tree) != receipt["outputs"].get(path, {}).get("sha256"):
                out.append(f"receipt damaged: the files it lists of {path} do not add up to its content id")
        for path in receipt["inputs"]:
            makers = self.makers.get(path, [])
            fits = any(chain.get(m) == self.receipts[m]["seal"] for m in makers)
            if makers and not fits and not named & set(makers):
                read, stands = chain.get(makers[0]), self.receipts[makers[0]]["seal"]
                other = f"read {read[:12]}, now {stands[:12]}" if read else "its chain does not name it"
                out.append(f"history: {makers[0]} is not the receipt that vouched for {path} when it was read: {other}")
            named |= set(makers)
        strangers = sorted(m for m in chain if m in self.receipts and m not in named)
        return out + [f"history: its chain names {m}, which made none of its inputs" for m in strangers]

    def _content(self, path: str) -> tuple[str, Mapping[str, str]] | None:
        if path not in self._found:
            there = (self.root / path).exists()
            content, tree = tree_id(self.root / path, self.cache.sha256) if there else ({}, {})
            self._found[path] = (content["sha256"], tree) if there else None
        return self._found[path]

    def _code(self, stage: str, domains: tuple[str, ...]) -> dict[str, str]:
        key = (stage, domains)
        if key not in self._modules:
            script = f"src/{stage}.py"
            self._modules[key] = code_modules(script, self.root, domains) if (self.root / script).is_file() else {}
        return self._modules[key]


def changes(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The leaves of nested mappings that differ, "score.sequences 6 -> 5", sorted by key."""
    a, b = _flat(then), _flat(now)
    return [f"{k} {_show(a, k)} -> {_show(b, k)}" for k in sorted({*a, *b}) if k not in a or k not in b or a[k] != b[k]]


def _which(then: Mapping[str, str] | None, now: Mapping[str, str]) -> str:
    """The files of a folder that differ, at most five of them; nothing where the receipt lists none."""
    if then is None or set(now) == {""}:
        return ""
    marks = {k: "" if k in now and k in then else " is new" if k in now else " is missing" for k in sorted({*then, *now})}
    names = [k + (mark or " differs") for k, mark in marks.items() if then.get(k) != now.get(k)]
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f" ({', '.join(names[:5])}{rest})" if names else ""


def _text(path: Path) -> str | None:
    """The file's text; None where it is missing or no text."""
    try:
        return path.read_text() if path.is_file() else None
    except ValueError:
        return None


def _flat(value: Any, at: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return {k: v for key, x in value.items() for k, v in _flat(x, f"{at}.{key}" if at else str(key)).items()}
    return {at: value}


def _show(flat: dict[str, Any], key: str) -> str:
    return json.dumps(flat[key]) if key in flat else "(absent)"
