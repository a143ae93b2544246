import csv
import dataclasses
import json

import pytest

from helpers.stores import make_store, store_path
from veridream.data.index import build_index, check_verdicts, frame_counts, load_index, save_index, skipped_counts, write_counts
from veridream.io.store_manifest import StoreError
from veridream.io.tables import write_parquet
from veridream.params.load import load_params
from veridream.params.split import empty_sides, split_of

SEEN, UNSEEN = ["pygame-pong"], ["pygame-reacher-easy"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    root = tmp_path_factory.mktemp("i")
    return [
        make_store(store_path(root), [4] * 12, size=8),
        make_store(store_path(root, behaviour="expert"), [2] * 8, behaviour="expert", size=8),
        make_store(store_path(root, "targeted", UNSEEN[0], seed=1), [3, 3], UNSEEN[0], seed=1, role="targeted", size=8),
        make_store(store_path(root, "test", UNSEEN[0], seed=2), [5], UNSEEN[0], seed=2, role="test", size=8),
    ]


@pytest.fixture(scope="module")
def index(stores):
    return build_index(stores, "salt", 0.3, SEEN, UNSEEN)


def test_columns(index):
    assert len(index) == 23 and index.frames() == 12 * 4 + 8 * 2 + 6 + 5
    assert index.tasks() == ["pygame-pong", "pygame-reacher-easy"]
    part = index.select(store="corpus/pygame-pong/random-s0")
    assert part.offset.tolist() == list(range(0, 48, 4)) and set(part.length) == {4} and part.episode.tolist() == list(range(12))
    assert set(part.domain) == {"pygame"} and part.seen.all() and set(part.behaviour) == {"random"}
    assert not index.select(task=UNSEEN[0]).seen.any()


def test_sides_are_disjoint_and_follow_the_role(index):
    sides = {s: {(a, int(b)) for a, b in zip(p.store, p.episode, strict=True)} for s in ("train", "heldout") for p in [index.select(split=s)]}
    assert sides["train"] and sides["heldout"] and not sides["train"] & sides["heldout"]
    assert set(index.select(role="targeted").split) == {"train"} and set(index.select(role="test").split) == {"heldout"}
    assert set(index.select(role="corpus").split) == {"train", "heldout"}


def test_an_added_episode_moves_no_other(tmp_path):
    sides = []
    for n in (20, 21, 40):
        path = make_store(store_path(tmp_path / str(n)), [2] * n, size=8)
        sides.append(build_index([path], "salt", 0.3, SEEN, []).split.tolist())
    assert sides[1][:20] == sides[0] and sides[2][:21] == sides[1]


def test_the_share_is_kept_and_the_salt_matters():
    sides = [split_of("corpus", "a", "corpus/x/y-s0", i, 0.2) for i in range(5000)]
    assert sides.count("heldout") / 5000 == pytest.approx(0.2, abs=0.02)
    assert sides != [split_of("corpus", "b", "corpus/x/y-s0", i, 0.2) for i in range(5000)]


def test_the_tune_side_is_cut_from_the_training_side_alone():
    before, after = ([split_of("corpus", "a", "corpus/x/y-s0", i, 0.2, tune) for i in range(5000)] for tune in (0.0, 0.1))
    assert after.count("tune") / 5000 == pytest.approx(0.1, abs=0.02)
    assert all(a == b or (b, a) == ("train", "tune") for a, b in zip(after, before, strict=True))
    assert split_of("test", "a", "test/x/y-s2", 0, 0.2, 0.8) == "heldout" and split_of("targeted", "a", "targeted/x/y-s1", 0, 0.2, 0.8) == "train"


def test_training_episodes_beyond_a_models_own_are_spare(stores, index):
    some = build_index(stores, "salt", 0.3, SEEN, UNSEEN, episodes={"pygame-pong": {"random": 5}})
    cut = (index.behaviour == "random") & (index.role == "corpus") & (index.episode >= 5) & (index.split == "train")
    assert cut.any() and set(some.split[cut]) == {"spare"} and some.split[~cut].tolist() == index.split[~cut].tolist()
    with pytest.raises(ValueError, match="task pygame-pong has no train episode"):
        build_index(stores, "salt", 0.3, SEEN, UNSEEN, episodes={"pygame-pong": {"random": 0, "expert": 0}})


def test_a_side_that_stays_empty_is_known_before_anything_is_collected():
    assert all(empty_sides(load_params(scale)) == [] for scale in ("smoke", "laptop", "workstation"))
    assert empty_sides(load_params("laptop", ["split.tune=0.1"])) == ["task mw-push would have no tune episode"]
    assert "task pygame-pong would have no heldout episode" in empty_sides(load_params("laptop", ["split.heldout=0.000000001"]))
    few = empty_sides(load_params("smoke", ["replicates=[{seed: 1, counts_seed: 1}]"]))
    assert few == ["task cup-catch would have no train episode"], "of the replicate alone"


def test_the_order_of_the_stores_does_not_matter(stores, index, tmp_path):
    again = build_index(stores[::-1], "salt", 0.3, SEEN, UNSEEN)
    save_index(tmp_path / "a", index)
    save_index(tmp_path / "b", again)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_round_trip(index, tmp_path):
    save_index(tmp_path / "i.parquet", index)
    back = load_index(tmp_path / "i.parquet")
    for f in dataclasses.fields(index):
        a, b = getattr(index, f.name), getattr(back, f.name)
        assert a.tolist() == b.tolist() and a.dtype == b.dtype, f.name


def test_select(index):
    assert len(index.select(behaviour=["random", "expert"], role="corpus")) == 20
    assert len(index.select(role="corpus", length=2)) == 8
    assert len(index.select(role="nothing")) == 0
    assert len(index.select(seen=False)) == 3
    with pytest.raises(ValueError, match="no column 'tasks'"):
        index.select(tasks="x")


def test_frame_counts(index, tmp_path):
    rows = frame_counts(index)
    assert [(r["task"], r["role"], r["episodes"], r["frames"]) for r in rows] == [
        ("pygame-pong", "corpus", 20, 64),
        ("pygame-reacher-easy", "targeted", 2, 6),
        ("pygame-reacher-easy", "test", 1, 5),
    ]
    for r in rows:
        assert r["train_frames"] + r["heldout_frames"] == r["frames"] and r["train_episodes"] + r["heldout_episodes"] == r["episodes"]
    assert rows[1]["train_frames"] == 6 and rows[2]["heldout_frames"] == 5
    write_counts(tmp_path / "c.csv", rows)
    with (tmp_path / "c.csv").open() as f:
        back = list(csv.DictReader(f))
    assert back[0] == {k: str(v).lower() if k == "seen" else str(v) for k, v in rows[0].items()}


def test_tasks_that_were_left_out_have_a_row_with_the_reason(index, tmp_path):
    rows = frame_counts(index) + skipped_counts({"ms-reach": "task ms-reach needs mani_skill"}, "corpus")
    write_counts(tmp_path / "c.csv", rows)
    with (tmp_path / "c.csv").open() as f:
        *others, last = csv.DictReader(f)
    assert (last["task"], last["domain"], last["role"], last["episodes"], last["frames"]) == ("ms-reach", "maniskill", "corpus", "0", "0")
    assert last["skipped"] == "task ms-reach needs mani_skill" and not any(r["skipped"] for r in others)


def test_a_task_without_a_side(stores):
    with pytest.raises(ValueError, match=r"task pygame-pong has no heldout episode among its 20 corpus episodes; collect more.*split\.salt"):
        build_index(stores, "salt", 1e-9, SEEN, UNSEEN)
    assert set(build_index(stores, "salt", 0.0, SEEN, UNSEEN).select(role="corpus").split) == {"train"}, "nothing is held out, and none is asked for"
    with pytest.raises(ValueError, match="task pygame-pong has no tune episode"):
        build_index(stores, "salt", 0.3, SEEN, UNSEEN, tune=1e-9)
    with pytest.raises(ValueError, match="task pygame-pong has no train episode"):
        build_index(stores, "salt", 1.0, SEEN, UNSEEN)
    with pytest.raises(ValueError, match="task pygame-reacher-easy has no heldout episode among its 0 test episodes"):
        build_index(stores[:3], "salt", 0.3, SEEN, UNSEEN)
    with pytest.raises(ValueError, match="task mw-push has no train episode among its 0 corpus episodes"):
        build_index(stores, "salt", 0.3, [*SEEN, "mw-push"], UNSEEN)


def test_a_task_of_no_list(stores):
    with pytest.raises(ValueError, match=r"pygame-reacher-easy is neither in tasks\.seen nor in tasks\.unseen"):
        build_index(stores, "salt", 0.3, SEEN, [])


def test_one_id_twice(stores, tmp_path):
    other = make_store(store_path(tmp_path), [4], size=8)
    with pytest.raises(StoreError, match="corpus/pygame-pong/random-s0 stands twice"):
        build_index([*stores, other], "salt", 0.3, SEEN, UNSEEN)


def test_a_moved_store(tmp_path):
    path = store_path(tmp_path)
    make_store(path, [4], size=8)
    moved = path.rename(path.with_name("expert-s0.zarr"))
    with pytest.raises(StoreError, match=r"attributes say corpus/pygame-pong/random-s0, its path says corpus/pygame-pong/expert-s0"):
        build_index([moved], "salt", 0.3, SEEN, [])


@pytest.mark.parametrize("name, value", [("quality", "full"), ("frame_skip", 3)])
def test_render_settings_do_not_mix(tmp_path, name, value):
    a = make_store(store_path(tmp_path), [4], size=8)
    b = make_store(store_path(tmp_path, behaviour="expert"), [4], behaviour="expert", size=8, **{name: value})
    with pytest.raises(StoreError, match=f"random-s0 was made with {name} .*expert-s0 with {value}; one corpus has one {name}"):
        build_index([a, b], "salt", 0.3, SEEN, [])


def test_simulator_versions_do_not_mix(tmp_path):
    a = make_store(store_path(tmp_path), [4], size=8)
    b = make_store(store_path(tmp_path, behaviour="expert"), [4], behaviour="expert", size=8)
    meta = json.loads((b / "zarr.json").read_text())
    meta["attributes"]["versions"] = {"counter": "2"}
    (b / "zarr.json").write_text(json.dumps(meta))
    with pytest.raises(StoreError, match=r"made with versions \{'counter': '1'\}.*with \{'counter': '2'\}"):
        build_index([a, b], "salt", 0.3, SEEN, [])


def test_index_files_that_cannot_be_used(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing; run the workflow"):
        load_index(tmp_path / "no")
    write_parquet(tmp_path / "other", {"store": ["a"]})
    with pytest.raises(ValueError, match="other: no column task, domain"):
        load_index(tmp_path / "other")


def verdict(path, **changes):
    path.write_text(json.dumps({"store": "corpus/pygame-pong/random-s0", "valid": True, "content": "abc", "episodes": 1, "frames": 4} | changes))
    return path


def test_verdicts(tmp_path):
    store = store_path(tmp_path)
    check_verdicts({store: "abc"}, [verdict(tmp_path / "v")])
    with pytest.raises(StoreError, match="no verdict was given for corpus/pygame-pong/random-s0; run validate_store"):
        check_verdicts({store: "abc"}, [])
    with pytest.raises(StoreError, match=r"does not call .* valid"):
        check_verdicts({store: "abc"}, [verdict(tmp_path / "v", valid=False)])
    with pytest.raises(StoreError, match=r"another content of .*\(abc, now abd\)"):
        check_verdicts({store: "abd"}, [verdict(tmp_path / "v")])
    with pytest.raises(StoreError, match="verdict on corpus/pygame-pong/expert-s0, which was not given"):
        check_verdicts({store: "abc"}, [verdict(tmp_path / "v"), verdict(tmp_path / "w", store="corpus/pygame-pong/expert-s0")])
    (tmp_path / "v").write_text("{")
    with pytest.raises(StoreError, match="damaged verdict"):
        check_verdicts({store: "abc"}, [tmp_path / "v"])
