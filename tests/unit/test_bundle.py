"""A bundle proves its artefact without the results, and one that was tampered with or reaches outside is refused."""

import json
import shutil
import zipfile

import pytest

from helpers.chain import STORES, whole_paper
from veridream.provenance.audit import audit
from veridream.provenance.bundle import INDEX, BundleError, safe_name, verify_bundle, write_bundle
from veridream.provenance.ledger import write_anchor, write_ledger
from veridream.provenance.receipts import as_written, read_receipt
from veridream.provenance.records import Records

FIGURE = "results/smoke/figures/density.svg"


@pytest.fixture
def paper(tmp_path):
    c = whole_paper(tmp_path / "project")
    (c.root / "params/base.yaml").write_text("")
    return c


def pack(paper, artefact=FIGURE):
    out = paper.root.parent / "out.zip"
    write_bundle(audit(artefact, paper.root, paper.now), out, paper.root)
    return out


def members(path):
    with zipfile.ZipFile(path) as z:
        return {n: z.read(n) for n in z.namelist()}


def rewrite(path, change, fix_index=True):
    """Changes members; the index is made to fit, as a careful forger would."""
    import hashlib

    data = members(path)
    change(data)
    if fix_index:
        index = json.loads(data[INDEX])
        index["members"] = {n: hashlib.sha256(b).hexdigest() for n, b in data.items() if n != INDEX}
        data[INDEX] = as_written(index).encode()
    with zipfile.ZipFile(path, "w") as z:
        for name, content in data.items():
            z.writestr(name, content)


def test_a_bundle_holds_without_the_results(paper):
    out = pack(paper)
    head = read_receipt(paper.root / paper.receipt("plot_figure", "density"))["seal"]
    sha = read_receipt(paper.root / paper.receipt("plot_figure", "density"))["outputs"][FIGURE]["sha256"]
    shutil.rmtree(paper.root)
    checked = verify_bundle(out)
    assert checked.holds and checked.artefacts == {FIGURE: sha} and list(checked.heads.values()) == [head] and not checked.anchored
    assert "compare the head's seal" in checked.as_text() and checked.as_json()["holds"]


def test_a_folder_and_the_ledgers_anchor_come_along(paper):
    receipts = Records("smoke", paper.root, paper.now).receipts
    write_ledger("smoke", receipts, paper.root)
    write_anchor("smoke", receipts, paper.root)
    out = pack(paper, f"results/smoke/data/{STORES[0]}.zarr")
    assert verify_bundle(out).anchored
    assert f"results/smoke/data/{STORES[0]}.zarr/c/0" in members(out)


def test_the_same_chain_gives_the_same_file(paper):
    first = pack(paper).read_bytes()
    assert pack(paper).read_bytes() == first


def test_a_broken_chain_is_not_packed(paper):
    (paper.root / FIGURE).write_text("x")
    with pytest.raises(BundleError, match="its chain does not hold"):
        pack(paper)


@pytest.mark.parametrize(
    "name, said",
    [
        (FIGURE, "output bytes differ"),
        ("src/veridream/maths.py", "code changed: src/veridream/maths.py"),
        ("requirements/lock.txt", "environment changed"),
        ("results/smoke/receipts/score_rollouts/uniform_both.json", "damaged receipt"),
    ],
)
def test_an_edited_member_is_named(paper, name, said):
    out = pack(paper)

    def edit(data):
        data[name] = data[name].replace(b"0.5", b"0.4") if name.endswith(".json") else b"PI = 4\n"

    rewrite(out, edit)
    checked = verify_bundle(out)
    assert not checked.holds and said in checked.as_text()
    rewrite(out, edit, fix_index=False)
    rewrite(out, lambda data: data.update({FIGURE: b"again"}), fix_index=False)
    with pytest.raises(BundleError, match="not what the index says"):
        verify_bundle(out)


def test_a_receipt_that_was_left_out_and_one_rewritten_with_a_fitting_seal(paper):
    out, key = pack(paper), paper.receipt("train_tokenizer", "base")
    rewrite(out, lambda data: data.pop(key))
    assert f"{key} is missing" in verify_bundle(out).problems
    paper.edit_receipt(key, lambda r: r["counts"].update(loss=0.1))
    forged = (paper.root / key).read_bytes()
    run = (paper.root / key).with_suffix(".run.json").read_bytes()
    rewrite(out, lambda data: data.update({key: forged, key.replace(".json", ".run.json"): run}))
    assert "history: " in verify_bundle(out).as_text()


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "a\\..\\x", "C:x", "~/x", "a\nb", ""])
def test_a_member_that_reaches_outside_is_refused(paper, name):
    with pytest.raises(BundleError, match="refused"):
        safe_name(name)
    out = pack(paper)
    if name:
        rewrite(out, lambda data: data.update({name: b"evil"}))
        with pytest.raises(BundleError, match="could reach outside"):
            verify_bundle(out)


def test_links_folders_doubles_and_huge_members_are_refused(paper, monkeypatch):
    out = pack(paper)
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    for info, content in ((link, "target"), (zipfile.ZipInfo("folder/"), "")):
        shutil.copy(out, out.with_suffix(".2"))
        with zipfile.ZipFile(out.with_suffix(".2"), "a") as z:
            z.writestr(info, content)
        with pytest.raises(BundleError, match="no plain file"):
            verify_bundle(out.with_suffix(".2"))
    with zipfile.ZipFile(out, "a") as z, pytest.warns(UserWarning, match="Duplicate"):
        z.writestr(INDEX, "{}")
    with pytest.raises(BundleError, match="twice"):
        verify_bundle(out)
    monkeypatch.setattr("veridream.provenance.bundle.MOST_BYTES", 10)
    with pytest.raises(BundleError, match="unpacks to more"):
        verify_bundle(out)


def test_receipts_that_name_paths_outside_and_files_that_are_no_bundle(paper, tmp_path):
    key = paper.receipt("plot_figure", "density")
    out = pack(paper)
    paper.edit_receipt(key, lambda r: r["inputs"].update({"/etc/hostname": {"sha256": "0" * 64, "bytes": 1, "files": 1}}))
    forged, run = (paper.root / key).read_bytes(), (paper.root / key).with_suffix(".run.json").read_bytes()
    rewrite(out, lambda data: data.update({key: forged, key.replace(".json", ".run.json"): run}))
    with pytest.raises(BundleError, match="could reach outside"):
        verify_bundle(out)
    (tmp_path / "x.zip").write_bytes(b"PK no")
    with pytest.raises(BundleError, match="not a sound zip"):
        verify_bundle(tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as z:
        z.writestr("a", "b")
    with pytest.raises(BundleError, match="no bundle of ours"):
        verify_bundle(tmp_path / "y.zip")
