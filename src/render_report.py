"""The report: one self-contained HTML page with the claims, figures, tables, clips, machine, versions and parameters."""

import json
from collections.abc import Sequence
from pathlib import Path

import yaml

from veridream.figures.report import FIGURES, Report, render
from veridream.figures.report_facts import machine, versions
from veridream.provenance.stage import StageError, stage
from veridream.results.layout import TITLES
from veridream.results.markdown import read_csv
from veridream.results.verdicts import COLUMNS


def data_facts(paths: Sequence[Path]) -> dict[str, str]:
    """What index/*.counts.csv say about the data, for people."""
    rows = [row for path in paths for row in read_csv(path)]
    out = {}
    for role, title in (("corpus", "pretraining corpus"), ("targeted", "targeted data, unseen tasks"), ("test", "test data, unseen tasks")):
        part = [r for r in rows if r["role"] == role and not r.get("skipped")]
        if part:
            out[title] = f"{len(part)} tasks, {sum(r['episodes'] for r in part):,.0f} episodes, {sum(r['frames'] for r in part):,.0f} frames"
    held = [r for r in rows if r["role"] == "corpus"]
    out["held out of the corpus"] = f"{sum(r['heldout_episodes'] for r in held):,.0f} episodes, {sum(r['heldout_frames'] for r in held):,.0f} frames"
    if gone := [str(r["task"]) for r in rows if r.get("skipped")]:
        out["left out, since they cannot run where this was made"] = f"{len(gone)} tasks: {', '.join(gone)}"
    return out


def main() -> None:
    with stage("render_report", inputs=("figures", "tables", "claims", "clips?", "index?"), outputs=("page",)) as job:
        (claims_path,) = (p for p in job.inputs["claims"] if p.suffix == ".csv")
        claims = read_csv(claims_path)
        odd = sorted(set(COLUMNS) ^ set(claims[0])) if claims else list(COLUMNS)
        if odd:
            raise StageError(f"{claims_path}: not a claims table, or of another version (column {', '.join(odd)}); run compare_to_paper again")
        unknown = [str(p) for p in job.inputs["figures"] if p.stem not in FIGURES]
        if unknown:
            raise StageError(f"figure {', '.join(unknown)} has no caption; known: {', '.join(FIGURES)}")
        params = job.params.get("params")
        report = Report(
            scale=str(job.params.get("scale", claims[0]["scale"])),
            figures={p.stem: p for p in job.inputs["figures"]},
            tables={p.stem: read_csv(p) for p in job.inputs["tables"] if p.suffix == ".csv" and p.stem in TITLES},
            claims=claims,
            clips=[(p.name, json.loads((p / "index.json").read_text()), p) for p in job.inputs["clips"]],
            data=data_facts(job.inputs["index"]),
            machine=machine(),
            versions=versions(),
            params=yaml.safe_dump(params, sort_keys=False, default_flow_style=None, width=110) if params else "",
        )
        page = render(report)
        job.out["page"].write_text(page, encoding="utf-8")
        job.counts = {"figures": len(report.figures), "tables": len(report.tables), "claims": len(claims)}


if __name__ == "__main__":
    main()
