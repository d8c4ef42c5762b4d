"""`dl.root_locus`: eigenvalues as functions of a parameter, or of the speed of a rotor (Campbell diagram)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dalembert.analysis.equilibrium import EquilibriumSearch, SearchRequest
from dalembert.analysis.linearization import Linearization, matched
from dalembert.analysis.linearize import At, linear_at, read_state
from dalembert.api.load import accepts_source
from dalembert.arguments import as_finite_array, documented_class
from dalembert.errors import ComputationError, InputError, suggest_name
from dalembert.mechanics.facts import violated_fact
from dalembert.model.description import Description, Elements
from dalembert.model.immutable import FrozenValue
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.symbolic.symbols import SymbolKind
from dalembert.tables import Table, Tabular, format_cell

if TYPE_CHECKING:
    from dalembert.display.plots.figure import Plot

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
