"""The claims section of the report."""

from collections import Counter
from html import escape
from typing import Any

from veridream.figures.report_svg import forest
from veridream.results.markdown import number, with_interval
from veridream.results.verdicts import VERDICTS, boundary

Row = dict[str, Any]
TONES = dict(zip(VERDICTS, ("good", "bad", "open", "none"), strict=True))


def tiles(rows: list[Row]) -> str:
    """How many claims got each verdict."""
    counts = Counter(r["verdict"] for r in rows)
    return "".join(f'<div class="tile {TONES[v]}"><b>{counts[v]}</b><span>{escape(v)}</span></div>' for v in VERDICTS)


def table(rows: list[Row]) -> str:
    """rows: claims.csv read back, numbers or None. Definition, rule and note unfold from the claim's text."""
    body = [_row(r) for r in rows]
    head = '<th>where</th><th>claim</th><th class="num">paper</th><th>here, with interval</th><th></th><th class="num">n</th><th>verdict</th>'
    return f'<div class="scroll"><table class="claims"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def _row(r: Row) -> str:
    tone = TONES[r["verdict"]]
    facts = [
        ("where", r["where"]),
        ("definition", r["definition"]),
        ("unit", r["unit"]),
        ("source", r["source"]),
        ("rule", r["rule"]),
        ("base and replicates", r["each"]),
        ("note", r["note"]),
    ]
    listing = "".join(f"<dt>{k}</dt><dd>{escape(str(v))}</dd>" for k, v in facts if v)
    text = f"<details><summary>{escape(r['claim'])}</summary><dl>{listing}</dl></details>"
    paper = "" if r["paper"] is None else f"{number(r['paper'])} <small>{escape(r['source'])}</small>"
    ours = with_interval(r["ours"], r["low"], r["high"])
    unit = "" if r["ours"] is None or r["unit"] in ("1", "rho", "AUROC") else f" <small>{escape(r['unit'])}</small>"
    drawing = forest(r["ours"], r["low"], r["high"], r["paper"], boundary(r["rule"] or ""), tone)
    n = "" if r["n"] is None else f"{int(r['n']):,}"
    place, _, rest = str(r["where"]).partition(",")
    own = '<small title="not in the paper"> +</small>' if "not in the paper" in rest else ""
    cells = f'<td class="where">{escape(place)}{own}</td><td class="text">{text}</td><td class="num paper">{paper}</td><td class="ci ours">{ours}{unit}</td>'
    cells += f'<td class="draw">{drawing}</td><td class="num n">{n}</td>'
    return f'<tr>{cells}<td class="verdict"><span class="badge {tone}">{escape(r["verdict"].removesuffix(" at this scale"))}</span></td></tr>'
