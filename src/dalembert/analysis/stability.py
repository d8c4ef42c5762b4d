"""Stability: eigenvalues as functions of a parameter or a speed, and of periodic motions by the monodromy matrix.

Along a motion small deviations obey Φ̇ = A(t) Φ. After one period Φ is the monodromy matrix; its eigenvalues, the Floquet
multipliers, determine stability. The motion and Φ are integrated together, with A(t) from the derivatives of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dalembert.analysis._residuals import (
    ReducedSystem,
    Residuals,
    SolvedState,
    reduced,
    require_on_constraints,
    residuals_of,
    solved_at,
    state_units,
)
from dalembert.analysis.equilibrium import EquilibriumSearch, SearchRequest
from dalembert.analysis.linearization import Linearization, matched
from dalembert.analysis.linearize import At, linear_at, read_state, speed_names
from dalembert.api.load import accepts_source
from dalembert.arguments import as_finite_array, documented_class, is_real
from dalembert.errors import ComputationError, InputError, SimulationError, short_repr, suggest_name
from dalembert.mechanics.facts import violated_fact
from dalembert.model.description import Description, Elements
from dalembert.model.immutable import FrozenValue
from dalembert.model.scales import rotational_coordinates
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.symbolic.symbols import SymbolKind
from dalembert.tables import Table, Tabular, format_cell

if TYPE_CHECKING:
    from dalembert.display.plots.figure import Plot


_RTOL, _ATOL = 1e-12, 1e-13  # of DOP853; deviations are of size one in scales of the model
_PERIODIC = 1e-6  # in scales of the model
_ON_CIRCLE = 1e-7  # distance from the unit circle below which a multiplier lies on it


@documented_class
@dataclass(frozen=True, repr=False)
class Floquet(FrozenValue, Tabular):
    """The monodromy matrix of a periodic motion, x(T) = `monodromy` x(0) for small deviations x, and its multipliers.

    A motion of an autonomous system has one multiplier 1, with a deviation along the motion itself.

    Attributes
    ----------
    model : Description
        The model.
    period : float
        The period T, s.
    states : tuple of str
        Names of the independent coordinates and speeds.
    monodromy : ndarray, shape (states, states)
        The monodromy matrix.
    closing : float
        Distance of the final from the initial state, in scales of the model.

    Examples
    --------
    >>> import dalembert as dl
    >>> shaken = dl.Model("shaken").parameters(e=0.3).coordinates("x").start([0.0], [0.0])
    >>> _ = shaken.body("mass", joint=shaken.prismatic((1, 0, 0), "x"), mass=1)
    >>> _ = shaken.force("mass", ("-(1 + e*cos(2*t))*x", 0, 0))  # Mathieu's equation in its first tongue
    >>> found = dl.floquet(shaken, np.pi)
    >>> found.stable, found.states, round(float(abs(found.multipliers[0])), 3)
    (False, ('x', 'dot(x)'), 1.265)
    """

    model: Description
    period: float
    states: tuple[str, ...]
    monodromy: np.ndarray
    closing: float

    @property
    def multipliers(self) -> np.ndarray:
        """The eigenvalues of the monodromy matrix, the largest first."""
        found = np.linalg.eigvals(self.monodromy).astype(complex)
        return found[np.lexsort((-np.imag(found), -np.round(np.abs(found), 12)))]

    @property
    def exponents(self) -> np.ndarray:
        """log μ/T of every multiplier μ; imaginary parts are known up to multiples of 2π/T."""
        return np.log(self.multipliers) / self.period

    @property
    def stable(self) -> bool | None:
        """True if all multipliers but one at 1 lie inside the unit circle; False if one lies outside; otherwise None."""
        sizes = np.abs(self.multipliers)
        if (sizes > 1 + _ON_CIRCLE).any():
            return False
        on = np.abs(sizes - 1) <= _ON_CIRCLE
        own = np.abs(self.multipliers - 1) <= _ON_CIRCLE
        return True if on.sum() <= min(1, int(own.sum())) else None

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "model": self.model.name,
            "period": self.period,
            "states": list(self.states),
            "monodromy": self.monodromy.tolist(),
            "multipliers": [[x.real, x.imag] for x in self.multipliers.tolist()],
            "closing": self.closing,
        }

    def tables(self) -> tuple[Table, ...]:
        """One row for each multiplier."""
        rows = tuple((format_cell(x.real), format_cell(x.imag), format_cell(abs(x))) for x in self.multipliers.tolist())
        note = f"after {self.period:.9g} s the final state is {format_cell(self.closing)} from the initial state"
        return (Table(("Re", "Im", "size"), rows, f"Floquet multipliers of '{self.model.name}'", (note,)),)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{x:.6g}" for x in np.abs(self.multipliers))
        return f"<Floquet of '{self.model.name}' over {self.period:.6g} s: multipliers of size {sizes}>"


@accepts_source
def floquet(model: Elements, period: float, at: At = None, *, t: float = 0.0) -> Floquet:
    """The Floquet multipliers of the motion from a state over one period.

    The motion must be periodic; angles may differ by full turns.

    Parameters
    ----------
    period : float
        The period of the motion.
    t : float, default 0.0
        Time of the state.

    Returns
    -------
    Floquet
        The monodromy matrix, multipliers and stability.

    Raises
    ------
    InputError
        If the period is not positive, or the motion is not periodic.
    NotApplicableError
        If the model has rigid contacts, laws in Python or constraints on momenta.
    InconsistentStateError
        If the state violates the constraints.

    Examples
    --------
    >>> import dalembert as dl
    >>> shaken = dl.Model("shaken").parameters(e=0.3).coordinates("x").start([0.0], [0.0])
    >>> _ = shaken.body("mass", joint=shaken.prismatic((1, 0, 0), "x"), mass=1)
    >>> _ = shaken.force("mass", ("-(1 + e*cos(2*t))*x", 0, 0))  # Mathieu's equation in its first tongue
    >>> dl.floquet(shaken, 3.141592653589793).stable
    False
    """
    if not (is_real(period) and period > 0):
        raise InputError(f"floquet, period: got {short_repr(period)}. Expected a positive number of seconds.")
    model.refuse_canonical("floquet")
    model.refuse_laws("floquet", "Write the law as a formula.")
    model.refuse_rigid("floquet")
    space = workspace_of(setup(model))
    q, qd, start = read_state(space.model, at, t, "floquet")
    residuals = residuals_of(space)
    first = solved_at(residuals, q, qd, start, space.values)
    require_on_constraints(residuals, first.point, "floquet")
    here = reduced(first)
    x, deviations = _integrate(residuals, first, here, float(period))
    last = solved_at(residuals, x[: len(q)], x[len(q) :], start + period, space.values)
    closing = _distance(space, first, last)
    if closing > _PERIODIC:
        raise InputError(
            f"floquet: after {period:.9g} s the final state of model '{model.name}' is {closing:.3g} from the initial state, in "
            "scales of the model. Expected a periodic motion. Check the period and the initial state."
        )
    names = (*(space.model.coordinate_names[i] for i in here.chosen), *speed_names(space))
    return Floquet(space.declared, float(period), names, reduced(last, here.chosen).onto @ deviations, closing)


def _integrate(
    residuals: Residuals, first: SolvedState, here: ReducedSystem, period: float
) -> tuple[np.ndarray, np.ndarray]:
    """(q, q̇) after one period, and the deviations (δq, δq̇) that start as unit vectors of the states."""
    n, point = len(first.point.q), first.point
    unit = state_units(first, here.chosen)
    scale = np.concatenate([first.facts.scales.positions, first.facts.scales.velocities])
    begin = np.concatenate([here.q, here.qd]) * unit / scale[:, None]
    size = begin.shape[1]

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        state, dev = y[: 2 * n], y[2 * n :].reshape(2 * n, size) * scale[:, None]
        found = solved_at(residuals, state[:n], state[n:], t, point.parameters)
        r, a = found.by_row["dynamics"], found.by_row["acceleration"]
        qdd = found.accelerations(-(r.q @ dev[:n] + r.qd @ dev[n:]), -(a.q @ dev[:n] + a.qd @ dev[n:]))
        return np.concatenate([state[n:], found.point.qdd, (np.concatenate([dev[n:], qdd]) / scale[:, None]).ravel()])

    y0 = np.concatenate([point.q, point.qd, begin.ravel()])
    from scipy.integrate import solve_ivp  # a slow import, needed only here

    done = solve_ivp(rates, (point.t, point.t + period), y0, method="DOP853", rtol=_RTOL, atol=_ATOL)
    if not done.success:
        raise SimulationError(
            f"floquet: the integration of model '{residuals.system.model.name}' failed: {done.message}"
        )
    y = done.y[:, -1]
    return y[: 2 * n], y[2 * n :].reshape(2 * n, size) * scale[:, None] / unit


def _distance(space: Workspace, first: SolvedState, last: SolvedState) -> float:
    """The distance between final and initial state, in scales of the model, modulo full turns."""
    scales, names = space.facts.scales, space.model.coordinate_names
    turning = rotational_coordinates(space.model)
    turns = np.array([2 * np.pi if name in turning else 0.0 for name in names])
    gap = last.point.q - first.point.q
    gap = gap - turns * np.round(gap / np.where(turns, turns, 1.0))
    rates = (last.point.qd - first.point.qd) / scales.velocities
    return float(np.abs(np.concatenate([gap / scales.positions, rates])).max(initial=0.0))


_AXIS = 1e-9  # relative to the largest eigenvalue


@documented_class
@dataclass(frozen=True, repr=False)
class Locus(FrozenValue, Tabular):
    """Eigenvalues as functions of a parameter, the result of `root_locus`.

    Attributes
    ----------
    model : Description
        The model.
    name : str
        The varied parameter, or the rate of a coordinate.
    values : ndarray, shape (K,)
        Its values.
    eigenvalues : ndarray, shape (states, K)
        Eigenvalues, rad/s; each row is one tracked eigenvalue.
    q, qd : ndarray, shape (n, K)
        Coordinates and rates of the corresponding equilibria or steady motions.

    Examples
    --------
    >>> import dalembert as dl
    >>> upright = dl.root_locus("simple-pendulum", "g", [1.0, 4.0, 9.0], at=[np.pi])  # λ = ±√(g/l)
    >>> upright.growth.round(6).tolist(), upright.unstable.tolist()
    ([1.0, 2.0, 3.0], [True, True, True])
    """

    model: Description
    name: str
    values: np.ndarray
    eigenvalues: npt.NDArray[np.complex128]
    q: np.ndarray
    qd: np.ndarray

    @property
    def growth(self) -> np.ndarray:
        """The largest real part at every value."""
        return np.real(self.eigenvalues).max(axis=0)

    @property
    def unstable(self) -> np.ndarray:
        """At which values the system is unstable."""
        return self.growth > _AXIS * np.abs(self.eigenvalues).max(axis=0)

    def plot(self, path: str | Path | None = None) -> Plot:
        """Plot the root locus in the complex plane.

        Returns
        -------
        Plot
            The figure.
        """
        from dalembert.display.plots import plot as plot_spectra

        across = plot_spectra.worded_value(self.model, self.name)
        return plot_spectra.locus(self.eigenvalues, self.values, across, self.model.name, path)

    def campbell(self, path: str | Path | None = None, *, orders: Sequence[float] = (1.0, 2.0)) -> Plot:
        """Plot the Campbell diagram: imaginary parts over the varied value, with lines of its multiples.

        Parameters
        ----------
        orders : sequence of float, default (1.0, 2.0)
            Orders of the excitation: slopes of the lines, in multiples of the varied value.

        Returns
        -------
        Plot
            The figure.
        """
        from dalembert.display.plots import plot as plot_spectra

        across = plot_spectra.worded_value(self.model, self.name)
        return plot_spectra.campbell(self.eigenvalues, self.values, across, self.model.name, orders, path)

    def tables(self) -> tuple[Table, ...]:
        """One row for each value."""
        rows = [
            (
                format_cell(float(x)),
                format_cell(float(growth) + 0.0),
                ", ".join(f"{w:.5g}" for w in sorted({*np.round(np.imag(found), 9)}) if w > 0),
            )
            for x, growth, found in zip(self.values, self.growth, self.eigenvalues.T, strict=True)
        ]
        return (Table((self.name, "largest Re", "Im"), tuple(rows), f"Root locus of '{self.model.name}'"),)

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        return (
            f"<Locus of '{self.model.name}': {len(self.eigenvalues)} eigenvalues, {self.name} from {low:g} to {high:g}>"
        )


@accepts_source
def root_locus(
    model: Elements, name: str, values: npt.ArrayLike, *, at: At | Callable[[float], At] = None, t: float = 0.0
) -> Locus:
    """The eigenvalues of a model for many values of a parameter, or of the constant rate dot(x) of a coordinate.

    At each value the equilibrium or steady motion nearest to the previous one is used. All values use the same compiled program.

    Parameters
    ----------
    name : str
        A parameter, or the rate dot(x) of an ignorable coordinate.
    values : array_like, shape (K,)
        Its values.
    at : array_like, mapping, pair, Equilibrium or callable, optional
        Start of the search, as for `linearize`, or a function of the value that returns the state.
    t : float, default 0.0
        Time of the states.

    Returns
    -------
    Locus
        The tracked eigenvalues, shape (states, K), and the states.

    Raises
    ------
    InputError
        If the name is unknown, or `values` is empty or not 1-D.
    DalembertError
        If no equilibrium was found near the previous one.
    NotApplicableError
        If the model has rigid contacts, laws in Python or constraints on momenta.

    Examples
    --------
    >>> import dalembert as dl
    >>> found = dl.root_locus("simple-pendulum", "g", [1.0, 4.0, 9.0], at=[0.0])
    >>> found.eigenvalues.imag.max(axis=0).round(9).tolist()
    [1.0, 2.0, 3.0]
    """
    model.refuse_canonical("root_locus")
    model.refuse_laws("root_locus", "Use model.without_controllers(), whose inputs are parameters.")
    model.refuse_rigid("root_locus")
    space, numbers = workspace_of(setup(model)), as_finite_array(values, "root_locus, values")
    if numbers.ndim != 1 or not numbers.size:
        raise InputError(f"root_locus, values: got shape {numbers.shape}. Expected a nonempty 1-D array.")
    along = _Continuation(space, name, t, at)
    found = [along.linear(float(x)) for x in numbers]
    tracked = [found[0].eigenvalues]
    for each in found[1:]:
        tracked.append(matched(tracked[-1].tolist(), each.eigenvalues.tolist()))
    q, qd = (np.array([getattr(each, key) for each in found]).T for key in ("q", "qd"))
    return Locus(space.declared, name, numbers, np.array(tracked).T, q, qd)


@dataclass
class _Continuation:
    """Continuation along the values: each search starts from the state of the previous value."""

    space: Workspace
    name: str
    t: float
    at: At | Callable[[float], At]
    last: np.ndarray | None = None

    def __post_init__(self) -> None:
        model = self.space.model
        self.rates = {SymbolKind.RATE.of(name): i for i, name in enumerate(model.coordinate_names)}
        known = [*model.parameter_values, *self.rates]
        if self.name not in known:
            raise InputError(
                f"root_locus: there is no parameter or rate '{self.name}'. {suggest_name(self.name, known)}"
            )

    def linear(self, x: float) -> Linearization:
        """The linearized equations at one value."""
        values = self.space.values.copy()
        self._require_same_structure(x)
        if self.name not in self.rates:
            values[list(self.space.model.parameter_values).index(self.name)] = x
        q, qd, t = self._state(x, values)
        return linear_at(self.space, q, qd, t, parameters=values)

    def _require_same_structure(self, x: float) -> None:
        """Raise if a value of the parameter changes which constraints are independent."""
        if self.name not in self.space.facts.structural:
            return
        reason = violated_fact(self.space.model.with_parameters({self.name: x}), self.space.facts)
        if reason is not None:
            raise InputError(
                f"root_locus: at {self.name} = {x:g} {reason} than at {self.name} = "
                f"{self.space.model.parameter_values[self.name]:g}. Use a separate model on each side of this value, with "
                "model.with_parameters(...)."
            )

    def _state(self, x: float, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        if callable(self.at):
            return read_state(self.space.model, self.at(x), self.t, "root_locus")
        q, qd, t = read_state(self.space.model, self.at, self.t, "root_locus")
        q = q if self.last is None else self.last
        speeds = {self.rates[self.name]: x} if self.name in self.rates else {}
        rates = {i: float(v) for i, v in enumerate(qd) if v and self.at is not None and not speeds}
        root = EquilibriumSearch(
            self.space, q, np.zeros_like(qd), t, SearchRequest((), speeds or rates, (), ()), values=values
        ).nearest()
        if root is None:
            raise ComputationError(
                f"root_locus: no equilibrium was found at {self.name} = {x:g}. Expected one near the previous value. Use "
                "smaller steps, or give `at` as a function of the value."
            )
        self.last = root.q
        return root.q, root.qd, t
