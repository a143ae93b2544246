# Tables, figures, clips, the claims ledger, the page.
SCORES = [f"{R}/scores/{m}.parquet" for m in (*spec.MODELS, *BASES[1:])]
MPC = [f"{R}/mpc/{m}.parquet" for m in MPC_MODELS]
TABLE_SCORES = {
    "coverage": [f"{R}/scores/{m}.parquet" for m in (spec.BASE, *spec.ARMS)],
    "targeted": [f"{R}/scores/{m}.parquet" for m in (spec.BASE, spec.COVERAGE_AWARE, *spec.TARGETED)],
    "auroc": [f"{R}/scores/base.parquet"],
}
BASE_SCORES = f"{R}/scores/base.parquet"
BASE_CLIPS = f"{R}/scores/base.clips.npz"
# figure -> what it is drawn from, by the argument of src/plot_figure.py
FIGURE_INPUTS = {
    "frame_counts": {"counts": COUNTS},
    "density": {"scores": [BASE_SCORES], "index": [INDEX], "stores": CORPUS},
    "calibration": {"scores": [BASE_SCORES]},
    "policy_coverage": {"stores": TARGETED_STORES},
    "traces": {"clips": [BASE_CLIPS], "scores": [BASE_SCORES]},
    "strips": {"clips": [BASE_CLIPS]},
}


def figure_arguments(w):
    return " ".join(f"--{name} {' '.join(paths)}" for name, paths in FIGURE_INPUTS[w.figure].items())


def figure_files(w):
    return [x for paths in FIGURE_INPUTS[w.figure].values() for x in paths]


rule tabulate_results:
    input:
        lambda w: ids(TABLE_SCORES[w.table] + (MPC if w.table == "targeted" else [])),
        scores=ancient(lambda w: TABLE_SCORES[w.table]),
        mpc=ancient(lambda w: MPC if w.table == "targeted" else []),
    output:
        csv=R + "/tables/{table}.csv",
        csv_id=R + "/tables/{table}.csv.id",
        markdown=R + "/tables/{table}.md",
        receipt=R + "/receipts/tabulate_results/{table}.json",
    log:
        R + "/logs/tabulate_results/{table}.log",
    benchmark:
        R + "/benchmarks/tabulate_results/{table}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
        gpu=0,
    params:
        code=code("tabulate_results"),
        p=p("tabulate_results"),
    message:
        "tabulate_results: {wildcards.table}"
    shell:
        "python src/tabulate_results.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--scores {input.scores} --mpc {input.mpc} --csv {output.csv} --markdown {output.markdown} 2>&1 | tee {log}"


rule plot_figure:
    input:
        lambda w: ids(figure_files(w)),
        files=ancient(figure_files),
    output:
        figure=report(R + "/figures/{figure}.svg", caption="../report/figure.rst", category="Figures", labels={"figure": "{figure}"}),
        id=R + "/figures/{figure}.svg.id",
        receipt=R + "/receipts/plot_figure/{figure}.json",
    log:
        R + "/logs/plot_figure/{figure}.log",
    benchmark:
        R + "/benchmarks/plot_figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
        gpu=0,
    params:
        code=code("plot_figure"),
        p=p("plot_figure"),
        arguments=figure_arguments,
    message:
        "plot_figure: {wildcards.figure}"
    shell:
        "python src/plot_figure.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "{params.arguments} --figure {output.figure} 2>&1 | tee {log}"


rule render_clips:
    input:
        ids(R + "/scores/{model}.clips.npz"),
        clips=ancient(R + "/scores/{model}.clips.npz"),
    output:
        folder=directory(R + "/clips/{model}"),
        id=R + "/clips/{model}.id",
        receipt=R + "/receipts/render_clips/{model}.json",
    log:
        R + "/logs/render_clips/{model}.log",
    benchmark:
        R + "/benchmarks/render_clips/{model}.tsv"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
        gpu=0,
    params:
        code=code("render_clips"),
        p=p("render_clips"),
    message:
        "render_clips: {wildcards.model}"
    shell:
        "python src/render_clips.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--clips {input.clips} --folder {output.folder} 2>&1 | tee {log}"


rule compare_to_paper:
    input:
        ids(SCORES + MPC + TARGETED_STORES),
        claims="params/claims.yaml",
        scores=ancient(SCORES),
        mpc=ancient(MPC),
        stores=ancient(TARGETED_STORES),
    output:
        csv=f"{R}/claims/claims.csv",
        csv_id=f"{R}/claims/claims.csv.id",
        markdown=f"{R}/claims/claims.md",
        receipt=f"{R}/receipts/compare_to_paper/claims.json",
    log:
        f"{R}/logs/compare_to_paper.log",
    benchmark:
        f"{R}/benchmarks/compare_to_paper.tsv"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
        gpu=0,
    params:
        code=code("compare_to_paper"),
        p=p("compare_to_paper"),
    message:
        "compare_to_paper: the claims ledger"
    shell:
        "python src/compare_to_paper.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--claims {input.claims} --scores {input.scores} --mpc {input.mpc} --stores {input.stores} --csv {output.csv} --markdown {output.markdown} 2>&1 | tee {log}"


rule render_report:
    input:
        ids([f"{R}/figures/{f}.svg" for f in FIGURES]),
        ids([f"{R}/tables/{t}.csv" for t in TABLES] + WMB_TABLES),
        ids([f"{R}/clips/{m}" for m in CLIP_MODELS]),
        ids([f"{R}/claims/claims.csv", *COUNTS]),
        figures=ancient([f"{R}/figures/{f}.svg" for f in FIGURES]),
        tables=ancient([f"{R}/tables/{t}.csv" for t in TABLES] + WMB_TABLES),
        clips=ancient([f"{R}/clips/{m}" for m in CLIP_MODELS]),
        claims=ancient(f"{R}/claims/claims.csv"),
        index=ancient(COUNTS),
    output:
        page=report(f"{R}/report/index.html", caption="../report/page.rst", category="Report"),
        receipt=f"{R}/receipts/render_report/index.json",
    log:
        f"{R}/logs/render_report.log",
    benchmark:
        f"{R}/benchmarks/render_report.tsv"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
        gpu=0,
    params:
        code=code("render_report"),
        p=p("render_report"),
    message:
        "render_report: one page"
    shell:
        "python src/render_report.py --params {params.p:q} --code {params.code} --receipt {output.receipt} "
        "--figures {input.figures} --tables {input.tables} --clips {input.clips} --claims {input.claims} --index {input.index} "
        "--page {output.page} 2>&1 | tee {log}"
