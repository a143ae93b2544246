"""The committed ledger: one flipped bit of any of its files is found and named, and so is history that was rewritten as a whole."""

import numpy as np
import pytest
import yaml
from test_history import flip, remake_tokenizer, rewrite_all

from helpers.chain import whole_paper
from veridream.provenance.audit import audit_all, whole_as_text
from veridream.provenance.ledger import differences, write_anchor, write_ledger
from veridream.provenance.ledger_audit import audit_ledger
from veridream.provenance.records import Records

FILES = ("dvc.yaml", "dvc.lock", "ledger/smoke/plan.json", "ledger/smoke/metrics.json", "ledger/smoke/chain.json")


@pytest.fixture
def paper(tmp_path):
    """A recorded paper; dvc.lock in DVC's form."""
    c = whole_paper(tmp_path)
    receipts = records(c).receipts
    names = write_ledger("smoke", receipts, tmp_path)
    lock = {"schema": "2.0", "stages": {n: {"cmd": "snakemake", "outs": [{"path": "x", "md5": f"{i:031x}a", "size": i}]} for i, n in enumerate(names)}}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock, sort_keys=False))
    write_anchor("smoke", receipts, tmp_path)
    return c


def records(c):
    return Records("smoke", c.root, c.now)


def test_a_recorded_ledger_holds(paper):
    state = audit_ledger(records(paper))
    assert state.recorded and state.holds and state.notes == []
    assert differences("smoke", records(paper).receipts, paper.root) == []


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_named(paper, name):
    rng, path = np.random.default_rng(7), paper.root / name
    sound, r = path.read_bytes(), records(paper)
    for bit in rng.integers(0, 8 * len(sound), 16):
        flip(path, int(bit))
        state = audit_ledger(r)
        assert any(name in why for why in state.problems), f"bit {bit}: {state.problems}"
        path.write_bytes(sound)
    path.unlink()
    assert any(name in why for why in audit_ledger(r).problems)


def test_another_dvc_stage_is_named(paper):
    path = paper.root / "dvc.lock"
    path.write_text(path.read_text().replace(f"{3:031x}a", f"{4:031x}a"))
    (why,) = audit_ledger(records(paper)).problems
    assert why.startswith("dvc.lock: smoke-") and "not what was recorded" in why


def test_history_rewritten_as_a_whole_is_named_by_the_ledger(paper):
    rewrite_all(paper)
    whole = audit_all("smoke", paper.root, paper.now)
    assert not whole.holds
    assert whole.broken == {}, "its run files were forged too"
    liar = paper.receipt("train_tokenizer", "base")
    assert f"{liar} claims other counts than were recorded for the same params, code, inputs and outputs" in whole.ledger.problems
    assert f"ledger  BROKEN\n  ! {liar}" in whole_as_text(whole)


def test_what_lawfully_changed_since_is_a_note(paper):
    key = remake_tokenizer(paper)
    state = audit_ledger(records(paper))
    assert [n for n in state.notes if n.startswith(key) and "ran again since" in n]
    (paper.root / paper.receipt("plot_figure", "density")).unlink()
    assert any("recorded and not here" in n for n in audit_ledger(records(paper)).notes)


def test_a_scale_that_was_never_recorded_holds_and_says_so(tmp_path):
    c = whole_paper(tmp_path)
    state = audit_ledger(records(c))
    assert state.holds and not state.recorded and "is not recorded" in state.notes[0]


def test_a_plan_refreshed_with_todays_params_is_lawful(paper):
    from veridream.provenance.ledger import refresh_plan

    paper.params[paper.receipt("train_tokenizer", "base")] = {"size": 64}
    refresh_plan("smoke", paper.root, paper.now)
    assert audit_ledger(records(paper)).problems == []
