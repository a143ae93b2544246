"""The chain in the forms that others read: RO-Crate and PROV-JSON."""

import json

import pytest
import yaml

from helpers.chain import STORES, whole_paper
from veridream.provenance.audit import audit
from veridream.provenance.crate import PROFILES, write_crate
from veridream.provenance.digest import ROOT, content_id
from veridream.provenance.prov import prov_json
from veridream.provenance.receipts import run_facts, run_path, write_json

CLAIMS = "results/smoke/claims/claims.csv"


@pytest.fixture
def paper(tmp_path):
    c = whole_paper(tmp_path / "project")
    (c.root / "Snakefile").write_text("rule all: input: []\n")
    (c.root / "workflow/rules").mkdir(parents=True)
    (c.root / "workflow/rules/data.smk").write_text("# rules\n")
    (c.root / "params/base.yaml").write_text("")
    for key in c.params:
        facts = run_facts(c.root / key)
        write_json(run_path(c.root / key), {**facts, "started": "2026-11-30T12:00:00+00:00", "seconds": 2.5})
    return c


def crate(paper, tmp_path, artefact=CLAIMS):
    folder = tmp_path / "crate"
    n = write_crate(audit(artefact, paper.root, paper.now), folder, paper.root)
    whole = json.loads((folder / "ro-crate-metadata.json").read_text())
    entities = {e["@id"]: e for e in whole["@graph"]}
    assert n == len(entities) == len(whole["@graph"]), "ids are unique"
    return folder, entities


def references(value):
    if isinstance(value, dict):
        return [value["@id"]] if set(value) == {"@id"} else [r for v in value.values() for r in references(v)]
    return [r for v in value for r in references(v)] if isinstance(value, list) else []


def test_every_reference_resolves_and_every_file_is_there(paper, tmp_path):
    folder, entities = crate(paper, tmp_path)
    for e in entities.values():
        for r in references({k: v for k, v in e.items() if k != "@id"}):
            assert r in entities or r.startswith("https://"), f"{e['@id']} -> {r}"
        if "File" in e["@type"]:
            assert (folder / e["@id"]).is_file() and {"@id": e["@id"]} in entities["./"]["hasPart"]
    assert content_id(folder / CLAIMS) == content_id(paper.root / CLAIMS)


def test_the_root_the_workflow_and_each_job_are_as_the_profile_asks(paper, tmp_path):
    _, entities = crate(paper, tmp_path)
    root, workflow = entities["./"], entities["Snakefile"]
    assert {x["@id"] for x in root["conformsTo"]} == set(PROFILES) and root["mainEntity"] == {"@id": "Snakefile"}
    assert set(workflow["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"}
    jobs = [e for e in entities.values() if e["@type"] == "CreateAction" and e["@id"].startswith("#job-")]
    controls = [e for e in entities.values() if e["@type"] == "ControlAction"]
    receipts = {link.receipt for link in audit(CLAIMS, paper.root, paper.now) if link.receipt}
    assert len(jobs) == len(controls) == len(receipts)
    for c in controls:
        step, job = entities[c["instrument"]["@id"]], entities[c["object"]["@id"]]
        assert step["@type"] == "HowToStep" and step["workExample"] == job["instrument"]
        assert {"@id": step["@id"]} in workflow["step"] and job["instrument"] in workflow["hasPart"]
    (organise,) = [e for e in entities.values() if e["@type"] == "OrganizeAction"]
    assert entities[organise["result"]["@id"]]["instrument"] == {"@id": "Snakefile"} and len(organise["object"]) == len(controls)
    made = {r for j in jobs for r in references(j["result"])}
    assert CLAIMS in made and any(j["startTime"] < j["endTime"] for j in jobs)


def test_a_folder_artefact_is_copied_whole_and_a_full_folder_is_refused(paper, tmp_path):
    store = f"results/smoke/data/{STORES[0]}.zarr"
    folder, entities = crate(paper, tmp_path, store)
    assert entities[f"{store}/"]["@type"] == "Dataset" and (folder / store / "c/0").is_file()
    with pytest.raises(FileExistsError, match="not empty"):
        crate(paper, tmp_path)


def test_prov_json_leads_from_the_claims_to_the_stores(paper):
    doc = prov_json(audit(CLAIMS, paper.root, paper.now), paper.root)
    assert json.loads(json.dumps(doc)) == doc
    names = {e["prov:label"]: n for n, e in doc["entity"].items()}
    activity = {g["prov:entity"]: g["prov:activity"] for g in doc["wasGeneratedBy"].values()}
    used: dict[str, set[str]] = {}
    for u in doc["used"].values():
        used.setdefault(u["prov:activity"], set()).add(u["prov:entity"])
    seen, todo = set(), [names[CLAIMS]]
    while todo:
        entity = todo.pop()
        seen.add(entity)
        todo += [e for e in used.get(activity.get(entity, ""), ()) if e not in seen]
    assert {names[f"results/smoke/data/{s}.zarr"] for s in STORES[:2]} < seen and names["params/claims.yaml"] in seen
    for kind in ("used", "wasGeneratedBy", "wasAssociatedWith"):
        for relation in doc[kind].values():
            assert relation["prov:activity"] in doc["activity"] and relation.get("prov:entity", names[CLAIMS]) in doc["entity"]


def test_the_citation_file_says_what_a_citation_needs():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cff["cff-version"] == "1.2.0" and {"message", "title", "authors", "version", "license"} <= set(cff)
    assert f'version = "{cff["version"]}"' in (ROOT / "pyproject.toml").read_text()
