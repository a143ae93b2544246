"""A metrics file in DVCLive's layout, for its readers (`dvc plots`, `dvc metrics`, DVC Studio): one TSV a metric, and a summary.

metrics.json                   the last value of every metric; a slash in a name nests it
plots/metrics/<metric>.tsv     columns step and the metric's last word
"""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def series(lines: Iterable[str]) -> dict[str, list[tuple[int, float]]]:
    """{metric: [(step, value)]} of metrics.jsonl lines. Each run in the file (a finetune holds two) prefixes its metrics with its name."""
    out: dict[str, list[tuple[int, float]]] = {}
    for line in lines:
        entry = json.loads(line)
        run, step = entry.pop("run"), entry.pop("step")
        for name, value in entry.items():
            out.setdefault(f"{run}/{name}", []).append((step, value))
    return out


def write_dvclive(metrics: str | Path, folder: str | Path) -> None:
    """Writes `folder` anew from a metrics.jsonl. Raises FileExistsError when it exists."""
    folder, found = Path(folder), series(Path(metrics).read_text().splitlines())
    folder.mkdir(parents=True)
    summary: dict[str, Any] = {}
    for name, points in found.items():
        path = folder / "plots" / "metrics" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as f:
            rows = csv.writer(f, delimiter="\t", lineterminator="\n")
            rows.writerow(["step", path.stem])
            rows.writerows(points)
        _nest(summary, name, points[-1][1])
    (folder / "metrics.json").write_text(json.dumps(summary, indent=1) + "\n")


def _nest(summary: dict[str, Any], name: str, value: float) -> None:
    """Sets summary[a][b] = value for a name a/b. A metric that also is a group stands in it under "mean"."""
    *groups, last = name.split("/")
    for group in groups:
        inner = summary.setdefault(group, {})
        summary[group] = inner if isinstance(inner, Mapping) else {"mean": inner}
        summary = summary[group]
    if isinstance(summary.get(last), Mapping):
        summary[last]["mean"] = value
    else:
        summary[last] = value
