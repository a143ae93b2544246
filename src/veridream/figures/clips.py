"""One mp4 and one gif a clip: truth, model, and below them the normalised predictors traced up to the current frame."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from veridream import spec
from veridream.figures.clip_file import Clip
from veridream.figures.palette import PREDICTOR
from veridream.io.video import write_mp4

SIDE = 192  # pixels of each of the two pictures, about
PAD, HEAD, TRACE = 8, 18, 58
BACK, PAPER, INK, FAINT = (16, 19, 24), (24, 28, 35), (222, 226, 232), (90, 98, 110)
FPS = 8


def write_clips(folder: Path, clips: list[Clip]) -> list[dict[str, Any]]:
    """<task>-<name>.mp4 and .gif of every clip and index.json with their ids and dPSNR; returns that index. Same clips, same bytes."""
    folder.mkdir(parents=True)
    rows = []
    for c in clips:
        frames = [compose(c, t) for t in range(c.frames)]
        stem = f"{c.task}-{c.name}"
        write_mp4(folder / f"{stem}.mp4", np.stack([np.asarray(f) for f in frames]), FPS)
        write_gif(folder / f"{stem}.gif", frames, FPS)
        ids = {
            "task": c.task,
            "name": c.name,
            "seen": c.seen,
            "store": c.store,
            "episode": c.episode,
            "start": c.start,
            "frames": c.frames,
            "context": c.context,
        }
        rows.append({"file": stem, **ids, "dpsnr": round(c.dpsnr, 3), "width": frames[0].width, "height": frames[0].height})
    (folder / "index.json").write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    return rows


def compose(c: Clip, t: int) -> Image.Image:
    """The picture of frame t. Sides are even, as yuv420 wants."""
    scale = max(1, SIDE // c.truth.shape[1])
    w, h = c.truth.shape[2] * scale, c.truth.shape[1] * scale
    width = (3 * PAD + 2 * w + 1) // 2 * 2
    height = (HEAD + h + PAD + TRACE + PAD + 1) // 2 * 2
    image = Image.new("RGB", (width, height), BACK)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(10)
    stage = "context" if t < c.context else "open loop"
    for x, frames, name in ((PAD, c.truth, "truth"), (2 * PAD + w, c.model, f"model, {stage}")):
        draw.text((x, 4), name, fill=INK, font=font)
        image.paste(Image.fromarray(frames[t]).resize((w, h), Image.Resampling.NEAREST), (x, HEAD))
    _traces(draw, c, t, (PAD, HEAD + h + PAD, width - PAD, HEAD + h + PAD + TRACE), font)
    return image


def _traces(draw: ImageDraw.ImageDraw, c: Clip, t: int, box: tuple[int, int, int, int], font: Any) -> None:
    """Each predictor over its own largest value; the future is empty."""
    left, top, right, bottom = box
    draw.rectangle(box, fill=PAPER)
    x = np.linspace(left + 4, right - 4, c.frames)
    start = float(np.interp(c.context - 0.5, np.arange(c.frames), x))
    draw.line([(start, top), (start, bottom)], fill=FAINT)
    label = left + 4.0
    for u in spec.PREDICTORS:
        y = c.norm(u)
        most = float(np.nanmax(y)) if np.isfinite(y).any() else 1.0
        points = [(float(x[i]), bottom - 4 - (bottom - top - 20) * float(y[i]) / max(most, 1e-9)) for i in range(t + 1) if np.isfinite(y[i])]
        if len(points) > 1:
            draw.line(points, fill=_light(PREDICTOR[u]), width=2)
        now = f"{y[t]:.2f}" if np.isfinite(y[t]) else "-"
        draw.text((label, top + 2), f"{u}/m {now}", fill=_light(PREDICTOR[u]), font=font)
        label += 74


def _light(colour: str) -> tuple[int, int, int]:
    """A line colour, lifted for a dark ground."""
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return tuple(int(v + (255 - v) * 0.35) for v in rgb)  # type: ignore[return-value]


def write_gif(path: Path, frames: list[Image.Image], fps: int) -> None:
    """Loops for ever; the last frame stays for a second. One palette, from frames all along the clip, so that colours do not flicker."""
    few = frames[:: max(1, len(frames) // 8)]
    sheet = Image.new("RGB", (frames[0].width, frames[0].height * len(few)))
    for i, f in enumerate(few):
        sheet.paste(f, (0, i * f.height))
    palette = sheet.quantize(colors=64, method=Image.Quantize.MEDIANCUT)
    small = [f.quantize(palette=palette, dither=Image.Dither.NONE) for f in frames]
    small[0].save(path, save_all=True, append_images=small[1:], duration=[1000 // fps] * (len(frames) - 1) + [1000], loop=0, optimize=False)
