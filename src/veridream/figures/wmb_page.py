"""The leaderboard's page: one self-contained HTML file with the tables, and every item with its clip and answers."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from veridream.figures.report_style import CSS
from veridream.results.leaderboard import NOTES, json_text, markdown, shown, shown_domains, shown_quoted, shown_reference
from veridream.results.markdown import csv_text
from veridream.stats.bootstrap import Boot
from veridream.wmb.items import Item
from veridream.wmb.leaderboard import Entry, comparison, domain_rows, rows
from veridream.wmb.questions import QUESTIONS

Row = dict[str, Any]
MOST_VIDEO_BYTES = 9_000_000  # base64 adds a third


@dataclass(frozen=True)
class ItemEntry:
    """What one entry's video of an item got: its lines of veridream.wmb.run by question (repeat 0), its strict scores, its clip."""

    title: str
    lines: Mapping[str, Row]
    scores: Mapping[str, float]
    video: Path | None


@dataclass(frozen=True)
class Page:
    protocol: str
    rows: Sequence[Row]
    domains: Sequence[Row]
    items: Sequence[tuple[Item, Sequence[ItemEntry]]]
    undecidable: frozenset[str] = frozenset()  # stems of items that count for nobody; shown all the same
    facts: Mapping[str, Any] = field(default_factory=dict)


def render(page: Page) -> str:
    """The page as text; everything that came from data is escaped."""
    sections = [("leaderboard", "Leaderboard", f'<p class="note">{escape(NOTES[page.protocol])}</p>{_table(*shown(page.rows))}')]
    sections.append(("domains", "By domain", _table(*shown_domains(page.domains))))
    sections.append(("items", "Items", _items(page.items, page.undecidable)))
    if page.protocol == "wmb":
        note = '<p class="note">Other judges and, for human votes, another scale of error: printed for orientation, never ranked with the table above.</p>'
        sections.append(("published", "Published scores", note + _table(*shown_reference())))
        sections.append(("quoted", "Said, not checked here", _table(*shown_quoted())))
    facts = "".join(f"<dt>{escape(str(k))}</dt><dd>{escape(str(v))}</dd>" for k, v in page.facts.items())
    sections.append(("run", "This run", f'<div class="card"><dl>{facts}</dl></div>'))
    links = "".join(f'<a href="#{i}">{t}</a>' for i, t, _ in sections)
    bodies = "".join(f'<section id="s-{i}"><h2 id="{i}">{t}</h2>{body}</section>' for i, t, body in sections)
    title = f"WorldModelBench, protocol {escape(page.protocol)}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="data:,"><style>{CSS}</style></head><body><header class="top"><h1>{title}</h1></header>'
        f'<nav aria-label="sections"><div>{links}</div></nav><main>{bodies}</main></body></html>\n'
    )


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    heads = "".join(f"<th>{escape(h)}</th>" for h in head)
    lines = "".join(f'<tr><th scope="row">{escape(c[0])}</th>' + "".join(f"<td class=ci>{_cell(x)}</td>" for x in c[1:]) + "</tr>" for c in body)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'


def _cell(text: str) -> str:
    first, _, small = text.partition("\n")
    return escape(first) + (f"<br><small>{escape(small)}</small>" if small else "")


def _items(items: Sequence[tuple[Item, Sequence[ItemEntry]]], undecidable: frozenset[str]) -> str:
    out, used = [], 0
    for item, entries in items:
        cards = []
        for e in entries:
            fits = e.video is not None and used + e.video.stat().st_size <= MOST_VIDEO_BYTES
            data = e.video.read_bytes() if fits and e.video is not None else b""
            used += len(data)
            cards.append(_card(e, data))
        words = f"{escape(item.text_instruction)}<br><small>{escape(item.domain)}, {escape(item.subdomain)}</small>"
        apart = " <small>undecidable: counts for nobody</small>" if item.stem in undecidable else ""
        head = f"<summary>{escape(item.stem)} <small>{escape(item.text_instruction)}</small>{apart}</summary>"
        out.append(f'<details class="card">{head}<p class="note">{words}</p><div class="clips">{"".join(cards)}</div></details>')
    return "".join(out)


def _card(e: ItemEntry, data: bytes) -> str:
    video = "<p class=note>no clip on this page</p>"
    if data:
        source = base64.b64encode(data).decode()
        video = f'<video controls loop muted playsinline preload="none" src="data:video/mp4;base64,{source}"></video>'
    answers = "".join(f"<dt>{q}</dt><dd>{_answer(e, q)}</dd>" for q in QUESTIONS)
    total = sum(e.scores.values())
    return f'<figure class="clip">{video}<figcaption><b>{escape(e.title)}</b> {total:.2f}<dl>{answers}</dl></figcaption></figure>'


def _answer(e: ItemEntry, question: str) -> str:
    line = e.lines[question]
    said = line["raw"] if line["raw"] is not None else line["status"] if line["value"] is None else f"{line['value']:g}"
    beside = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in line["meta"].items())
    return f"{e.scores[question]:g} <small>{escape(str(said))}{' · ' + escape(beside) if beside else ''}</small>"


@dataclass(frozen=True)
class Judged:
    """An entry with the lines it was scored from and its videos by stem."""

    entry: Entry
    lines: Sequence[Row]
    videos: Mapping[str, Path]

    def item(self, i: int) -> ItemEntry:
        """Its answers on item i of all, undecidable ones included."""
        s = self.entry.scores
        stem = s.every[i].stem
        lines = {x["question"]: x for x in self.lines if x["item"] == stem and x["repeat"] == 0}
        return ItemEntry(self.entry.title, lines, dict(zip(QUESTIONS, map(float, s.every_strict[i]), strict=True)), self.videos.get(stem))


def write_leaderboard(out: Mapping[str, Path], judged: Sequence[Judged], boot: Boot, facts: Mapping[str, Any]) -> list[Row]:
    """Writes csv, markdown, json and page (keys of `out`); returns the rows. Raises BenchmarkError when the entries do not belong in one ranking."""
    entries = [j.entry for j in judged]
    table, domains, compared = rows(entries, boot), domain_rows(entries, boot), comparison(entries, boot)
    out["csv"].write_text(csv_text(table), encoding="utf-8")
    out["markdown"].write_text(markdown(table, domains, compared), encoding="utf-8")
    out["json"].write_text(json_text(table, domains, compared, dict(facts)), encoding="utf-8")
    first = entries[0].scores
    items = [(item, [j.item(i) for j in judged]) for i, item in enumerate(first.every)]
    page = Page(entries[0].protocol, table, domains, items, frozenset(first.undecidable), facts)
    out["page"].write_text(render(page), encoding="utf-8")
    return table
