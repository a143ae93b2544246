"""A bundle: one zip file that holds an artefact and all that proves it, to be checked elsewhere, offline, without the results.

It holds the artefact's bytes, the receipts of every job above it, the code, params and environment lock they name, the repository's files
they read, and the ledger's anchor where there is one. The bytes of what stands upstream are named by sha256, not packed.
"""

import hashlib
import json
import re
import stat
import tempfile
import zipfile
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from veridream.params.load import SCALE_NAME, ParamsError
from veridream.provenance.anchor import anchor_path
from veridream.provenance.audit import Link
from veridream.provenance.digest import ROOT, files_of
from veridream.provenance.jobs import NoSuchJob, params_now, split_receipt
from veridream.provenance.receipts import as_written, id_path, read_receipt, run_path
from veridream.provenance.records import Records, changes

FORMAT = "veridream-bundle-1"
INDEX = "bundle.json"
MOST_BYTES, MOST_FILES = 4 * 2**30, 100_000  # unpacked; beyond that a file is refused
FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # equal contents give an equal file


class BundleError(ValueError):
    """The file cannot be written or is no sound bundle: the text says why."""


@dataclass
class Checked:
    """What a bundle's check found. heads: the seals of the receipts that nothing in the bundle vouches for; compare them with a ledger you trust."""

    artefacts: dict[str, str]
    heads: dict[str, str]
    jobs: int
    anchored: bool  # whether the ledger's anchor is inside
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}

    def as_text(self) -> str:
        lines = [f"{path}  sha256 {sha}" for path, sha in self.artefacts.items()]
        lines += [f"head receipt {key}  seal {seal}" for key, seal in self.heads.items()]
        lines += [f"  ! {problem}" for problem in self.problems] + [f"note: {note}" for note in self.notes]
        anchor = "the ledger's anchor is inside" if self.anchored else "no ledger is inside: compare the head's seal with one that you trust"
        return "\n".join([*lines, f"HOLDS: {self.jobs} jobs; {anchor}" if self.holds else f"BROKEN: {len(self.problems)} problems in {self.jobs} jobs"])


def write_bundle(chain: list[Link], out: Path, root: Path = ROOT) -> int:
    """Packs the nearest links of a chain that holds, with all that proves them. Returns the number of files. Raises BundleError, OSError."""
    heads = [link.artefact for link in chain if link.depth == 0 and link.receipt]
    if not heads or not all(link.holds for link in chain):
        raise BundleError(f"{chain[0].artefact}: its chain does not hold, so there is nothing to prove; `make audit` says where it is broken")
    receipts = sorted({link.receipt for link in chain if link.receipt})
    scale = split_receipt(receipts[0])[0]
    members: dict[str, Path] = {}
    for head in heads:
        members |= {f"{head}/{name}" if name else head: path for name, path in files_of(root / head).items()}
        members[id_path(head).as_posix()] = id_path(root / head)
    code = {module for key in receipts for module in read_receipt(root / key)["modules"]}
    rules = [p.relative_to(root).as_posix() for p in (root / "workflow").rglob("*.smk")]
    sources = [link.artefact for link in chain if link.stage is None]
    fixed = ["Snakefile", "requirements/lock.txt", "params/base.yaml", "params/tasks.yaml", f"params/scales/{scale}.yaml", anchor_path(scale)]
    runs = [run_path(key).as_posix() for key in receipts]
    for name in [*receipts, *runs, *code, *rules, *sources, *fixed]:
        if (root / name).is_file():
            members[name] = root / name
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in members.items()}
    index = {"format": FORMAT, "scale": scale, "artefacts": heads, "receipts": receipts, "members": digests}
    part = out.with_name(f".{out.name}.part")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(members):
                archive.writestr(zipfile.ZipInfo(name, FIXED_TIME), members[name].read_bytes(), zipfile.ZIP_DEFLATED)
            archive.writestr(zipfile.ZipInfo(INDEX, FIXED_TIME), as_written(index), zipfile.ZIP_DEFLATED)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return len(members) + 1


def verify_bundle(path: Path) -> Checked:
    """Unpacks into a folder of its own and checks every digest, seal and link. Raises BundleError on what is no bundle, OSError."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        index = _unpack(path, root)
        try:
            return _check(index, root)
        except (SyntaxError, ValueError, RecursionError) as e:
            raise BundleError(f"{path}: its code or receipts cannot be read: {e}") from None


def _check(index: dict[str, Any], root: Path) -> Checked:
    records = Records(index["scale"], root, now=lambda key: records.receipts[key]["params"])
    for name in index["artefacts"]:
        safe_name(name)
    problems = [f"{key}: {why}" for key, why in records.damaged.items()]
    problems += [f"{key} is missing" for key in index["receipts"] if key not in records.receipts and key not in records.damaged]
    for key, receipt in records.receipts.items():
        for name in (receipt["stage"], *receipt["inputs"], *receipt["outputs"], *receipt["modules"], *receipt["chain"]):
            safe_name(name)
        problems += [f"{key}: {why}" for why in records.job_problems(key)]
        unexplained = [p for p in receipt["inputs"] if p.startswith("results/") and p not in records.makers]
        problems += [f"{key}: no receipt in the bundle says how {p} was made" for p in unexplained]
    for head in index["artefacts"]:
        makers = records.makers.get(head, [])
        problems += [f"{head}: {why}" for m in makers[:1] for why in records.output_problems(m, head)] or ([] if makers else [f"{head}: no receipt names it"])
    read = {m for r in records.receipts.values() for m in r["chain"]}
    heads = {key: r["seal"] for key, r in records.receipts.items() if key not in read}
    shown = {head: records.sha256(head) or "missing" for head in index["artefacts"]}
    return Checked(shown, heads, len(records.receipts), bool(records.anchored), problems, _rules_differ(records, root))


def _rules_differ(records: Records, root: Path) -> list[str]:
    """Where the rules of this clone would pass other params than the receipts hold: another version of the rules, no fault of the bundle."""
    now, differ = params_now(root / "params"), []
    for key, receipt in records.receipts.items():
        try:
            if changes(receipt["params"], json.loads(json.dumps(now(key)))):
                differ.append(key)
        except (NoSuchJob, ParamsError, KeyError):
            differ.append(key)
    return [f"the rules of this clone would pass other params to {len(differ)} jobs, {differ[0]} the first: it is another version"] if differ else []


def _unpack(path: Path, to: Path) -> dict[str, Any]:
    """Writes the members under `to` and returns the index. Raises BundleError at the first that could reach outside or is not what the index says."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            names = [safe_name(info.filename) for info in infos]
            if len(infos) > MOST_FILES or sum(info.file_size for info in infos) > MOST_BYTES:
                raise BundleError(f"{path}: unpacks to more than {MOST_FILES} files or {MOST_BYTES >> 30} GiB; refused")
            if len(set(names)) != len(names):
                raise BundleError(f"{path}: names a member twice; refused")
            for info, name in zip(infos, names, strict=True):
                kind = stat.S_IFMT(info.external_attr >> 16)
                if info.is_dir() or kind not in (0, stat.S_IFREG):
                    raise BundleError(f"{path}: member {name} is no plain file; refused")
                target = to / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as member:
                    target.write_bytes(member.read(info.file_size + 1))
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as e:
        raise BundleError(f"{path}: not a sound zip file ({e})") from None
    return _checked_index(path, to, set(names))


def _checked_index(path: Path, to: Path, names: set[str]) -> dict[str, Any]:
    try:
        index = dict(json.loads((to / INDEX).read_text()))
        wanted = dict(index["members"])
        known = index["format"] == FORMAT and all(isinstance(index[k], list) for k in ("artefacts", "receipts")) and re.fullmatch(SCALE_NAME, index["scale"])
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise BundleError(f"{path}: no bundle of ours ({INDEX}: {e})") from None
    if not known:
        raise BundleError(f"{path}: a bundle of another format; this version reads {FORMAT}")
    if odd := sorted({*wanted, INDEX} ^ names):
        raise BundleError(f"{path}: members and index do not agree: {', '.join(odd[:5])}")
    if wrong := [name for name, sha in wanted.items() if hashlib.sha256((to / name).read_bytes()).hexdigest() != sha]:
        raise BundleError(f"{path}: {', '.join(wrong[:5])} {'is' if len(wrong) == 1 else 'are'} not what the index says")
    return index


def safe_name(name: str) -> str:
    """The name of an archive's member, if it stays inside the folder it is unpacked to. Raises BundleError."""
    parts = PurePosixPath(name).parts
    if not name or name.startswith(("/", "~")) or "\\" in name or ":" in name or ".." in parts or any(ord(c) < 32 for c in name):
        raise BundleError(f"archive member {name!r} could reach outside the folder it is unpacked to; refused")
    return name
