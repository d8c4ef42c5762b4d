"""Fits: parameters and starts of a model from measured runs, by least squares with the slopes of variational equations."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dalembert.analysis._directional_derivatives import Directions, directions_of, origin_of
from dalembert.analysis.sensitivity import Differentiated, Sensitivity, require_differentiable
from dalembert.api.derive import equations_of
from dalembert.api.load import accepts_source
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import is_real, numbers_given, shown
from dalembert.errors import DalembertError, InputError, SimulationError, nearest
from dalembert.model.description import Elements
from dalembert.model.frozen import Value
from dalembert.model.initial_state import Start
from dalembert.model.model import Model
from dalembert.model.values import several
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.main_loop import Task
from dalembert.tables import Table, Tabular, short

_ROUNDS = 2  # fits that find the noise of each column again
_ALIKE = 0.99  # correlation above which two parameters can hardly be distinguished
_BLIND = 1e-7  # of the largest singular value: directions below it cannot be identified
_UNIT = re.compile(r"\s*\[[^\]]*\]\s*$")  # a unit behind a name, as `run.save("x.csv")` writes it


@accepts_source
def fit(
    model: Elements,
    data: Any,
    parameters: Sequence[Any] | Mapping[Any, float] | str,
    *,
    observe: Sequence[str] | None = None,
    sigma: float | Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    q0: Start = None,
    qd0: Start = None,
    t0: float | None = None,
    keep: Sequence[str] = (),
    formalism: str = "lagrange",
    integrator: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    most: int = 100,
) -> Fit:
    """Parameters and starts of a model from measurements, with uncertainties.

    `data` are columns by name: a mapping or table of pandas, the path of a .csv file, or a run. Its column `t` holds the times;
    others are coordinates, `dot(x)`, or any formula that `Sensitivity.observe` takes; NaN, or an empty cell, is a gap.
    `parameters` name what is fitted, starts as `theta(0)`, or give guesses by name. `sigma` are the standard deviations of the
    measurements; without them the noise of each column is found from what is left over. The run starts at `t0`, by default with
    the first time. Bounds are by name.

    >>> from dalembert.model.model import Model
    >>> model = Model("oscillator").parameters(m=1.0, k=3.0).coordinates("x").start([1.0], [0.0])
    >>> _ = model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass="m").force("mass", ("-k*x", 0, 0))
    >>> t = np.linspace(0, 3, 31)
    >>> fit(model, {"t": t, "x": np.cos(2 * t)}, ["k"], sigma=0.01)
    <Fit: k = 4 ± 0.0057>
    """
    found = measurements(data, observe)
    equations = equations_of(model, formalism)
    require_differentiable(equations, "fit")
    guesses = dict(parameters) if isinstance(parameters, Mapping) else {}
    named = list(guesses) if isinstance(parameters, Mapping) else parameters
    directions = directions_of(equations.model, named, "fit")
    equations.derivation.require_differentiable_by(directions.parameters, "fit")
    first = float(found.t[0]) if t0 is None else t0
    if first > found.t[0]:
        raise InputError(f"fit: t0 is {first:g}, behind the first time {found.t[0]:g} of the data. Expected it before.")
    times = found.t if first == found.t[0] else np.concatenate([[first], found.t])
    settings = Settings(rtol, atol)
    origin = origin_of(equations, directions, q0, qd0, first, keep)
    task = Task(None, None, None, first, integrator, None, times.tolist(), True, settings, change_charts=False)
    motion = Differentiated(equations, directions, origin, task)
    start = _start(motion, {str(name): equations.model.number(x, f"fit, {name}") for name, x in guesses.items()})
    limits = _limits(directions, bounds or {})
    for name, x, low, high in zip(directions.names, start, *limits, strict=True):
        if not low <= x <= high:
            raise InputError(
                f"fit: {name} begins at {x:g}, outside its bounds {low:g} to {high:g}. Give a guess between."
            )
    return _Search(motion, found, start, limits, most).fit(_noise(found, sigma))


def _start(motion: Differentiated, guesses: Mapping[str, float]) -> np.ndarray:
    """The values to begin with: guesses, or those of the model."""
    equations = motion.equations
    y = motion.origin.at(equations, guesses, 1).value
    known = dict(zip(equations.model.parameter_values, equations.values.tolist(), strict=True)) | dict(guesses)
    return motion.directions.values_in(known, y)


def _limits(directions: Directions, bounds: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """The bounds, (2, parameters)."""
    out = np.array([[-np.inf], [np.inf]]) * np.ones(len(directions))
    for name, pair in bounds.items():
        if name not in directions.names:
            raise InputError(f"fit, bounds: '{name}' is not fitted. {nearest(name, directions.names)}")
        low, high = pair if several(pair, 2) else (pair, pair)
        if not (isinstance(low, Real) and isinstance(high, Real) and low < high):
            raise InputError(f"fit, bounds: those of '{name}' are {shown(pair)}. Expected two numbers that increase.")
        out[:, directions.names.index(name)] = low, high
    return out


def _noise(data: Measured, sigma: float | Mapping[str, float] | None) -> np.ndarray | None:
    """The standard deviations of the columns, None where they are to be found."""
    if sigma is None:
        return None
    given = sigma if isinstance(sigma, Mapping) else dict.fromkeys(data.names, sigma)
    missing = [name for name in data.names if name not in given]
    if missing or not all(is_real(given[name]) and given[name] > 0 for name in data.names):
        raise InputError(
            f"fit, sigma: expected a positive standard deviation for each of {', '.join(data.names)}, got {dict(given)}."
        )
    return np.array([float(given[name]) for name in data.names])


@dataclass
class _Search:
    """Least squares over runs."""

    motion: Differentiated
    data: Measured
    start: np.ndarray
    limits: np.ndarray
    most: int
    evaluations: int = 0
    _last: tuple[bytes, np.ndarray, np.ndarray, Sensitivity] | None = field(default=None, repr=False)

    @property
    def _scale(self) -> np.ndarray:
        return np.where(self.start == 0, 1.0, np.abs(self.start))

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Sensitivity]:
        """What the model says of the measurements, (columns, samples), its slopes by x / scale, and the run."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            values = dict(zip(self.motion.directions.names, (x * self._scale).tolist(), strict=True))
            run = self.motion.run(values)
            if len(run.t) < len(self.motion.task.times or ()):
                raise SimulationError(
                    f"fit: the run ends at t = {run.t[-1]:g}, before the last measurement. {run.run.status}"
                )
            seen = [run.observe(name) for name in self.data.names]
            for name, each in zip(self.data.names, seen, strict=True):
                if len(each.value) != 1:
                    raise InputError(
                        f"fit: '{name}' has {len(each.value)} rows. Expected one number, such as a formula."
                    )
            last = slice(run.t.size - self.data.t.size, None)
            value = np.array([each.value[0, last] for each in seen])
            slopes = np.array([each.first[0, :, last] for each in seen]) * self._scale[:, None]
            self.evaluations += 1
            self._last = key, value, slopes, run
        return self._last[1:]

    def _slopes(self, x: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The slopes of the residuals in units of σ, (measurements, parameters)."""
        return np.moveaxis(self._run(x)[1] / noise[:, None, None], 1, 2)[self.data.there]

    def _solve(self, x: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The best values from x on; directions that cannot be identified stay fixed."""
        while True:
            ways = observed_directions(self._slopes(x, noise)).T if np.isinf(self.limits).all() else np.eye(len(x))
            if not ways.shape[1]:
                return x
            x = x + ways @ self._steps(x, ways, noise)
            if ways.shape[1] == len(x) or len(observed_directions(self._slopes(x, noise))) <= ways.shape[1]:
                return x

    def _steps(self, x: np.ndarray, ways: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """How far to go from x along `ways`, by SciPy."""
        from scipy.optimize import least_squares

        there, bad = self.data.there, [1e3 * np.sqrt(self.data.there.sum())]

        def residuals(z: np.ndarray) -> np.ndarray:
            try:
                value = self._run(x + ways @ z)[0]
            except DalembertError:
                return np.full(int(there.sum()), bad[0])  # a step that leads to no run is taken back
            off = ((value - self.data.values) / noise[:, None])[there]
            bad[0] = max(bad[0], 10 * float(np.abs(off).max()))
            return off

        limits = self.limits / self._scale - x
        bounds = tuple(limits) if np.isfinite(limits).any() else (-np.inf, np.inf)
        search: Any = least_squares  # its stubs know no function for the slopes
        options = {"method": "trf", "ftol": 1e-13, "xtol": 1e-11, "gtol": 1e-13, "max_nfev": self.most}
        start = np.zeros(ways.shape[1])
        found = search(residuals, start, lambda z: self._slopes(x + ways @ z, noise) @ ways, bounds, **options)
        if found.status == 0:
            raise SimulationError(
                f"fit: after {self.most} runs the parameters still move, now at {(x + ways @ found.x) * self._scale}. Start "
                "nearer, give bounds, or allow more by `most`."
            )
        return found.x

    def fit(self, noise: np.ndarray | None) -> Fit:
        """The fit with known noise, or with the noise of each column as it is left over."""
        x, there = self.start / self._scale, self.data.there
        count, freedom = len(x), int(there.sum()) - len(x)
        if freedom < 0:
            raise InputError(
                f"fit: {int(there.sum())} measurements do not tell {count} parameters. Measure more, or fit fewer."
            )
        if noise is not None:
            x = self._solve(x, noise)
        else:
            spread = np.nanstd(self.data.values, axis=1)
            noise = np.where(spread > 0, spread, 1.0)
            for _ in range(_ROUNDS):
                x = self._solve(x, noise)
                noise = self._left(x, freedom)
        return self._fit(x, noise, freedom)

    def _left(self, x: np.ndarray, freedom: int) -> np.ndarray:
        """The noise of each column from what is left over; parameters are shared out evenly among the measurements."""
        off = np.where(self.data.there, self._run(x)[0] - self.data.values, 0.0)
        counts = self.data.there.sum(axis=1) * max(freedom, 1) / max(int(self.data.there.sum()), 1)
        size = np.maximum(np.nanmax(np.abs(self.data.values), axis=1), 1e-300)
        return np.maximum(np.sqrt((off**2).sum(axis=1) / np.maximum(counts, 1e-300)), 1e-14 * size)

    def _fit(self, x: np.ndarray, noise: np.ndarray, freedom: int) -> Fit:
        value, _, run = self._run(x)
        names = self.motion.directions.names
        covariance, notes = covariance_of(self._slopes(x, noise), self._scale, names)
        residuals = self.data.values - value
        chi2 = float(np.nansum((residuals / noise[:, None]) ** 2))
        at = [n for n, v, low, high in zip(names, x * self._scale, *self.limits, strict=True) if v <= low or v >= high]
        if at:
            notes += (f"{', '.join(at)} ended at a bound, where its uncertainty does not hold.",)
        sigma = dict(zip(self.data.names, noise.tolist(), strict=True))
        return Fit(
            names, x * self._scale, covariance, self.start, run, self.data, residuals, sigma, chi2, freedom,
            self.evaluations, notes,
        )  # fmt: skip


class Estimate(NamedTuple):
    """A value and its standard deviation; infinite where it cannot be identified."""

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


def observed_directions(J: np.ndarray) -> np.ndarray:
    """The directions of the parameters that can be identified from data with slopes J, a row for each.

    >>> observed_directions(np.array([[1.0, 0.0], [2.0, 0.0]])).round(9).tolist()
    [[1.0, 0.0]]
    """
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    rows = Vt[s > _BLIND * max(float(s.max(initial=0.0)), 1e-300)]
    return rows * np.sign(rows.sum(axis=1, keepdims=True) + 1e-300)


def covariance_of(J: np.ndarray, scale: np.ndarray, names: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """(JᵀJ)⁻¹ for slopes J of residuals in units of σ, and notes on what cannot be identified; J is by parameters / scale.

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
