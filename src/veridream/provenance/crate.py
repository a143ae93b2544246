"""The chain of an artefact as a Workflow Run RO-Crate: profile Provenance Run Crate 0.5, on RO-Crate 1.1.

The workflow is the Snakefile, its steps are the rules, its tools the stage scripts; each job is an action with its params, inputs and outputs.
The crate holds the artefact, the code and the params; artefacts above it are described by name, size and sha256, not copied.
"""

import importlib.metadata
import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from veridream.provenance.audit import Link
from veridream.provenance.digest import ROOT
from veridream.provenance.receipts import read_receipt, run_facts, write_json

Entity = dict[str, Any]
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
WORKFLOW, LANGUAGE, ENGINE, LICENCE, RUN, AUTHORS = "Snakefile", "#snakemake-language", "#snakemake", "https://spdx.org/licenses/MIT", "#run", "#authors"


def ref(ids: list[str]) -> Entity | list[Entity]:
    """References; a single one stands without a list, as the specification likes it."""
    return {"@id": ids[0]} if len(ids) == 1 else [{"@id": i} for i in ids]


class Crate:
    """Entities by id, and the files to copy beside them."""

    def __init__(self, chain: list[Link], root: Path):
        self.chain, self.root = chain, root
        self.entities: dict[str, Entity] = {}
        self.files: dict[str, Path] = {}  # name in the crate -> source
        self.heads = [link for link in chain if link.depth == 0]
        self.jobs = {link.receipt: read_receipt(root / link.receipt) for link in chain if link.receipt}
        self.stages = list(dict.fromkeys(r["stage"] for r in reversed(self.jobs.values())))
        self.runs = {key: run_facts(root / key) for key in self.jobs}

    def add(self, id_: str, type_: str | list[str], **properties: Any) -> str:
        self.entities[id_] = {"@id": id_, "@type": type_, **{k: v for k, v in properties.items() if v is not None}}
        return id_

    def file(self, path: str, type_: list[str] | None = None, **properties: Any) -> str:
        """A file of the project that the crate holds."""
        self.files[path] = self.root / path
        return self.add(path, type_ or ["File"], contentSize=str((self.root / path).stat().st_size), **properties)

    def artefact(self, path: str, content: dict[str, Any]) -> str:
        """The id of an artefact: a file of the crate where it is the one asked for, else a description."""
        if any(link.artefact == path for link in self.heads):
            if (self.root / path).is_dir():
                self.files[path] = self.root / path
                return self.add(f"{path}/", "Dataset", name=Path(path).name, identifier=f"sha256:{content['sha256']}")
            return self.file(path, name=Path(path).name, sha256=content["sha256"], encodingFormat=_format(path))
        if not path.startswith("results/") and (self.root / path).is_file():
            return self.file(path, name=path, sha256=content["sha256"], encodingFormat=_format(path))
        id_ = f"#sha256-{content['sha256'][:16]}-{Path(path).name}"
        size = f"{content['files']} files, {content['bytes']} bytes"
        return self.add(id_, "CreativeWork", name=path, identifier=f"sha256:{content['sha256']}", size=size)

    def action(self, key: str) -> str:
        """One job: what it read, with which params, what it made, when."""
        r, start, end = self.jobs[key], *_times(self.runs[key])
        params = self.add(f"#params-{_slug(key)}", "PropertyValue", name=f"params of {r['stage']}", value=json.dumps(r["params"], sort_keys=True))
        read = [params, *(self.artefact(path, content) for path, content in r["inputs"].items())]
        made = [self.artefact(path, content) for path, content in r["outputs"].items()]
        words = {
            "name": f"{r['stage']}: {key.split('/')[-1].removesuffix('.json')}",
            "description": f"code {r['code']}, environment {r['environment']}, seal {r['seal']}",
        }
        when = {"startTime": start, "endTime": end}
        return self.add(
            f"#job-{_slug(key)}",
            "CreateAction",
            agent={"@id": AUTHORS},
            instrument={"@id": f"src/{r['stage']}.py"},
            object=ref(read),
            result=ref(made),
            **words,
            **when,
        )

    def build(self) -> list[Entity]:
        for n, stage in enumerate(self.stages, 1):
            self.file(
                f"src/{stage}.py", ["File", "SoftwareSourceCode"], name=f"{stage}.py", encodingFormat="text/x-python", programmingLanguage={"@id": "#python"}
            )
            self.add(f"{WORKFLOW}#{stage}", "HowToStep", name=stage, position=str(n), workExample={"@id": f"src/{stage}.py"})
        actions = {key: self.action(key) for key in self.jobs}
        controls = [
            self.add(
                f"#control-{_slug(key)}",
                "ControlAction",
                name=f"start of {key}",
                instrument={"@id": f"{WORKFLOW}#{self.jobs[key]['stage']}"},
                object={"@id": a},
            )
            for key, a in actions.items()
        ]
        self._workflow(controls)
        self._context()
        self._root([RUN, "#organise", *actions.values()])
        return list(self.entities.values())

    def _workflow(self, controls: list[str]) -> None:
        version = importlib.metadata.version("snakemake")
        self.add("#python", "ComputerLanguage", name="Python", url="https://www.python.org")
        self.add(LANGUAGE, "ComputerLanguage", name="Snakemake", identifier="https://snakemake.github.io", url="https://snakemake.github.io", version=version)
        self.add(ENGINE, "SoftwareApplication", name="Snakemake", softwareVersion=version, url="https://snakemake.github.io")
        kinds = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
        steps, tools = [f"{WORKFLOW}#{s}" for s in self.stages], [f"src/{s}.py" for s in self.stages]
        self.file(WORKFLOW, kinds, name="Veridream", encodingFormat="text/plain", programmingLanguage={"@id": LANGUAGE}, step=ref(steps), hasPart=ref(tools))
        sources = [self.artefact(link.artefact, _content(link, self.jobs)) for link in self.chain if link.stage is None]
        made = [self.artefact(link.artefact, _content(link, self.jobs)) for link in self.heads]
        ends = [t for run in self.runs.values() for t in _times(run) if t]
        when = {"startTime": min(ends, default=None), "endTime": max(ends, default=None)}
        self.add(
            RUN,
            "CreateAction",
            name="the jobs that made it",
            instrument={"@id": WORKFLOW},
            object=ref([*sources, "params/base.yaml"]),
            result=ref(made),
            **when,
        )
        self.add(
            "#organise",
            "OrganizeAction",
            name="run of Snakemake",
            agent={"@id": AUTHORS},
            instrument={"@id": ENGINE},
            object=ref(controls),
            result={"@id": RUN},
        )

    def _context(self) -> None:
        self.add(LICENCE, "CreativeWork", name="MIT License", identifier=LICENCE, url=LICENCE)
        self.add(AUTHORS, "Organization", name="The Veridream authors")
        for profile, name in PROFILES.items():
            self.add(profile, "CreativeWork", name=name, version=profile.rsplit("/", 1)[1])
        scale = self.heads[0].artefact.split("/")[1]
        for name in ("params/base.yaml", "params/tasks.yaml", f"params/scales/{scale}.yaml", "requirements/lock.txt"):
            if (self.root / name).is_file():
                self.file(name, name=name, encodingFormat=_format(name))
        for path in sorted((self.root / "workflow").rglob("*.smk")):
            self.file(path.relative_to(self.root).as_posix(), name=path.name, encodingFormat="text/plain")

    def _root(self, mentions: list[str]) -> None:
        ends = [t for run in self.runs.values() for t in _times(run) if t]
        names = ", ".join(link.artefact for link in self.heads)
        parts = [e["@id"] for e in self.entities.values() if "File" in e["@type"] or e["@type"] == "Dataset"]
        words = {"name": f"Provenance of {names}", "description": f"How {names} was made, job by job, from live simulators: receipts of Veridream."}
        facts = {
            "author": {"@id": AUTHORS},
            "publisher": {"@id": AUTHORS},
            "datePublished": max(ends, default="1970-01-01T00:00:00+00:00"),
            "license": {"@id": LICENCE},
            "mainEntity": {"@id": WORKFLOW},
        }
        self.add("./", "Dataset", conformsTo=ref(list(PROFILES)), hasPart=ref(parts), mentions=ref(mentions), **words, **facts)
        conforms = ref(["https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"])
        self.add("ro-crate-metadata.json", "CreativeWork", about={"@id": "./"}, conformsTo=conforms)


def write_crate(chain: list[Link], folder: Path, root: Path = ROOT) -> int:
    """Writes the crate of a chain into a folder that is new or empty. Returns the number of entities.

    Raises FileExistsError where the folder holds something.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; name a new folder for the crate")
    crate = Crate(chain, root)
    graph = crate.build()
    for name, source in crate.files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    write_json(folder / "ro-crate-metadata.json", {"@context": CONTEXT, "@graph": graph})
    return len(graph)


def _content(link: Link, jobs: dict[str, Any]) -> dict[str, Any]:
    if link.receipt:
        return dict(jobs[link.receipt]["outputs"][link.artefact])
    return {"sha256": link.sha256, "bytes": 0, "files": 1}


def _times(run: dict[str, Any]) -> tuple[str | None, str | None]:
    """Start and end of a job, ISO 8601; None where no run file came along."""
    if "started" not in run or "seconds" not in run:
        return None, None
    start = datetime.fromisoformat(run["started"])
    return start.isoformat(), (start + timedelta(seconds=run["seconds"])).isoformat(timespec="seconds")


def _slug(key: str) -> str:
    return "-".join(key.removesuffix(".json").split("/")[3:])


def _format(path: str) -> str:
    kinds = {
        ".svg": "image/svg+xml",
        ".csv": "text/csv",
        ".json": "application/json",
        ".html": "text/html",
        ".md": "text/markdown",
        ".yaml": "application/yaml",
    }
    return kinds.get(Path(path).suffix, "text/plain" if Path(path).suffix == ".txt" else "application/octet-stream")
