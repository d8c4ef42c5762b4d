"""`dl.floquet`: stability of a periodic motion by its monodromy matrix.

Along a motion small deviations obey Φ̇ = A(t) Φ. After one period Φ is the monodromy matrix; its eigenvalues, the Floquet
multipliers, determine stability. The motion and Φ are integrated together, with A(t) from the derivatives of the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
from dalembert.analysis.linearize import At, read_state, speed_names
from dalembert.api.load import accepts_source
from dalembert.arguments import documented_class, is_real
from dalembert.errors import InputError, SimulationError, short_repr
from dalembert.model.description import Description, Elements
from dalembert.model.immutable import FrozenValue
from dalembert.model.scales import rotational_coordinates
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.tables import Table, Tabular, format_cell

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
