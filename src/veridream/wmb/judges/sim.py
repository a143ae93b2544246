"""A judge that looks at the simulator instead of asking a model: the truth of each video is known, frame by frame.

Deterministic, no weights. Its answers have the form of the published judge's (Score: 2, Yes, No), so that one parser reads both; what was
measured stands beside them. Liquids are in no scene of ours, so `fluid` never applies; what does not apply is said, not awarded silently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veridream.io.video import read_mp4
from veridream.provenance.digest import canonical
from veridream.wmb.answers import NOT_APPLICABLE, UNDECIDABLE, Answer, JudgeError
from veridream.wmb.items import Item, digest
from veridream.wmb.questions import INSTRUCTION
from veridream.wmb.sim.measured import Measured, Scene
from veridream.wmb.sim.tolerances import Tolerances, calibrate, instruction_level, violations

BESIDE = {"newton": ("newton",), "mass": ("mass",), "penetration": ("penetration",), "gravity": ("gravity",), "temporal": ("flicker", "jump", "count")}
CODE = sorted([*Path(__file__).parents[1].joinpath("sim").glob("*.py"), Path(__file__)])


class SimJudge:
    """Answers about videos of known scenes.

    Args:
        scenes: {stem: its truth}.
        tolerances: {group of scenes: tolerances}, see `calibrated`.
        size: side of the true frames; videos may be enlarged by a whole factor.

    An item on which even a still picture moves as the truth does, within the tolerance, is undecidable for every video of it. What the judge
    would say is kept under that status, so that scores with and without those items can be shown.
    """

    id = "simulator"
    deterministic = True

    def __init__(self, scenes: Mapping[str, Scene], tolerances: Mapping[str, Tolerances], size: int) -> None:
        self.scenes, self.tolerances, self.size = scenes, tolerances, size
        whole = {"tolerances": {g: t.json() for g, t in tolerances.items()}, "code": [digest(p.read_bytes()) for p in CODE]}
        self.version = digest(canonical(whole).encode())[:16]
        self.undecidable = {stem for stem, s in scenes.items() if not _tells_stillness(s, tolerances[s.group])}
        self._last: tuple[Path, Measured] | None = None

    def prompt(self, item: Item, question: str) -> str:
        """The question and the truth it is asked against."""
        return f"{question} of {self._scene(item).sha}"

    def decoding(self, repeat: int) -> Mapping[str, Any]:
        return {}

    def answer(self, item: Item, video: Path, question: str, repeat: int) -> Answer:
        scene = self._scene(item)
        if self._last is None or self._last[0] != video:
            self._last = (video, scene.measure(read_mp4(video, self.size)))
        answer = judged(self._last[1], self.tolerances[scene.group], question)
        return replace(answer, status=UNDECIDABLE) if item.stem in self.undecidable else answer

    def _scene(self, item: Item) -> Scene:
        if item.stem not in self.scenes:
            raise JudgeError(f"the simulator knows no scene {item.stem}; export the items and judge them from one export")
        return self.scenes[item.stem]


def _tells_stillness(scene: Scene, tolerances: Tolerances) -> bool:
    """Whether the first true frame, held, breaks the dynamics; where that is not asked, yes."""
    still = scene.measure(scene.frames[:1].repeat(len(scene.frames), axis=0))
    over = violations(still, tolerances)["gravity"]
    return over is None or over > 1.0


def judged(m: Measured, t: Tolerances, question: str) -> Answer:
    """The answer to one question from what was measured."""
    if question == INSTRUCTION:
        return Answer(f"Score: {instruction_level(m, t)}", meta={"progress": m.progress, "end": min(m.end, 1e9), "seen": m.seen, "moves": m.moves})
    if question == "frame":
        poor = not t.sharp_low <= m.sharpness <= t.sharp_high
        return Answer("Yes" if poor else "No", meta={"sharpness": m.sharpness})
    found = {name: over for name, over in violations(m, t).items() if name in BESIDE.get(question, ()) and over is not None}
    if not found:
        return Answer(None, status=NOT_APPLICABLE)
    return Answer("Yes" if max(found.values()) > 1.0 else "No", meta={f"{name} over tolerance": over for name, over in found.items()})


def calibrated(scenes: Mapping[str, Scene], reconstructions: Mapping[str, Path], size: int, quantile: float, frames: int) -> dict[str, Tolerances]:
    """Tolerances of every group from the reconstruction control's videos, {stem: mp4}. Raises JudgeError for a scene without one."""
    missing = sorted(set(scenes) - set(reconstructions))
    if missing:
        raise JudgeError(f"no reconstruction of {missing[0]} ({len(missing)} in all); export the reconstruction control")
    measured: dict[str, list[Measured]] = {}
    floors: dict[str, Mapping[str, float]] = {}
    for stem in sorted(scenes):
        scene = scenes[stem]
        measured.setdefault(scene.group, []).append(scene.measure(read_mp4(reconstructions[stem], size)))
        floors[scene.group] = scene.floors
    return {g: calibrate(ms, floors[g], quantile, frames) for g, ms in measured.items()}


def judge_frames(scene: Scene, tolerances: Tolerances, frames_THWC: np.ndarray, questions: Sequence[str]) -> dict[str, Answer]:
    """Answers about frames in memory."""
    m = scene.measure(frames_THWC)
    return {q: judged(m, tolerances, q) for q in questions}
