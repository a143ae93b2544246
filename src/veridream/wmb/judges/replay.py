"""Results files of the published script as a judge: others' runs, and the way to score stored answers again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veridream.wmb.answers import Answer, JudgeError
from veridream.wmb.items import BenchmarkError, Item, digest
from veridream.wmb.parse import official
from veridream.wmb.questions import GROUPS, OURS, Wording


class ReplayJudge:
    """The answers of one file {model_name, preds: {stem: {instruction: [1], physical_laws: [5], common_sense: [2]}}, accs}.

    Args:
        model: refuse a file of another model; the published script would print its numbers under the new name.
        wording: what the file's judge was asked, for the record.
    Raises:
        BenchmarkError: names the file, the key and the remedy.
    """

    deterministic = True

    def __init__(self, path: Path, model: str | None = None, wording: Wording = OURS) -> None:
        data = path.read_bytes() if path.is_file() else None
        if data is None:
            raise BenchmarkError(f"{path} is missing; give a results file of the published script")
        try:
            whole = json.loads(data)
        except ValueError as e:
            raise BenchmarkError(f"{path}: not valid JSON ({e}); was the run that wrote it killed?") from None
        if not isinstance(whole, dict) or not isinstance(whole.get("preds"), dict):
            raise BenchmarkError(f"{path}: holds no preds; give a results file of the published script")
        self.path, self.wording = path, wording
        self.model = str(whole.get("model_name", "unnamed"))
        if model is not None and model != self.model:
            raise BenchmarkError(f"{path}: is of model {self.model!r}, not {model!r}; give that model's own file, or --model {self.model}")
        if not whole["preds"]:
            raise BenchmarkError(f"{path}: holds no answer; it is of a run that found no video: delete it and judge again")
        self.raw = {stem: _answers(path, stem, groups) for stem, groups in whole["preds"].items()}
        self.accs_differ = _differing(self.raw, whole.get("accs"))
        self.id, self.version = f"replay of {path.name}", digest(data)[:16]

    def prompt(self, item: Item, question: str) -> str:
        return self.wording.prompt(question, item)

    def decoding(self, repeat: int) -> Mapping[str, Any]:
        return {}

    def described(self) -> Mapping[str, Any]:
        return {"scores in the file that its answers do not give": "unknown" if self.accs_differ is None else self.accs_differ}

    def answer(self, item: Item, video: Path, question: str, repeat: int) -> Answer:
        if item.stem not in self.raw:
            raise JudgeError(f"{self.path}: has no answer on {item.stem}, whose video is there; judge it, or take the video away and choose --missing")
        return Answer(self.raw[item.stem][question])


def _answers(path: Path, stem: str, groups: Any) -> dict[str, str]:
    """{question: raw answer} of one item."""
    out: dict[str, str] = {}
    for group, questions in GROUPS.items():
        given = groups.get(group) if isinstance(groups, dict) else None
        if not isinstance(given, list) or len(given) != len(questions) or not all(isinstance(x, str) for x in given):
            raise BenchmarkError(f"{path}: preds of {stem}: {group} must be {len(questions)} texts, got {given!r}; the file is damaged")
        out |= dict(zip(questions, given, strict=True))
    return out


def _differing(raw: Mapping[str, Mapping[str, str]], accs: Any) -> int | None:
    """Scores in the file that its own answers do not give, in the file's order; None where it holds no complete scores."""
    if not isinstance(accs, dict) or any(len(accs.get(g, ())) != len(raw) * len(q) for g, q in GROUPS.items()):
        return None
    ours = {g: [official(q, one[q]) for one in raw.values() for q in questions] for g, questions in GROUPS.items()}
    return sum(not (float(a) == b or (a != a and b != b)) for g in GROUPS for a, b in zip(accs[g], ours[g], strict=True))


def write_results(path: Path, model: str, answers: Mapping[str, Mapping[str, str]]) -> None:
    """`results_file` as JSON."""
    path.write_text(json.dumps(results_file(model, answers), indent=1) + "\n", encoding="utf-8")


def results_file(model: str, answers: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """A results file of the published script's shape from {stem: {question: raw answer}}."""
    preds = {stem: {g: [one[q] for q in questions] for g, questions in GROUPS.items()} for stem, one in answers.items()}
    accs = {g: [official(q, one[q]) if g == "instruction" else bool(official(q, one[q])) for one in answers.values() for q in GROUPS[g]] for g in GROUPS}
    return {"model_name": model, "preds": preds, "accs": accs}
