"""Receipts are chained: a rewrite of history with fitting seals is named, and only what provably succeeded is linked anew."""

import json

import numpy as np
import pytest

from helpers.chain import STORES, whole_paper
from veridream.provenance.audit import audit, audit_all, whole_as_json, whole_as_text
from veridream.provenance.chain import mend
from veridream.provenance.receipts import read_receipt, run_path, seal, write_json

FIGURE = "results/smoke/figures/density.svg"


@pytest.fixture
def paper(tmp_path):
    return whole_paper(tmp_path)


def state(paper):
    return audit_all("smoke", paper.root, paper.now)


def all_receipts(paper):
    return {p.relative_to(paper.root).as_posix(): p for p in paper.root.glob("results/smoke/receipts/**/*.json") if not p.name.endswith(".run.json")}


def flip(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def test_everything_holds_and_says_how_much_was_looked_at(paper):
    whole = state(paper)
    assert whole.holds and whole.broken == {} and whole.jobs == len(all_receipts(paper)) and whole.files_read > 0
    assert whole_as_text(whole).splitlines()[-1].startswith(f"HOLDS: {whole.jobs} jobs, {whole.artefacts} artefacts of scale smoke")
    assert json.loads(json.dumps(whole_as_json(whole)))["holds"] is True


def test_a_flipped_bit_of_any_receipt_is_named(paper):
    rng = np.random.default_rng(5)
    for key, path in all_receipts(paper).items():
        sound = path.read_bytes()
        for bit in rng.integers(0, 8 * len(sound), 3):
            flip(path, int(bit))
            whole = state(paper)
            assert key in whole.broken, f"bit {bit} of {key}"
            path.write_bytes(sound)
    assert state(paper).holds


def test_a_flipped_bit_of_any_artefact_or_id_is_named_with_its_file(paper):
    rng, outputs = np.random.default_rng(6), [a for r in all_receipts(paper).values() for a in read_receipt(r)["outputs"]]
    for path in sorted(p for p in paper.root.glob("results/smoke/**/*") if p.is_file() and "receipts" not in p.parts and not p.name.startswith(".")):
        sound = path.read_bytes()
        flip(path, int(rng.integers(0, 8 * len(sound))))
        said = whole_as_text(state(paper))
        name = path.relative_to(paper.root).as_posix()
        artefact = max((a for a in outputs if name.startswith(a)), key=len)
        assert artefact in said and "BROKEN" in said, path
        if (paper.root / artefact).is_dir() and path.suffix != ".id":
            assert f"({path.relative_to(paper.root / artefact)} differs)" in said
        path.write_bytes(sound)
    assert state(paper).holds


def test_a_receipt_rewritten_with_a_fitting_seal_and_run_file_is_named_by_its_readers(paper):
    liar = paper.receipt("train_tokenizer", "base")
    paper.edit_receipt(liar, lambda r: r["counts"].update(loss=0.1))
    broken = state(paper).broken
    assert set(broken) == {paper.receipt("finetune_world_model", "uniform_both")}
    (why,) = broken[paper.receipt("finetune_world_model", "uniform_both")]
    assert f"history: {liar} is not the receipt that vouched for results/smoke/tokenizer/base when it was read" in why
    links = {link.artefact: link.problems for link in audit(FIGURE, paper.root, paper.now)}
    assert links["results/smoke/tokenizer/uniform_both"] == (why,)


def test_a_rewritten_receipt_whose_run_file_was_left_alone_is_named_itself(paper):
    liar = paper.receipt("plot_figure", "density")  # nothing below it could tell
    run = run_path(paper.root / liar).read_text()
    paper.edit_receipt(liar, lambda r: r["counts"].update(loss=0.1))
    run_path(paper.root / liar).write_text(run)
    assert "no receipt that a run of this job left here" in state(paper).broken[liar][0]


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda r: r["chain"].popitem(), "its chain does not name it"),
        (lambda r: r["chain"].update({f"results/smoke/receipts/collect_episodes/{STORES[2]}.json": "0" * 64}), "which made none of its inputs"),
        (lambda r: r["trees"]["results/smoke/tokenizer/base"].update({"c/0": "0" * 64}), "do not add up to its content id"),
    ],
)
def test_an_edited_chain_or_list_of_files_is_named(paper, change, said):
    key = paper.receipt("train_tokenizer", "base")
    paper.edit_receipt(key, change)
    assert said in " | ".join(state(paper).broken[key])


def test_an_artefact_that_was_read_and_has_no_receipt_is_named(paper):
    (paper.root / paper.receipt("train_tokenizer", "base")).unlink()
    assert "no receipt says how this was made" in state(paper).broken["results/smoke/tokenizer/base"][0]


def remake_tokenizer(paper):
    """Other params, the same bytes: the jobs below do not run again."""
    key = paper.receipt("train_tokenizer", "base")
    inputs = [i.removeprefix("results/smoke/") for i in read_receipt(paper.root / key)["inputs"]]
    paper.write("train_tokenizer", "base", ["tokenizer/base", "tokenizer/base.metrics.jsonl"], inputs, {"size": 32, "train": {"lr": 0.1, "steps": 9, "log": 1}})
    return key


def test_a_remade_job_with_equal_bytes_is_linked_anew_all_the_way_down(paper):
    remake_tokenizer(paper)
    assert not state(paper).holds
    mended = mend("smoke", paper.root, paper.now)
    below = {paper.receipt("finetune_world_model", "uniform_both"), paper.receipt("score_rollouts", "uniform_both"), paper.receipt("plot_figure", "density")}
    assert below < set(mended.relinked) and mended.removed == {}
    assert paper.receipt("index_episodes", "corpus") not in mended.relinked
    assert state(paper).holds
    assert mend("smoke", paper.root, paper.now).relinked == []


def test_what_snakemake_overlooks_is_removed_so_that_it_runs_again(paper):
    """Other bytes under times of a clock set back, and params forgotten with .snakemake: nothing is planned, and neither is believed."""
    (paper.root / "results/smoke/tokenizer/base/c/0").write_bytes(b"others")
    remake_tokenizer(paper)
    key = paper.receipt("collect_episodes", "targeted/cup-catch-var1/random-s1")
    paper.params[key] = {**paper.params[key], "max_steps": 17}
    mended = mend("smoke", paper.root, paper.now)
    assert "Snakemake does not see it: input results/smoke/tokenizer/base differs" in mended.removed[paper.receipt("finetune_world_model", "uniform_both")]
    assert mended.removed[key] == "Snakemake does not see it: params differ from what the rules pass now: max_steps 16 -> 17"
    assert paper.receipt("train_tokenizer", "base") not in mended.removed and not (paper.root / key).exists()


def test_without_evidence_both_sides_are_made_again(paper):
    key = remake_tokenizer(paper)
    paper.forget_runs()
    mended = mend("smoke", paper.root, paper.now)
    reader = paper.receipt("finetune_world_model", "uniform_both")
    assert set(mended.removed) == {key, reader} and mended.relinked == []
    assert not (paper.root / key).exists() and not (paper.root / reader).exists()


def test_a_rewritten_receipt_is_removed_not_linked(paper):
    key = paper.receipt("train_tokenizer", "base")
    run = run_path(paper.root / key).read_text()
    paper.edit_receipt(key, lambda r: r["counts"].update(loss=0.1))
    run_path(paper.root / key).write_text(run)
    mended = mend("smoke", paper.root, paper.now)
    assert set(mended.removed) == {key} and mended.relinked == []
    damaged = paper.root / paper.receipt("plot_figure", "density")
    damaged.write_text(damaged.read_text()[:-9])
    assert "damaged receipt" in mend("smoke", paper.root, paper.now).removed[paper.receipt("plot_figure", "density")]


def test_a_mend_that_was_killed_half_way_is_finished_by_the_next(paper, monkeypatch):
    remake_tokenizer(paper)
    written = []

    def dies(path, obj):
        if not path.name.endswith(".run.json") and written:
            raise KeyboardInterrupt
        written.append(path)
        write_json(path, obj)

    monkeypatch.setattr("veridream.provenance.chain.write_json", dies)
    with pytest.raises(KeyboardInterrupt):
        mend("smoke", paper.root, paper.now)
    monkeypatch.undo()
    assert mend("smoke", paper.root, paper.now).removed == {}
    assert state(paper).holds


def test_history_rewritten_as_a_whole_needs_the_ledger(paper):
    """Every receipt below the lie sealed and linked again, run files forged: the receipts agree with each other (see test_ledger_audit)."""
    rewrite_all(paper)
    assert state(paper).holds


def rewrite_all(paper):
    paper.edit_receipt(paper.receipt("train_tokenizer", "base"), lambda r: r["counts"].update(loss=0.1))
    for _ in range(8):  # as often as the chain is deep
        seals = {k: json.loads(p.read_text())["seal"] for k, p in all_receipts(paper).items()}
        for key in all_receipts(paper):
            paper.edit_receipt(key, lambda r, seals=seals: r["chain"].update({m: seals[m] for m in r["chain"]}))
    assert all(read_receipt(p)["seal"] == seal(read_receipt(p)) for p in all_receipts(paper).values())
