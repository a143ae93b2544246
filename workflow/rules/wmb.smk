# WorldModelBench's questions asked of our own rollouts, protocol wmb-sim: export, judge, rank.
WMB_MODELS = PARAMS.wmb.models if PARAMS.wmb.items else []
WMB_TABLES = [f"{R}/tables/wmb.csv"] if WMB_MODELS else []
EXPORTS = [f"{R}/wmb/exports/{m}" for m in WMB_MODELS]
ANSWERS = [f"{R}/wmb/answers/{m}.jsonl" for m in WMB_MODELS]


rule export_rollouts:
    input:
        ids([INDEX, *CORPUS]),
        lambda w: ids([f"{R}/tokenizer/{w.model}", f"{R}/dynamics/{w.model}"]),
        index=ancient(INDEX),
        stores=ancient(CORPUS),
        tokenizer=ancient(R + "/tokenizer/{model}"),
        dynamics=ancient(R + "/dynamics/{model}"),
    output:
        folder=directory(R + "/wmb/exports/{model}"),
        id=R + "/wmb/exports/{model}.id",
        receipt=R + "/receipts/export_rollouts/{model}.json",
    log:
        R + "/logs/export_rollouts/{model}.log",
    benchmark:
        R + "/benchmarks/export_rollouts/{model}.tsv"
    threads: PARAMS.wmb.threads
    resources:
        mem_mb=3000,
        runtime=240,
        gpu=0,
    params:
        code=code("export_rollouts"),
        p=p("export_rollouts"),
    message:
        "export_rollouts: {wildcards.model} and its controls, as benchmark folders"
    shell:
        "python src/export_rollouts.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--index {input.index} --stores {input.stores} --tokenizer {input.tokenizer} --dynamics {input.dynamics} --folder {output.folder} 2>&1 | tee {log}"


rule judge_rollouts:
    input:
        ids([INDEX, *CORPUS]),
        ids([R + "/wmb/exports/{model}", f"{R}/wmb/exports/{spec.BASE}"]),
        exports=ancient(R + "/wmb/exports/{model}"),
        calibration=ancient(f"{R}/wmb/exports/{spec.BASE}"),
        index=ancient(INDEX),
        stores=ancient(CORPUS),
    output:
        answers=R + "/wmb/answers/{model}.jsonl",
        id=R + "/wmb/answers/{model}.jsonl.id",
        receipt=R + "/receipts/judge_rollouts/{model}.json",
    log:
        R + "/logs/judge_rollouts/{model}.log",
    benchmark:
        R + "/benchmarks/judge_rollouts/{model}.tsv"
    threads: 1
    resources:
        mem_mb=3000,
        runtime=240,
        gpu=0,
    params:
        code=code("judge_rollouts"),
        p=p("judge_rollouts"),
        work=R + "/work/judge_rollouts/{model}",
    message:
        "judge_rollouts: {wildcards.model} and its controls, by the simulator"
    shell:
        "python src/judge_rollouts.py --params {params.p:q} --code {params.code} --receipt {output.receipt} --work {params.work} "
        "--exports {input.exports} --calibration {input.calibration} --index {input.index} --stores {input.stores} --answers {output.answers} 2>&1 | tee {log}"


rule rank_rollouts:
    input:
        ids(EXPORTS + ANSWERS),
        answers=ancient(ANSWERS),
        exports=ancient(EXPORTS),
    output:
        csv=f"{R}/tables/wmb.csv",
        csv_id=f"{R}/tables/wmb.csv.id",
        markdown=f"{R}/wmb/leaderboard.md",
        json=f"{R}/wmb/leaderboard.json",
        page=report(f"{R}/wmb/index.html", caption="../report/page.rst", category="Report"),
        receipt=f"{R}/receipts/rank_rollouts/wmb-sim.json",
    log:
        f"{R}/logs/rank_rollouts.log",
    benchmark:
        f"{R}/benchmarks/rank_rollouts.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
        gpu=0,
    params:
        code=code("rank_rollouts"),
        p=p("rank_rollouts"),
    message:
        "rank_rollouts: the wmb-sim leaderboard"
    shell:
        "python src/rank_rollouts.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--answers {input.answers} --exports {input.exports} --csv {output.csv} --markdown {output.markdown} --json {output.json} --page {output.page} 2>&1 | tee {log}"
