"""What changed between two recorded commits, and by which cause."""

import pytest
from test_explain import git

from helpers.chain import whole_paper
from veridream.provenance.git import NoSuchRevision
from veridream.provenance.ledger import write_anchor, write_ledger
from veridream.provenance.records import Records
from veridream.provenance.revisions import NoLedger, as_json, as_text, compare

FIGURE = "results/smoke/figures/density.svg"


def commit(paper, text="x"):
    receipts = Records("smoke", paper.root, paper.now).receipts
    write_ledger("smoke", receipts, paper.root)
    write_anchor("smoke", receipts, paper.root)
    git(paper.root, "add", "src", "params", "requirements", "ledger", "dvc.yaml")
    git(paper.root, "commit", "--quiet", "--allow-empty", "--message", text)


@pytest.fixture
def paper(tmp_path):
    c = whole_paper(tmp_path)
    (tmp_path / "params/base.yaml").write_text("train: {lr: 0.1}\n")
    git(tmp_path, "init", "--quiet")
    commit(c)
    return c


def remake(paper, stage, name, outputs, inputs, params, text):
    for o in outputs:
        path = paper.root / paper.r / o
        (path / "c" / "0" if path.is_dir() else path).write_text(text)
    paper.write(stage, name, outputs, inputs, params)


def test_the_same_commit_differs_in_nothing(paper):
    d = compare("HEAD", "HEAD", "smoke", paper.root)
    assert d.params == d.metrics == d.environment == d.artefacts == []
    assert "artefacts: the same" in as_text(d)


def test_a_params_key_its_artefact_and_what_followed(paper):
    (paper.root / "params/base.yaml").write_text("train: {lr: 0.2}\n")
    remake(paper, "plot_figure", "density", ["figures/density.svg"], ["scores/uniform_both.parquet"], {"figure": "density", "lr": 0.2}, "<svg>2</svg>")
    commit(paper)
    d = compare("HEAD~1", "HEAD", "smoke", paper.root)
    assert d.params == ["train.lr 0.1 -> 0.2"]
    (change,) = d.artefacts
    assert (change.artefact, change.change) == (FIGURE, "changed")
    assert [(c.kind, c.text) for c in change.causes] == [("params", "lr (absent) -> 0.2")]
    assert f"  changed by params: lr (absent) -> 0.2:\n    {FIGURE}" in as_text(d)
    assert as_json(d)["artefacts"][0]["causes"] == [{"kind": "params", "text": "lr (absent) -> 0.2"}]


def test_a_module_and_an_input(paper):
    (paper.root / "src/score_rollouts.py").write_text("from veridream.maths import PI\n\nSTAGE = 2\n")
    inputs = ["index/corpus.parquet", "tokenizer/uniform_both"]
    remake(paper, "score_rollouts", "uniform_both", ["scores/uniform_both.parquet"], inputs, {"model": "uniform_both"}, "other scores")
    remake(paper, "plot_figure", "density", ["figures/density.svg"], ["scores/uniform_both.parquet"], {"figure": "density"}, "other figure")
    commit(paper)
    causes = {c.artefact: [(x.kind, x.text) for x in c.causes] for c in compare("HEAD~1", "HEAD", "smoke", paper.root).artefacts}
    assert causes == {
        "results/smoke/scores/uniform_both.parquet": [("code", "src/score_rollouts.py changed")],
        FIGURE: [("input", "results/smoke/scores/uniform_both.parquet")],
    }


def test_an_environment_line_a_metric_an_added_artefact_and_bytes_without_a_cause(paper):
    (paper.root / "requirements/lock.txt").write_text("numpy==2\n")
    remake(paper, "plot_figure", "density", ["figures/density.svg"], ["scores/uniform_both.parquet"], {"figure": "density"}, "drawn with numpy 2")
    paper.make("plot_figure", "traces", ["figures/traces.svg"], ["scores/uniform_both.parquet"], {"figure": "traces"})
    key = paper.receipt("index_episodes", "corpus")
    paper.edit_receipt(key, lambda r: r["counts"].update(rows=99))
    path = paper.root / "results/smoke/index/corpus.counts.csv"
    path.write_text("by chance\n")
    paper.edit_receipt(key, lambda r: r["outputs"]["results/smoke/index/corpus.counts.csv"].update(sha256="0" * 64))
    commit(paper)
    d = compare("HEAD~1", "HEAD", "smoke", paper.root)
    assert d.environment == ["-numpy==1", "+numpy==2"]
    assert "index_episodes.corpus.rows 4 -> 99" in d.metrics
    by = {c.artefact: c for c in d.artefacts}
    assert by["results/smoke/figures/traces.svg"].change == "added"
    assert ("environment", "requirements/lock.txt changed") in [(c.kind, c.text) for c in by[FIGURE].causes]
    assert by["results/smoke/index/corpus.counts.csv"].causes[0].kind == "bytes"
    back = {c.artefact: c.change for c in compare("HEAD", "HEAD~1", "smoke", paper.root).artefacts}
    assert back["results/smoke/figures/traces.svg"] == "removed"


def test_what_git_or_the_ledger_does_not_know(paper):
    with pytest.raises(NoSuchRevision, match="no revision 'nowhere'"):
        compare("nowhere", "HEAD", "smoke", paper.root)
    with pytest.raises(NoSuchRevision):
        compare("--output=x", "HEAD", "smoke", paper.root)
    with pytest.raises(NoLedger, match=r"HEAD holds no ledger/laptop/chain.json.*make record SCALE=laptop"):
        compare("HEAD", "HEAD", "laptop", paper.root)
    path = paper.root / "ledger/smoke/chain.json"
    path.write_text(path.read_text().replace("seal", "soul", 1))
    git(paper.root, "commit", "--quiet", "--all", "--message", "damaged")
    with pytest.raises(NoLedger, match=r"chain.json at HEAD is damaged"):
        compare("HEAD~1", "HEAD", "smoke", paper.root)
