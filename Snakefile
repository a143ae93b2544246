# The whole paper as one DAG. Run it through `make reproduce`, or:
#   snakemake --workflow-profile workflow/profiles/local --config scale=smoke
from snakemake.utils import min_version

min_version("9.20")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/wmb.smk"
include: "workflow/rules/results.smk"


# Every output of every job is a target, receipts and ids included: Snakemake ignores a deleted file that no target needs.
rule all:
    default_target: True
    input:
        [path for rule, jobs in JOBS.items() for wildcards in jobs for path in outputs(rule, wildcards)],


# The corpus and the test set, collected, checked and indexed; no model: `make collect`.
rule collect:
    input:
        [
            path
            for stage in ("collect_episodes", "validate_store", "index_episodes")
            for wildcards in JOBS[stage]
            if wildcards.get("role") != "targeted"
            for path in outputs(stage, wildcards)
        ],
