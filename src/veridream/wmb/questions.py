"""The eight questions of WorldModelBench (arXiv 2502.20694) on three axes, 10 points in all, and the words they are asked in.

Two wordings: `ours`, and `official_wording`, read at run time from evaluation.py of a checkout that the user gives, since that repository
carries no licence. The official bytes are what published judge scores were made with.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridream.provenance.digest import canonical
from veridream.wmb.items import BenchmarkError, Item, digest

INSTRUCTION = "instruction"
PHYSICS = ("newton", "mass", "fluid", "penetration", "gravity")
COMMON_SENSE = ("frame", "temporal")
QUESTIONS = (INSTRUCTION, *PHYSICS, *COMMON_SENSE)
GROUPS = {"instruction": (INSTRUCTION,), "physical_laws": PHYSICS, "common_sense": COMMON_SENSE}  # as results files name and order them
MOST = {q: 3.0 if q == INSTRUCTION else 1.0 for q in QUESTIONS}  # the best score of each
EVALUATION = "evaluation.py"

_LAWS = {
    "newton": "something that nothing pushes or drives moves, or changes its motion",
    "mass": "a solid thing grows, shrinks, splits, melts or bends",
    "fluid": "a liquid flows as no liquid does",
    "penetration": "a solid thing passes into or through another",
    "gravity": "something that nothing holds up fails to fall, or falls as nothing falls",
    "frame": "single pictures are blurred, broken or otherwise of low quality",
    "temporal": "the picture flickers, jumps, or things appear or vanish from one picture to the next",
}
_OURS = {q: f"Watch the video. Does it happen anywhere that {text}? Answer with Yes or No only." for q, text in _LAWS.items()}
_OURS[INSTRUCTION] = (
    "Watch the video. It was made on this instruction: {instruction}\n"
    "How far is it followed? 0: not at all. 1: the right thing does something else, or another thing does it. "
    "2: it is begun, but not completed. 3: it is completed.\nAnswer with Score: and the number only."
)


@dataclass(frozen=True)
class Wording:
    """The text of each question; that of the instruction has one place, {instruction}."""

    name: str
    texts: Mapping[str, str]

    def prompt(self, question: str, item: Item) -> str:
        """What the judge is asked about the video of an item, byte for byte."""
        text = self.texts[question]
        return text.format(instruction=item.text_instruction) if question == INSTRUCTION else text

    @property
    def sha(self) -> str:
        return digest(canonical(dict(self.texts)).encode())


OURS = Wording("ours", _OURS)


def official_wording(evaluation: Path, cot: bool = False) -> Wording:
    """The benchmark's own words, from its evaluation.py (or the folder that holds it). Nothing of that file is run.

    Raises BenchmarkError when the file is not there or is built in another way than at commit 00b7aa1.
    """
    path = evaluation / EVALUATION if evaluation.is_dir() else evaluation
    if not path.is_file():
        raise BenchmarkError(f"{path} is missing; give a checkout of WorldModelBench that holds {EVALUATION}")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    try:
        templates, pool = _dictionary(tree, "get_default_prompt_templates"), _dictionary(tree, "get_default_question_pool")
        texts: dict[str, str] = {}
        for group, questions in GROUPS.items():
            template = templates[group]
            for old, new in [] if cot else _replacements(tree):
                template = template.replace(old, new)
            asked = pool[group]
            if asked is None:
                texts[questions[0]] = template
            else:
                texts |= {q: template.format(**{group: text.lower()}) for q, text in zip(questions, asked, strict=True)}
        return Wording("official, step by step" if cot else "official", texts)
    except (KeyError, ValueError, StopIteration, AttributeError, TypeError) as e:
        raise BenchmarkError(f"{path}: not built as at commit 00b7aa1, its questions cannot be read ({e!r}); check out that commit") from None


def _dictionary(tree: ast.Module, function: str) -> dict[str, Any]:
    """The dict that a function returns. Keys are EvaluationType.NAME.value, whose values stand in that class."""
    names = {n.targets[0].id: ast.literal_eval(n.value) for n in _class(tree, "EvaluationType").body if isinstance(n, ast.Assign)}  # type: ignore[attr-defined]
    body = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function).body
    returned = next(n for n in body if isinstance(n, ast.Return)).value
    return {names[k.value.attr]: _value(v) for k, v in zip(returned.keys, returned.values, strict=True)}  # type: ignore[union-attr]


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def _value(node: ast.expr) -> Any:
    """A literal, or a literal string with .strip() called on it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "strip" and not node.args:
        return ast.literal_eval(node.func.value).strip()
    return ast.literal_eval(node)


def _replacements(tree: ast.Module) -> list[tuple[str, str]]:
    """What evaluate_video replaces when it does not ask for a chain of thought."""
    method = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "evaluate_video")
    calls = [n for n in ast.walk(method) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "replace"]
    found = [(ast.literal_eval(c.args[0]), ast.literal_eval(c.args[1])) for c in calls]
    if not found:
        raise ValueError("evaluate_video replaces nothing")
    return found
