"""Rows as markdown tables and as CSV, written and read back."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def number(x: Any, signed: bool = False) -> str:
    """Three significant digits for people; an en dash where there is nothing."""
    if x is None or (isinstance(x, float) and math.isnan(x)):
        return "–"
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return str(x)
    if isinstance(x, int):
        return f"{x:,}"
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2 if abs(x) >= 0.095 else 3
    text = f"{x:{'+' if signed else ''}.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def with_interval(value: Any, low: Any, high: Any, signed: bool = False) -> str:
    """ "0.41 [0.30, 0.52]"; the interval is left out where it is undefined."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    ends = [number(v, signed) for v in (low, high)]
    return number(value, signed) + ("" if "–" in ends else f" [{ends[0]}, {ends[1]}]")


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A GitHub table; bars and line breaks in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in line) + " |\n" for line in lines)


def csv_text(rows: Sequence[Row]) -> str:
    """CSV with shortest exact floats; None and nan are empty cells. Raises ValueError on no rows."""
    if not rows:
        raise ValueError("a table needs at least one row")
    out = io.StringIO()
    w = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    w.writeheader()
    w.writerows({k: "" if v is None or (isinstance(v, float) and math.isnan(v)) else v for k, v in row.items()} for row in rows)
    return out.getvalue()


TEXT: tuple[str, ...] = ("id", "claim", "where", "definition", "unit", "source", "scale", "rule", "verdict", "note", "title", "metric", "each")  # never numbers
TEXT += ("kind", "protocol", "judge", "judge_version", "policy")


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Rows of one of this project's CSVs: numbers as float, `true` and `false` as bool, empty cells as None; columns of TEXT stay text."""
    with path.open(newline="") as f:
        return [{k: v if k in TEXT else _cell(v) for k, v in row.items()} for row in csv.DictReader(f)]


def _cell(text: str) -> Any:
    if text in ("", "True", "False", "true", "false"):
        return None if text == "" else text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text
