# From live simulators to checked, indexed episode stores.
STORE = R + "/data/{role}/{task}/{behaviour}-s{seed}.zarr"
NAME = "{role}/{task}/{behaviour}-s{seed}"


rule collect_episodes:
    output:
        store=directory(STORE),
        id=STORE + ".id",
        receipt=f"{R}/receipts/collect_episodes/{NAME}.json",
    log:
        f"{R}/logs/collect_episodes/{NAME}.log",
    benchmark:
        f"{R}/benchmarks/collect_episodes/{NAME}.tsv"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
        gpu=0,
    params:
        code=code("collect_episodes"),
        p=p("collect_episodes"),
    message:
        "collect_episodes: {wildcards.role} {wildcards.task} {wildcards.behaviour}"
    shell:
        "python src/collect_episodes.py --params {params.p:q} --code {params.code} --receipt {output.receipt} " "--store {output.store} 2>&1 | tee {log}"


rule validate_store:
    input:
        id=STORE + ".id",
        store=ancient(STORE),
    output:
        verdict=f"{R}/validation/{NAME}.json",
        id=f"{R}/validation/{NAME}.json.id",
        receipt=f"{R}/receipts/validate_store/{NAME}.json",
    log:
        f"{R}/logs/validate_store/{NAME}.log",
    benchmark:
        f"{R}/benchmarks/validate_store/{NAME}.tsv"
    priority: 2  # small, and everything waits for it
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
        gpu=0,
    params:
        code=code("validate_store"),
        p=p("validate_store"),
    message:
        "validate_store: {wildcards.role} {wildcards.task} {wildcards.behaviour}"
    shell:
        "python src/validate_store.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--store {input.store} --verdict {output.verdict} 2>&1 | tee {log}"


rule index_episodes:
    input:
        lambda w: ids(INDEXED[w.part]),
        lambda w: ids([verdict_path(s) for s in INDEXED[w.part]]),
        stores=ancient(lambda w: INDEXED[w.part]),
        verdicts=ancient(lambda w: [verdict_path(s) for s in INDEXED[w.part]]),
    output:
        episodes=R + "/index/{part}.parquet",
        episodes_id=R + "/index/{part}.parquet.id",
        counts=R + "/index/{part}.counts.csv",
        counts_id=R + "/index/{part}.counts.csv.id",
        receipt=R + "/receipts/index_episodes/{part}.json",
    log:
        R + "/logs/index_episodes/{part}.log",
    benchmark:
        R + "/benchmarks/index_episodes/{part}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
        gpu=0,
    params:
        code=code("index_episodes"),
        p=p("index_episodes"),
    message:
        "index_episodes: {wildcards.part}, frame counts and split"
    shell:
        "python src/index_episodes.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--stores {input.stores} --verdicts {input.verdicts} --episodes {output.episodes} --counts {output.counts} 2>&1 | tee {log}"


rule collect_curiosity:
    input:
        ids([f"{R}/tokenizer/{spec.COVERAGE_AWARE}", f"{R}/dynamics/{spec.COVERAGE_AWARE}"]),
        tokenizer=ancient(f"{R}/tokenizer/{spec.COVERAGE_AWARE}"),
        dynamics=ancient(f"{R}/dynamics/{spec.COVERAGE_AWARE}"),
    output:
        store=directory(R + "/data/targeted/{task}/curiosity-s{seed}.zarr"),
        id=R + "/data/targeted/{task}/curiosity-s{seed}.zarr.id",
        receipt=R + "/receipts/collect_curiosity/{task}-s{seed}.json",
    log:
        R + "/logs/collect_curiosity/{task}-s{seed}.log",
    benchmark:
        R + "/benchmarks/collect_curiosity/{task}-s{seed}.tsv"
    priority: 2  # three finetunes wait for it
    threads: PARAMS.curiosity.threads
    resources:
        mem_mb=3000,
        runtime=240,
        gpu=gpus(),
    params:
        code=code("collect_curiosity"),
        p=p("collect_curiosity"),
        work=R + "/work/collect_curiosity/{task}-s{seed}",
    message:
        "collect_curiosity: {wildcards.task}, planning for u_r_norm"
    shell:
        "python src/collect_curiosity.py --params {params.p:q} --code {params.code} --receipt {output.receipt} --work {params.work} "
        "--tokenizer {input.tokenizer} --dynamics {input.dynamics} --store {output.store} 2>&1 | tee {log}"


ruleorder: collect_curiosity > collect_episodes
