"""The claims ledger: every claim of params/claims.yaml measured on this run and judged by its own rule."""

from collections import Counter

from veridream.provenance.stage import stage
from veridream.results.claims import judge, load_claims
from veridream.results.load import load_evidence
from veridream.results.markdown import csv_text, markdown_table, number, with_interval
from veridream.results.states import targeted_states
from veridream.results.verdicts import COLUMNS, VERDICTS


def main() -> None:
    with stage("compare_to_paper", inputs=("claims", "scores", "mpc?", "tables?", "stores?"), outputs=("csv", "markdown")) as job:
        claims = load_claims(job.input("claims"))
        evidence = load_evidence(job.inputs["scores"], job.inputs["mpc"], job.params["stats"], targeted_states(job.inputs["stores"]))
        rows = [{c: row[c] for c in COLUMNS} for row in (judge(claim, evidence, job.params["scale"]) for claim in claims)]
        job.out["csv"].write_text(csv_text(rows))
        body = [
            [
                r["claim"],
                r["where"],
                number(r["paper"]) + (f" ({r['source']})" if r["paper"] is not None else ""),
                with_interval(r["ours"], r["low"], r["high"]) + (f" ({r['each']})" if r["each"] else ""),
            ]
            + [r["unit"], number(r["n"]), r["verdict"], r["note"]]
            for r in rows
        ]
        counts = Counter(r["verdict"] for r in rows)
        summary = ", ".join(f"{counts[v]} {v}" for v in VERDICTS)
        table = markdown_table(["claim", "where", "paper", "here [interval] (each base model)", "unit", "n", "verdict", "note"], body)
        job.out["markdown"].write_text(f"### Claims, scale {job.params['scale']}: {summary}\n\n{table}")
        job.counts = dict(sorted(counts.items()))


if __name__ == "__main__":
    main()
