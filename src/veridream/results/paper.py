"""The paper's published numbers, params/paper/*.csv."""

import csv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3] / "params" / "paper"


def published(name: str, root: Path = ROOT) -> list[dict[str, Any]]:
    """Rows of one file: numbers as float, empty cells as None, the rest as text."""
    with (root / name).open(newline="") as f:
        return [{k: _value(v) for k, v in row.items()} for row in csv.DictReader(f)]


def published_by(name: str, key: str, root: Path = ROOT) -> dict[str, dict[str, Any]]:
    """{key column: row}; of rows that share a key the last wins (Table 2: the row with both stages finetuned)."""
    return {str(row[key]): row for row in published(name, root)}


def _value(text: str) -> float | str | None:
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text
