"""A benchmark folder to try things on: four conditions, their videos, and answers, some of which the published script misreads."""

from pathlib import Path

import numpy as np
from PIL import Image

from veridream.io.video import write_mp4
from veridream.wmb.items import LIST, Item, write_items
from veridream.wmb.judges.replay import write_results
from veridream.wmb.questions import INSTRUCTION, QUESTIONS

MODEL, SIDE, FRAMES = "example", 64, 16
ITEMS = (
    Item("robotics", "pushing", "A grey box on a dark table.", "Push the box to the right.", "images/push.jpg"),
    Item("robotics", "pushing", "A grey box on a dark table.", "Push the box gently.", "images/gently.jpg"),
    Item("video games", "paddles", "A paddle on a dark court.", "Move the paddle right", "images/000000000001.2.jpg"),
    Item("video games", "paddles", "A paddle on a dark court.", "Hold the paddle.", "images/hold.jpg"),
)
FOLLOWED = ("The score is 2", "Score: 2/3", "Score: 3", "Score: 1")
LAWS = ("No", "No, nothing of the kind", "I cannot tell", "It passes into another thing. Answer: Yes")


def write_example(folder: Path) -> None:
    """worldmodelbench.json, images/, videos/ and results.json in a new folder. Raises FileExistsError when it is there."""
    folder.mkdir(parents=True)
    for name in ("images", "videos"):
        (folder / name).mkdir()
    for k, item in enumerate(ITEMS):
        frames = np.full((FRAMES, SIDE, SIDE, 3), 40, np.uint8)
        for t, frame in enumerate(frames):
            frame[24:40, 8 + k * t : 24 + k * t] = 180
        Image.fromarray(frames[0]).save(folder / item.first_frame)
        write_mp4(folder / "videos" / item.video, frames, 15)
    write_items(folder / LIST, ITEMS)
    write_results(
        folder / "results.json", MODEL, {i.stem: dict.fromkeys(QUESTIONS, a) | {INSTRUCTION: f} for i, f, a in zip(ITEMS, FOLLOWED, LAWS, strict=True)}
    )
