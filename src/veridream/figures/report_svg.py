"""SVG inside the report page: matplotlib's files made inline, and the small interval drawings of the claims table."""

import re
from pathlib import Path

from veridream.figures import palette

_COLOURS = {palette.INK: "var(--ink)", palette.SOFT: "var(--soft)", palette.MUTED: "var(--muted)", palette.FAINT: "var(--faint)"}
_IDS = re.compile(r'(\bid="|xlink:href="#|\bhref="#|url\(#)')


def inline(path: Path, name: str) -> tuple[str, int]:
    """(the <svg> element for an HTML page, its width in CSS pixels). Ids get the prefix `name`; ink follows the page's colours; no URL stays.

    Raises ValueError for a file that is no SVG or could run or load something.
    """
    text = path.read_text(encoding="utf-8")
    start = text.find("<svg")
    if start < 0:
        raise ValueError(f"{path}: holds no <svg> element; draw the figure again")
    if re.search(r"<script|<foreignObject|\son\w+=|href=\"(?!#|data:image/)", text[start:], re.I):
        raise ValueError(f"{path}: the figure holds a script or an outside reference; draw it again")
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", text[start:], flags=re.S)
    svg = re.sub(r"<defs>\s*</defs>", "", svg)
    svg = re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", svg)
    svg = _IDS.sub(lambda m: f"{m.group(1)}{name}-", svg).replace("xlink:href", "href")
    for colour, variable in _COLOURS.items():
        svg = svg.replace(colour, variable)
    svg = re.sub(r"font: (\d[\d.]*px) [^;\"]*", r"font-size: \1; font-family: system-ui, sans-serif", svg)
    svg = re.sub(r"font: italic (\d[\d.]*px) [^;\"]*", r"font-style: italic; font-size: \1; font-family: system-ui, sans-serif", svg)
    head = re.match(r'<svg[^>]*?\bwidth="([\d.]+)pt"', svg)
    width = round(float(head.group(1)) * 4 / 3) if head else 720
    svg = re.sub(r'(<svg[^>]*?)\s(?:width|height)="[\d.]+pt"', r"\1", svg)
    return re.sub(r'(<svg[^>]*?)\s(?:width|height)="[\d.]+pt"', r"\1", svg).strip(), width


def forest(value: float | None, low: float | None, high: float | None, paper: float | None, against: float | None, tone: str) -> str:
    """A drawing 120 x 16: the interval as a bar, our value as a dot, the paper's as a hollow diamond, and the rule's boundary as a dashed line."""
    marks = [x for x in (value, low, high, paper, against) if x is not None]
    if value is None or len(marks) < 2:
        return ""
    left, right = min(marks), max(marks)
    span = (right - left) or 1.0

    def x(v: float) -> str:
        return f"{6 + 108 * (v - left) / span:.1f}"

    parts = []
    if against is not None:
        parts.append(f'<line x1="{x(against)}" x2="{x(against)}" y1="0" y2="16" stroke="var(--muted)" stroke-dasharray="2 2"/>')
    if low is not None and high is not None:
        parts.append(f'<line x1="{x(low)}" x2="{x(high)}" y1="8" y2="8" stroke="var(--{tone})" stroke-width="3" stroke-linecap="round" opacity=".45"/>')
    if paper is not None:
        parts.append(f'<path d="M{x(paper)} 3.5l4.5 4.5-4.5 4.5-4.5-4.5z" fill="none" stroke="var(--ink)" stroke-width="1.2"/>')
    parts.append(f'<circle cx="{x(value)}" cy="8" r="3.2" fill="var(--{tone})"/>')
    return f'<svg class="forest" viewBox="0 0 120 16" aria-hidden="true">{"".join(parts)}</svg>'
