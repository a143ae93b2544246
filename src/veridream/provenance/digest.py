"""Content ids of artefacts and of code. A comment or docstring edit changes no code digest; an edit three imports deep does."""

import ast
import functools
import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from veridream.spec import DOMAIN_MODULES

ROOT = Path(__file__).resolve().parents[3]
LOCK = ROOT / "requirements" / "lock.txt"
PLUGGED = "<the domains of the job>"
IGNORED = {".snakemake_timestamp", "__pycache__"}  # Snakemake drops its stamp into directory() outputs


def canonical(obj: Any) -> str:
    """Canonical JSON: one text per value, whatever the order of the keys."""
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), allow_nan=False)


def file_sha256(path: Path) -> str:
    """sha256 of one file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def files_of(path: Path) -> dict[str, Path]:
    """{name inside the artefact: file}, sorted; a file is its own only one, named ""."""
    if path.is_file():
        return {"": path}
    found = {p.relative_to(path).as_posix(): p for p in path.rglob("*") if p.is_file()}
    return {name: found[name] for name in sorted(found) if IGNORED.isdisjoint(name.split("/"))}


def tree_sha256(tree: Mapping[str, str]) -> str:
    """The sha256 of an artefact from that of its files, {name: sha256}; a single file is its own only one, named ""."""
    if set(tree) == {""}:
        return tree[""]
    return hashlib.sha256("".join(f"{name}\0{tree[name]}\n" for name in sorted(tree)).encode()).hexdigest()


def tree_id(path: str | Path, sha256: Callable[[Path], str] = file_sha256) -> tuple[dict[str, Any], dict[str, str]]:
    """({sha256, bytes, files} of a file or folder, {name: sha256 of each of its files}): names and bytes count; times, inodes and place do not.

    Args:
        sha256: how a file is hashed (the audit remembers what it has hashed before).
    Raises:
        FileNotFoundError: nothing is there.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing")
    files = files_of(path)
    tree = {name: sha256(f) for name, f in files.items()}
    return {"sha256": tree_sha256(tree), "bytes": sum(f.stat().st_size for f in files.values()), "files": len(files)}, tree


def content_id(path: str | Path) -> dict[str, Any]:
    """{sha256, bytes, files} of a file or folder, its bytes read. Raises FileNotFoundError."""
    return tree_id(path)[0]


@functools.cache
def _module(source: bytes, where: str) -> tuple[str, tuple[str, ...]]:
    """(digest of the module's meaning, dotted names it imports). Raises ValueError for an import that cannot be followed.

    `import_module(DOMAIN_MODULES[...])` is the one dynamic import: it counts as an import of PLUGGED, for which code_modules puts the job's domains.
    """
    tree = ast.parse(source, where)
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{where}:{node.lineno}: relative import; the code digest follows absolute imports only")
            names += [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("__import__", "import_module"):
            if ast.unparse(node.args[0]).split("[")[0] != "DOMAIN_MODULES":
                raise ValueError(f"{where}:{node.lineno}: dynamic import; the code digest cannot follow it: write an import statement")
            names.append(PLUGGED)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(sorted({*names}))


def module_digest(source: bytes, where: str) -> str:
    """Digest of one module's meaning, as in a receipt's `modules`. Raises ValueError, SyntaxError."""
    return _module(source, where)[0]


def job_domains(params: Mapping[str, Any]) -> tuple[str, ...]:
    """The domains whose simulators a job may make: those of the registry rows among its params."""
    return tuple(sorted({row["domain"] for row in params.get("registry", ())}))


def code_modules(script: str, root: Path = ROOT, domains: Collection[str] = ()) -> dict[str, str]:
    """{path: digest} of a stage script and every local module it imports, at any depth. Found by parsing, never by importing.

    `domains`: whose modules belong to it where it makes simulators (see job_domains); without effect on other scripts.
    """
    local = {p.relative_to(root).as_posix() for p in (root / "src").rglob("*.py")}
    seen: dict[str, str] = {}
    todo = {script}
    while todo:
        key = todo.pop()
        seen[key], names = _module((root / key).read_bytes(), str(root / key))
        if PLUGGED in names:
            names = (*names, *(DOMAIN_MODULES[d] for d in domains))
        for name in names:
            parts = name.split(".")
            for i in range(1, len(parts) + 1):  # importing a.b.c runs a/__init__ and a/b/__init__ too
                stem = f"src/{'/'.join(parts[:i])}"
                todo |= {f"{stem}.py", f"{stem}/__init__.py"} & local - seen.keys()
    return dict(sorted(seen.items()))


def lock_digest(text: bytes) -> str:
    """Digest of the text of an environment lock."""
    return hashlib.sha256(text).hexdigest()[:16]


def environment_digest(lock: Path = LOCK) -> str:
    """Digest of the pinned environment."""
    return lock_digest(lock.read_bytes())


def combined_digest(modules: dict[str, str], environment: str) -> str:
    """The one short digest of a code closure and an environment lock."""
    return hashlib.sha256(canonical([modules, environment]).encode()).hexdigest()[:16]


def code_digest(script: str, root: Path = ROOT, domains: Collection[str] = ()) -> str:
    """Digest of a stage's code closure and the environment lock; a rule param, so that Snakemake sees both change."""
    return combined_digest(code_modules(script, root, domains), environment_digest(root / "requirements" / "lock.txt"))
