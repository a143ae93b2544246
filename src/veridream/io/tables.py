"""Parquet tables: the same rows give the same bytes. Lists of numbers are allowed as cells."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def _column(values: Any) -> pa.Array:
    if isinstance(values, np.ndarray):
        if values.ndim == 1 and values.dtype.kind in "biuf":
            return pa.array(values)
        values = list(values) if values.ndim > 1 else values.tolist()
    values = [v.item() if isinstance(v, np.generic) else v for v in values]
    if values and all(isinstance(v, (list, tuple, np.ndarray)) for v in values):
        return pa.array([np.asarray(v, dtype=np.float64).tolist() for v in values], type=pa.list_(pa.float64()))
    if values and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values) and any(isinstance(v, float) for v in values):
        values = [float(v) for v in values]
    return pa.array(values)


def _columns(rows: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(rows, Mapping):
        return dict(rows)
    if not rows:
        return {}
    names = list(rows[0])
    for i, row in enumerate(rows):
        if list(row) != names:
            odd = sorted(set(row) ^ set(names)) or "the order of the columns"
            raise ValueError(f"row {i} has other columns than row 0: {odd}")
    return {n: [row[n] for row in rows] for n in names}


def write_parquet(path: str | Path, rows: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> None:
    """Writes rows (dicts of one shape) or columns (name -> values of equal length).

    Cells: str, bool, int, float (NaN stays NaN), None, or lists of numbers (stored as list<double>).
    Raises ValueError on no rows, ragged rows or columns, and on cells of mixed types.
    """
    columns = _columns(rows)
    if not columns:
        raise ValueError(f"{path}: a table needs at least one column; an empty result is a failure upstream")
    lengths = {n: len(c) for n, c in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"{path}: columns of unequal length: {lengths}")
    arrays = {}
    for n, c in columns.items():
        try:
            arrays[n] = _column(c)
        except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, TypeError) as e:
            raise ValueError(f"{path}: column {n}: {e}") from None
    pq.write_table(pa.table(arrays), path, compression="zstd", use_dictionary=False, write_statistics=False, store_schema=False)


def read_parquet(path: str | Path, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Columns by name: numpy arrays of numbers and booleans, numpy object arrays of str, lists of numpy arrays for list cells.

    Raises ValueError when a wanted column is missing or the file is no parquet; FileNotFoundError when it is not there.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is missing; run the workflow to make it")
    try:
        table = pq.read_table(path, memory_map=False)
    except pa.ArrowInvalid as e:
        raise ValueError(f"{path}: not a parquet table ({e}); delete it and run the workflow again") from None
    missing = [c for c in columns or () if c not in table.column_names]
    if missing:
        raise ValueError(f"{path}: no column {', '.join(missing)}; it has {', '.join(table.column_names)}")
    out: dict[str, Any] = {}
    for name in columns or table.column_names:
        column = table.column(name).combine_chunks()
        if pa.types.is_list(column.type):
            out[name] = [np.asarray(v if v is not None else [], dtype=np.float64) for v in column.to_pylist()]
        else:
            out[name] = column.to_numpy(zero_copy_only=False)
    return out
