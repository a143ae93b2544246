"""The chain of an artefact in W3C PROV-JSON: artefacts are entities, jobs are activities, the software that ran them is an agent."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from veridream.provenance.audit import Link
from veridream.provenance.digest import ROOT
from veridream.provenance.receipts import read_receipt, run_facts

PREFIX = {"vd": "urn:veridream:", "sha256": "urn:sha256:"}
AGENT = "vd:veridream"


def prov_json(chain: list[Link], root: Path = ROOT) -> dict[str, Any]:
    """A PROV-JSON document. An entity is named by its path and its sha256, so that two versions of an artefact are two entities."""
    doc: dict[str, Any] = {"prefix": PREFIX, "entity": {}, "activity": {}, "used": {}, "wasGeneratedBy": {}, "wasDerivedFrom": {}, "wasAssociatedWith": {}}
    doc["agent"] = {AGENT: {"prov:type": {"$": "prov:SoftwareAgent", "type": "prov:QUALIFIED_NAME"}, "prov:label": "Veridream"}}
    for link in chain:
        if link.stage is None:
            _entity(doc, link.artefact, {"sha256": link.sha256})
    for key in dict.fromkeys(link.receipt for link in chain if link.receipt):
        r, run = read_receipt(root / key), run_facts(root / key)
        job = f"vd:{key}"
        doc["activity"][job] = {"prov:label": r["stage"], "vd:code": r["code"], "vd:environment": r["environment"], "vd:seal": r["seal"], **_times(run)}
        doc["wasAssociatedWith"][f"_:a{len(doc['wasAssociatedWith'])}"] = {"prov:activity": job, "prov:agent": AGENT}
        read = [_entity(doc, path, content) for path, content in r["inputs"].items()]
        made = [_entity(doc, path, content) for path, content in r["outputs"].items()]
        for entity in read:
            doc["used"][f"_:u{len(doc['used'])}"] = {"prov:activity": job, "prov:entity": entity}
        for entity in made:
            doc["wasGeneratedBy"][f"_:g{len(doc['wasGeneratedBy'])}"] = {"prov:activity": job, "prov:entity": entity}
            for source in read:
                derived = {"prov:generatedEntity": entity, "prov:usedEntity": source, "prov:activity": job}
                doc["wasDerivedFrom"][f"_:d{len(doc['wasDerivedFrom'])}"] = derived
    return doc


def _entity(doc: dict[str, Any], path: str, content: dict[str, Any]) -> str:
    name = f"vd:{path}@{str(content['sha256'])[:16]}"
    facts = {"prov:label": path, "vd:sha256": content["sha256"]}
    doc["entity"][name] = facts | {f"vd:{k}": content[k] for k in ("bytes", "files") if k in content}
    return name


def _times(run: dict[str, Any]) -> dict[str, str]:
    if "started" not in run or "seconds" not in run:
        return {}
    start = datetime.fromisoformat(run["started"])
    return {"prov:startTime": start.isoformat(), "prov:endTime": (start + timedelta(seconds=run["seconds"])).isoformat(timespec="seconds")}
