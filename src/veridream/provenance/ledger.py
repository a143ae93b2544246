"""The ledger: dvc.yaml, generated from the receipts, never edited. DVC keeps bytes, params and metrics; Snakemake alone schedules.

One DVC stage a rule and scale ("smoke-score_rollouts"), not a job. Where a rule stands on both sides of another (the arms are finetuned,
curiosity collects with one of them, the targeted models are finetuned on that), its later jobs form a stage of their own ("...-2"), since
DVC allows no cycle. Beside it, `ledger/<scale>/plan.json` holds the code digest and params slice of every job (DVC params) and
`ledger/<scale>/metrics.json` the receipts' counts (DVC metrics).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from veridream.params.yaml_text import parse_yaml
from veridream.provenance.anchor import anchor, anchor_path, metrics_path, plan_path
from veridream.provenance.digest import ROOT, code_digest, job_domains
from veridream.provenance.graph import ordered, parents, rounds
from veridream.provenance.jobs import NoSuchJob, params_now, split_receipt
from veridream.provenance.receipts import as_written, write_json
from veridream.provenance.records import Receipt

HEADER = "# Generated from the receipts by `make record`. Do not edit: `python src/record_ledger.py --check` fails when it is not what they say.\n"
PER_STORE = ("collect_episodes", "validate_store", "collect_curiosity")  # stages with a job a store: their counts are summed
PLAN, METRICS = "plan", "metrics"  # the stages of dvc.yaml that are no rule


def stage_names(scale: str, receipts: dict[str, Receipt]) -> dict[str, str]:
    """{receipt: name of its DVC stage}. The graph of stages has no cycle."""
    above = parents(receipts)
    later = rounds(above, lambda a, b: receipts[a]["stage"] == receipts[b]["stage"])
    if _cyclic(receipts, above, later):
        later = rounds(above, lambda a, b: True)  # by distance from the first stores: never a cycle, more stages
    ranks: dict[str, list[int]] = {}
    for key, r in receipts.items():
        ranks[r["stage"]] = sorted({*ranks.get(r["stage"], []), later[key]})
    out = {}
    for key, r in receipts.items():
        n = ranks[r["stage"]].index(later[key]) + 1
        out[key] = f"{scale}-{r['stage']}" + (f"-{n}" if n > 1 else "")
    return out


def dvc_stages(scale: str, receipts: dict[str, Receipt]) -> dict[str, Any]:
    """{name: DVC stage} of one scale, sorted by name."""
    names = stage_names(scale, receipts)
    made = {artefact for r in receipts.values() for artefact in r["outputs"]}
    jobs: dict[str, list[str]] = {}
    for key, name in names.items():
        jobs.setdefault(name, []).append(key)
    out = {}
    for name, keys in sorted(jobs.items()):
        rule = receipts[keys[0]]["stage"]
        own = {artefact for k in keys for artefact in receipts[k]["outputs"]}
        deps = {path for k in keys for path in receipts[k]["inputs"] if path in made or not path.startswith("results/")} - own
        outs = sorted(path for path in own if not path.endswith(".svg")) + sorted(keys)
        plots = sorted(path for path in own if path.endswith(".svg"))
        out[name] = {
            "cmd": f"snakemake --workflow-profile workflow/profiles/local --config scale={scale} --until {rule}",
            **({"deps": sorted(deps)} if deps else {}),
            "params": [{plan_path(scale): [rule]}],
            "outs": [{path: {"persist": True}} for path in outs],
            **({"plots": [{path: {"persist": True}} for path in plots]} if plots else {}),
        }
    return dict(sorted({**out, **_frame(scale, receipts)}.items()))


def _frame(scale: str, receipts: dict[str, Receipt]) -> dict[str, Any]:
    """The stages around the paper's: params in, metrics out. With them `dvc exp run -S params/scales/<scale>.yaml:key=value` runs what reads the key."""
    params = ["params/base.yaml", f"params/scales/{scale}.yaml", "params/tasks.yaml"]
    plan_ = {"cmd": f"python src/refresh_plan.py --scale {scale}", "deps": params, "outs": [{plan_path(scale): {"cache": False, "persist": True}}]}
    metrics_ = {
        "cmd": f"python src/refresh_plan.py --scale {scale} --metrics",
        "deps": sorted(receipts),
        "metrics": [{metrics_path(scale): {"cache": False, "persist": True}}],
    }
    return {f"{scale}-{PLAN}": plan_, f"{scale}-{METRICS}": metrics_}


def dvc_yaml(scale: str, receipts: dict[str, Receipt], current: str | None) -> str:
    """The text of dvc.yaml: this scale's stages from its receipts, other scales' as they stand in `current`."""
    old = (parse_yaml(current) or {}) if current else {}
    others = {k: v for k, v in old.get("stages", {}).items() if not k.startswith(f"{scale}-")}
    return _text_of({**others, **dvc_stages(scale, receipts)})


def canonical_text(text: str) -> str:
    """The text that dvc.yaml would have if it was generated with the stages it holds. Raises ValueError where it is no dvc.yaml."""
    try:
        return _text_of(parse_yaml(text)["stages"])
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, IndexError) as e:
        raise ValueError(f"not a dvc.yaml of ours ({e})") from None


def _text_of(stages: dict[str, Any]) -> str:
    return HEADER + yaml.safe_dump({"stages": dict(sorted(stages.items()))}, sort_keys=False, width=1000)


def plan(jobs: dict[str, tuple[str, dict[str, Any] | None]]) -> dict[str, Any]:
    """{stage: {code, params that all its jobs share, jobs: {name: the rest}}} from {receipt: (code, params; None: no such job now)}.

    code is one digest, or {name: digest} where the jobs' differ (each holds the adapters of its own domains).
    """
    out: dict[str, Any] = {}
    for key in sorted(jobs):
        _, stage, name = split_receipt(key)
        code, params = jobs[key]
        entry = out.setdefault(stage, {"code": {}, "params": {}, "jobs": {}})
        entry["code"][name], entry["jobs"][name] = code, params
    for entry in out.values():
        if len(set(entry["code"].values())) == 1:
            entry["code"] = next(iter(entry["code"].values()))
        slices = [p for p in entry["jobs"].values() if p is not None]
        shared = {k: v for k, v in slices[0].items() if all(k in s and s[k] == v for s in slices)} if slices else {}
        entry["params"] = shared
        entry["jobs"] = {name: None if p is None else {k: v for k, v in p.items() if k not in shared} for name, p in entry["jobs"].items()}
    return out


def recorded_plan(receipts: dict[str, Receipt]) -> dict[str, Any]:
    """The plan the receipts were made with."""
    return plan({key: (r["code"], r["params"]) for key, r in receipts.items()})


def planned_now(plan_: dict[str, Any], scale: str, root: Path, now: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """A plan's jobs with today's code and params; params None where the rules have no such job any more. Raises ParamsError, KeyError on another form."""
    jobs: dict[str, tuple[str, dict[str, Any] | None]] = {}
    for stage, entry in plan_.items():
        script = f"src/{stage}.py"
        for name in entry["jobs"]:
            receipt = f"results/{scale}/receipts/{stage}/{name}.json"
            try:
                params = now(receipt)
            except NoSuchJob:
                params = None
            code = code_digest(script, root, job_domains(params or {})) if (root / script).is_file() else "gone"
            jobs[receipt] = (code, params)
    return dict(json.loads(json.dumps(plan(jobs))))


def refresh_plan(scale: str, root: Path = ROOT, now: Callable[[str], dict[str, Any]] | None = None) -> None:
    """Rewrites a recorded scale's plan with today's code and params, so that `dvc status` sees what Snakemake sees. No record, no file."""
    path = root / plan_path(scale)
    if path.is_file():
        write_json(path, planned_now(json.loads(path.read_text()), scale, root, now or params_now(root / "params")))


def metrics(receipts: dict[str, Receipt]) -> dict[str, Any]:
    """{stage: {job: counts}}; for the stages with a job a store, {stage: summed counts}."""
    out: dict[str, Any] = {}
    for key, r in sorted(receipts.items()):
        _, stage, name = split_receipt(key)
        if stage not in PER_STORE:
            if r["counts"]:
                out.setdefault(stage, {})[name] = r["counts"]
            continue
        total = out.setdefault(stage, {"jobs": 0})
        total["jobs"] += 1
        for k, v in r["counts"].items():
            if isinstance(v, (int, float)) and not isinstance(v, bool):
                total[k] = total.get(k, 0) + v
    return out


def differences(scale: str, receipts: dict[str, Receipt], root: Path = ROOT) -> list[str]:
    """The generated files that are not what the receipts say. Raises ValueError where a DVC file cannot be read."""
    path = root / "dvc.yaml"
    current = path.read_text() if path.is_file() else None
    plan_, metrics_ = recorded_plan(receipts), metrics(receipts)
    wanted = {plan_path(scale): plan_, metrics_path(scale): metrics_, anchor_path(scale): anchor(scale, receipts, plan_, metrics_, root)}
    out = [] if current == dvc_yaml(scale, receipts, current) else ["dvc.yaml"]
    return out + [p for p, obj in wanted.items() if not (root / p).is_file() or (root / p).read_text() != as_written(obj)]


def write_ledger(scale: str, receipts: dict[str, Receipt], root: Path = ROOT) -> list[str]:
    """Writes dvc.yaml, plan and metrics; returns the names of the scale's DVC stages."""
    path = root / "dvc.yaml"
    text = dvc_yaml(scale, receipts, path.read_text() if path.is_file() else None)
    write_json(root / plan_path(scale), recorded_plan(receipts))
    write_json(root / metrics_path(scale), metrics(receipts))
    path.write_text(text)
    return sorted({*stage_names(scale, receipts).values(), f"{scale}-{PLAN}", f"{scale}-{METRICS}"})


def write_anchor(scale: str, receipts: dict[str, Receipt], root: Path = ROOT) -> None:
    """Ties receipts and ledger down (see veridream.provenance.anchor); the last step of a record, when dvc.lock is written."""
    write_json(root / anchor_path(scale), anchor(scale, receipts, recorded_plan(receipts), metrics(receipts), root))


def _cyclic(receipts: dict[str, Receipt], above: dict[str, set[str]], later: dict[str, int]) -> bool:
    group = {key: f"{r['stage']} {later[key]}" for key, r in receipts.items()}
    edges: dict[str, set[str]] = {g: set() for g in group.values()}
    for key, makers in above.items():
        edges[group[key]] |= {group[p] for p in makers if group[p] != group[key]}
    try:
        ordered(edges, edges)
    except ValueError:
        return True
    return False
