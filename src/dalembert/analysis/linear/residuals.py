"""What vanishes along every motion, as one program, and the derivatives of that program: all that a linearisation needs.

    dynamics      r = M q̈ − h − C − Aᵀλ
    acceleration  A q̈ − β
    velocity      φ̇ and ψ
    position      φ
    speeds        u = Y q̇ + Z, and their rates u̇

All are functions of (q, q̇, q̈, λ, t). M is the slope of the dynamics by q̈, A that of the second row, so nothing is solved in
the program: it stays as short as inverse dynamics, and redundant constraints are no trouble.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.codegen.function import Function, function_of, nodes
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.codegen.program_derivatives import jacobian_vector
from dalembert.errors import InconsistentStateError, SingularError
from dalembert.formalisms.shared.common_quantities import unexplained_force
from dalembert.mechanics import rank
from dalembert.mechanics.applied_forces import non_ideal_forces
from dalembert.mechanics.facts import Facts
from dalembert.mechanics.generalized_speeds import speed_map
from dalembert.mechanics.system import System
from dalembert.simulation.workspace import Workspace
from dalembert.symbolic.algebra_base import Array, Scalar, stack, vector
from dalembert.symbolic.reserved_symbols import Kind
from dalembert.symbolic.traversal import ordered

ROWS = ("dynamics", "acceleration", "velocity", "position", "speeds", "speed_rates")
_SWITCHES = frozenset(("less", "less_equal", "interpolate"))


@dataclass(frozen=True)
class Point:
    """A state with its accelerations and multipliers, and the values of the parameters."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    t: float
    parameters: np.ndarray

    @property
    def inputs(self) -> np.ndarray:
        """All but the parameters, end to end."""
        return np.concatenate([self.q, self.qd, self.qdd, self.lam, [self.t]])


@dataclass(frozen=True)
class Partials:
    """The slopes of some functions at a point: a block (rows, columns) by each of (q, q̇, q̈), λ and some parameters."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    parameters: np.ndarray

    def rows(self, which: slice | Sequence[int]) -> Partials:
        """Those of some of the functions."""
        return Partials(*(getattr(self, name)[which] for name in ("q", "qd", "qdd", "lam", "parameters")))


class Differentiated:
    """Functions of (q, q̇, q̈, λ, t) of a system and their slopes, compiled at first use."""

    def __init__(self, system: System, outputs: Array, by: Sequence[str] = ()) -> None:
        self.system, self._outputs, self._by = system, outputs, tuple(by)

    @cached_property
    def program(self) -> Program:
        """The functions as a program."""
        system, parameters = self.system, list(self.system.model.parameter_values)
        inputs = [str(x) for x in (*system.q, *system.qd, *system.qdd, *multipliers(system), system.t)]
        return program_of(nodes(system.algebra, self._outputs), inputs, parameters)

    @cached_property
    def _slopes(self) -> Program:
        return jacobian_vector(self.program, [*self.program.inputs[:-1], *self._by])

    @cached_property
    def _values(self) -> Function:
        return function_of(self.program, self.system.engine)

    @cached_property
    def _along(self) -> Function:
        return function_of(self._slopes, self.system.engine)

    @cached_property
    def timed(self) -> bool:
        """True where the slopes contain time itself."""
        return self._has_time(self._slopes)

    @cached_property
    def clocked(self) -> bool:
        """True where the functions contain time itself."""
        return self._has_time(self.program)

    def _has_time(self, program: Program) -> bool:
        place = len(self.program.inputs) - 1
        return place in program.outputs or any(place in places for _, places in program.lines)

    @cached_property
    def switching(self) -> bool:
        """True where a branch is taken somewhere."""
        return any(y.operation in _SWITCHES for y in ordered(nodes_of(self.program)))

    def at(self, point: Point) -> np.ndarray:
        """Their values at a point."""
        return self._values(point.inputs, point.parameters)

    def slopes(self, point: Point) -> Partials:
        """Their slopes at a point: each direction takes a lane."""
        n, k, m = len(point.q), len(point.lam), len(self._by)
        size = 3 * n + k + m
        columns = np.concatenate([np.repeat(point.inputs[:, None], size, axis=1), np.eye(size)])
        found = self._along(columns, point.parameters)
        return Partials(*np.split(found, np.cumsum([n, n, n, k]), axis=1))


def multipliers(system: System) -> Array:
    """The symbols of the multipliers, one for each constraint."""
    return system.algebra.symbols([Kind.MULTIPLIER.of(i + 1) for i in range(len(system.facts.levels.names))])


class Residuals(Differentiated):
    """The residuals of one system."""

    def __init__(self, system: System, by: Sequence[str] = ()) -> None:
        parts = residual_rows(system)
        ends = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        self.places = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(ROWS)}
        super().__init__(system, stack(*parts), by)


def residual_rows(system: System) -> tuple[Array, ...]:
    """The rows in the order of `ROWS`."""
    known, C = system.constraints, non_ideal_forces(system.motion)
    force = unexplained_force(system) - known.A.T @ multipliers(system)
    Y, Z = speed_map(system.motion, system.facts.speeds)
    u = vector(list(Y @ system.qd + Z))
    return (
        force if C is None else force - C,
        known.A @ system.qdd - known.beta,
        known.velocity,
        known.phi,
        u,
        system.derivative(u),
    )


def residuals_of(workspace: Workspace, by: tuple[str, ...] = ()) -> Residuals:
    """What vanishes along every motion, with its derivatives by the state and by the named parameters."""
    return workspace.memoized((Residuals, by), lambda system: Residuals(system, by))


def differentiated(workspace: Workspace, outputs: Mapping[str, Scalar], by: tuple[str, ...] = ()) -> Differentiated:
    """Outputs of a linear system by name, with their derivatives by the state and by the named parameters."""
    key = Differentiated, tuple(outputs), by
    return workspace.memoized(key, lambda system: Differentiated(system, vector(list(outputs.values())), by))


@dataclass(frozen=True)
class Solved:
    """A state with its accelerations, and the slopes of the residuals there by rows: dynamics, acceleration and so on."""

    point: Point
    by_row: dict[str, Partials]
    facts: Facts

    @property
    def M(self) -> np.ndarray:
        """The mass matrix."""
        return self.by_row["dynamics"].qdd

    @property
    def A(self) -> np.ndarray:
        """A of A q̈ = β, all rows."""
        return self.by_row["acceleration"].qdd

    @cached_property
    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """A⁺, and N, a basis of the velocities that the constraints leave free."""
        return rank.split(self.A, self.facts.scales.positions, len(self.facts.rows))

    def answer(self, force: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """The q̈ of M q̈ = force + Aᵀλ, A q̈ = beta, column by column."""
        pseudo, N = self.split
        first = pseudo @ beta
        return first + N @ np.linalg.solve(N.T @ self.M @ N, N.T @ (force - self.M @ first))

    def multipliers(self, force: np.ndarray) -> np.ndarray:
        """The smallest λ of Aᵀλ = force, column by column."""
        scale, most = self.facts.scales.positions, len(self.facts.rows)
        columns = force.reshape(len(force), -1).T
        out = [rank.smallest_multipliers(self.A, column, scale, most) for column in columns]
        return np.array(out).T.reshape(len(self.A), *force.shape[1:])


def solved_at(
    residuals: Residuals,
    q: np.ndarray,
    qd: np.ndarray,
    t: float,
    parameters: np.ndarray,
    held: np.ndarray | None = None,
) -> Solved:
    """The accelerations at a state and the slopes there; `held` are generalized forces that act besides."""
    system, places = residuals.system, residuals.places
    n, k = len(q), len(system.facts.levels.names)
    point = Point(q, qd, np.zeros(n), np.zeros(k), t, parameters)
    rest = residuals.at(point)
    bare = _by_row(residuals, point, system.facts)
    _require_regular(system.model.name, bare)
    force = -rest[places["dynamics"]] + (0.0 if held is None else held)
    qdd = bare.answer(force, -rest[places["acceleration"]])
    lam = bare.multipliers(bare.M @ qdd - force) if k else np.zeros(0)
    return _by_row(residuals, replace(point, qdd=qdd, lam=lam), system.facts)


def require_on_constraints(residuals: Residuals, point: Point, who: str) -> None:
    """Raise where a state does not fulfil the constraints."""
    facts, found = residuals.system.facts, residuals.at(point)
    sizes, scales = np.array(facts.sizes), facts.scales
    levels = (("position", sizes[: facts.levels.held]), ("velocity", sizes / scales.time))
    for level, size in levels:
        off = np.abs(found[residuals.places[level]]) / size
        if off.size and off.max() > _OFF:
            i = int(np.argmax(off))
            raise InconsistentStateError(
                f"{who}: at the given state '{facts.levels.names[i]}' is off by {found[residuals.places[level]][i]:.6g} on "
                f"{level} level. Expected a state that fulfils the constraints. dl.assemble(model, q, qd) gives one."
            )


_OFF = 1e-8  # of the size of a constraint


def _by_row(residuals: Residuals, point: Point, facts: Facts) -> Solved:
    slopes = residuals.slopes(point)
    return Solved(point, {name: slopes.rows(where) for name, where in residuals.places.items()}, facts)


def _require_regular(name: str, found: Solved) -> None:
    count, unit = len(found.facts.rows), found.facts.scales.positions
    N = found.split[1]
    if (count and int(rank.numeric_rank(found.A, unit)) < count) or not rank.definite(N.T @ found.M @ N):
        raise SingularError(
            f"model '{name}': the position is singular: constraints that are independent elsewhere are not so there, or the "
            "masses are not positive definite. Expected a regular position. Take one beside it."
        )
