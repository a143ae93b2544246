# What a model knows (open-loop scores on held-out sequences) and what it can do (closed-loop control).


rule score_rollouts:
    input:
        ids([TEST_INDEX, *CORPUS, *TEST]),
        lambda w: ids(index_of(w)),
        lambda w: ids([f"{R}/tokenizer/{w.model}", f"{R}/dynamics/{w.model}"]),
        index=ancient(lambda w: [index_of(w), TEST_INDEX]),
        stores=ancient(CORPUS + TEST),
        tokenizer=ancient(R + "/tokenizer/{model}"),
        dynamics=ancient(R + "/dynamics/{model}"),
    output:
        scores=R + "/scores/{model}.parquet",
        scores_id=R + "/scores/{model}.parquet.id",
        clips=R + "/scores/{model}.clips.npz",
        clips_id=R + "/scores/{model}.clips.npz.id",
        receipt=R + "/receipts/score_rollouts/{model}.json",
    log:
        R + "/logs/score_rollouts/{model}.log",
    benchmark:
        R + "/benchmarks/score_rollouts/{model}.tsv"
    threads: PARAMS.score.threads
    resources:
        mem_mb=3000,
        runtime=240,
        gpu=gpus(),
    params:
        code=code("score_rollouts"),
        p=p("score_rollouts"),
    message:
        "score_rollouts: {wildcards.model} on held-out sequences"
    shell:
        "python src/score_rollouts.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--index {input.index} --stores {input.stores} --tokenizer {input.tokenizer} --dynamics {input.dynamics} "
        "--scores {output.scores} --clips {output.clips} 2>&1 | tee {log}"


def mpc_model(kind):
    """The folders of the model that plans; none for random actions."""
    return lambda w: [] if w.model == spec.NO_MODEL else [f"{R}/{kind}/{w.model}"]


rule plan_mpc:
    input:
        lambda w: ids(mpc_model("tokenizer")(w) + mpc_model("dynamics")(w)),
        tokenizer=ancient(mpc_model("tokenizer")),
        dynamics=ancient(mpc_model("dynamics")),
    output:
        episodes=R + "/mpc/{model}.parquet",
        id=R + "/mpc/{model}.parquet.id",
        receipt=R + "/receipts/plan_mpc/{model}.json",
    log:
        R + "/logs/plan_mpc/{model}.log",
    benchmark:
        R + "/benchmarks/plan_mpc/{model}.tsv"
    wildcard_constraints:
        model="|".join(MPC_MODELS),
    threads: PARAMS.mpc.threads
    resources:
        mem_mb=3000,
        runtime=240,
        gpu=gpus(),
    params:
        code=code("plan_mpc"),
        p=p("plan_mpc"),
    message:
        "plan_mpc: {wildcards.model}, closed loop in the simulators"
    shell:
        "python src/plan_mpc.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--tokenizer {input.tokenizer} --dynamics {input.dynamics} --episodes {output.episodes} 2>&1 | tee {log}"
