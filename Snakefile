# The whole paper as one DAG. Run it through `make reproduce`, or:
#   snakemake --workflow-profile workflow/profiles/local --config scale=smoke
from snakemake.utils import min_version

min_version("9.20")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/results.smk"


# Every artefact is a target: Snakemake ignores a deleted intermediate that no target needs.
rule all:
    default_target: True
    input:
        STORES,
        VERDICTS,
        INDEX,
        TEST_INDEX,
        f"{R}/latents/base",
        expand(f"{R}/tokenizer/{{model}}", model=spec.MODELS),
        expand(f"{R}/dynamics/{{model}}", model=spec.MODELS),
        expand(f"{R}/scores/{{model}}.parquet", model=spec.MODELS),
        expand(f"{R}/mpc/{{model}}.parquet", model=MPC_MODELS),
        expand(f"{R}/tables/{{table}}.csv", table=TABLES),
        expand(f"{R}/figures/{{figure}}.svg", figure=FIGURES),
        expand(f"{R}/clips/{{model}}", model=CLIP_MODELS),
        f"{R}/claims/claims.csv",
        f"{R}/report/index.html",
