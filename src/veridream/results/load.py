"""Reading the score and MPC tables of a run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from veridream import spec
from veridream.io.tables import read_parquet
from veridream.results.columns import by_model
from veridream.results.evidence import Evidence, States
from veridream.stats.bootstrap import Boot


def load_evidence(scores: Iterable[Path], mpc: Iterable[Path], stats: dict[str, Any], states: Mapping[tuple[str, str], States] | None = None) -> Evidence:
    """Score and MPC tables, one file a model. stats: the params slice of that name; states: of veridream.results.states."""
    boot = Boot(**stats)
    score_columns = (*spec.SCORE_ID_COLUMNS, *spec.SCORE_COLUMNS)
    s = by_model(((str(p), read_parquet(p)) for p in scores), score_columns)
    m = by_model(((str(p), read_parquet(p)) for p in mpc), spec.MPC_COLUMNS)
    return Evidence(s, m, states or {}, boot)
