"""The task gallery: every task's first frame and one in mid-episode, as one PNG sheet and one self-contained HTML page."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np

from veridream.figures.report_style import CSS
from veridream.params.tasks import Task

GAP, CAPTION, COLUMNS = 4, 12, 14  # pixels, pixels, tasks a row of the sheet
GALLERY_CSS = """
.gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem;margin:1rem 0 2rem}
.task{background:var(--card);border:1px solid var(--line);padding:.5rem;border-radius:8px}
.task img{width:49%;image-rendering:pixelated;display:inline-block}
.task h3{margin:.4rem 0 .1rem}.task p{font-size:13px;margin:.1rem 0}
"""


@dataclass(frozen=True)
class Tile:
    """One task: frames uint8 [H,W,3] (first, mid-episode), or why there are none."""

    task: Task
    frames: tuple[np.ndarray, ...] = ()
    missing: str = ""


def png(frame: np.ndarray) -> bytes:
    """A frame as a PNG file."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(frame).save(out, "png")
    return out.getvalue()


def page(tiles: Sequence[Tile], scores: Mapping[str, Mapping[str, str]]) -> str:
    """The page as text, domain by domain. scores: of veridream.params.tasks.measured_scores."""
    sections = []
    for domain, group in groupby(tiles, key=lambda t: t.task.domain):
        members = list(group)
        body = "".join(_tile(t, scores.get(t.task.id, {})) for t in members)
        sections.append(f'<section><h2>{escape(domain)} <small>{len(members)} tasks</small></h2><div class="gallery">{body}</div></section>')
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Veridream tasks</title><style>{CSS}{GALLERY_CSS}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body><main><h1>{len(tiles)} tasks</h1>{"".join(sections)}</main></body></html>\n'


def _tile(tile: Tile, score: Mapping[str, str]) -> str:
    t = tile.task
    pictures = "".join(f'<img alt="{escape(t.id)}" src="data:image/png;base64,{base64.b64encode(png(f)).decode()}"> ' for f in tile.frames)
    shown = pictures or f"<p>no frame: {escape(tile.missing)}</p>"
    expert = f"{t.expert} expert {score['expert']}" if score.get("expert") else f"{t.expert} expert" if t.expert else "no expert"
    random = f"random {score['random']}" if score.get("random") else "random not measured"
    unseen = " · unseen" if t.unseen else ""
    return f'<div class="task">{shown}<h3>{escape(t.id)}</h3><p>{escape(t.instruction)}</p><p>A={t.action_dim} · {expert} · {random}{unseen}</p></div>'


def sheet(tiles: Sequence[Tile], side: int) -> np.ndarray:
    """All tasks' mid-episode frames with their names, uint8 [H,W,3]; a task without frames is a grey square."""
    from PIL import Image, ImageDraw

    rows = -(-len(tiles) // COLUMNS)
    image = Image.new("RGB", (COLUMNS * (side + GAP) + GAP, rows * (side + CAPTION + GAP) + GAP), "white")
    draw = ImageDraw.Draw(image)
    for i, tile in enumerate(tiles):
        x, y = GAP + i % COLUMNS * (side + GAP), GAP + i // COLUMNS * (side + CAPTION + GAP)
        if tile.frames:
            image.paste(Image.fromarray(tile.frames[-1]).resize((side, side)), (x, y))
        else:
            draw.rectangle((x, y, x + side - 1, y + side - 1), fill="#bbbbbb")
        draw.text((x, y + side), tile.task.id[: side // 6], fill="black", font_size=9)
    return np.asarray(image)
