# What every rule shares: the params of the scale, where artefacts stand, the two tracked params (code, p).
import functools
import os
import sys

from snakemake.exceptions import WorkflowError

sys.path.insert(0, os.path.join(workflow.basedir, "src"))

from veridream import spec
from veridream.params.load import ParamsError, load_params
from veridream.params.slices import base_models, curiosity_stores, stage_params, stores
from veridream.provenance.digest import canonical, code_digest, job_domains
from veridream.provenance.jobs import CLIP_MODELS, FIGURES, MPC_MODELS, TABLES, workflow_jobs
from veridream.provenance.stage import MORE_MEMORY

SCALE = config.get("scale", "laptop")
R = f"results/{SCALE}"

try:
    PARAMS = load_params(SCALE)
    PLAIN_STORES = stores(PARAMS)
except ParamsError as e:
    raise WorkflowError(str(e)) from None

BASES = base_models(PARAMS)  # the base model and its replicates
COLLECTED = [s for s in spec.SOURCES if s not in ("combined", "matched")]


# What the system kills for its memory cannot say so itself; the shell around it can. A prefix replaces Snakemake's own,
# which makes a failure left of a pipe count: it stands here again.
shell.prefix(f"set -euo pipefail; trap 'test $? -ne 137 || echo \"killed by signal 9. If nobody did that, {MORE_MEMORY}\" >&2' EXIT; ")


wildcard_constraints:
    role="|".join(spec.ROLES),
    task="[a-z0-9]+(-[a-z0-9]+)*",
    behaviour="|".join(spec.BEHAVIOURS),
    seed="[0-9]+",
    part="|".join(("corpus", "test", *BASES[1:])),
    model="|".join((*spec.MODELS, *BASES[1:])),
    table="|".join(TABLES),
    figure="|".join(FIGURES),


@functools.cache
def code_of(stage, domains):
    return code_digest(f"src/{stage}.py", domains=domains)


@functools.cache
def slice_of(stage, wildcards):
    return stage_params(PARAMS, stage, scale=SCALE, **dict(wildcards))


def code(stage):
    """Digest of one job's import closure and the environment lock: the params trigger fires on any change of meaning."""
    return lambda wildcards: code_of(stage, job_domains(slice_of(stage, tuple(wildcards.items()))))


def p(stage):
    """The slice of the params one job reads, as canonical JSON. Depends on wildcards only, so Snakemake tracks it."""
    return lambda wildcards: canonical(slice_of(stage, tuple(wildcards.items())))


def ids(paths):
    """The content ids of artefacts. Rules depend on these and take the artefacts as ancient(): content decides, not times."""
    return [f"{x}.id" for x in ([paths] if isinstance(paths, str) else paths)]


# Weights of LPIPS are brought by the user; a tokenizer whose params want them takes them where they are.
LPIPS = ["models/lpips"] if PARAMS.tokenizer.train.lpips_weight and os.path.isdir("models/lpips") else []


def gpus(workers=1):
    return workers if PARAMS.compute.device == "cuda" else 0


def store_path(s):
    return f"{R}/data/{s['role']}/{s['task']}/{s['behaviour']}-s{s['seed']}.zarr"


def verdict_path(store):
    return store.replace("/data/", "/validation/").replace(".zarr", ".json")


CORPUS = [store_path(s) for s in PLAIN_STORES if s["role"] == "corpus"]
TEST = [store_path(s) for s in PLAIN_STORES if s["role"] == "test"]
CURIOSITY = [store_path(s) for s in curiosity_stores(PARAMS)]
TARGETED_STORES = [store_path(s) for s in PLAIN_STORES if s["role"] == "targeted"] + CURIOSITY
# Indices of their own for the test stores, so that a new unseen task leaves pretraining alone, and for each replicate, which trains on other episodes.
INDEXED = {"corpus": CORPUS, "test": TEST} | {m: CORPUS for m in BASES[1:]}
INDEX, TEST_INDEX = f"{R}/index/corpus.parquet", f"{R}/index/test.parquet"
COUNTS = [f"{R}/index/{part}.counts.csv" for part in ("corpus", "test")]
STORES = [*CORPUS, *TEST, *TARGETED_STORES]
VERDICTS = [verdict_path(s) for s in STORES]


def index_of(w):
    """The index a model was trained by."""
    return f"{R}/index/{w.model}.parquet" if w.model in BASES[1:] else INDEX


def targeted_stores(model):
    """The collected stores a targeted finetune adds; none for the arms of Table 1."""
    source = model.removeprefix(spec.TARGETED_PREFIX)
    if model in spec.ARMS:
        return []
    wanted = COLLECTED if source in ("combined", "matched") else [source]
    return [s for s in TARGETED_STORES if s.rsplit("/", 1)[1].split("-s")[0] in wanted]


def parent_model(model):
    """What a finetune starts from: the arms from the base, the targeted ones from the coverage-aware model."""
    return spec.BASE if model in spec.ARMS else spec.COVERAGE_AWARE


# rule -> the wildcards of each of its jobs; the rules' own output patterns say the rest
JOBS = workflow_jobs(PARAMS)


def outputs(rule, wildcards):
    """What one job writes."""
    return [str(pattern).format(**wildcards) for pattern in getattr(rules, rule).output]
