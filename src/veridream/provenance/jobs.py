"""From a receipt's path back to its job: the wildcards in its name, and the params the rules pass to that job now."""

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from veridream import spec
from veridream.params.load import ROOT as PARAMS_ROOT
from veridream.params.load import load_params
from veridream.params.model import Params
from veridream.params.slices import base_models, curiosity_stores, stage_params, stores

# results/<scale>/receipts/<stage>/<name>.json: the name of each stage's receipts, as in workflow/rules/*.smk
_STORE = "{role}/{task}/{behaviour}-s{seed}"
RECEIPT_NAMES = {
    "collect_episodes": _STORE,
    "validate_store": _STORE,
    "index_episodes": "{part}",
    "train_tokenizer": "{model}",
    "encode_latents": "{model}",
    "train_dynamics": "{model}",
    "finetune_world_model": "{model}",
    "score_rollouts": "{model}",
    "collect_curiosity": "{task}-s{seed}",
    "plan_mpc": "{model}",
    "tabulate_results": "{table}",
    "plot_figure": "{figure}",
    "render_clips": "{model}",
    "export_rollouts": "{model}",
    "judge_rollouts": "{model}",
    "rank_rollouts": "wmb-sim",
    "compare_to_paper": "claims",
    "render_report": "index",
}
TABLES = ("coverage", "targeted", "auroc")
FIGURES = ("frame_counts", "density", "calibration", "policy_coverage", "traces", "strips")
MPC_MODELS = (spec.NO_MODEL, spec.COVERAGE_AWARE, *spec.TARGETED)
CLIP_MODELS = (spec.BASE, f"{spec.TARGETED_PREFIX}combined")
_PATTERNS = {
    "role": "|".join(spec.ROLES),
    "task": "[a-z0-9]+(?:-[a-z0-9]+)*",
    "behaviour": "|".join(spec.BEHAVIOURS),
    "seed": "[0-9]+",
    "part": f"corpus|test|{spec.REPLICATE_PREFIX}[0-9]+",
    "model": "|".join((spec.NO_MODEL, *spec.MODELS, f"{spec.REPLICATE_PREFIX}[0-9]+")),
    "table": "[a-z0-9_]+",
    "figure": "[a-z0-9_]+",
}


class NoSuchJob(ValueError):
    """The current rules and params have no job that writes this receipt."""


def workflow_jobs(params: Params) -> dict[str, list[dict[str, Any]]]:
    """{stage: the wildcards of each of its jobs} of the whole DAG under these params; what `rule all` asks for."""
    stores_ = [{k: s[k] for k in ("role", "task", "behaviour", "seed")} for s in stores(params) + curiosity_stores(params)]
    bases = [{"model": m} for m in base_models(params)]
    judged = [{"model": m} for m in params.wmb.models] if params.wmb.items else []
    return {
        "collect_episodes": [s for s in stores_ if s["behaviour"] != "curiosity"],
        "collect_curiosity": [s for s in stores_ if s["behaviour"] == "curiosity"],
        "validate_store": stores_,
        "index_episodes": [{"part": part} for part in ("corpus", "test", *base_models(params)[1:])],
        "train_tokenizer": bases,
        "encode_latents": bases,
        "train_dynamics": bases,
        "finetune_world_model": [{"model": m} for m in (*spec.ARMS, *spec.TARGETED)],
        "score_rollouts": [*({"model": m} for m in spec.MODELS), *bases[1:]],
        "plan_mpc": [{"model": m} for m in MPC_MODELS],
        "tabulate_results": [{"table": t} for t in TABLES],
        "plot_figure": [{"figure": f} for f in FIGURES],
        "render_clips": [{"model": m} for m in CLIP_MODELS],
        "export_rollouts": judged,
        "judge_rollouts": judged,
        "rank_rollouts": [{}] if judged else [],
        "compare_to_paper": [{}],
        "render_report": [{}],
    }


def receipts_of(params: Params, scale: str) -> list[str]:
    """The receipt of each of these jobs."""
    jobs = workflow_jobs(params).items()
    return [f"results/{scale}/receipts/{stage}/{RECEIPT_NAMES[stage].format(**wildcards)}.json" for stage, each in jobs for wildcards in each]


def split_receipt(receipt: str | Path) -> tuple[str, str, str]:
    """(scale, stage, name) of "results/<scale>/receipts/<stage>/<name>.json". Raises NoSuchJob for any other path."""
    parts = PurePosixPath(receipt).parts
    if len(parts) < 5 or parts[0] != "results" or parts[2] != "receipts" or not parts[-1].endswith(".json"):
        raise NoSuchJob(f"{receipt} is not results/<scale>/receipts/<stage>/<name>.json")
    return parts[1], parts[3], "/".join(parts[4:]).removesuffix(".json")


def wildcards_of(receipt: str | Path) -> dict[str, str]:
    """The wildcards of the job that writes a receipt, `scale` included. Raises NoSuchJob."""
    scale, stage, name = split_receipt(receipt)
    if stage not in RECEIPT_NAMES:
        raise NoSuchJob(f"{receipt}: no stage is called {stage!r}")
    pattern = re.sub(r"\{(\w+)\}", lambda m: f"(?P<{m[1]}>{_PATTERNS[m[1]]})", RECEIPT_NAMES[stage])
    match = re.fullmatch(pattern, name)
    if match is None:
        raise NoSuchJob(f"{receipt}: {stage} writes receipts named {RECEIPT_NAMES[stage]}, not {name!r}")
    return {"scale": scale, **match.groupdict()}


def params_of(params: Params, receipt: str | Path) -> dict[str, Any]:
    """The params slice of the job that writes this receipt, under the given params. Raises NoSuchJob."""
    wildcards = wildcards_of(receipt)
    try:
        return stage_params(params, split_receipt(receipt)[1], **wildcards)
    except StopIteration:
        raise NoSuchJob(f"{receipt}: no such store or replicate under the current params of scale {wildcards['scale']}") from None


def params_now(root: Path = PARAMS_ROOT) -> Callable[[str], dict[str, Any]]:
    """A function from a receipt's path to the params slice the rules pass now; each scale is loaded once. Raises NoSuchJob, ParamsError."""
    loaded: dict[str, Params] = {}

    def now(receipt: str) -> dict[str, Any]:
        scale = split_receipt(receipt)[0]
        if scale not in loaded:
            loaded[scale] = load_params(scale, root=root)
        return params_of(loaded[scale], receipt)

    return now
