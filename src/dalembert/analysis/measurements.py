"""What was measured along a run: times, and columns by name with gaps where nothing was measured."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.api.trajectory import Trajectory
from dalembert.arguments import numbers_given, shown
from dalembert.errors import InputError, nearest

_UNIT = re.compile(r"\s*\[[^\]]*\]\s*$")  # a unit behind a name, as `run.save("x.csv")` writes it


@dataclass(frozen=True)
class Measured:
    """Columns (names, samples) at increasing times; NaN where nothing was measured."""

    t: np.ndarray
    names: tuple[str, ...]
    values: np.ndarray

    @property
    def there(self) -> np.ndarray:
        """Where there is a measurement."""
        return np.isfinite(self.values)


def measurements(data: Any, observe: Sequence[str] | None) -> Measured:
    """Measurements from a mapping or table of columns, a .csv file or a run; `observe` chooses among the columns.

    >>> found = measurements({"t": [0, 1], "x": [0.5, float("nan")]}, None)
    >>> found.names, found.there.tolist()
    (('x',), [[True, False]])
    """
    columns = _columns(data)
    time = next((name for name in ("t", "time") if name in columns), None)
    if time is None:
        raise InputError(f"fit: the data have no column 't'. Got {', '.join(columns) or 'nothing'}.")
    names = tuple(name for name in columns if name != time) if observe is None else tuple(observe)
    for name in names:
        if name not in columns:
            raise InputError(f"fit, observe: the data have no column '{name}'. {nearest(name, columns)}")
    t = numbers_given(columns[time], "fit, t")
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
        raise InputError("fit: the times must be at least two increasing numbers.")
    if not names:
        raise InputError("fit: the data have times only. Expected columns of what was measured, such as 'theta'.")
    values = np.array([_column(columns[name], name, len(t)) for name in names])
    return Measured(t, names, values)


def _column(values: Any, name: str, count: int) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"fit: the column '{name}' is {shown(values)}. Expected numbers, and NaN for gaps.") from None
    if found.shape != (count,) or np.isinf(found).any():
        raise InputError(
            f"fit: the column '{name}' has shape {found.shape}. Expected {count} finite numbers, and NaN for gaps."
        )
    return found


def _columns(data: Any) -> dict[str, Any]:
    if isinstance(data, Trajectory):
        return {"t": data.t, **dict(zip(data.model.coordinate_names, data.q, strict=True))}
    if isinstance(data, str | Path):
        return _read(Path(data))
    if isinstance(data, Mapping):
        return {str(name): values for name, values in data.items()}
    if hasattr(data, "columns"):  # a table of pandas; its index may be the time
        found = {str(name): np.asarray(data[name]) for name in data.columns}
        return found if {"t", "time"} & found.keys() else {"t": np.asarray(data.index), **found}
    raise InputError(f"fit: the data are {shown(data)}. Expected columns by name, the path of a .csv file, or a run.")


def _read(path: Path) -> dict[str, Any]:
    if path.suffix.lower() != ".csv":
        raise InputError(
            f"fit: '{path}' is no .csv file. Expected a table whose first line has the names of its columns."
        )
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head, *rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(
            f"fit: '{path}' cannot be read ({error}). Expected a .csv file with a line of names."
        ) from None
    names = [_UNIT.sub("", name).strip() for name in head]
    for i, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise InputError(
                f"fit: line {i} of '{path}' has {len(row)} cells. Expected {len(names)}, one for each name."
            )
    out: dict[str, Any] = {}
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        out[name] = _numbers(column)
    return out


def _numbers(cells: Sequence[str]) -> Any:
    """Cells as numbers, empty ones as gaps; left as they are where they are words."""
    try:
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    except ValueError:
        return cells
