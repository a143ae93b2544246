"""The report: one HTML page that needs nothing beside it, no network and no script."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from veridream.figures import report_claims
from veridream.figures.report_style import CSS
from veridream.figures.report_svg import inline
from veridream.results.layout import LAYOUTS, NOTES, TITLES

Row = dict[str, Any]
MOST_CLIP_BYTES = 9_000_000  # base64 adds a third; the page stays under 15 MB

FIGURES = {
    "frame_counts": (
        "Figure 3",
        "Training frames a task, sorted, log scale. Which task got how many episodes is a seeded permutation. "
        "Outlines: targeted data, never seen by the base model.",
    ),
    "density": (
        "Figure 4",
        "Where the training data lies (top) and the mean normalised round-trip residual of held-out sequences by the state "
        "they start in (bottom; grey: visited in training).",
    ),
    "calibration": (
        "Figure 5",
        "Each normalised predictor against rollout dPSNR, held-out sequences of the base model. Black: medians of ten equally filled bins; "
        "red: where they cross 0 dB. Correlations are of seen tasks; 1/m alone shows how much the common divisor does by itself. "
        "Points beyond the frame stand on its edge.",
    ),
    "policy_coverage": ("Figure 6", "States visited by each collection policy on the unseen tasks, log counts, with the share of cells visited."),
    "traces": (
        "Run-time traces",
        "Normalised predictors along longer open-loop rollouts, over the threshold read from Figure 5; above 1 is an alarm. "
        "Grey: given context. Red titles: dPSNR at most 0.",
    ),
    "strips": (
        "Rollout strips",
        "Truth, its reconstruction, and the open-loop rollout. Below: predictors over motion, each over its largest value (printed).",
    ),
}
PLATES = ("density", "policy_coverage", "strips")  # drawn on a light ground on dark screens too


@dataclass(frozen=True)
class Report:
    """Everything on the page. tables: rows by table name; claims: rows of claims.csv; clips: (model, index rows, folder)."""

    scale: str
    figures: Mapping[str, Path]
    tables: Mapping[str, list[Row]]
    claims: list[Row]
    clips: list[tuple[str, list[Row], Path]] = field(default_factory=list)
    data: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    params: str = ""


def render(r: Report) -> str:
    """The page as text. Everything that came from data is escaped."""
    sections = [
        ("claims", "Claims", _claims(r)),
        ("figures", "Figures", "".join(_figure(n, r.figures[n]) for n in _ordered(r.figures))),
        ("tables", "Tables", "".join(_table(n, r.tables[n]) for n in TITLES if n in r.tables)),
        ("clips", "Clips", _clips(r.clips)),
        ("provenance", "Provenance", _provenance(r)),
    ]
    links = "".join(f'<a href="#{i}">{t}</a>' for i, t, body in sections if body)
    bodies = "".join(f'<section id="s-{i}"><h2 id="{i}">{t}</h2>{body}</section>' for i, t, body in sections if body)
    title = f"Veridream report, scale {escape(r.scale)}"
    lead = (
        "Are a world model's dreams true? This page rebuilds, at a small scale and on real simulators, the study "
        "<em>Hallucination in World Models is Predictable and Preventable</em> (Hansen and Wang, arXiv 2606.27326), "
        "and says of each of its claims whether it shows here."
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="data:,"><style>{CSS}</style></head><body>'
        f'<header class="top"><h1>Veridream, <span>{escape(r.scale)} scale</span></h1><p class="lead">{lead}</p>'
        f'<div class="tiles">{report_claims.tiles(r.claims)}</div></header>'
        f'<nav aria-label="sections"><div>{links}</div></nav><main>{bodies}</main>'
        "<footer>Every number on this page follows from the receipts in the results folder; see Provenance.</footer></body></html>\n"
    )


def _claims(r: Report) -> str:
    note = (
        "Each rule was written before any result and looks at the whole interval (bootstrap over tasks, then sequences). "
        "Dot and bar: here; diamond: the paper; dashed: where the claim would have no content. The letter beside a paper value says how it is known: "
        "P first-party, N one second-hand report, N2 two, O computed on the released points, I inferred. A plus marks a question the paper does not ask. "
        "Open a claim for its definition, rule and note."
    )
    return f'<p class="note">{note}</p>{report_claims.table(r.claims)}'


def _ordered(figures: Mapping[str, Path]) -> list[str]:
    return [n for n in FIGURES if n in figures] + sorted(n for n in figures if n not in FIGURES)


def _figure(name: str, path: Path) -> str:
    label, text = FIGURES.get(name, (name, ""))
    svg, width = inline(path, name)
    kind = ' class="plate"' if name in PLATES else ""
    caption = f"<figcaption><b>{escape(label)}.</b> {escape(text)}</figcaption>"
    art = f'<div class="art" style="--w:{int(width * 1.25)}px" role="img" aria-label="{escape(label)}">{svg}</div>'
    return f'<figure{kind} id="fig-{escape(name)}">{art}{caption}</figure>'


def _table(name: str, rows: list[Row]) -> str:
    head, body = LAYOUTS[name](rows)
    lines = []
    for first, group in groupby(body, key=lambda cells: cells[0]):
        block = list(group)
        for k, cells in enumerate(block):
            title = f'<th scope="row" rowspan="{len(block)}">{escape(first)}</th>' if k == 0 else ""
            lines.append(f"<tr>{title}" + "".join(f"<td class=ci>{_lines(c)}</td>" for c in cells[1:]) + "</tr>")
    heads = "".join(f"<th>{escape(h)}</th>" for h in head)
    table = f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    return f'<h3>{escape(TITLES[name])}</h3><p class="note">{escape(NOTES[name])}</p>{table}'


def _lines(cell: str) -> str:
    """A cell; what stands after a line break is set small."""
    text, _, small = cell.partition("\n")
    return escape(text) + (f"<br><small>{escape(small)}</small>" if small else "")


def _clips(groups: list[tuple[str, list[Row], Path]]) -> str:
    out, used, left = [], 0, 0
    for model, rows, folder in groups:
        cards = []
        for row in sorted(rows, key=lambda c: (c["name"] == "trace", c["name"] != "0", not c["seen"], c["task"])):
            data = (folder / f"{row['file']}.mp4").read_bytes()
            if used + len(data) > MOST_CLIP_BYTES:
                left += 1
                continue
            used += len(data)
            cards.append(_clip(row, data))
        if cards:
            out.append(f'<h3>Model {escape(model)}</h3><div class="clips">{"".join(cards)}</div>')
    if not out:
        return ""
    rest = f" {left} more lie in the clips folder." if left else ""
    note = "Left the truth, right the model; predictors over motion below. "
    note += "Until the grey line frames are given, after it the model dreams on with the true actions."
    return f'<p class="note">{note}{rest} GIFs lie beside them in the clips folder.</p>{"".join(out)}'


def _clip(row: Row, data: bytes) -> str:
    source = base64.b64encode(data).decode()
    size = f'style="aspect-ratio:{int(row["width"])}/{int(row["height"]) + 56}"'  # room for the controls below the picture
    video = f'<video controls loop muted playsinline preload="auto" {size} src="data:video/mp4;base64,{source}"></video>'
    ids = f"{row['store']}, episode {row['episode']}, frame {row['start']}"
    caption = f"<b>{escape(row['task'])}</b> {'seen' if row['seen'] else 'unseen'}, dPSNR {row['dpsnr']:+.1f} dB<br><small>{escape(ids)}</small>"
    return f'<figure class="clip">{video}<figcaption>{caption}</figcaption></figure>'


def _facts(title: str, facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    lines = "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in facts.items())
    return f'<div class="card"><h3>{escape(title)}</h3><dl>{lines}</dl></div>'


def _provenance(r: Report) -> str:
    page = f"results/{r.scale}/report/index.html"
    audit = (
        '<p class="note">Each artefact has a receipt: content ids of what went in and came out, the parameters, and a digest of the code that ran. '
        "This prints the whole chain behind the page and exits with an error at a broken link:</p>"
        f'<div class="card"><pre>make audit ARTEFACT={escape(page)}</pre></div><br>'
    )
    cards = _facts("Data", r.data) + _facts("Machine", r.machine) + _facts("Versions", r.versions)
    params = f'<details class="card"><summary>Parameters</summary><pre>{escape(r.params)}</pre></details>' if r.params else ""
    return f'{audit}<div class="facts">{cards}</div>{params}'
