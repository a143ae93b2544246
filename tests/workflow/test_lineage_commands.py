"""The lineage commands on the real workflow with its real results."""

import json
import shutil
import time

import pytest

from helpers.project import copy_finished, replace, run
from veridream.provenance.content_cache import SETTLED_NS
from veridream.provenance.crate import PROFILES

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(1800)]
FIGURE = "results/smoke/figures/calibration.svg"


@pytest.fixture
def project(smoke_results, tmp_path):
    return copy_finished(smoke_results, tmp_path / "project")


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_one_flipped_bit_of_each_kind_of_artefact_is_found_and_named(project):
    weights = next((project / "results/smoke/dynamics/base").glob("*.safetensors"))
    frame = max((project / "results/smoke/data/corpus/atari-pong/expert-s0.zarr/frame").rglob("*"), key=lambda p: p.stat().st_size if p.is_file() else 0)
    plain = [project / f"results/smoke/{p}" for p in ("scores/base.parquet", "figures/strips.svg", "receipts/train_tokenizer/base.json")]
    inside = {weights: project / "results/smoke/dynamics/base", frame: project / "results/smoke/data/corpus/atari-pong/expert-s0.zarr"}
    kinds = [*inside, *plain]
    sound = {path: path.read_bytes() for path in kinds}
    for path in kinds:
        flip(path)
    r = run(project, "audit_artefact.py", "--all", "--scale", "smoke")
    assert r.returncode == 1 and r.stdout.splitlines()[-1].startswith("BROKEN: ")
    for path in plain:
        assert path.relative_to(project).as_posix() in r.stdout
    for path, artefact in inside.items():
        assert artefact.relative_to(project).as_posix() in r.stdout and f"({path.relative_to(artefact)} differs)" in r.stdout
    for path, data in sound.items():
        path.write_bytes(data)
    assert run(project, "audit_artefact.py", "--all", "--scale", "smoke", "--deep").returncode == 0


def test_a_second_audit_trusts_what_it_knows(project):
    time.sleep(SETTLED_NS / 1e9)  # what was copied just now is not remembered yet
    first, second = (json.loads(run(project, "audit_artefact.py", "--all", "--scale", "smoke", "--json").stdout) for _ in range(2))
    assert first["holds"] and second["holds"] and second["files_known"] > second["files_read"]


def test_explain_gc_and_estimate(project):
    assert "is up to date" in run(project, "explain_artefact.py", FIGURE).stdout
    replace(project / "params/scales/smoke.yaml", "score: {sequences: 6,", "score: {sequences: 5,")
    data = json.loads(run(project, "explain_artefact.py", "--json", FIGURE).stdout)
    assert data[0]["above"]["results/smoke/receipts/score_rollouts/base.json"] == [{"kind": "params", "text": "score.sequences 6 -> 5", "diff": ""}]
    assert not data[0]["runs"]

    r = json.loads(run(project, "remove_leftovers.py", "--scale", "smoke", "--json").stdout)
    assert {x["why"] for x in r["leftovers"]} == {"its job is finished"} and r["bytes"] > 0 and not r["deleted"]
    assert (project / "results/smoke/work/train_tokenizer/base").is_dir()
    assert run(project, "remove_leftovers.py", "--scale", "smoke", "--delete").returncode == 0
    assert not (project / "results/smoke/work/train_tokenizer/base").exists()
    assert json.loads(run(project, "remove_leftovers.py", "--scale", "smoke", "--json").stdout)["leftovers"] == []

    for scale in ("smoke", "laptop", "paper"):
        data = json.loads(run(project, "estimate_cost.py", "--scale", scale, "--reference", "smoke", "--json").stdout)
        assert data["total"]["jobs"] > 0 and data["total"]["cpu_hours"] > 0 and data["measured"] > 60


def test_a_bundle_a_crate_prov_and_a_card(project, tmp_path):
    r = run(
        project, "audit_artefact.py", FIGURE, "--bundle", str(tmp_path / "x.zip"), "--crate", str(tmp_path / "crate"), "--prov", str(tmp_path / "x.prov.json")
    )
    assert r.returncode == 0, r.stderr
    root = next(e for e in json.loads((tmp_path / "crate/ro-crate-metadata.json").read_text())["@graph"] if e["@id"] == "./")
    assert {c["@id"] for c in root["conformsTo"]} == set(PROFILES)
    assert json.loads((tmp_path / "x.prov.json").read_text())["wasGeneratedBy"]
    shutil.rmtree(project / "results")
    r = run(project, "audit_artefact.py", "--bundle", str(tmp_path / "x.zip"), "--verify")
    assert r.returncode == 0 and r.stdout.splitlines()[-1].startswith("HOLDS: ") and "note:" not in r.stdout, r.stdout + r.stderr
    flip(tmp_path / "x.zip")
    assert run(project, "audit_artefact.py", "--bundle", str(tmp_path / "x.zip"), "--verify").returncode == 1
    assert run(project, "describe_dataset.py", "--scale", "smoke").returncode == 1


def test_the_card_of_the_data(project):
    assert run(project, "describe_dataset.py", "--scale", "smoke").returncode == 0
    card = json.loads((project / "results/smoke/croissant.json").read_text())
    names = {d["@id"] for d in card["distribution"]}
    assert "index/corpus.parquet" in names and "data/corpus/atari-pong/expert-s0.zarr" in names
    assert all((project / "results/smoke" / n).exists() for n in names)
    for records in card["recordSet"]:
        assert all(f["source"]["fileObject"]["@id"] in names and f["description"] for f in records["field"])


def test_a_rewritten_receipt_is_made_again_by_the_next_run(project):
    path = project / "results/smoke/receipts/tabulate_results/coverage.json"
    sound = path.read_bytes()
    flip(path)
    r = run(project, "run_workflow.py", "--scale", "smoke", timeout=600)
    assert r.returncode == 0 and "removed, its job runs again: results/smoke/receipts/tabulate_results/coverage.json" in r.stderr, r.stderr
    assert path.read_bytes() == sound


def test_what_is_not_understood_is_refused_with_help(project):
    for words in (["--all", FIGURE], ["--verify"], [], ["--all", "--bundle", "x.zip"]):
        assert run(project, "audit_artefact.py", *words).returncode == 2
    for script in (
        "audit_artefact",
        "explain_artefact",
        "compare_revisions",
        "remove_leftovers",
        "estimate_cost",
        "record_ledger",
        "restore_artefacts",
        "describe_dataset",
    ):
        r = run(project, f"{script}.py", "--help")
        assert r.returncode == 0 and ("--json" in r.stdout or script == "describe_dataset")
