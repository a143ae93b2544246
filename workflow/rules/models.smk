# Tokenizer, latents, dynamics, of the base model and its replicates; then the arms of Table 1 and the targeted finetunes of Table 2.

LOOKED_AT = [R + "/tokenizer/{model}"] if PARAMS.dynamics.train.watch.every else []  # decodes held-out rollouts while the dynamics trains


rule train_tokenizer:
    input:
        ids(CORPUS),
        lambda w: ids(index_of(w)),
        index=ancient(index_of),
        stores=ancient(CORPUS),
    output:
        model=directory(R + "/tokenizer/{model}"),
        id=R + "/tokenizer/{model}.id",
        metrics=R + "/tokenizer/{model}.metrics.jsonl",
        receipt=R + "/receipts/train_tokenizer/{model}.json",
    log:
        R + "/logs/train_tokenizer/{model}.log",
    benchmark:
        R + "/benchmarks/train_tokenizer/{model}.tsv"
    wildcard_constraints:
        model="|".join(BASES),
    threads: PARAMS.tokenizer.train.workers * PARAMS.tokenizer.train.threads
    resources:
        mem_mb=4000,
        runtime=1440,
        gpu=gpus(PARAMS.tokenizer.train.workers),
    params:
        code=code("train_tokenizer"),
        p=p("train_tokenizer"),
        work=R + "/work/train_tokenizer/{model}",
        lpips=LPIPS,
    message:
        "train_tokenizer: {wildcards.model}, masked autoencoder"
    shell:
        "python src/train_tokenizer.py --params {params.p:q} --code {params.code} --receipt {output.receipt} --work {params.work} "
        "--index {input.index} --stores {input.stores} --lpips {params.lpips} --model {output.model} --metrics {output.metrics} 2>&1 | tee {log}"


rule encode_latents:
    input:
        ids([R + "/tokenizer/{model}", *CORPUS]),
        lambda w: ids(index_of(w)),
        index=ancient(index_of),
        stores=ancient(CORPUS),
        tokenizer=ancient(R + "/tokenizer/{model}"),
    output:
        latents=directory(R + "/latents/{model}"),
        id=R + "/latents/{model}.id",
        receipt=R + "/receipts/encode_latents/{model}.json",
    log:
        R + "/logs/encode_latents/{model}.log",
    benchmark:
        R + "/benchmarks/encode_latents/{model}.tsv"
    wildcard_constraints:
        model="|".join(BASES),
    threads: 1
    resources:
        mem_mb=3000,
        runtime=240,
        gpu=gpus(),
    params:
        code=code("encode_latents"),
        p=p("encode_latents"),
    message:
        "encode_latents: every corpus frame, once"
    shell:
        "python src/encode_latents.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--index {input.index} --stores {input.stores} --tokenizer {input.tokenizer} --latents {output.latents} 2>&1 | tee {log}"


rule train_dynamics:
    input:
        ids([R + "/latents/{model}", *LOOKED_AT, *CORPUS]),
        lambda w: ids(index_of(w)),
        index=ancient(index_of),
        stores=ancient(CORPUS),
        latents=ancient(R + "/latents/{model}"),
        tokenizer=ancient(LOOKED_AT),
    output:
        model=directory(R + "/dynamics/{model}"),
        id=R + "/dynamics/{model}.id",
        metrics=R + "/dynamics/{model}.metrics.jsonl",
        receipt=R + "/receipts/train_dynamics/{model}.json",
    log:
        R + "/logs/train_dynamics/{model}.log",
    benchmark:
        R + "/benchmarks/train_dynamics/{model}.tsv"
    wildcard_constraints:
        model="|".join(BASES),
    threads: PARAMS.dynamics.train.workers * PARAMS.dynamics.train.threads
    resources:
        mem_mb=4000,
        runtime=1440,
        gpu=gpus(PARAMS.dynamics.train.workers),
    params:
        code=code("train_dynamics"),
        p=p("train_dynamics"),
        work=R + "/work/train_dynamics/{model}",
    message:
        "train_dynamics: {wildcards.model}, shortcut flow matching"
    shell:
        "python src/train_dynamics.py --params {params.p:q} --code {params.code} --receipt {output.receipt} --work {params.work} "
        "--index {input.index} --stores {input.stores} --latents {input.latents} --tokenizer {input.tokenizer} "
        "--model {output.model} --metrics {output.metrics} 2>&1 | tee {log}"


rule finetune_world_model:
    input:
        ids([INDEX, *CORPUS]),
        lambda w: ids([f"{R}/tokenizer/{parent_model(w.model)}", f"{R}/dynamics/{parent_model(w.model)}", *targeted_stores(w.model)]),
        lambda w: ids([verdict_path(s) for s in targeted_stores(w.model)]),
        index=ancient(INDEX),
        stores=ancient(CORPUS),
        tokenizer=ancient(lambda w: f"{R}/tokenizer/{parent_model(w.model)}"),
        dynamics=ancient(lambda w: f"{R}/dynamics/{parent_model(w.model)}"),
        extra=ancient(lambda w: targeted_stores(w.model)),
    output:
        new_tokenizer=directory(R + "/tokenizer/{model}"),
        tokenizer_id=R + "/tokenizer/{model}.id",
        new_dynamics=directory(R + "/dynamics/{model}"),
        dynamics_id=R + "/dynamics/{model}.id",
        metrics=R + "/dynamics/{model}.metrics.jsonl",
        receipt=R + "/receipts/finetune_world_model/{model}.json",
    log:
        R + "/logs/finetune_world_model/{model}.log",
    benchmark:
        R + "/benchmarks/finetune_world_model/{model}.tsv"
    wildcard_constraints:
        model="|".join((*spec.ARMS, *spec.TARGETED)),
    priority: 1  # scoring and planning are small and fill the gaps at the end
    threads: PARAMS.finetune.threads
    resources:
        mem_mb=4000,
        runtime=1440,
        gpu=gpus(),
    params:
        code=code("finetune_world_model"),
        p=p("finetune_world_model"),
        work=R + "/work/finetune_world_model/{model}",
        lpips=LPIPS,
    message:
        "finetune_world_model: {wildcards.model}"
    shell:
        "python src/finetune_world_model.py --params {params.p:q} --code {params.code} --receipt {output.receipt} --work {params.work} "
        "--index {input.index} --stores {input.stores} --tokenizer {input.tokenizer} --dynamics {input.dynamics} --extra {input.extra} --lpips {params.lpips} "
        "--new_tokenizer {output.new_tokenizer} --new_dynamics {output.new_dynamics} --metrics {output.metrics} 2>&1 | tee {log}"
