"""The slice of the params one job reads. The rules and the audit both call this, so they cannot disagree."""

from typing import Any

import numpy as np

from veridream import spec
from veridream.params.model import Params
from veridream.params.tasks import task


def episode_counts(params: Params) -> dict[str, int]:
    """Corpus episodes a seen task: `collect.counts` in the order of a permutation seeded by `collect.counts_seed`."""
    order = np.random.default_rng(params.collect.counts_seed).permutation(len(params.tasks.seen))
    return {t: params.collect.counts[i] for t, i in zip(params.tasks.seen, order, strict=True)}


def behaviour_counts(params: Params, task_id: str) -> dict[str, int]:
    """Corpus episodes of each behaviour on a seen task, each at least one; largest remainder, so they sum to the task's count where it allows."""
    return _shared(params, episode_counts(params)[task_id])


def _shared(params: Params, total: int) -> dict[str, int]:
    exact: dict[str, float] = {b: total * s for b, s in params.collect.shares.items() if s > 0}
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
    out = [_store("corpus", k, b, c.seed, n) for k, total in episode_counts(params).items() for b, n in _shared(params, total).items()]
    for k in params.tasks.unseen:
        out += [_store("targeted", k, b, t.seed, t.episodes) for b in ("noop", "random", "expert")]
        out += [_store("test", k, b, t.test_seed, t.test_episodes) for b in t.test_behaviours]
    return out


def curiosity_stores(params: Params) -> list[dict[str, Any]]:
    """The stores that the coverage-aware model collects on the unseen tasks."""
    return [_store("targeted", k, "curiosity", params.targeted.seed, params.targeted.episodes) for k in params.tasks.unseen]


def stage_params(params: Params, stage: str, **wildcards: str) -> dict[str, Any]:
    """JSON-ready params of one job. Only what the job reads: a key left out here cannot change it."""
    p = params.model_dump(mode="json")
    device = {"device": params.compute.device}
    match stage:
        case "collect_episodes":
            row = next(
                s
                for s in stores(params)
                if (s["role"], s["task"], s["behaviour"], str(s["seed"])) == tuple(wildcards[k] for k in ("role", "task", "behaviour", "seed"))
            )
            keep = {k: p["collect"][k] for k in ("max_steps", "frame_skip")}
            cem = {"expert": p["collect"]["expert"]} if task(row["task"]).expert == "cem" and row["behaviour"] in ("expert", "transformed", "noise") else {}
            return {**row, "registry": _registry([row["task"]]), "render": p["render"], **keep, **cem}
        case "validate_store":
            return {"registry": _registry([wildcards["task"]])}
        case "index_episodes":  # of the corpus: seen tasks and the split; of the test stores: unseen tasks
            corpus = wildcards["part"] == "corpus"
            return {"split": p["split"], "seen": p["tasks"]["seen"] if corpus else [], "unseen": [] if corpus else p["tasks"]["unseen"]}
        case "render_report":
            return {"scale": wildcards["scale"], "params": p}
        case "train_tokenizer":
            return {"tokenizer": p["tokenizer"], "size": params.render.size, "compute": p["compute"]}
        case "encode_latents":
            return device
        case "train_dynamics":
            return {"dynamics": p["dynamics"], "compute": p["compute"], **_instructions(params, params.tasks.seen)}
        case "finetune_world_model":
            train = {k: {"train": {x: y for x, y in p[k]["train"].items() if x != "watch"}} for k in ("tokenizer", "dynamics")}
            words = _instructions(params, [*params.tasks.seen, *params.tasks.unseen])
            return {**_finetune(p, wildcards["model"]), **train, "compute": p["compute"], **words}
        case "score_rollouts":
            both = {"seen": p["tasks"]["seen"], "unseen": p["tasks"]["unseen"]}
            return {"model": wildcards["model"], "score": p["score"], **device, **both, "registry": _registry([*params.tasks.seen, *params.tasks.unseen])}
        case "collect_curiosity":
            row = next(s for s in curiosity_stores(params) if s["task"] == wildcards["task"])
            keep = {k: p["collect"][k] for k in ("max_steps", "frame_skip")}
            return {**row, "registry": _registry([row["task"]]), "render": p["render"], **keep, **device, "curiosity": p["curiosity"]}
        case "plan_mpc":
            keep = {k: p["collect"][k] for k in ("max_steps", "frame_skip")}
            tasks = {"tasks": p["tasks"]["unseen"], "registry": _registry(params.tasks.unseen)}
            return {"model": wildcards["model"], **tasks, "render": p["render"], **keep, **device, "mpc": p["mpc"]}
        case "tabulate_results":
            return {"table": wildcards["table"], "stats": p["stats"], "seen": p["tasks"]["seen"], "unseen": p["tasks"]["unseen"]}
        case "plot_figure":
            maps = {"density": params.tasks.seen, "policy_coverage": params.tasks.unseen}.get(wildcards["figure"], [])
            both = {"seen": p["tasks"]["seen"], "unseen": p["tasks"]["unseen"]}
            return {"figure": wildcards["figure"], "stats": p["stats"], **both, "registry": _registry(maps)}
        case "compare_to_paper":
            both = {"seen": p["tasks"]["seen"], "unseen": p["tasks"]["unseen"]}
            return {"scale": wildcards["scale"], "stats": p["stats"], **both, "registry": _registry(params.tasks.unseen)}
        case "render_clips":
            return {}
    raise KeyError(f"no params slice is defined for stage {stage!r}")


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
