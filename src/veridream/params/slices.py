"""The slice of the params one job reads. The rules and the audit both call this, so they cannot disagree."""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from veridream import spec
from veridream.params.machine import present, skipped
from veridream.params.model import Params, Replicate
from veridream.params.tasks import task

WMB_JUDGE = ("quantile", "lasting", "gap")  # of params.wmb: what the judge reads, and the export does not


def base_models(params: Params) -> list[str]:
    """The base model and its replicates."""
    return [spec.BASE, *(f"{spec.REPLICATE_PREFIX}{i + 1}" for i in range(len(params.replicates)))]


def replicate(params: Params, model: str) -> Replicate | None:
    """The settings of a replicate; None for every other model. Raises StopIteration for one that the params lack."""
    if not model.startswith(spec.REPLICATE_PREFIX):
        return None
    number = int(model.removeprefix(spec.REPLICATE_PREFIX))
    if not 1 <= number <= len(params.replicates):
        raise StopIteration(model)
    return params.replicates[number - 1]


def episode_counts(params: Params, model: str = spec.BASE) -> dict[str, int]:
    """Episodes a seen task from which a base model learns: `collect.counts` in the order of its own seeded permutation. A skipped task keeps its count."""
    n, counts, own = len(params.tasks.seen), params.collect.counts, replicate(params, model)
    order = np.random.default_rng(own.counts_seed if own else params.collect.counts_seed).permutation(n)
    return {t: counts[i % len(counts)] for t, i in zip(params.tasks.seen, order, strict=True)}


def able(task_id: str, behaviours: Iterable[str]) -> list[str]:
    """Those of the behaviours that a task can show: all, or without an expert the ones that need none."""
    return [b for b in behaviours if b not in spec.EXPERT_BEHAVIOURS or task(task_id).expert is not None]


def behaviour_counts(params: Params, task_id: str, total: int) -> dict[str, int]:
    """`total` corpus episodes of a seen task by behaviour, each at least one; largest remainder, so they sum to the total where it allows."""
    able_to = able(task_id, params.collect.shares)
    shares: dict[str, float] = {b: s for b, s in params.collect.shares.items() if b in able_to and s > 0}
    whole = sum(shares.values()) if len(able_to) < len(params.collect.shares) else 1.0
    exact: dict[str, float] = {b: total * s / whole for b, s in shares.items()}
    out: dict[str, int] = {b: max(1, int(x)) for b, x in exact.items()}
    by_remainder = sorted(exact, key=lambda b: (out[b] - exact[b], b))
    for b in by_remainder[: max(0, total - sum(out.values()))]:
        out[b] += 1
    return out


def _store(role: str, task_id: str, behaviour: str, seed: int, episodes: int) -> dict[str, Any]:
    return {"role": role, "task": task_id, "behaviour": behaviour, "seed": seed, "episodes": episodes}


def stores(params: Params) -> list[dict[str, Any]]:
    """Every episode store except the curiosity ones: role, task, behaviour, seed, episodes. The order is fixed."""
    c, t = params.collect, params.targeted
    tasks = present(params)
    out = [_store("corpus", k, b, c.seed, max(each)) for k in tasks["seen"] for b, each in _corpus_counts(params, k).items()]
    for k in tasks["unseen"]:
        out += [_store("targeted", k, b, t.seed, t.episodes) for b in able(k, ("noop", "random", "expert"))]
        out += [_store("test", k, b, t.test_seed, t.test_episodes) for b in able(k, t.test_behaviours)]
    return out


def train_episodes(params: Params, model: str) -> dict[str, dict[str, int]]:
    """{task: {behaviour: n}}: a base model learns from training episodes among the first n of each store; a store holds what the greediest of them needs."""
    number = base_models(params).index(model)
    return {t: {b: each[number] for b, each in _corpus_counts(params, t).items()} for t in present(params)["seen"]}


def _corpus_counts(params: Params, task_id: str) -> dict[str, list[int]]:
    """{behaviour: episodes for each of base_models(params)}."""
    each = [behaviour_counts(params, task_id, episode_counts(params, m)[task_id]) for m in base_models(params)]
    return {b: [counts[b] for counts in each] for b in each[0]}


def curiosity_stores(params: Params) -> list[dict[str, Any]]:
    """The stores that the coverage-aware model collects on the unseen tasks."""
    return [_store("targeted", k, "curiosity", params.targeted.seed, params.targeted.episodes) for k in present(params)["unseen"]]


def store_row(params: Params, role: str, task_id: str, behaviour: str, seed: int | str) -> dict[str, Any]:
    """The store of these wildcards, with its episodes; the curiosity ones left aside. Raises StopIteration where the params have none."""
    row = _rows(_Same(params)).get((role, task_id, behaviour, str(seed)))
    if row is None:
        raise StopIteration(f"{role}/{task_id}/{behaviour}-s{seed}")
    return row


class _Same:
    """Params as a key of a cache: by identity, since they are frozen and too large to hash."""

    def __init__(self, params: Params):
        self.params = params

    def __hash__(self) -> int:
        return id(self.params)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.params is self.params


@functools.lru_cache(maxsize=8)
def _rows(same: _Same) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    every = stores(same.params)
    return {(s["role"], s["task"], s["behaviour"], str(s["seed"])): s for s in every}


def stage_params(params: Params, stage: str, **wildcards: str) -> dict[str, Any]:
    """JSON-ready params of one job. Only what the job reads: a key left out here cannot change it. Raises StopIteration for a replicate that is none."""
    replicate(params, wildcards.get("model") or wildcards.get("part") or "")
    p = params.model_dump(mode="json")
    p["tasks"], gone = present(params), skipped(params)
    both, device = p["tasks"], {"device": params.compute.device}
    match stage:
        case "collect_episodes":
            row = store_row(params, *(wildcards[k] for k in ("role", "task", "behaviour", "seed")))
            keep = {k: p["collect"][k] for k in ("max_steps", "frame_skip")}
            switched = {"switched": p["collect"]["switched"]} if row["behaviour"] == "switched" else {}
            planned = task(row["task"]).expert == "cem" and row["behaviour"] in (*spec.EXPERT_BEHAVIOURS, "switched")
            cem = {"expert": p["collect"]["expert"]} if planned else {}
            return {**row, "registry": _registry([row["task"]]), "render": p["render"], **keep, **switched, **cem}
        case "validate_store":
            return {"registry": _registry([wildcards["task"]])}
        case "index_episodes":  # of the corpus, for a base model: seen tasks and its episodes; of the test stores: unseen tasks
            part = wildcards["part"]
            side, other = ("unseen", "seen") if part == "test" else ("seen", "unseen")
            left_out = {t: why for t, why in gone.items() if t in getattr(params.tasks, side)}
            episodes = {} if part == "test" else train_episodes(params, spec.BASE if part == "corpus" else part)
            return {"split": p["split"], side: both[side], other: [], "episodes": episodes, **({"skipped": left_out} if left_out else {})}
        case "render_report":
            return {"scale": wildcards["scale"], "params": p}
        case "train_tokenizer":
            return {"tokenizer": _seeded(params, p["tokenizer"], wildcards["model"]), "size": params.render.size, "compute": p["compute"]}
        case "encode_latents":
            return device
        case "train_dynamics":
            return {"dynamics": _seeded(params, p["dynamics"], wildcards["model"]), "compute": p["compute"], **_instructions(params, both["seen"])}
        case "finetune_world_model":
            train = {k: {"train": {x: y for x, y in p[k]["train"].items() if x != "watch"}} for k in ("tokenizer", "dynamics")}
            words = _instructions(params, [*both["seen"], *both["unseen"]])
            return {**_finetune(p, wildcards["model"]), **train, "compute": p["compute"], **words}
        case "score_rollouts":
            return {"model": wildcards["model"], "score": p["score"], **device, **both, "registry": _registry([*both["seen"], *both["unseen"]])}
        case "collect_curiosity":
            row = next(s for s in curiosity_stores(params) if s["task"] == wildcards["task"])
            keep = {k: p["collect"][k] for k in ("max_steps", "frame_skip")}
            return {**row, "registry": _registry([row["task"]]), "render": p["render"], **keep, **device, "curiosity": p["curiosity"]}
        case "plan_mpc":
            keep = {k: p["collect"][k] for k in ("max_steps", "frame_skip")}
            tasks = {"tasks": both["unseen"], "registry": _registry(both["unseen"])}
            goal = {"expert": p["collect"]["expert"]} if params.mpc.objective == "goal" else {}
            return {"model": wildcards["model"], **tasks, "render": p["render"], **keep, **device, "mpc": p["mpc"], **goal}
        case "tabulate_results":
            return {"table": wildcards["table"], "stats": p["stats"], **both}
        case "plot_figure":
            maps = {"density": both["seen"], "policy_coverage": both["unseen"]}.get(wildcards["figure"], [])
            return {"figure": wildcards["figure"], "stats": p["stats"], **both, "registry": _registry(maps)}
        case "compare_to_paper":
            return {"scale": wildcards["scale"], "stats": p["stats"], **both, "registry": _registry(both["unseen"])}
        case "export_rollouts":
            score = {k: p["score"][k] for k in ("context", "substeps", "tau_ctx")}
            made = {k: v for k, v in p["wmb"].items() if k not in (*WMB_JUDGE, "models")}
            return {"model": wildcards["model"], "wmb": made, "score": score, "seen": both["seen"], "registry": _registry(both["seen"])}
        case "judge_rollouts":
            return {"model": wildcards["model"], "wmb": {k: p["wmb"][k] for k in WMB_JUDGE}}
        case "rank_rollouts":
            return {"scale": wildcards["scale"], "stats": p["stats"], "models": p["wmb"]["models"]}
        case "render_clips":
            return {}
    raise KeyError(f"no params slice is defined for stage {stage!r}")


def _seeded(params: Params, section: dict[str, Any], model: str) -> dict[str, Any]:
    """A model section with the training seed of this base model."""
    own = replicate(params, model)
    return section | {"train": section["train"] | {"seed": own.seed}} if own else section


def _registry(tasks: list[str]) -> list[dict[str, Any]]:
    """The tasks' rows of params/tasks.yaml: a job that reads the registry runs again when its rows change, and only then."""
    return [task(t).model_dump(mode="json") for t in tasks]


def _instructions(params: Params, tasks: list[str]) -> dict[str, Any]:
    """The instructions that agent tokens are made from, where the dynamics has some."""
    return {"instructions": {t: task(t).instruction for t in tasks}} if params.dynamics.arch.agents else {}


def _finetune(p: dict[str, Any], model: str) -> dict[str, Any]:
    """Task weighting of each half: "default" (as pretraining), "uniform", or "targeted" (target_mass over the collected tasks)."""
    if model in spec.ARMS:
        tokenizer = "uniform" if model in ("uniform_tokenizer", "uniform_both") else "default"
        dynamics = "uniform" if model in ("uniform_dynamics", "uniform_both") else "default"
        keep = {k: v for k, v in p["arms"].items() if k != "target_mass"}
        return {"model": model, "finetune": keep, "weighting": {"tokenizer": tokenizer, "dynamics": dynamics}, "episodes_per_source": None}
    source = model.removeprefix(spec.TARGETED_PREFIX)
    budget = None
    if source == "matched":  # one source's budget in all, shared between the four sources
        budget = -(-p["targeted"]["episodes"] // 4)
    return {"model": model, "finetune": p["finetune"], "weighting": {"tokenizer": "targeted", "dynamics": "targeted"}, "episodes_per_source": budget}
