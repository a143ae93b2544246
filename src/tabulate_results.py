"""Table 1 (coverage-aware arms), 2 (targeted data) or 7 (AUROC) from the score and MPC tables, as CSV and markdown."""

from veridream.provenance.stage import StageError, stage
from veridream.results.evidence import NotAvailable
from veridream.results.layout import LAYOUTS, NOTES, TITLES
from veridream.results.load import load_evidence
from veridream.results.markdown import csv_text, markdown_table
from veridream.results.paper import published_by
from veridream.results.tables import TABLES


def main() -> None:
    with stage("tabulate_results", inputs=("scores", "mpc?"), outputs=("csv", "markdown")) as job:
        name = job.params["table"]
        if name not in TABLES:
            raise StageError(f"there is no table {name!r}; known: {', '.join(TABLES)}")
        rows_of, file, key = TABLES[name]
        evidence = load_evidence(job.inputs["scores"], job.inputs["mpc"], job.params["stats"])
        try:
            rows = rows_of(evidence, published_by(file, key))
        except NotAvailable as e:
            raise StageError(f"table {name}: {e}; give the scores of every model it compares") from None
        job.out["csv"].write_text(csv_text(rows))
        head, body = LAYOUTS[name](rows)
        job.out["markdown"].write_text(f"### {TITLES[name]}\n\n{NOTES[name]}\n\n{markdown_table(head, body)}")
        job.counts = {"rows": len(rows), "models": sorted(evidence.scores)}


if __name__ == "__main__":
    main()
