"""Params: one home, strict, errors that help; the slices; the task registry."""

from typing import Any

import pytest
import yaml

from veridream import spec
from veridream.params import tasks as tasks_module
from veridream.params.load import ROOT, ParamsError, load_params
from veridream.params.model import Params, Replicate
from veridream.params.slices import base_models, behaviour_counts, curiosity_stores, episode_counts, stage_params, stores
from veridream.params.tasks import UnknownTask, registry, task
from veridream.provenance.jobs import RECEIPT_NAMES, NoSuchJob, params_now, params_of, split_receipt, wildcards_of

SCALES = sorted(p.stem for p in (ROOT / "scales").glob("*.yaml"))


@pytest.mark.parametrize("name", SCALES)
def test_every_scale_is_valid(name):
    p = load_params(name)
    assert len(p.collect.counts) in (1, len(p.tasks.seen))


def test_an_empty_scale_is_the_papers(scale):
    assert scale("") == Params()


NO_EXPERT = "tasks: {seen: [atari-asterix, pygame-pong]}\n"


def test_the_papers_behaviours_go_with_a_task_that_has_no_expert(scale):
    p = scale(NO_EXPERT + "collect: {counts: [9, 9]}")
    assert p.collect.shares == {"switched": 1.0} and behaviour_counts(p, "atari-asterix", 9) == {"switched": 9}


def test_a_switched_job_reads_its_own_params_and_others_do_not(scale):
    p = scale("collect: {shares: {switched: 0.5, noop: 0.5}}")
    slices = {b: stage_params(p, "collect_episodes", role="corpus", task="cup-catch", behaviour=b, seed="0") for b in ("switched", "noop")}
    assert slices["switched"]["switched"] == p.collect.switched.model_dump() and slices["switched"]["expert"] == p.collect.expert.model_dump()
    assert "switched" not in slices["noop"] and "expert" not in slices["noop"]


@pytest.mark.parametrize(
    "text, said",
    [
        ("score: {horizn: 8}", "unknown key score.horizn; did you mean score.horizon?"),
        ("scores: {horizon: 8}", "unknown key scores; did you mean score?"),
        ("tokenizer:\n  train:\n    optimiser: {kindd: adamw}", "unknown key tokenizer.train.optimiser.kindd; did you mean tokenizer.train.optimiser.kind?"),
        ("score: {zzz: 8}", "unknown key score.zzz; known keys here: sequences,"),
        ("score: {seeds: many}", "score.seeds: Input should be a valid integer (got 'many')"),
        ("score: {seeds: 2.0}", "score.seeds: Input should be a valid integer (got 2.0)"),
        ("score: {seeds: 1}", "score.seeds: Input should be greater than or equal to 2 (got 1)"),
        ("score: 3", "score: Input should be"),
        ("split: {heldout: 1.5}", "split.heldout"),
        ("render: {quality: best}", "render.quality"),
        ("tasks: {unseen: [cup-catch-var2]}", "tasks.unseen: unknown task 'cup-catch-var2'; did you mean 'cup-catch-var1'?"),
        ("tasks: {unseen: [cup-catch]}", "named twice: cup-catch"),
        ("collect: {shares: {expert: 0.5, noise: 0.6}}", "shares sum to 1.1, they must sum to 1"),
        ("collect: {shares: {curiosity: 1.0}}", "collect.shares.curiosity"),
        ("collect: {switched: {weights: {switched: 1.0}}}", "collect.switched.weights.switched"),
        ("collect: {switched: {weights: {noop: 0.5}}}", "collect.switched: weights sum to 0.5, they must sum to 1"),
        ("collect: {switched: {shortest: 9, longest: 8}}", "collect.switched: shortest (9) exceeds longest (8)"),
        (
            NO_EXPERT + "collect: {counts: [9, 9], shares: {noise: 0.5, expert: 0.5}}",
            "collect.shares: atari-asterix has no expert, and all of noise, expert need one",
        ),
        (
            NO_EXPERT + "collect: {counts: [9, 9], switched: {weights: {noise: 1.0}}}",
            "collect.switched.weights: nothing but experts, and atari-asterix has none",
        ),
        ("collect: {counts: [1, 2]}", "collect.counts has 2 entries for 7 seen tasks"),
        ("render: {size: 225}", "does not divide render.size (225)"),
        ("collect: {max_steps: 8}", "collect.max_steps (8) is too short"),
        ("dynamics: {arch: {k_max: 48}}", "k_max is 48"),
        ("mpc: {cem: {elites: 99, candidates: 9, iterations: 1, horizon: 2, execute: 1}}", "elites (99) exceed candidates (9)"),
        ("- a\n- b", "must be a mapping of keys"),
        ("score: {", "not valid YAML"),
    ],
)
def test_a_bad_scale_names_file_key_and_remedy(scale, text, said):
    with pytest.raises(ParamsError) as e:
        scale(text)
    assert said in str(e.value) and "mini.yaml" in str(e.value)


def test_an_unknown_scale_lists_the_known():
    with pytest.raises(ParamsError, match=r"unknown scale 'huge'.*known scales: .*laptop.*smoke"):
        load_params("huge")


def test_overrides_come_last_and_are_checked(scale):
    p = scale("score: {seeds: 3, horizon: 8}", "score.seeds=5", "tokenizer.train.optimiser.lr=0.5")
    assert (p.score.seeds, p.score.horizon, p.tokenizer.train.optimiser.lr) == (5, 8, 0.5)
    wrong = {"score.horizn=5": "did you mean score.horizon?", "score.seeds": "write key.path=value", "score.seeds=x": "score.seeds: Input should be"}
    for text, said in wrong.items():
        with pytest.raises(ParamsError) as e:
            scale("", text)
        assert said in str(e.value)


def test_shares_and_weights_replace_as_a_whole(scale):
    assert scale("collect: {shares: {expert: 1.0}}").collect.shares == {"expert": 1.0}
    assert scale("collect: {switched: {weights: {noop: 1.0}}}").collect.switched.weights == {"noop": 1.0}


def test_small_scales_keep_whole_episodes_of_one_behaviour():
    assert list(load_params("laptop").collect.shares.items()) == [("expert", 0.3), ("noise", 0.25), ("random", 0.25), ("transformed", 0.15), ("noop", 0.05)]
    assert load_params("smoke").collect.shares == {"expert": 0.5, "noise": 0.5}


def test_params_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="frozen"):
        Params().score.seeds = 9  # type: ignore[misc]


def jobs(p: Params) -> dict[str, Any]:
    """{receipt path: params slice} of every job."""
    names = {"table": ("coverage", "targeted", "auroc"), "figure": ("density", "traces")}
    out = []
    for s in [*stores(p), *curiosity_stores(p)]:
        name = f"{s['role']}/{s['task']}/{s['behaviour']}-s{s['seed']}"
        out.append(f"validate_store/{name}")
        out.append(f"collect_curiosity/{s['task']}-s{s['seed']}" if s["behaviour"] == "curiosity" else f"collect_episodes/{name}")
    out += [
        "index_episodes/corpus",
        "index_episodes/test",
        "train_tokenizer/base",
        "encode_latents/base",
        "train_dynamics/base",
        "export_rollouts/base",
        "judge_rollouts/base",
        "rank_rollouts/wmb-sim",
        "compare_to_paper/claims",
        "render_report/index",
    ]
    out += [f"finetune_world_model/{m}" for m in (*spec.ARMS, *spec.TARGETED)] + [f"score_rollouts/{m}" for m in spec.MODELS]
    out += [f"plan_mpc/{m}" for m in (spec.NO_MODEL, spec.COVERAGE_AWARE, *spec.TARGETED)] + ["render_clips/base"]
    out += [f"tabulate_results/{t}" for t in names["table"]] + [f"plot_figure/{f}" for f in names["figure"]]
    receipts = [f"results/smoke/receipts/{x}.json" for x in out]
    return {r: params_of(p, r) for r in receipts}


def test_every_stage_has_a_slice_and_a_receipt_name():
    assert {split_receipt(r)[1] for r in jobs(load_params("smoke"))} == set(RECEIPT_NAMES)


def test_the_params_behind_a_receipt_are_those_of_its_wildcards():
    p, now = load_params("smoke"), params_now()
    for s in stores(p):
        receipt = f"results/smoke/receipts/collect_episodes/{s['role']}/{s['task']}/{s['behaviour']}-s{s['seed']}.json"
        wildcards = wildcards_of(receipt)
        assert wildcards == {"scale": "smoke", **{k: str(s[k]) for k in ("role", "task", "behaviour", "seed")}}
        assert now(receipt) == stage_params(p, "collect_episodes", **wildcards) and now(receipt)["episodes"] == s["episodes"]
    for model in (*spec.ARMS, *spec.TARGETED):
        assert now(f"results/smoke/receipts/finetune_world_model/{model}.json") == stage_params(p, "finetune_world_model", scale="smoke", model=model)
    assert wildcards_of("results/laptop/receipts/collect_curiosity/pygame-reacher-easy-s1.json") == {
        "scale": "laptop",
        "task": "pygame-reacher-easy",
        "seed": "1",
    }


@pytest.mark.parametrize(
    "receipt, said",
    [
        ("results/smoke/receipts/bake_bread/base.json", "no stage is called 'bake_bread'"),
        ("results/smoke/receipts/train_tokenizer/other.json", "writes receipts named {model}, not 'other'"),
        *(
            (f"results/smoke/receipts/{stage}/replicate_2.json", "no such store or replicate under the current params")
            for stage in ("index_episodes", "train_tokenizer", "encode_latents", "train_dynamics", "score_rollouts")
        ),
        ("results/smoke/receipts/collect_episodes/corpus/no-such-task/expert-s0.json", "no such store or replicate under the current params"),
        ("results/smoke/figures/density.svg", "is not results/<scale>/receipts"),
    ],
)
def test_a_receipt_of_no_job_is_refused(receipt, said):
    with pytest.raises(NoSuchJob) as e:
        params_of(load_params("smoke"), receipt)
    assert said in str(e.value)


def leaves(value: Any, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    return [x for k, v in value.items() for x in leaves(v, (*at, k))] if isinstance(value, dict) and value else [at]


def other(value: Any) -> Any:
    """A value of the same type that differs."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return {"fast": "full", "muon": "adamw", "cosine": "constant", "all": "masked", "sqrt": "frames"}.get(value, value + "x")
        case tuple():
            return tuple(other(x) for x in value)
        case Replicate(seed=seed, counts_seed=counts):
            return Replicate(seed=seed + 1, counts_seed=counts)
        case [first, *rest]:
            return [*rest, first] if rest and first != rest[0] else [*rest, other(first)]
    raise TypeError(value)


UNUSED = {
    ("arms", "target_mass"),  # the arms of Table 1 have no target
    ("collect", "missing"),  # what it does depends on the machine: see the tests of skipped tasks
}


def changed(model: Any, path: tuple[str, ...]) -> Any:
    """A copy with one leaf changed, unvalidated."""
    if isinstance(model, dict):
        k = path[0]
        return {**model, k: other(model[k])}
    value = getattr(model, path[0])
    return model.model_copy(update={path[0]: changed(value, path[1:]) if len(path) > 1 else other(value)})


TWICE = "replicates=[{seed: 1, counts_seed: 0}]"
PAPER = load_params("laptop", ["collect.shares={expert: 0.5, noop: 0.1, switched: 0.4}", TWICE])


def read_by_jobs(p: Params) -> Any:
    """What jobs get to see: every store row, and one slice or a few of each stage."""
    task_id, cem = p.tasks.seen[0], "cup-catch"
    names = [f"collect_episodes/corpus/{t}/{b}-s{p.collect.seed}" for t in sorted({task_id, cem} & set(p.tasks.seen)) for b in ("expert", "switched")]
    names += [
        f"collect_curiosity/{p.tasks.unseen[0]}-s{p.targeted.seed}",
        "index_episodes/corpus",
        "index_episodes/test",
        "index_episodes/replicate_1",
        "train_tokenizer/base",
        "train_tokenizer/replicate_1",
        "train_dynamics/base",
    ]
    names += ["finetune_world_model/control", "finetune_world_model/targeted_matched", "score_rollouts/base", "plan_mpc/none", "compare_to_paper/claims"]
    names += ["export_rollouts/base", "judge_rollouts/base", "rank_rollouts/wmb-sim"]
    return [stores(p), curiosity_stores(p), [params_of(p, f"results/smoke/receipts/{n}.json") for n in names]]


BASELINE = read_by_jobs(PAPER)


@pytest.mark.parametrize("leaf", sorted(set(leaves(PAPER.model_dump())) - UNUSED), ids=".".join)
def test_every_leaf_reaches_some_job(leaf):
    assert read_by_jobs(changed(PAPER, leaf)) != BASELINE, f"no job reads {'.'.join(leaf)}: a change of it reruns nothing"


def test_a_job_reads_no_more_than_it_needs():
    before, after = jobs(load_params("smoke")), jobs(load_params("smoke", ["score.horizon=5"]))
    assert {split_receipt(r)[1] for r, x in after.items() if before[r] != x} == {"score_rollouts", "render_report"}, "the report prints all params"


def test_episode_counts_are_a_permutation_and_behaviours_sum_up():
    p = load_params("laptop")
    counts = episode_counts(p)
    assert sorted(counts.values()) == sorted(p.collect.counts) and set(counts) == set(p.tasks.seen)
    assert counts != dict(zip(p.tasks.seen, p.collect.counts, strict=True)), "the order of the tasks must not be the order of the counts"
    for t, n in counts.items():
        shares = behaviour_counts(p, t, n)
        assert sum(shares.values()) == n and min(shares.values()) >= 1 and set(shares) == set(p.collect.shares)


def test_a_replicate_is_the_base_with_its_own_seed_and_counts():
    p = load_params("laptop", [TWICE])
    for stage, section in (("train_tokenizer", "tokenizer"), ("train_dynamics", "dynamics")):
        base, own = (stage_params(p, stage, model=m) for m in base_models(p))
        assert own[section]["train"].pop("seed") == p.replicates[0].seed != base[section]["train"].pop("seed") and own == base
    counts = [episode_counts(p, m) for m in base_models(p)]
    assert counts[0] != counts[1] and sorted(counts[0].values()) == sorted(counts[1].values())
    index = [stage_params(p, "index_episodes", part=part)["episodes"] for part in ("corpus", "replicate_1")]
    assert [sum(index[0][t].values()) for t in p.tasks.seen] == list(counts[0].values())
    for s in stores(p):
        if s["role"] == "corpus":
            assert s["episodes"] == max(each[s["task"]][s["behaviour"]] for each in index), "a store holds what the greediest base model needs"


def test_shares_that_leave_nothing_to_train_on_are_refused(scale):
    with pytest.raises(ParamsError, match=r"split: heldout \(0.6\) and tune \(0.4\) leave nothing to train on"):
        scale("split: {heldout: 0.6, tune: 0.4}")


def test_stores_are_named_once(lacking):
    lacking({})
    for name in SCALES:
        p = load_params(name)
        keys = [(s["role"], s["task"], s["behaviour"], s["seed"]) for s in [*stores(p), *curiosity_stores(p)]]
        assert len(keys) == len(set(keys)) and all(s["episodes"] >= 1 for s in stores(p))


def test_the_registry_is_whole():
    assert task("cup-catch").action_dim == 2 and task("pygame-reacher-easy").unseen
    for t in registry().values():
        assert t.partner is None or t.partner in registry()
        assert t.score.kind != "linear" or t.score.low < t.score.high


ROWS = yaml.safe_load(tasks_module.REGISTRY.read_text())


@pytest.mark.parametrize(
    "change, said",
    [
        ({"domain": "mujocco"}, "task cup-catch: domain: Input should be 'dmcontrol'"),
        ({"action_dim": 17}, "task cup-catch: action_dim: Input should be less than or equal to 16"),
        ({"id": "Cup Catch"}, "task Cup Catch: id: String should match pattern"),
        ({"horizn": 3}, "task cup-catch: horizn: Extra inputs are not permitted"),
        ({"score": {"kind": "best"}}, "task cup-catch: score.kind"),
        ({"id": "walker-walk"}, "task walker-walk stands twice"),
    ],
)
def test_a_bad_registry_row_is_named(tmp_path, change, said):
    path = tmp_path / "tasks.yaml"
    path.write_text(yaml.safe_dump([{**ROWS[0], **change}, *ROWS[1:]]))
    with pytest.raises(ValueError) as e:
        registry(path)
    assert said in str(e.value) and "tasks.yaml" in str(e.value)


def test_an_unknown_task_names_the_nearest():
    with pytest.raises(UnknownTask, match=r"unknown task 'walker-wlak'; did you mean 'walker-walk'\?"):
        task("walker-wlak")
    with pytest.raises(UnknownTask, match="known: cup-catch"):
        task("xyzzyqqq")


def test_a_registry_row_reaches_the_jobs_of_its_task_alone(monkeypatch):
    params = load_params("smoke")
    before = jobs(params)
    moved = task("mw-push").model_copy(update={"horizon": 7})
    monkeypatch.setattr("veridream.params.slices.task", lambda t: moved if t == "mw-push" else task(t))
    changed_receipts = {r for r, x in jobs(params).items() if before[r] != x}
    per_task = {r for r in changed_receipts if split_receipt(r)[1] in ("collect_episodes", "validate_store", "collect_curiosity")}
    assert per_task and all("/mw-push/" in r for r in per_task)
    assert {split_receipt(r)[1] for r in changed_receipts - per_task} == {"score_rollouts", "plot_figure", "export_rollouts"}
