"""Sensitivity of a trajectory: the run first, then the variational equations along each of its segments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from dalembert.analysis._directional_derivatives import (
    Differentials,
    Directions,
    InitialState,
    WithDerivatives,
    directions_of,
    initial_state_of,
    with_time,
)
from dalembert.analysis._variational_equations import Crossing, SaltationMatrices, Variations
from dalembert.api.derive import equations_of
from dalembert.api.load import accepts_source
from dalembert.api.simulate import SimulationOptions, recording_of, takes_options, task_of
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import documented_class, validate_arguments
from dalembert.codegen.function import nodes
from dalembert.codegen.program import Program, program_of
from dalembert.errors import InputError, NotApplicableError, short_repr, suggest_name
from dalembert.formalisms.shared.common_quantities import free_equations, jacobi
from dalembert.formalisms.shared.linear_form import fused
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.system import System
from dalembert.model.description import Elements
from dalembert.model.immutable import FrozenValue
from dalembert.model.integrator_names import AUTO
from dalembert.model.values import is_sequence
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.main_loop import RunOptions, Segments, integrate_segments
from dalembert.symbolic.algebra_base import Array, stack, vector
from dalembert.symbolic.symbols import SymbolKind
from dalembert.tables import Table, Tabular, format_cell

NAMED = ("kinetic", "potential", "energy", "jacobi", "multipliers", "reactions", "momenta")


@accepts_source
@takes_options(
    "of order formalism q0 qd0 t0 fixed integrator samples times rtol atol max_step step progress parameters"
)
def sensitivity(
    model: Elements,
    duration: float | None = None,
    *,
    of: Sequence[Any] | str,
    order: int = 1,
    formalism: str = "lagrange",
    fixed: Sequence[str] = (),
    **options: Unpack[SimulationOptions],
) -> Sensitivity:
    """A trajectory with its derivatives by parameters and initial values, by variational equations of order 1 or 2.

    With constraints, the initial state depends on the parameters: named initial values and coordinates in `fixed` stay unchanged;
    the others change by the smallest motion in the mass metric. Initial values may be formulas of parameters.

    Parameters
    ----------
    of : sequence of str
        Parameters `l`, initial coordinates `theta(0)` and initial rates `dot(theta)(0)`.
    order : {1, 2}, default 1
        Order of the derivatives.

    Returns
    -------
    Sensitivity
        The run and its derivatives, shape (n, directions, samples).

    Raises
    ------
    InputError
        If `order` is not 1 or 2, or a name is unknown.
    NotApplicableError
        If the model cannot be differentiated.

    See Also
    --------
    gradient : Derivatives of one cost by many parameters.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("oscillator").parameters(m=1.0, k=4.0).coordinates("x").start([1.0], [0.0])
    >>> _ = model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass="m").force("mass", ("-k*x", 0, 0))
    >>> run = sensitivity(model, 1.0, of=["k", "x(0)"], samples=3)
    >>> bool(np.allclose(run["x", "x(0)"], np.cos(2 * run.t))), bool(np.allclose(run["x", "k"], -run.t * np.sin(2 * run.t) / 4))
    (True, True)
    """
    if order not in (1, 2):
        raise InputError(f"sensitivity, order: got {order}. Expected 1 or 2.")
    equations = equations_of(model, formalism)
    parameters, q0, qd0 = options.pop("parameters", None), options.pop("q0", None), options.pop("qd0", None)
    equations = equations.with_parameters(parameters) if parameters else equations
    require_differentiable(equations)
    directions = directions_of(equations.model, of)
    equations.derivation.require_differentiable_by(directions.parameters, "sensitivity")
    task = task_of(duration, change_charts=False, **options)
    first = float(task.grid(equations.model)[0])
    origin = initial_state_of(equations, directions, q0, qd0, first, fixed)
    return DifferentiatedTrajectory(equations, directions, origin, task, order).run({})


def require_differentiable(equations: BoundEquations, who: str = "sensitivity") -> None:
    """Raise if the equations cannot be differentiated symbolically."""
    equations.model.refuse_canonical(who)
    equations.model.refuse_laws(who, "Write the law as a formula.")
    equations.model.refuse_rigid(who)
    if not equations.about.velocities.are_rates or len(equations.form.constants.symbols):
        raise NotApplicableError(
            f"{who}: the velocity variables of '{equations.formalism}' are not q̇. Use a formalism in q̇, such as lagrange; the "
            "derivatives of a trajectory do not depend on the formalism."
        )
    if not equations.kernel.fused:
        raise NotApplicableError(
            f"{who}: the equations of '{equations.model.name}' by {equations.formalism} are solved numerically at every step: "
            "constraints are redundant, masses vanish or the engine is python. Expected symbolically solved equations: use "
            "lagrange with engine='native', or remove redundant constraints."
        )


@dataclass(frozen=True)
class DifferentiatedTrajectory:
    """A trajectory as a function of the differentiation variables."""

    equations: BoundEquations
    directions: Directions
    origin: InitialState
    task: RunOptions
    order: int = 1

    def run(self, values: Mapping[str, float]) -> Sensitivity:
        """The run with some values of parameters and named initial values; the others keep their values."""
        changes = {name: value for name, value in values.items() if name in self.directions.parameters}
        equations = self.equations.with_parameters(changes) if changes else self.equations
        y, n = self.origin.at(equations, values, self.order), self.directions.coordinates
        found = integrate_segments(equations, replace(self.task, q0=y.value[:n], qd0=y.value[n:]))
        state, method, crossings = self._along(found, y, equations)
        run = recording_of(equations, found).trajectory()
        return Sensitivity(found.initial_equations or equations, run, self.directions, state, method, crossings)

    def _along(
        self, found: Segments, y: WithDerivatives, equations: BoundEquations
    ) -> tuple[WithDerivatives, str, tuple[Crossing, ...]]:
        """State and derivatives at the samples, segment by segment, with the events and switchings between them."""
        parameter_values = dict(zip(equations.model.parameter_values, equations.values, strict=False))
        values = self.directions.values_in(parameter_values, y.value)
        sizes = np.where(values == 0, 1.0, np.abs(values))
        jumps, pieces, crossed = SaltationMatrices(found, equations, self.directions, self.order), [], []
        method = self.task.integrator or AUTO
        if method == AUTO:
            method = Variations(found.parts[0].equations, self.directions, self.order).default_integrator
        for i, (part, after) in enumerate(zip(found.parts, [*found.parts[1:], None], strict=True)):
            grid = part.solution.t
            times = grid if after is None or after.solution.t[0] <= grid[-1] else np.append(grid, after.solution.t[0])
            variations = Variations(part.equations, self.directions, self.order)
            along = y.samples(None)
            if len(times) > 1:
                along = variations.along(y, times, part.constants, method, self.task.settings, sizes)
            pieces.append(along.samples(slice(1 if i else 0, len(grid))))
            y, crossing = jumps.across(part, after, along.samples(-1))
            crossed += [] if crossing is None else [crossing]
        return _joined(pieces), method, tuple(crossed)


def _joined(pieces: Sequence[WithDerivatives]) -> WithDerivatives:
    """The pieces concatenated along the samples."""
    second = [piece.second for piece in pieces if piece.second is not None]
    return WithDerivatives(
        np.concatenate([piece.value for piece in pieces], axis=-1),
        np.concatenate([piece.first for piece in pieces], axis=-1),
        np.concatenate(second, axis=-1) if second else None,
    )


@documented_class
@dataclass(frozen=True, repr=False)
class Sensitivity(FrozenValue, Tabular):
    """A trajectory and its derivatives by parameters and initial values; samples are on the last axis.

    Attributes
    ----------
    equations : BoundEquations
        The differentiated equations, with all switching conditions fixed.
    run : Trajectory
        The trajectory.
    directions : Directions
        The differentiation variables; `of` has their names.
    state : WithDerivatives
        (q, q̇) along the run with derivatives: `value` (2n, samples), `first` (2n, directions, samples), `second`.
    integrator : str
        The integrator of the variational equations.
    crossings : tuple of Crossing
        Events and switchings with the derivatives of their times.

    Examples
    --------
    >>> import dalembert as dl
    >>> run = dl.sensitivity("simple-pendulum", 1.0, of=["l", "theta(0)"], samples=11)
    >>> run.dq.shape, run["theta", "l"].shape
    ((1, 2, 11), (11,))
    """

    equations: BoundEquations  # with all switching conditions fixed
    run: Trajectory
    directions: Directions
    state: WithDerivatives  # (q, q̇) along the run
    integrator: str
    crossings: tuple[Crossing, ...] = ()  # events and switchings, with the derivatives of their times

    @property
    def of(self) -> tuple[str, ...]:
        """The differentiation variables, in the order of the second axis."""
        return self.directions.names

    @property
    def order(self) -> int:
        """The order of the derivatives, 1 or 2."""
        return 1 if self.state.second is None else 2

    @property
    def t(self) -> np.ndarray:
        """The times of the samples."""
        return self.run.t

    @property
    def _n(self) -> int:
        return len(self.state.value) // 2

    @property
    def q(self) -> np.ndarray:
        """The coordinates along the run, (n, samples)."""
        return self.state.value[: self._n]

    @property
    def qd(self) -> np.ndarray:
        """q̇ along the run, (n, samples)."""
        return self.state.value[self._n :]

    @property
    def dq(self) -> np.ndarray:
        """∂q/∂p along the run, (n, directions, samples)."""
        return self.state.first[: self._n]

    @property
    def dqd(self) -> np.ndarray:
        """∂q̇/∂p along the run, (n, directions, samples)."""
        return self.state.first[self._n :]

    @property
    def d2q(self) -> np.ndarray:
        """∂²q/∂p² along the run, (n, directions, directions, samples)."""
        return self._second[: self._n]

    @property
    def d2qd(self) -> np.ndarray:
        """∂²q̇/∂p² along the run, (n, directions, directions, samples)."""
        return self._second[self._n :]

    @property
    def _second(self) -> np.ndarray:
        if self.state.second is None:
            raise InputError("sensitivity: this run has first derivatives only. Use order=2.")
        return self.state.second

    @validate_arguments
    def observe(self, name: str) -> WithDerivatives:
        """An observable along the run with its derivatives.

        Parameters
        ----------
        name : str
            A coordinate, dot(x), ddot(x), kinetic, potential, energy, jacobi, momenta, multipliers, reactions, or any formula of
            coordinates, rates, parameters and t.

        Returns
        -------
        WithDerivatives
            `value` (rows, samples), `first` (rows, directions, samples) and, for order 2, `second`.

        Examples
        --------
        >>> import dalembert as dl
        >>> run = dl.sensitivity("simple-pendulum", 1.0, of=["l"], samples=11)
        >>> expected = np.sin(run.q[0]) + np.cos(run.q[0]) * run["theta", "l"]  # l = 1
        >>> bool(np.allclose(run.observe("l*sin(theta)").first[0, 0], expected))
        True
        """
        names = self.run.model.coordinate_names
        states = [*names, *map(SymbolKind.RATE.of, names)]
        if name in states:
            i = states.index(name)
            return self.state[i : i + 1]
        return self._along(name, lambda: program_by_name(self.equations, name))

    @validate_arguments
    def path(self, body: str, point: Sequence[Any] = (0, 0, 0)) -> WithDerivatives:
        """The path of a point of a body in world axes with its derivatives.

        Parameters
        ----------
        body : str
            The name of the body.
        point : sequence of float or str, default (0, 0, 0)
            A point in axes of the body, numbers or formulas of parameters.

        Returns
        -------
        WithDerivatives
            Rows are three positions, then three velocities.

        Examples
        --------
        >>> import dalembert as dl
        >>> run = dl.sensitivity("double-pendulum", 1.0, of=["l1"], samples=11)
        >>> run.path(run.run.model.bodies[-1].name).first.shape
        (6, 1, 11)
        """
        return self._along((body, str(point)), lambda: program_of_point(self.equations, body, point))

    def _along(self, what: object, make: Callable[[], Program]) -> WithDerivatives:
        """The values of a program along the run; it is compiled once for the equations."""
        used = self.equations
        cache, key = used.kernel.cache, ("observed", what, self.directions.parameters)
        if key not in cache:
            cache[key] = Differentials(make(), self.directions.parameters, used.workspace.engine)
        return cache[key](with_time(self.state, self.t), self.run.values, self.directions.parameter_directions)

    @validate_arguments
    def __getitem__(self, name: tuple[str, ...]) -> np.ndarray:
        """A derivative along the run: run["theta", "l"], or run["energy", "l", "theta(0)"] of second order."""
        if not 2 <= len(name) <= 3:
            raise InputError('sensitivity: expected an observable and one or two names, such as run["x", "l"].')
        found, by = self.observe(name[0]), name[1:]
        indices = [self._index(each) for each in by]
        rows = found.first[:, indices[0]] if len(indices) == 1 else None
        if rows is None:
            if found.second is None:
                raise InputError("sensitivity: this run has first derivatives only. Use order=2.")
            rows = found.second[:, indices[0], indices[1]]
        return rows[0] if len(rows) == 1 else rows

    def _index(self, name: str) -> int:
        if name not in self.of:
            raise InputError(f"sensitivity: the run was not differentiated by '{name}'. {suggest_name(name, self.of)}")
        return self.of.index(name)

    @cached_property
    def _rows(self) -> list[tuple[str, ...]]:
        names = self.run.model.coordinate_names
        return [
            (f"d {x}", p, *(format_cell(float(v)) for v in (row[0], row[-1], row[np.argmax(np.abs(row))])))
            for x, rows in zip(names, self.dq, strict=True)
            for p, row in zip(self.of, rows, strict=True)
        ]

    def tables(self) -> tuple[Table, ...]:
        """The derivatives of every coordinate at both ends of the run, and the largest."""
        first, last = f"t = {self.t[0]:g}", f"t = {self.t[-1]:g}"
        title = f"{self.run.model.name}: derivatives of the motion, {self.integrator}, {len(self.t)} samples."
        return (Table(("derivative of", "by", first, last, "largest"), tuple(self._rows), title, self.run.notes),)

    def __repr__(self) -> str:
        return (
            f"<Sensitivity of '{self.run.model.name}' by {', '.join(self.of)}, order {self.order}: "
            f"{len(self.t)} samples from t = {self.t[0]:g} to {self.t[-1]:g}>"
        )


def program_by_name(equations: BoundEquations, name: str) -> Program:
    """The program of an observable: one of `NAMED`, ddot(x), or any formula of the names of the model."""
    system, kernel = equations.workspace.system, equations.kernel
    names = equations.model.coordinate_names
    qdd = kernel.rates[len(names) : 2 * len(names)]
    if name in NAMED and name not in equations.model.parameter_values:
        return _program(equations, _named(equations, system, name, qdd))
    accelerations = [SymbolKind.ACCELERATION.of(x) for x in names]
    if name in accelerations:
        return _program(equations, vector([qdd[accelerations.index(name)]]))
    try:
        formula = equations.model.formula(name, f"sensitivity of '{name}'")
    except InputError as problem:
        known = (*names, *map(SymbolKind.RATE.of, names), *accelerations, *NAMED)
        raise InputError(
            f"{problem} {suggest_name(name, known)} Expected such a name, or a formula of coordinates, rates and parameters."
        ) from None
    return _program(equations, vector([system.lower(formula)]))


def _named(equations: BoundEquations, system: System, name: str, qdd: Array) -> Array:
    if name == "multipliers":
        if equations.workspace.facts.dropped:
            raise InputError(
                f"sensitivity of multipliers: some constraints of model '{system.model.name}' are redundant, so their "
                "multipliers are not unique. Use 'reactions'."
            )
        x, lam = fused(equations.form)
        return equations.form.multipliers(x[: len(equations.form.velocity.v)], lam)
    if name == "reactions":  # Aᵀλ + C = M q̈ − h
        M, h = free_equations(system)
        return equations.kernel.in_state(M @ system.qdd - h, qdd)
    T, V = kinetic(system.motion, system.qd), potential(system.motion)
    if name == "momenta":
        return system.algebra.gradient(T, system.qd)
    return vector([{"kinetic": T, "potential": V, "energy": T + V, "jacobi": jacobi(system)}[name]])


def program_of_point(equations: BoundEquations, body: str, point: Sequence[Any]) -> Program:
    """The position of a point of a body in world axes, and its velocity: six outputs."""
    system = equations.workspace.system
    found = [each for each in system.motion.bodies if each.name == body]
    if not found:
        known = [each.name for each in system.motion.bodies]
        raise InputError(f"sensitivity of a path: there is no body '{body}'. {suggest_name(body, known)}")
    if not is_sequence(point, 3):
        raise InputError(
            f"sensitivity of a path: the point is {short_repr(point)}. Expected three numbers or formulas."
        )
    frame = found[0].frame
    local = vector([system.lower(equations.model.formula(x, f"point of '{body}'", constant=True)) for x in point])
    p = frame.p + frame.R @ local
    velocity = system.algebra.total_derivative(p, (system.q, system.qd), system.clock)
    return _program(equations, stack(p, velocity))


def _program(equations: BoundEquations, outputs: Array) -> Program:
    system = equations.workspace.system
    inputs = [str(x) for x in stack(system.q, system.qd, vector([system.t]))]
    return program_of(
        nodes(system.algebra, np.asarray(outputs, dtype=object).ravel()), inputs, list(system.model.parameter_values)
    )
