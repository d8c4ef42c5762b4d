"""Parameter identification: least-squares fits to measured trajectories, with derivatives by variational equations."""

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

from dalembert.analysis._directional_derivatives import Directions, directions_of, initial_state_of
from dalembert.analysis.sensitivity import DifferentiatedTrajectory, Sensitivity, require_differentiable
from dalembert.api.derive import equations_of
from dalembert.api.load import accepts_source
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import as_finite_array, documented_class, is_real
from dalembert.errors import DalembertError, InputError, SimulationError, short_repr, suggest_name
from dalembert.model.description import Elements
from dalembert.model.evaluation import Start
from dalembert.model.immutable import FrozenValue
from dalembert.model.model import Model
from dalembert.model.values import is_sequence
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.main_loop import RunOptions
from dalembert.tables import Table, Tabular, format_cell

_ROUNDS = 2  # fits with re-estimated noise of each column
_CORRELATED = 0.99  # correlation above which two parameters can hardly be distinguished
_UNIDENTIFIABLE = 1e-7  # relative to the largest singular value: directions below it cannot be identified
_UNIT = re.compile(r"\s*\[[^\]]*\]\s*$")  # a unit after a name, as `run.save("x.csv")` writes it


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
    fixed: Sequence[str] = (),
    formalism: str = "lagrange",
    integrator: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_runs: int = 100,
) -> Fit:
    """Fit parameters and initial values of a model to measurements, with uncertainties.

    Parameters
    ----------
    data : mapping, DataFrame, str, Path or Trajectory
        Columns by name, the path of a .csv file, or a run. The column `t` has the times; the others are coordinates, `dot(x)`, or
        formulas as in `Sensitivity.observe`; NaN or an empty cell is a missing value.
    parameters : sequence of str, or mapping of str to float
        Names to fit, initial values as `theta(0)`; or names with their first guesses.
    observe : sequence of str, optional
        The columns to use; all if None.
    sigma : float or mapping of str to float, optional
        Standard deviations of the measurements; if None, the noise of each column is estimated from the residuals.
    bounds : mapping of str to tuple of float, optional
        Lower and upper bounds by name.
    t0 : float, optional
        Start of the run; the first time of the data if None.
    max_runs : int, default 100
        Largest number of runs.

    Returns
    -------
    Fit
        Values, standard deviations, covariance and the fitted run.

    Raises
    ------
    InputError
        If the data are invalid, a name is unknown, or the parameters cannot be identified from the measurements.
    SimulationError
        If the search does not converge, or a run ends before the last measurement.

    Examples
    --------
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
    names = list(guesses) if isinstance(parameters, Mapping) else parameters
    directions = directions_of(equations.model, names, "fit")
    equations.derivation.require_differentiable_by(directions.parameters, "fit")
    first = float(found.t[0]) if t0 is None else t0
    if first > found.t[0]:
        raise InputError(f"fit: t0 is {first:g}. Expected at most {found.t[0]:g}, the first time of the data.")
    times = found.t if first == found.t[0] else np.concatenate([[first], found.t])
    settings = Settings(rtol, atol)
    origin = initial_state_of(equations, directions, q0, qd0, first, fixed)
    task = RunOptions(None, None, None, first, integrator, None, times.tolist(), True, settings, change_charts=False)
    motion = DifferentiatedTrajectory(equations, directions, origin, task)
    start = _start(motion, {str(name): equations.model.number(x, f"fit, {name}") for name, x in guesses.items()})
    limits = _limits(directions, bounds or {})
    for name, x, low, high in zip(directions.names, start, *limits, strict=True):
        if not low <= x <= high:
            raise InputError(
                f"fit: {name} starts at {x:g}, outside its bounds {low:g} to {high:g}. Give a guess within them."
            )
    return _Search(motion, found, start, limits, max_runs).fit(_noise(found, sigma))


def _start(motion: DifferentiatedTrajectory, guesses: Mapping[str, float]) -> np.ndarray:
    """The start values of the search: guesses, or those of the model."""
    equations = motion.equations
    y = motion.origin.at(equations, guesses, 1).value
    known = dict(zip(equations.model.parameter_values, equations.values.tolist(), strict=True)) | dict(guesses)
    return motion.directions.values_in(known, y)


def _limits(directions: Directions, bounds: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """The bounds, (2, parameters)."""
    out = np.array([[-np.inf], [np.inf]]) * np.ones(len(directions))
    for name, pair in bounds.items():
        if name not in directions.names:
            raise InputError(f"fit, bounds: '{name}' is not fitted. {suggest_name(name, directions.names)}")
        low, high = pair if is_sequence(pair, 2) else (pair, pair)
        if not (isinstance(low, Real) and isinstance(high, Real) and low < high):
            raise InputError(f"fit, bounds of '{name}': got {short_repr(pair)}. Expected two increasing numbers.")
        out[:, directions.names.index(name)] = low, high
    return out


def _noise(data: Measured, sigma: float | Mapping[str, float] | None) -> np.ndarray | None:
    """The standard deviations of the columns; None if they are to be estimated."""
    if sigma is None:
        return None
    deviations = sigma if isinstance(sigma, Mapping) else dict.fromkeys(data.names, sigma)
    missing = [name for name in data.names if name not in deviations]
    if missing or not all(is_real(deviations[name]) and deviations[name] > 0 for name in data.names):
        raise InputError(
            f"fit, sigma: expected a positive standard deviation for each of {', '.join(data.names)}, got {dict(deviations)}."
        )
    return np.array([float(deviations[name]) for name in data.names])


@dataclass
class _Search:
    """Nonlinear least squares; each residual evaluation is a run."""

    motion: DifferentiatedTrajectory
    data: Measured
    start: np.ndarray
    limits: np.ndarray
    max_runs: int
    evaluations: int = 0
    _last: tuple[bytes, np.ndarray, np.ndarray, Sensitivity] | None = field(default=None, repr=False)

    @property
    def _scale(self) -> np.ndarray:
        return np.where(self.start == 0, 1.0, np.abs(self.start))

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Sensitivity]:
        """The predicted measurements, (columns, samples), their derivatives by x / scale, and the run."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            values = dict(zip(self.motion.directions.names, (x * self._scale).tolist(), strict=True))
            run = self.motion.run(values)
            if len(run.t) < len(self.motion.task.times or ()):
                raise SimulationError(
                    f"fit: the run ends at t = {run.t[-1]:g}, before the last measurement. {run.run.status}"
                )
            observed = [run.observe(name) for name in self.data.names]
            for name, each in zip(self.data.names, observed, strict=True):
                if len(each.value) != 1:
                    raise InputError(f"fit: '{name}' has {len(each.value)} rows. Expected a scalar, such as a formula.")
            last = slice(run.t.size - self.data.t.size, None)
            value = np.array([each.value[0, last] for each in observed])
            slopes = np.array([each.first[0, :, last] for each in observed]) * self._scale[:, None]
            self.evaluations += 1
            self._last = key, value, slopes, run
        return self._last[1:]

    def _slopes(self, x: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The Jacobian of the residuals in units of σ, (measurements, parameters)."""
        return np.moveaxis(self._run(x)[1] / noise[:, None, None], 1, 2)[self.data.mask]

    def _solve(self, x: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The best values, starting from x; directions that cannot be identified stay fixed."""
        while True:
            basis = observed_directions(self._slopes(x, noise)).T if np.isinf(self.limits).all() else np.eye(len(x))
            if not basis.shape[1]:
                return x
            x = x + basis @ self._steps(x, basis, noise)
            if basis.shape[1] == len(x) or len(observed_directions(self._slopes(x, noise))) <= basis.shape[1]:
                return x

    def _steps(self, x: np.ndarray, basis: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The least-squares step from x along `basis`, by SciPy."""
        from scipy.optimize import least_squares

        mask, penalty = self.data.mask, [1e3 * np.sqrt(self.data.mask.sum())]

        def residuals(z: np.ndarray) -> np.ndarray:
            try:
                value = self._run(x + basis @ z)[0]
            except DalembertError:
                return np.full(int(mask.sum()), penalty[0])  # a failed run is rejected as a large residual
            scaled = ((value - self.data.values) / noise[:, None])[mask]
            penalty[0] = max(penalty[0], 10 * float(np.abs(scaled).max()))
            return scaled

        limits = self.limits / self._scale - x
        bounds = tuple(limits) if np.isfinite(limits).any() else (-np.inf, np.inf)
        search: Any = least_squares  # its stubs do not accept a function for the Jacobian
        options = {"method": "trf", "ftol": 1e-13, "xtol": 1e-11, "gtol": 1e-13, "max_nfev": self.max_runs}
        start = np.zeros(basis.shape[1])
        found = search(residuals, start, lambda z: self._slopes(x + basis @ z, noise) @ basis, bounds, **options)
        if found.status == 0:
            raise SimulationError(
                f"fit: no convergence after {self.max_runs} runs; the parameters are {(x + basis @ found.x) * self._scale}. "
                "Start closer, give bounds, or increase `max_runs`."
            )
        return found.x

    def fit(self, noise: np.ndarray | None) -> Fit:
        """The fit with known noise, or with noise estimated from the residuals of each column."""
        x, mask = self.start / self._scale, self.data.mask
        count, degrees_of_freedom = len(x), int(mask.sum()) - len(x)
        if degrees_of_freedom < 0:
            raise InputError(
                f"fit: {count} parameters cannot be identified from {int(mask.sum())} measurements. Measure more, or fit fewer."
            )
        if noise is not None:
            x = self._solve(x, noise)
        else:
            spread = np.nanstd(self.data.values, axis=1)
            noise = np.where(spread > 0, spread, 1.0)
            for _ in range(_ROUNDS):
                x = self._solve(x, noise)
                noise = self._residual_noise(x, degrees_of_freedom)
        return self._fit(x, noise, degrees_of_freedom)

    def _residual_noise(self, x: np.ndarray, degrees_of_freedom: int) -> np.ndarray:
        """The noise of each column from its residuals; degrees of freedom are distributed evenly over the measurements."""
        residuals = np.where(self.data.mask, self._run(x)[0] - self.data.values, 0.0)
        counts = self.data.mask.sum(axis=1) * max(degrees_of_freedom, 1) / max(int(self.data.mask.sum()), 1)
        size = np.maximum(np.nanmax(np.abs(self.data.values), axis=1), 1e-300)
        return np.maximum(np.sqrt((residuals**2).sum(axis=1) / np.maximum(counts, 1e-300)), 1e-14 * size)

    def _fit(self, x: np.ndarray, noise: np.ndarray, degrees_of_freedom: int) -> Fit:
        value, _, run = self._run(x)
        names = self.motion.directions.names
        covariance, notes = covariance_of(self._slopes(x, noise), self._scale, names)
        residuals = self.data.values - value
        chi2 = float(np.nansum((residuals / noise[:, None]) ** 2))
        at = [n for n, v, low, high in zip(names, x * self._scale, *self.limits, strict=True) if v <= low or v >= high]
        if at:
            notes += (f"{', '.join(at)} ended at a bound, where the uncertainty is not valid.",)
        sigma = dict(zip(self.data.names, noise.tolist(), strict=True))
        return Fit(
            names, x * self._scale, covariance, self.start, run, self.data, residuals, sigma, chi2, degrees_of_freedom,
            self.evaluations, notes,
        )  # fmt: skip


class Estimate(NamedTuple):
    """A value and its standard deviation, which is infinite if the value cannot be identified."""

    value: float
    sigma: float

    def __repr__(self) -> str:
        return f"{self.value:.6g} ± {self.sigma:.2g}"


@documented_class
@dataclass(frozen=True, repr=False)
class Fit(FrozenValue, Tabular):
    """The result of `fit`: fitted values with uncertainties, the fitted run and its residuals.

    `result[name]` is a value with its standard deviation.

    Attributes
    ----------
    names : tuple of str
        The fitted parameters and initial values.
    x : ndarray, shape (k,)
        Fitted values in the order of `names`.
    covariance : ndarray, shape (k, k)
        Covariance of the fitted values; infinite variances of values that cannot be identified.
    start : ndarray, shape (k,)
        First guesses.
    run : Sensitivity
        The run with the fitted values, at the times of the data.
    data : Measured
        The measurements: times `t`, column `names` and `values`, shape (columns, samples).
    residuals : ndarray, shape (columns, samples)
        Measurements minus model.
    sigma : dict of str to float
        Standard deviations of the measurements, by column.
    chi2 : float
        Σ (residual / σ)².
    degrees_of_freedom : int
        Number of measurements minus number of fitted values.
    evaluations : int
        Number of runs.
    notes : tuple of str
        Notes on identifiability, correlation and bounds.

    Examples
    --------
    >>> import dalembert as dl
    >>> oscillator = dl.Model("oscillator").parameters(m=1.0, k=3.0).coordinates("x").start([1.0], [0.0])
    >>> _ = oscillator.body("mass", joint=oscillator.prismatic((1, 0, 0), "x"), mass="m").force("mass", ("-k*x", 0, 0))
    >>> t = np.linspace(0, 3, 31)
    >>> found = dl.fit(oscillator, {"t": t, "x": np.cos(2 * t)}, ["k"], sigma=0.01)
    >>> found["k"], found.degrees_of_freedom, round(found.model.parameter_values["k"], 9)
    (4 ± 0.0057, 30, 4.0)
    """

    names: tuple[str, ...]
    x: np.ndarray  # values in the order of the names
    covariance: np.ndarray
    start: np.ndarray  # start values
    run: Sensitivity  # the run with the fitted values, at the times of the data
    data: Measured
    residuals: np.ndarray  # data minus model, (columns, samples)
    sigma: dict[str, float]  # standard deviations of the measurements, by column
    chi2: float  # Σ (residual / σ)²
    degrees_of_freedom: int  # measurements minus parameters
    evaluations: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.names:
            raise InputError(f"fit: '{name}' was not fitted. {suggest_name(name, self.names)}")
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
        """The model with the fitted parameters and the initial state of the fitted run."""
        known = self.run.run.description
        parameters = {name: value for name, value in self.values.items() if name in known.parameter_values}
        return Model.of(known.with_parameters(parameters)).start(self.run.q[:, 0].tolist(), self.run.qd[:, 0].tolist())

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "parameters": {name: self[name]._asdict() for name in self.names},
            "covariance": self.covariance.tolist(),
            "sigma": self.sigma,
            "chi2": self.chi2,
            "degrees_of_freedom": self.degrees_of_freedom,
            "evaluations": self.evaluations,
            "notes": list(self.notes),
        }

    def tables(self) -> tuple[Table, ...]:
        """The parameters with uncertainties, and the measurements with their residuals."""
        rows = []
        for name, before in zip(self.names, self.start.tolist(), strict=True):
            value, sigma = self[name]
            low, high = value - 1.96 * sigma, value + 1.96 * sigma
            rows.append((name, f"{value:.8g}", f"{sigma:.2g}", f"{low:.6g} to {high:.6g}", format_cell(before)))
        title = (
            f"{self.run.run.model.name} fitted to {int(self.data.mask.sum())} measurements: "
            f"χ² = {self.chi2:.4g} with {self.degrees_of_freedom} degrees of freedom."
        )
        columns = ("parameter", "value", "± σ", "95 %", "before")
        rms_rows = []
        for name, row in zip(self.data.names, self.residuals, strict=True):
            rms, count = float(np.sqrt(np.nanmean(row**2))), int(np.isfinite(row).sum())
            rms_rows.append((name, format_cell(rms), format_cell(self.sigma[name]), str(count)))
        measured = Table(("measured", "residual (rms)", "σ", "samples"), tuple(rms_rows), "", self.notes)
        return Table(columns, tuple(rows), title), measured

    def __repr__(self) -> str:
        return f"<Fit: {', '.join(f'{name} = {self[name]!r}' for name in self.names)}>"


def observed_directions(J: np.ndarray) -> np.ndarray:
    """The identifiable directions of the parameters for data with the Jacobian J, as rows.

    >>> observed_directions(np.array([[1.0, 0.0], [2.0, 0.0]])).round(9).tolist()
    [[1.0, 0.0]]
    """
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    rows = Vt[s > _UNIDENTIFIABLE * max(float(s.max(initial=0.0)), 1e-300)]
    return rows * np.sign(rows.sum(axis=1, keepdims=True) + 1e-300)


def covariance_of(J: np.ndarray, scale: np.ndarray, names: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """(JᵀJ)⁻¹ for the Jacobian J of residuals in units of σ by parameters / scale, and notes on identifiability.

    >>> covariance, notes = covariance_of(np.array([[1.0, 1.0], [2.0, 2.0]]), np.ones(2), ("a", "b"))
    >>> float(covariance[0, 0]), notes[0][:38]
    (inf, '0.707·a − 0.707·b cannot be identified')
    """
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    identifiable = s > _UNIDENTIFIABLE * max(float(s.max(initial=0.0)), 1e-300)
    parts = Vt[identifiable].T / s[identifiable]
    covariance = parts @ parts.T
    notes = []
    for direction in Vt[~identifiable]:
        share = np.abs(direction) > 1e-3
        oriented = direction * np.sign(direction[np.argmax(np.abs(direction))])
        pairs = [(c, n) for c, n, yes in zip(oriented, names, share, strict=True) if yes]
        terms = [(f"{c:.3g}·" if len(pairs) > 1 else "") + n for c, n in pairs]
        notes.append(
            f"{' + '.join(terms).replace('+ -', '− ')} cannot be identified (in units of the values): no measured value depends "
            "on it. Fit fewer parameters, or measure more."
        )
        block = np.ix_(share, share)
        covariance[block] = np.where(np.eye(len(pairs)) > 0, np.inf, covariance[block])
    size = np.sqrt(np.diag(covariance))
    for i in range(len(names)):
        for j in range(i):
            if np.isfinite(size[[i, j]]).all() and abs(covariance[i, j]) > _CORRELATED * size[i] * size[j]:
                share = covariance[i, j] / (size[i] * size[j])
                notes.append(f"{names[j]} and {names[i]} are hardly distinguishable: their correlation is {share:.4f}.")
    return covariance * np.outer(scale, scale), tuple(notes)


@dataclass(frozen=True)
class Measured:
    """Columns (names, samples) at increasing times; NaN for missing values."""

    t: np.ndarray
    names: tuple[str, ...]
    values: np.ndarray

    @property
    def mask(self) -> np.ndarray:
        """A mask of the measured values, (names, samples)."""
        return np.isfinite(self.values)


def measurements(data: Any, observe: Sequence[str] | None) -> Measured:
    """Measurements from a mapping or table of columns, a .csv file or a run; `observe` selects columns.

    >>> found = measurements({"t": [0, 1], "x": [0.5, float("nan")]}, None)
    >>> found.names, found.mask.tolist()
    (('x',), [[True, False]])
    """
    columns = _columns(data)
    time = next((name for name in ("t", "time") if name in columns), None)
    if time is None:
        raise InputError(f"fit: the data have no column 't'. Got {', '.join(columns) or 'no columns'}.")
    names = tuple(name for name in columns if name != time) if observe is None else tuple(observe)
    for name in names:
        if name not in columns:
            raise InputError(f"fit, observe: the data have no column '{name}'. {suggest_name(name, columns)}")
    t = as_finite_array(columns[time], "fit, t")
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
        raise InputError("fit, t: the times are too few or not increasing. Expected at least two increasing numbers.")
    if not names:
        raise InputError("fit: the data have no column but the times. Expected measured columns, such as 'theta'.")
    values = np.array([_column(columns[name], name, len(t)) for name in names])
    return Measured(t, names, values)


def _column(values: npt.ArrayLike, name: str, count: int) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"fit: the column '{name}' is {short_repr(values)}. Expected numbers, with NaN for gaps."
        ) from None
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
    if hasattr(data, "columns"):  # a pandas table; its index may be the time
        found: dict[str, npt.ArrayLike] = {str(name): np.asarray(data[name]) for name in data.columns}
        return found if {"t", "time"} & found.keys() else {"t": np.asarray(data.index), **found}
    raise InputError(
        f"fit: the data are {short_repr(data)}. Expected columns by name, the path of a .csv file, or a run."
    )


def _read(path: Path) -> dict[str, npt.ArrayLike]:
    if path.suffix.lower() != ".csv":
        raise InputError(f"fit: '{path}' is not a .csv file. Expected a table with the column names in its first line.")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head, *rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"fit: '{path}' cannot be read ({error}). Expected a .csv file with a header line.") from None
    names = [_UNIT.sub("", name).strip() for name in head]
    for i, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise InputError(
                f"fit: line {i} of '{path}' has {len(row)} cells. Expected {len(names)}, one for each name."
            )
    return {name: _numbers(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _numbers(cells: Sequence[str]) -> npt.ArrayLike:
    """Cells as numbers, empty ones as NaN; unchanged if one is not a number."""
    try:
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    except ValueError:
        return cells
