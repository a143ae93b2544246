"""The task registry, params/tasks.yaml, as frozen records."""

import csv
import difflib
import functools
from pathlib import Path
from typing import Literal

from pydantic import Field, TypeAdapter, ValidationError

from veridream.params.model import Positive, Strict
from veridream.params.yaml_text import parse_yaml

REGISTRY = Path(__file__).resolve().parents[3] / "params" / "tasks.yaml"
SCORES = REGISTRY.with_name("task_scores.csv")


class ScoreRule(Strict):
    """How an episode becomes a number in [0, 1]; computed in veridream.envs.score."""

    kind: Literal["success", "mean_reward", "linear"]
    per_step: float | None = Field(default=None, description="mean_reward: the most reward one agent step can give (before frame_skip)")
    low: float | None = Field(default=None, description="linear: the return of a whole episode that scores 0")
    high: float | None = Field(default=None, description="linear: the return of a whole episode that scores 1")


class Coverage(Strict):
    names: tuple[str, str] = Field(strict=False)
    dims: tuple[int, int] = Field(strict=False)
    low: tuple[float, float] = Field(strict=False)
    high: tuple[float, float] = Field(strict=False)


class Task(Strict):
    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    domain: Literal["dmcontrol", "dmcontrol-ext", "metaworld", "maniskill", "mujoco", "pygame", "box2d", "robodesk", "ogbench", "atari"]
    action_dim: int = Field(ge=1, le=16)
    action_repeat: Positive
    control_hz: int | float = Field(gt=0, description="agent steps a second, before frame_skip")
    horizon: Positive = Field(description="agent steps")
    reward: Literal["dense", "sparse"]
    score: ScoreRule
    camera: str
    expert: Literal["scripted", "shortest_path", "cem"] | None = Field(description="how its expert acts; None: it has none")
    coverage: Coverage
    instruction: str
    needs: tuple[str, ...] = Field(default=(), strict=False, description="gl (MuJoCo's renderer), vulkan, assets (a download): beyond the packages of the lock")
    unseen: bool = False
    partner: str | None = None


class UnknownTask(ValueError):
    pass


@functools.cache
def registry(path: Path = REGISTRY) -> dict[str, Task]:
    """Every known task by id. Raises ValueError that names the row and key when the file is wrong."""
    rows = parse_yaml(path.read_text())
    try:
        tasks = TypeAdapter(list[Task]).validate_python(rows)
    except ValidationError as e:
        first = e.errors()[0]
        row = rows[first["loc"][0]].get("id", f"row {first['loc'][0]}")
        raise ValueError(f"{path}: task {row}: {'.'.join(map(str, first['loc'][1:]))}: {first['msg']}") from None
    out: dict[str, Task] = {}
    for t in tasks:
        if t.id in out:
            raise ValueError(f"{path}: task {t.id} stands twice")
        out[t.id] = t
    return out


def task(task_id: str) -> Task:
    """The task of that id. Raises UnknownTask with the nearest id."""
    known = registry()
    if task_id not in known:
        near = difflib.get_close_matches(task_id, known, n=1)
        raise UnknownTask(f"unknown task {task_id!r}" + (f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"))
    return known[task_id]


def named_tasks(words: str) -> list[Task]:
    """The tasks that "all", or comma-separated task and domain names, stand for; in the registry's order."""
    named = set(words.split(","))
    return [t for t in registry().values() if words == "all" or {t.id, t.domain} & named]


def measured_scores(path: Path = SCORES) -> dict[str, dict[str, str]]:
    """Mean normalised scores of random actions and experts by task, as src/measure_scores.py wrote them. No job depends on them."""
    if not path.is_file():
        return {}
    with path.open(newline="") as f:
        return {row["task"]: row for row in csv.DictReader(f)}
