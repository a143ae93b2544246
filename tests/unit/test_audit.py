"""The audit names what broke a chain, and where."""

import json

import pytest

from helpers.chain import CURIOUS, STORES, whole_paper
from veridream.provenance.audit import NotAnArtefact, as_json, as_text, audit
from veridream.provenance.jobs import NoSuchJob
from veridream.provenance.records import Records
from veridream.provenance.restore import sound_receipts

FIGURE = "results/smoke/figures/density.svg"
STORE = f"results/smoke/data/{STORES[0]}.zarr"
CLAIMS = "results/smoke/claims/claims.csv"


@pytest.fixture
def paper(tmp_path):
    return whole_paper(tmp_path)


def check(paper, artefact=CLAIMS):
    return audit(artefact, paper.root, paper.now)


def broken(paper, artefact=CLAIMS):
    return {link.artefact: " | ".join(link.problems) for link in check(paper, artefact) if not link.holds}


def test_a_whole_chain_holds_and_reaches_the_first_stores(paper):
    chain = check(paper, FIGURE)
    assert broken(paper, FIGURE) == {}
    assert chain[0].artefact == FIGURE and chain[0].depth == 0 and chain[0].stage == "plot_figure"
    names = [link.artefact for link in chain]
    assert len(names) == len(set(names)), "each artefact once"
    assert {f"results/smoke/data/{s}.zarr" for s in STORES[:2]} < set(names)
    assert f"results/smoke/data/{STORES[2]}.zarr" not in names, "not upstream of this figure"
    assert chain[0].commit == "c0ffee" * 6 and chain[0].dirty is True and chain[0].params == {"figure": "density"}


def test_claims_reach_the_repositorys_own_file(paper):
    (link,) = [x for x in check(paper) if x.artefact == "params/claims.yaml"]
    assert link.holds and link.stage is None
    (paper.root / "params/claims.yaml").write_text("claims: [1]\n")
    assert broken(paper).keys() == {CLAIMS} and "input params/claims.yaml differs" in broken(paper)[CLAIMS]


@pytest.mark.parametrize(
    "artefact, file",
    [
        (STORE, "c/0"),
        (f"results/smoke/validation/{STORES[0]}.json", ""),
        ("results/smoke/index/corpus.parquet", ""),
        ("results/smoke/tokenizer/base", "c/0"),
        ("results/smoke/dynamics/uniform_both", "zarr.json"),
        (f"results/smoke/data/{CURIOUS}.zarr", "c/0"),
        ("results/smoke/scores/uniform_both.parquet", ""),
        (CLAIMS, ""),
    ],
)
def test_one_flipped_byte_is_named(paper, artefact, file):
    path = paper.root / artefact / file if file else paper.root / artefact
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    assert broken(paper).keys() == {artefact}
    assert "output bytes differ" in broken(paper)[artefact]


def test_a_missing_file_inside_a_store_and_a_missing_store(paper):
    (paper.root / STORE / "c" / "0").unlink()
    assert "output bytes differ" in broken(paper)[STORE]
    (paper.root / STORE / "zarr.json").unlink()
    (paper.root / STORE / "c").rmdir()
    (paper.root / STORE).rmdir()
    assert broken(paper)[STORE] == "output is missing"


def test_changed_params_name_the_keys(paper):
    paper.params[paper.receipt("train_tokenizer", "base")] = {"size": 32, "train": {"lr": 0.2, "momentum": 0.9}}
    why = broken(paper)["results/smoke/tokenizer/base"]
    assert why == "params differ from what the rules pass now: train.lr 0.1 -> 0.2, train.momentum (absent) -> 0.9, train.steps 9 -> (absent)"
    assert len(broken(paper)) == 1


def test_a_job_the_params_no_longer_have(paper):
    def now(receipt):
        if STORES[0] in receipt and "collect" in receipt:
            raise NoSuchJob("no such store under the current params")
        return paper.params[receipt]

    paper.now = now
    assert broken(paper) == {STORE: "params: no such store under the current params"}


def test_a_changed_module_is_named_and_a_comment_is_not(paper):
    maths = paper.root / "src/veridream/maths.py"
    maths.write_text("PI = 3  # nearly\n")
    assert broken(paper) == {}
    script = paper.root / "src/collect_episodes.py"
    script.write_text(script.read_text().replace("import PI", "import PI, E").replace("\n\n", "\nimport veridream.new\n"))
    (paper.root / "src/veridream/new.py").write_text("")
    stale = broken(paper)
    assert set(stale) == {f"results/smoke/data/{s}.zarr" for s in STORES[:2]}
    assert stale[STORE] == "code changed: src/collect_episodes.py, src/veridream/new.py (new)"
    (link,) = [x for x in check(paper) if x.artefact == STORE]
    assert link.modules_changed == ("src/collect_episodes.py", "src/veridream/new.py (new)")


def test_a_changed_environment_breaks_every_job(paper):
    (paper.root / "requirements/lock.txt").write_text("numpy==2\n")
    assert all("environment changed: requirements/lock.txt" in why for why in broken(paper).values())
    assert set(broken(paper)) == {x.artefact for x in check(paper) if x.stage}


def test_an_edited_receipt_is_damaged(paper):
    path = paper.root / paper.receipt("score_rollouts", "uniform_both")
    path.write_text(path.read_text().replace('"loss": 0.5', '"loss": 0.4'))
    why = broken(paper, FIGURE)["results/smoke/scores/uniform_both.parquet"]
    assert "receipt missing" in why and "edited after it was written" in why and "score_rollouts/uniform_both.json" in why


def test_an_unreadable_and_a_missing_receipt(paper):
    path = paper.root / paper.receipt("score_rollouts", "uniform_both")
    path.write_text("{")
    assert "damaged receipt" in broken(paper, FIGURE)["results/smoke/scores/uniform_both.parquet"]
    path.unlink()
    assert broken(paper, FIGURE)["results/smoke/scores/uniform_both.parquet"] == "receipt missing: no receipt says how this was made"


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda r: r["inputs"]["results/smoke/index/corpus.parquet"].update(sha256="f" * 64), "differs from what its maker publishes: read ffffffffffff"),
        (lambda r: r.update(code="0" * 16), "its code digest is not that of its modules"),
        (lambda r: r["params"].update(size=64), "size 64 -> 32"),
        (lambda r: r["modules"].update({"src/veridream/maths.py": "0" * 64}), "code changed: src/veridream/maths.py"),
        (lambda r: r["outputs"]["results/smoke/tokenizer/base"].update(sha256="e" * 64), "output bytes differ: receipt eeeeeeeeeeee"),
    ],
)
def test_a_receipt_that_lies_with_a_fitting_seal_is_caught(paper, change, said):
    paper.edit_receipt(paper.receipt("train_tokenizer", "base"), change)
    assert said in broken(paper)["results/smoke/tokenizer/base"]


def test_an_input_remade_since_is_named_by_its_reader(paper):
    (paper.root / "results/smoke/tokenizer/base/c/0").write_bytes(b"other weights")
    paper.write("train_tokenizer", "base", ["tokenizer/base", "tokenizer/base.metrics.jsonl"], ["index/corpus.parquet"], {})
    stale = broken(paper)
    assert set(stale) == {"results/smoke/tokenizer/uniform_both", "results/smoke/dynamics/uniform_both"}
    assert "input results/smoke/tokenizer/base differs from what its maker publishes" in stale["results/smoke/tokenizer/uniform_both"]


def test_an_id_that_disagrees_and_a_rival_receipt(paper):
    (paper.root / f"{STORE}.id").write_text('{"sha256": "0"}')
    assert broken(paper)[STORE] == f"{STORE}.id does not name what the receipt names"
    (paper.root / f"{STORE}.id").unlink()
    assert broken(paper)[STORE] == f"{STORE}.id is missing"
    paper.write("collect_episodes", STORES[0], [f"data/{STORES[0]}.zarr"], [], {"role": "corpus", "max_steps": 16})
    assert broken(paper) == {}
    paper.write("plot_figure", "zzz", [f"data/{STORES[0]}.zarr"], [], {})
    assert "claims the same output" in broken(paper)[STORE], "the id names the last writer; the other claims it too"


def test_a_lost_run_file_breaks_nothing(paper):
    (paper.root / paper.receipt("plot_figure", "density")).with_suffix(".run.json").unlink()
    assert broken(paper, FIGURE) == {}
    assert "commit unknown" in as_text(check(paper, FIGURE))


def test_paths_that_stand_for_an_artefact(paper):
    for path in (FIGURE, f"{FIGURE}.id", paper.receipt("plot_figure", "density"), str(paper.root / FIGURE)):
        assert check(paper, path)[0].artefact == FIGURE
    assert check(paper, f"{STORE}/c/0")[0].artefact == STORE
    both = [x.artefact for x in check(paper, paper.receipt("index_episodes", "corpus")) if x.depth == 0]
    assert both == ["results/smoke/index/corpus.counts.csv", "results/smoke/index/corpus.parquet"]


@pytest.mark.parametrize("path", ["params/claims.yaml", "/etc/passwd", "results", "results/smoke/nothing.csv"])
def test_what_is_no_artefact_is_refused(paper, path):
    with pytest.raises(NotAnArtefact, match="results/"):
        check(paper, path)


def test_a_file_no_receipt_names_is_an_orphan(paper):
    (paper.root / "results/smoke/figures/mine.svg").write_text("<svg/>")
    assert "receipt missing" in broken(paper, "results/smoke/figures/mine.svg")["results/smoke/figures/mine.svg"]


def test_text_and_json_say_the_same(paper):
    chain = check(paper, FIGURE)
    text, data = as_text(chain), as_json(chain)
    assert text.splitlines()[0] == f"{FIGURE}  HOLDS" and text.splitlines()[-1] == f"HOLDS: all {len(chain)} links"
    assert "plot_figure" in text and "commit c0ffeec0ff + local changes" in text and chain[0].code in text
    assert data["holds"] and json.loads(json.dumps(data))["links"][0]["artefact"] == FIGURE
    (paper.root / STORE / "c/0").write_bytes(b"x")
    text = as_text(check(paper, FIGURE))
    assert f"{STORE}  BROKEN" in text and text.splitlines()[-1] == f"BROKEN: 1 of {len(chain)} links: {STORE}"
    assert not as_json(check(paper, FIGURE))["holds"]


def test_soundness_needs_the_whole_upstream(paper):
    (paper.root / f"results/smoke/data/{CURIOUS}.zarr/c/0").write_bytes(b"x")
    records = Records("smoke", paper.root, paper.now)
    failing = records.failing()
    assert set(failing) == {paper.receipt("collect_curiosity", "cup-catch-var1-s1")}
    unsound = set(records.receipts) - set(sound_receipts(records, failing))
    names = [("collect_curiosity", "cup-catch-var1-s1"), ("validate_store", CURIOUS), ("finetune_world_model", "targeted_curiosity")]
    names += [("score_rollouts", "targeted_curiosity"), ("compare_to_paper", "claims")]
    assert unsound == {paper.receipt(*n) for n in names}
