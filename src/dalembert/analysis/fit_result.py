"""The result of a fit: parameters with their uncertainties, and what can be said of them."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dalembert.analysis.sensitivity_run import Sensitivity
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import numbers_given, shown
from dalembert.errors import InputError, nearest
from dalembert.model.frozen import Value
from dalembert.model.model import Model
from dalembert.tables import Table, Tabular, short

_ALIKE = 0.99  # a correlation from which on two parameters are hardly told apart
_BLIND = 1e-7  # of the largest singular value: directions below it are not seen in the data
_UNIT = re.compile(r"\s*\[[^\]]*\]\s*$")  # a unit behind a name, as `run.save("x.csv")` writes it


class Estimate(NamedTuple):
    """A value and its standard deviation; infinite where the data do not tell it."""

    value: float
    sigma: float

    def __repr__(self) -> str:
        return f"{self.value:.6g} ± {self.sigma:.2g}"


@dataclass(frozen=True, repr=False)
class Fit(Value, Tabular):
    """Parameters that were fitted to measurements."""

    names: tuple[str, ...]
    x: np.ndarray  # values in the order of the names
    covariance: np.ndarray
    start: np.ndarray  # values before
    run: Sensitivity  # the run with the fitted values, at the times of the data
    data: Measured
    residuals: np.ndarray  # data less model, (columns, samples)
    sigma: dict[str, float]  # standard deviations of the measurements, by column
    chi2: float  # Σ (residual / σ)²
    freedom: int  # measurements less parameters
    evaluations: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.names:
            raise InputError(f"fit: '{name}' was not fitted. {nearest(name, self.names)}")
        i = self.names.index(name)
        return Estimate(float(self.x[i]), float(np.sqrt(self.covariance[i, i])))

    @property
    def values(self) -> dict[str, float]:
        """The fitted values by name."""
        return dict(zip(self.names, self.x.tolist(), strict=True))

    @property
    def correlation(self) -> np.ndarray:
        """The correlation of the parameters."""
        size = np.sqrt(np.diag(self.covariance))
        with np.errstate(invalid="ignore"):
            return self.covariance / np.outer(size, size)

    @property
    def model(self) -> Model:
        """The model with the fitted parameters, and with the start of the fitted run."""
        known = self.run.run.description
        parameters = {name: value for name, value in self.values.items() if name in known.parameter_values}
        return Model.of(known.with_parameters(parameters)).start(self.run.q[:, 0].tolist(), self.run.qd[:, 0].tolist())

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "parameters": {name: self[name]._asdict() for name in self.names},
            "covariance": self.covariance.tolist(),
            "sigma": self.sigma,
            "chi2": self.chi2,
            "freedom": self.freedom,
            "evaluations": self.evaluations,
            "notes": list(self.notes),
        }

    def tables(self) -> tuple[Table, ...]:
        """The parameters with uncertainties, and the measurements with what is left of them."""
        rows = []
        for name, before in zip(self.names, self.start.tolist(), strict=True):
            value, sigma = self[name]
            low, high = value - 1.96 * sigma, value + 1.96 * sigma
            rows.append((name, f"{value:.8g}", f"{sigma:.2g}", f"{low:.6g} to {high:.6g}", short(before)))
        title = (
            f"{self.run.run.model.name} fitted to {int(self.data.there.sum())} measurements: "
            f"χ² = {self.chi2:.4g} with {self.freedom} degrees of freedom."
        )
        columns = ("parameter", "value", "± σ", "95 %", "before")
        left = [
            (name, short(float(np.sqrt(np.nanmean(row**2)))), short(self.sigma[name]), str(int(np.isfinite(row).sum())))
            for name, row in zip(self.data.names, self.residuals, strict=True)
        ]
        measured = Table(("measured", "residual (rms)", "σ", "samples"), tuple(left), "", self.notes)
        return Table(columns, tuple(rows), title), measured

    def __repr__(self) -> str:
        return f"<Fit: {', '.join(f'{name} = {self[name]!r}' for name in self.names)}>"


def seen(J: np.ndarray) -> np.ndarray:
    """The directions of the parameters that data with slopes J tell, a row for each.

    >>> seen(np.array([[1.0, 0.0], [2.0, 0.0]])).round(9).tolist()
    [[1.0, 0.0]]
    """
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    rows = Vt[s > _BLIND * max(float(s.max(initial=0.0)), 1e-300)]
    return rows * np.sign(rows.sum(axis=1, keepdims=True) + 1e-300)


def covariance_of(J: np.ndarray, scale: np.ndarray, names: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """(JᵀJ)⁻¹ for slopes J of residuals in units of σ, and what the data do not tell; J is by parameters / scale.

    >>> covariance, notes = covariance_of(np.array([[1.0, 1.0], [2.0, 2.0]]), np.ones(2), ("a", "b"))
    >>> float(covariance[0, 0]), notes[0][:38]
    (inf, 'the data do not tell 0.707·a − 0.707·b')
    """
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    seen = s > _BLIND * max(float(s.max(initial=0.0)), 1e-300)
    parts = Vt[seen].T / s[seen]
    covariance = parts @ parts.T
    notes = []
    for direction in Vt[~seen]:
        share = np.abs(direction) > 1e-3
        sized = direction * np.sign(direction[np.argmax(np.abs(direction))])
        terms = [
            (f"{c:.3g}·" if share.sum() > 1 else "") + n for c, n, yes in zip(sized, names, share, strict=True) if yes
        ]
        notes.append(
            f"the data do not tell {' + '.join(terms).replace('+ -', '− ')}, in units of their values: nothing that was measured "
            "changes with it. Fit fewer parameters, or measure more."
        )
        covariance[np.ix_(share, share)] = np.where(
            np.eye(int(share.sum())) > 0, np.inf, covariance[np.ix_(share, share)]
        )
    size = np.sqrt(np.diag(covariance))
    for i in range(len(names)):
        for j in range(i):
            if np.isfinite(size[[i, j]]).all() and abs(covariance[i, j]) > _ALIKE * size[i] * size[j]:
                share = covariance[i, j] / (size[i] * size[j])
                notes.append(f"{names[j]} and {names[i]} are hardly told apart: their correlation is {share:.4f}.")
    return covariance * np.outer(scale, scale), tuple(notes)


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


def _column(values: npt.ArrayLike, name: str, count: int) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"fit: the column '{name}' is {shown(values)}. Expected numbers, and NaN for gaps.") from None
    if found.shape != (count,) or np.isinf(found).any():
        raise InputError(
            f"fit: the column '{name}' has shape {found.shape}. Expected {count} finite numbers, and NaN for gaps."
        )
    return found


def _columns(data: Any) -> dict[str, npt.ArrayLike]:
    if isinstance(data, Trajectory):
        return {"t": data.t, **dict(zip(data.model.coordinate_names, data.q, strict=True))}
    if isinstance(data, str | Path):
        return _read(Path(data))
    if isinstance(data, Mapping):
        return {str(name): values for name, values in data.items()}
    if hasattr(data, "columns"):  # a table of pandas; its index may be the time
        found: dict[str, npt.ArrayLike] = {str(name): np.asarray(data[name]) for name in data.columns}
        return found if {"t", "time"} & found.keys() else {"t": np.asarray(data.index), **found}
    raise InputError(f"fit: the data are {shown(data)}. Expected columns by name, the path of a .csv file, or a run.")


def _read(path: Path) -> dict[str, npt.ArrayLike]:
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
    return {name: _numbers(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _numbers(cells: Sequence[str]) -> npt.ArrayLike:
    """Cells as numbers, empty ones as gaps; left as they are where they are words."""
    try:
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    except ValueError:
        return cells
