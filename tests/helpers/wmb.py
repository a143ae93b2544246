"""Small benchmark folders, answers, and a scene whose truth is known to the pixel."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from veridream.wmb.items import LIST, Item, write_items
from veridream.wmb.questions import GROUPS, INSTRUCTION, QUESTIONS
from veridream.wmb.sim.entities import Entity, EntityScene

# Every way in which the published script misreads an answer: (question kind, text, what the script makes of it, what it says).
DEFECTS: list[tuple[str, str, float, float | None]] = [
    ("gravity", "Yes, there is noticeable flicker", 1, 0),
    ("gravity", "Yes: the object now floats", 1, 0),
    ("gravity", "It passes into another object. Answer: Yes", 1, 0),
    ("gravity", "I cannot tell", 1, None),
    ("gravity", "Snow", 1, None),
    ("gravity", "", 0, None),
    ("gravity", "N/A", 0, None),
    (INSTRUCTION, "The score is 2", 0, 2),
    (INSTRUCTION, "Score: 2/3", 0, 2),
    (INSTRUCTION, "Score: **3**", 0, 3),
    (INSTRUCTION, "Score: [3]", 0, 3),
    (INSTRUCTION, "Score: 3: good", 0, 3),
    (INSTRUCTION, "Score：3", 0, 3),
    (INSTRUCTION, "Score: 7", 7, None),
    (INSTRUCTION, "Score: -1", -1, None),
    (INSTRUCTION, "Score: inf", float("inf"), None),
    (INSTRUCTION, "Score: 1_0", 10, None),
    (INSTRUCTION, "Score: nan", float("nan"), None),
]
PLAIN = ("Yes", "No", "yes.", "no.", "**No**", "Answer: No", "There is no doubt: yes", "Nothing of the kind", "I do not know")
LEVELS = ("Score: 0", "Score: 1", "score: 2.", "Score: 3", "2", "Three", "The video follows it. Score: 3", "Score: 2 or 3")


def make_items(domains: int = 2, each: int = 3) -> list[Item]:
    """Items with a dotted stem in every domain's first."""
    return [
        Item(f"domain {d}", f"part {d}-{i % 2}", f"A scene {d}.{i}.", f"Move thing {i} of {d}", f"images/clip{d}_{i}{'.7' if i == 0 else ''}.jpg")
        for d in range(domains)
        for i in range(each)
    ]


def make_benchmark(folder: Path, items: list[Item]) -> Path:
    """worldmodelbench.json and images/."""
    (folder / "images").mkdir(parents=True)
    for i in items:
        Image.new("RGB", (8, 8)).save(folder / i.first_frame)
    write_items(folder / LIST, items)
    return folder


def make_videos(folder: Path, items: list[Item]) -> Path:
    """Files of the right names; nothing in them is looked at by a replayed judge."""
    folder.mkdir(parents=True)
    for i in items:
        (folder / i.video).write_bytes(i.stem.encode())
    return folder


def random_answers(items: list[Item], seed: int) -> dict[str, dict[str, str]]:
    """{stem: {question: raw}}; every string of DEFECTS occurs, except those that are no finite number."""
    rng = random.Random(seed)
    words = [t for q, t, _, _ in DEFECTS if q != INSTRUCTION] + list(PLAIN)
    scores = [t for q, t, script, _ in DEFECTS if q == INSTRUCTION and abs(script) < 100] + list(LEVELS)
    return {i.stem: {q: rng.choice(scores if q == INSTRUCTION else words) for q in QUESTIONS} for i in items}


def write_results(path: Path, model: str, answers: Mapping[str, Mapping[str, str]], accs: Any = None) -> Path:
    """A results file as the published script writes it, without its scores unless given."""
    preds = {stem: {g: [one[q] for q in questions] for g, questions in GROUPS.items()} for stem, one in answers.items()}
    path.write_text(json.dumps({"model_name": model, "preds": preds, **({} if accs is None else {"accs": accs})}))
    return path


# Stand-ins for what the published script imports and this project does not have.
LLAVA = """
import json, os
from pathlib import Path
class Video:
    def __init__(self, path): self.path = path
class Model:
    def __init__(self): self.answers, self.asked = json.load(open(os.environ["ANSWERS"])) if "ANSWERS" in os.environ else {}, {}
    def generate_content(self, parts):
        video, prompt = parts
        stem = Path(video.path).name[: -len(".mp4")]
        k = self.asked[stem] = self.asked.get(stem, -1) + 1
        with open("prompts.jsonl", "a") as f: f.write(json.dumps([stem, k, prompt]) + "\\n")
        return self.answers.get(stem, ["Score: 2"] + ["No"] * 7)[k]
def load(path): return Model()
"""
MMENGINE = "import json\ndef load(p): return json.load(open(p))\ndef dump(o, p, indent=None): json.dump(o, open(p, 'w'))\n"


def stand_ins(folder: Path) -> Path:
    """Packages llava (a judge that answers from the file $ANSWERS), mmengine and tqdm; put the folder on the child's path."""
    for name, text in {"llava": LLAVA, "mmengine": MMENGINE, "tqdm": "def tqdm(x, **k): return x\n"}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(text)
    return folder


# ---- a scene: an agent that moves right, a ball that falls to the floor, a block at rest
SIDE, LENGTH = 224, 48
ENTITIES = (Entity("agent", "controlled"), Entity("ball", "free"), Entity("block", "rest"), Entity("floor", "fixed"))
COLOURS = {"ground": (32, 40, 60), "agent": (220, 60, 50), "ball": (60, 200, 90), "block": (235, 200, 60), "floor": (110, 110, 200)}
FLOOR = 190  # row of its surface


def agent_path(progress: float = 1.0) -> list[tuple[float, float]]:
    """Centre (x, y) in each frame."""
    return [(40 + progress * 110 * t / (LENGTH - 1), FLOOR - 13.0) for t in range(LENGTH)]


def ball_path(surface: float = FLOOR, stop: float | None = None, gravity: float = 0.3) -> list[tuple[float, float]]:
    """Falls from y = 40 to the surface; with `stop` it stays there in the air."""
    lowest = min(surface - 12.0, stop if stop is not None else 1e9)
    return [(185.0, min(40 + gravity * t * t / 2, lowest)) for t in range(LENGTH)]


Paths = dict[str, list[tuple[float, float]]]


def paths(**changed: list[tuple[float, float]]) -> Paths:
    return {"agent": agent_path(), "ball": ball_path(), "block": [(110.0, 110.0)] * LENGTH} | changed


def draw(where: Paths, radius: Mapping[str, list[float]] | None = None, hidden: Mapping[str, range] | None = None, twin: str | None = None) -> np.ndarray:
    """Frames uint8 [T,H,W,3] of discs (the block a square)."""
    return np.stack([_frame(where, t, radius or {}, hidden or {}, twin)[0] for t in range(LENGTH)])


def _frame(where: Paths, t: int, radius: Mapping[str, list[float]], hidden: Mapping[str, range], twin: str | None) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    frame = np.full((SIDE, SIDE, 3), COLOURS["ground"], np.uint8)
    masks = {"floor": y > FLOOR}
    frame[masks["floor"]] = COLOURS["floor"]
    for name, path in where.items():
        cx, cy = path[t]
        r = radius.get(name, [12.0] * LENGTH)[t]
        inside = np.maximum(abs(x - cx), abs(y - cy)) < r if name == "block" else (x - cx) ** 2 + (y - cy) ** 2 < r * r
        if name == twin and t >= 8:
            inside |= (x - cx + 130) ** 2 + (y - 60) ** 2 < r * r
        if t in hidden.get(name, range(0)):
            inside = np.zeros_like(inside)
        masks[name] = inside
        frame[inside] = COLOURS[name]
    return frame, masks


def true_scene(gap: int = 5) -> EntityScene:
    """The truth of `paths()`."""
    drawn = [_frame(paths(), t, {}, {}, None) for t in range(LENGTH)]
    masks = np.stack([np.stack([m[e.name] for e in ENTITIES]) for _, m in drawn])
    return EntityScene(np.stack([f for f, _ in drawn]), masks, ENTITIES, gap)
