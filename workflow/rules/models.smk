# Tokenizer, latents, dynamics; then the arms of Table 1 and the targeted finetunes of Table 2.

LOOKED_AT = [f"{R}/tokenizer/base"] if PARAMS.dynamics.train.watch.every else []  # decodes held-out rollouts while the dynamics trains


rule train_tokenizer:
    input:
        ids([INDEX, *CORPUS]),
        index=ancient(INDEX),
        stores=ancient(CORPUS),
    output:
        model=directory(f"{R}/tokenizer/base"),
        id=f"{R}/tokenizer/base.id",
        metrics=f"{R}/tokenizer/base.metrics.jsonl",
        receipt=f"{R}/receipts/train_tokenizer/base.json",
    log:
        f"{R}/logs/train_tokenizer/base.log",
    benchmark:
        f"{R}/benchmarks/train_tokenizer/base.tsv"
    threads: PARAMS.tokenizer.train.workers * PARAMS.tokenizer.train.threads
    resources:
        mem_mb=4000,
        runtime=1440,
        gpu=gpus(PARAMS.tokenizer.train.workers),
    params:
        code=code("train_tokenizer"),
        p=p("train_tokenizer"),
        work=f"{R}/work/train_tokenizer/base",
        lpips=LPIPS,
    message:
        "train_tokenizer: masked autoencoder"
    shell:
        "python src/train_tokenizer.py --params {params.p:q} --code {params.code} --receipt {output.receipt} --work {params.work} "
        "--index {input.index} --stores {input.stores} --lpips {params.lpips} --model {output.model} --metrics {output.metrics} 2>&1 | tee {log}"


rule encode_latents:
    input:
        ids([INDEX, f"{R}/tokenizer/base", *CORPUS]),
        index=ancient(INDEX),
        stores=ancient(CORPUS),
        tokenizer=ancient(f"{R}/tokenizer/base"),
    output:
        latents=directory(f"{R}/latents/base"),
        id=f"{R}/latents/base.id",
        receipt=f"{R}/receipts/encode_latents/base.json",
    log:
        f"{R}/logs/encode_latents/base.log",
    benchmark:
        f"{R}/benchmarks/encode_latents/base.tsv"
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
        ids([INDEX, f"{R}/latents/base", *LOOKED_AT, *CORPUS]),
        index=ancient(INDEX),
        stores=ancient(CORPUS),
        latents=ancient(f"{R}/latents/base"),
        tokenizer=ancient(LOOKED_AT),
    output:
        model=directory(f"{R}/dynamics/base"),
        id=f"{R}/dynamics/base.id",
        metrics=f"{R}/dynamics/base.metrics.jsonl",
        receipt=f"{R}/receipts/train_dynamics/base.json",
    log:
        f"{R}/logs/train_dynamics/base.log",
    benchmark:
        f"{R}/benchmarks/train_dynamics/base.tsv"
    threads: PARAMS.dynamics.train.workers * PARAMS.dynamics.train.threads
    resources:
        mem_mb=4000,
        runtime=1440,
        gpu=gpus(PARAMS.dynamics.train.workers),
    params:
        code=code("train_dynamics"),
        p=p("train_dynamics"),
        work=f"{R}/work/train_dynamics/base",
    message:
        "train_dynamics: shortcut flow matching"
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
