"""The benchmark's own judge, a vision-language model of VILA, run by `vila_worker.py` in the user's environment for it.

It samples its answers, and the published script sets no seed: official scores are random. Here each repeat has its own recorded seed.
VILA itself and its weights are not part of this project and were not available where it was tested: the protocol was, against a stand-in.
"""

import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from veridream.provenance.digest import canonical
from veridream.wmb.answers import Answer
from veridream.wmb.items import Item, digest
from veridream.wmb.judges.worker import Worker
from veridream.wmb.questions import Wording

SCRIPT = Path(__file__).with_name("vila_worker.py")


class VilaJudge:
    """Use it in a with statement.

    Args:
        python: interpreter of an environment in which VILA runs.
        weights: folder of the judge's checkpoint.
        mode: sampled (official) or greedy.
        seed: of the first repeat; repeat r has seed + r.
    Raises:
        JudgeError: no VILA there, another package named llava, no weights, a crash, too little memory; in its own words.
    """

    def __init__(self, python: Path, weights: Path, wording: Wording, mode: Literal["sampled", "greedy"] = "sampled", seed: int = 0, **worker: Any) -> None:
        command = [str(python), str(SCRIPT), "--weights", str(weights), "--mode", mode]
        self.wording, self.mode, self.seed = wording, mode, seed
        self.deterministic = mode == "greedy"
        self.id = f"VILA, {mode}, {wording.name} words"
        self._worker = Worker(command, **worker)

    def __enter__(self) -> "VilaJudge":
        self._worker.__enter__()
        self.facts = self._worker.facts
        self.version = digest(canonical(self.facts).encode())[:16]
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: types.TracebackType | None) -> None:
        self._worker.__exit__(kind, value, trace)

    def prompt(self, item: Item, question: str) -> str:
        return self.wording.prompt(question, item)

    def decoding(self, repeat: int) -> Mapping[str, Any]:
        return {"mode": self.mode, "seed": self.seed + repeat}

    def described(self) -> Mapping[str, Any]:
        return {"seed of the first repeat": self.seed, **{f"judge, {k}": v for k, v in self.facts.items()}}

    def answer(self, item: Item, video: Path, question: str, repeat: int) -> Answer:
        before = self._worker.restarted
        raw = self._worker.ask({"video": str(video), "prompt": self.prompt(item, question), "seed": self.seed + repeat})
        retries = self._worker.restarted - before
        return Answer(raw, meta={"retries": retries} if retries else {})
