"""The residuals of the equations of motion with their derivatives, and the linear equations in independent states.

    dynamics      r = M q̈ − h − C − Aᵀλ
    acceleration  A q̈ − β
    velocity      φ̇ and ψ
    position      φ
    speeds        u = Y q̇ + Z, and their rates u̇

All are functions of (q, q̇, q̈, λ, t). M is the derivative of the dynamics by q̈, A that of the second row, so the program
solves no equations: it is as short as inverse dynamics, and redundant constraints are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.codegen.function import CompiledFunction, function_of, nodes
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.codegen.program_derivatives import jacobian_vector
from dalembert.errors import InconsistentStateError, SingularError
from dalembert.formalisms.shared.common_quantities import reaction_residual
from dalembert.mechanics import rank
from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.facts import Facts
from dalembert.mechanics.generalized_speeds import speed_map
from dalembert.mechanics.system import System
from dalembert.simulation.workspace import Workspace
from dalembert.symbolic.algebra_base import Array, Scalar, stack, vector
from dalembert.symbolic.nodes import ordered
from dalembert.symbolic.symbols import SymbolKind

ROWS = ("dynamics", "acceleration", "velocity", "position", "speeds", "speed_rates")
_SWITCHES = frozenset(("less", "less_equal", "interpolate"))
_ZERO = 1e-10  # relative to the largest entry of A, in scales of the model
_ZERO_RATE = 1e-7  # smaller rates, in scales of the model, are zero
_EQUAL = 1e-5  # tolerance for the equations a short time later, computed by a fourth-order method
_OTHER_TIMES = (0.13, 0.37, 0.71)  # fractions of the duration of the model
_CHECK_TIME, _STEPS = 0.3, 8  # of the shortest time scale: of the model, of its motion, or of its fastest mode


@dataclass(frozen=True)
class OperatingPoint:
    """A state with its accelerations and multipliers, and the values of the parameters."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    t: float
    parameters: np.ndarray

    @property
    def inputs(self) -> np.ndarray:
        """All values but the parameters, concatenated."""
        return np.concatenate([self.q, self.qd, self.qdd, self.lam, [self.t]])


@dataclass(frozen=True)
class Partials:
    """Partial derivatives at a point: a block (rows, columns) for each of q, q̇, q̈, λ and some parameters."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    parameters: np.ndarray

    def rows(self, which: slice | Sequence[int]) -> Partials:
        """The partial derivatives of some of the functions."""
        return Partials(*(getattr(self, name)[which] for name in ("q", "qd", "qdd", "lam", "parameters")))


class DifferentiatedResiduals:
    """Functions of (q, q̇, q̈, λ, t) of a system and their partial derivatives, compiled at first use."""

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
    def _values(self) -> CompiledFunction:
        return function_of(self.program, self.system.engine)

    @cached_property
    def _along(self) -> CompiledFunction:
        return function_of(self._slopes, self.system.engine)

    @cached_property
    def derivatives_depend_on_time(self) -> bool:
        """True if the derivatives depend on time explicitly."""
        return self._has_time(self._slopes)

    @cached_property
    def depends_on_time(self) -> bool:
        """True if the functions depend on time explicitly."""
        return self._has_time(self.program)

    def _has_time(self, program: Program) -> bool:
        time = len(self.program.inputs) - 1
        return time in program.outputs or any(time in operands for _, operands in program.lines)

    @cached_property
    def switching(self) -> bool:
        """True if the program contains branches."""
        return any(y.operation in _SWITCHES for y in ordered(nodes_of(self.program)))

    def at(self, point: OperatingPoint) -> np.ndarray:
        """The values at a point."""
        return self._values(point.inputs, point.parameters)

    def slopes(self, point: OperatingPoint) -> Partials:
        """The partial derivatives at a point: one direction in each lane."""
        n, k, m = len(point.q), len(point.lam), len(self._by)
        size = 3 * n + k + m
        columns = np.concatenate([np.repeat(point.inputs[:, None], size, axis=1), np.eye(size)])
        found = self._along(columns, point.parameters)
        return Partials(*np.split(found, np.cumsum([n, n, n, k]), axis=1))


def multipliers(system: System) -> Array:
    """The symbols of the multipliers, one for each constraint."""
    return system.algebra.symbols([SymbolKind.MULTIPLIER.of(i + 1) for i in range(len(system.facts.levels.names))])


class Residuals(DifferentiatedResiduals):
    """The residuals of one system."""

    def __init__(self, system: System, by: Sequence[str] = ()) -> None:
        parts = residual_rows(system)
        ends = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        self.row_slices = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(ROWS)}
        super().__init__(system, stack(*parts), by)


def residual_rows(system: System) -> tuple[Array, ...]:
    """The rows in the order of `ROWS`."""
    known, C = system.constraints, non_ideal_forces(system.motion)
    force = reaction_residual(system) - known.A.T @ multipliers(system)
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
    """The residuals of the equations of motion, with derivatives by the state and by the named parameters."""
    return workspace.memoized((Residuals, by), lambda system: Residuals(system, by))


def differentiated(
    workspace: Workspace, outputs: Mapping[str, Scalar], by: tuple[str, ...] = ()
) -> DifferentiatedResiduals:
    """Outputs of a linear system by name, with their derivatives by the state and by the named parameters."""
    key = DifferentiatedResiduals, tuple(outputs), by
    return workspace.memoized(key, lambda system: DifferentiatedResiduals(system, vector(list(outputs.values())), by))


@dataclass(frozen=True)
class SolvedState:
    """A state with its accelerations, and the derivatives of the residuals there by rows: dynamics, acceleration, ..."""

    point: OperatingPoint
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
        return rank.pseudo_inverse_and_null_space(self.A, self.facts.scales.positions, len(self.facts.rows))

    def accelerations(self, force: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """The q̈ of M q̈ = force + Aᵀλ, A q̈ = beta, column by column."""
        pseudo, N = self.split
        first = pseudo @ beta
        return first + N @ np.linalg.solve(N.T @ self.M @ N, N.T @ (force - self.M @ first))

    def multipliers(self, force: np.ndarray) -> np.ndarray:
        """The smallest λ of Aᵀλ = force, column by column."""
        scale, max_rank = self.facts.scales.positions, len(self.facts.rows)
        columns = force.reshape(len(force), -1).T
        out = [rank.smallest_multipliers(self.A, column, scale, max_rank) for column in columns]
        return np.array(out).T.reshape(len(self.A), *force.shape[1:])


def solved_at(
    residuals: Residuals,
    q: np.ndarray,
    qd: np.ndarray,
    t: float,
    parameters: np.ndarray,
    forces: np.ndarray | None = None,
) -> SolvedState:
    """The accelerations at a state and the derivatives there; `forces` are additional generalized forces."""
    system, slices = residuals.system, residuals.row_slices
    n, k = len(q), len(system.facts.levels.names)
    point = OperatingPoint(q, qd, np.zeros(n), np.zeros(k), t, parameters)
    residual = residuals.at(point)
    unloaded = _by_row(residuals, point, system.facts)
    _require_regular(system.model.name, unloaded)
    force = -residual[slices["dynamics"]] + (0.0 if forces is None else forces)
    qdd = unloaded.accelerations(force, -residual[slices["acceleration"]])
    lam = unloaded.multipliers(unloaded.M @ qdd - force) if k else np.zeros(0)
    return _by_row(residuals, replace(point, qdd=qdd, lam=lam), system.facts)


def require_on_constraints(residuals: Residuals, point: OperatingPoint, who: str) -> None:
    """Raise if a state violates the constraints."""
    facts, found = residuals.system.facts, residuals.at(point)
    sizes, scales = np.array(facts.sizes), facts.scales
    levels = (("position", sizes[: facts.levels.n_holonomic]), ("velocity", sizes / scales.time))
    for level, size in levels:
        error = np.abs(found[residuals.row_slices[level]]) / size
        if error.size and error.max() > _CONSTRAINT_TOLERANCE:
            i = int(np.argmax(error))
            raise InconsistentStateError(
                f"{who}: the state violates '{facts.levels.names[i]}' by {found[residuals.row_slices[level]][i]:.6g} at {level} "
                "level. Expected a state that satisfies the constraints. dl.assemble_state(model, q, qd) returns one."
            )


_CONSTRAINT_TOLERANCE = 1e-8  # of the size of a constraint


def _by_row(residuals: Residuals, point: OperatingPoint, facts: Facts) -> SolvedState:
    slopes = residuals.slopes(point)
    return SolvedState(point, {name: slopes.rows(where) for name, where in residuals.row_slices.items()}, facts)


def _require_regular(name: str, found: SolvedState) -> None:
    count, unit = len(found.facts.rows), found.facts.scales.positions
    N = found.split[1]
    if (count and int(rank.numeric_rank(found.A, unit)) < count) or not rank.definite(N.T @ found.M @ N):
        raise SingularError(
            f"model '{name}': the configuration is singular: the constraint rows lose rank there, or the mass matrix is not "
            "positive definite. Expected a regular configuration. Use one next to it."
        )


@dataclass(frozen=True)
class ReducedSystem:
    """δq, δq̇, δq̈ and δλ for a unit of every independent state (columns), and the rates of these states."""

    chosen: tuple[int, ...]  # the coordinates z
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    A: np.ndarray  # ẋ = A x with x = (z, u)
    onto: np.ndarray  # x from (δq, δq̇)

    def output_matrix(self, partials: Partials) -> np.ndarray:
        """The derivatives of functions with respect to the states."""
        return partials.q @ self.q + partials.qd @ self.qd + partials.qdd @ self.qdd + partials.lam @ self.lam


@dataclass(frozen=True)
class Driven:
    """δq̈ and δλ for a unit of every input (columns), and the resulting rates of the states."""

    qdd: np.ndarray
    lam: np.ndarray
    B: np.ndarray


def reduced(found: SolvedState, chosen: tuple[int, ...] | None = None) -> ReducedSystem:
    """The linear equations at a solved state, in the coordinates `chosen` or in the best-conditioned ones.

    Near a state every motion has δq = T δz, with φ_q T = 0, and δq̇ = Q δz + W δu, so that velocities satisfy the constraints.
    With λ held at its value, Aᵀλ has no component along W; so

        WᵀM δq̈ = −Wᵀ(r_q δq + r_q̇ δq̇),     A δq̈ = −(a_q δq + a_q̇ δq̇)

    where r = M q̈ − h − C − Aᵀλ, and a = A q̈ − β. A nonholonomic system has more z than u.
    """
    phi, velocity, u = (found.by_row[name] for name in ("position", "velocity", "speeds"))
    n, d, unit = len(found.point.q), found.facts.d, found.facts.scales.positions
    T = (
        rank.pseudo_inverse_and_null_space(phi.q, unit)[1] if len(phi.q) else np.diag(unit)
    )  # displacements that the constraints leave free
    z = rank.best_rows(rank.normalized_rows(T / unit[:, None])[0], T.shape[1]) if chosen is None else chosen
    T = T @ np.linalg.inv(T[list(z)])
    S = np.concatenate([u.qd, velocity.qd])
    if int(rank.numeric_rank(S, unit, n)) < n:
        raise SingularError(
            f"the speeds {', '.join(found.facts.speed_names)} and the constraints do not determine the velocities at this state. "
            "Expected [Y; A] to be invertible. Define other generalized speeds."
        )
    inverse = rank.pseudo_inverse(S, unit, n)
    W, Q = inverse[:, :d], -inverse @ np.concatenate([u.q, velocity.q]) @ T
    q, qd = np.concatenate([T, np.zeros((n, d))], axis=1), np.concatenate([Q, W], axis=1)
    r, a, rates = (found.by_row[name] for name in ("dynamics", "acceleration", "speed_rates"))
    force = -(r.q @ q + r.qd @ qd)
    qdd = found.accelerations(force, -(a.q @ q + a.qd @ qd))
    lam = found.multipliers(found.M @ qdd - force)
    speeds = rates.q @ q + rates.qd @ qd + rates.qdd @ qdd
    pick = np.eye(n)[list(z)]
    onto = np.block([[pick, np.zeros((len(z), n))], [u.q, u.qd]])
    return ReducedSystem(tuple(z), q, qd, qdd, lam, np.concatenate([qd[list(z)], speeds]), onto)


def driven(found: SolvedState, forces: np.ndarray, states: int) -> Driven:
    """The response to inputs: each column of `forces` is a generalized force, or the equivalent force of a parameter."""
    qdd = found.accelerations(forces, np.zeros((len(found.A), forces.shape[1])))
    lam = found.multipliers(found.M @ qdd - forces)
    speeds = found.by_row["speed_rates"].qdd @ qdd
    return Driven(qdd, lam, np.concatenate([np.zeros((states - len(speeds), forces.shape[1])), speeds]))


@dataclass(frozen=True)
class StateKind:
    """The kind of a state, and why its linear equations are valid only momentarily, if so."""

    kind: str  # "equilibrium", "steady motion" or "instant of a motion"
    decoupled: tuple[int, ...]  # indices of the states
    reason: str = ""

    @property
    def steady(self) -> bool:
        """True if the linear equations are time-invariant."""
        return not self.reason


def state_units(found: SolvedState, chosen: tuple[int, ...]) -> np.ndarray:
    """The scale of every state (z, u)."""
    scales = found.facts.scales
    speeds = np.abs(found.by_row["speeds"].qd) @ scales.velocities
    return np.concatenate([scales.positions[list(chosen)], np.where(speeds > 0, speeds, 1.0)])


def decoupled_coordinates(A: np.ndarray, units: np.ndarray, coordinates: int) -> tuple[int, ...]:
    """The decoupled coordinates: those on which no state but other decoupled coordinates depends.

    >>> decoupled_coordinates(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -2.0]]), np.ones(3), 2)
    (0, 1)
    """
    sizes = np.abs(A) * units / units[:, None]
    linked = sizes > _ZERO * max(sizes.max(initial=0.0), 1e-300)
    found: list[int] = []
    while True:
        rest = [i for i in range(len(A)) if i not in found]
        new = [j for j in rest if j < coordinates and not linked[rest, j].any()]
        if not new:
            return tuple(sorted(found))
        found += new


def classify(
    residuals: Residuals, found: SolvedState, linear: ReducedSystem, forces: np.ndarray | None, names: list[str]
) -> StateKind:
    """Classify a state with its linear equations; `names` are those of the states."""
    point, scales, chosen = found.point, found.facts.scales, linear.chosen
    units = state_units(found, chosen)
    decoupled = decoupled_coordinates(linear.A, units, len(chosen))
    moving = np.abs(point.qd) > _ZERO_RATE * scales.velocities
    rates = _rates(residuals, found, chosen)
    relative = np.abs(rates) / units * scales.time
    relative[list(decoupled)] = 0.0
    if (relative > _ZERO_RATE).any():
        worst = int(np.argmax(relative))
        return StateKind("instant of a motion", decoupled, f"d/dt {names[worst]} = {rates[worst]:.6g}, not 0")
    kind = "steady motion" if moving.any() else "equilibrium"
    if residuals.derivatives_depend_on_time:
        return StateKind(kind, decoupled, "the linear equations depend on time explicitly")
    rest = [i for i in range(len(units)) if i not in decoupled]
    if (
        residuals.depends_on_time
        and not moving.any()
        and not _is_constant_equilibrium(residuals, found, chosen, forces, units)
    ):
        return StateKind("instant of a motion", decoupled, "forces or drives change with time")
    if (moving.any() or residuals.depends_on_time) and not _is_time_invariant(
        residuals, found, linear, forces, rest, units
    ):
        return StateKind("instant of a motion", decoupled, "the linear equations change along the motion")
    return StateKind(kind, decoupled)


def _rates(residuals: Residuals, found: SolvedState, chosen: tuple[int, ...]) -> np.ndarray:
    """ẋ of the states at the point."""
    return np.concatenate(
        [found.point.qd[list(chosen)], residuals.at(found.point)[residuals.row_slices["speed_rates"]]]
    )


def _is_constant_equilibrium(
    residuals: Residuals, found: SolvedState, chosen: tuple[int, ...], forces: np.ndarray | None, units: np.ndarray
) -> bool:
    """True if an equilibrium is an equilibrium at other times of the model, too."""
    point, scales, facts = found.point, found.facts.scales, found.facts
    for fraction in _OTHER_TIMES:
        other = solved_at(residuals, point.q, point.qd, point.t + fraction * scales.duration, point.parameters, forces)
        error = (
            residuals.at(other.point)[residuals.row_slices["position"]]
            / np.array(facts.sizes)[: facts.levels.n_holonomic]
        )
        rates = _rates(residuals, other, chosen) / units * scales.time
        if np.abs(np.concatenate([error, rates])).max(initial=0.0) > _EQUAL:
            return False
    return True


def _is_time_invariant(
    residuals: Residuals,
    found: SolvedState,
    linear: ReducedSystem,
    forces: np.ndarray | None,
    rest: list[int],
    units: np.ndarray,
) -> bool:
    """True if the equations of the coupled states are the same a short time later."""
    scales = found.facts.scales
    moving = float((np.abs(found.point.qd) / scales.positions).max(initial=0.0))
    fastest = max(1 / scales.time, moving, float(np.abs(np.linalg.eigvals(linear.A)).max(initial=0.0)))
    try:
        later = _integrated(residuals, found, forces, _CHECK_TIME / fastest)
        new = reduced(later, linear.chosen)
    except SingularError:  # the motion reaches a singular configuration
        return False
    change = np.abs(new.A - linear.A) * units / units[:, None] * scales.time
    size = max(1.0, float((np.abs(linear.A) * units / units[:, None] * scales.time).max(initial=0.0)))
    rates = np.abs(_rates(residuals, later, linear.chosen)) / units * scales.time
    return bool(change[np.ix_(rest, rest)].max(initial=0.0) < _EQUAL * size and rates[rest].max(initial=0.0) < _EQUAL)


def _integrated(residuals: Residuals, found: SolvedState, forces: np.ndarray | None, duration: float) -> SolvedState:
    """The state after `duration`, by the classical Runge–Kutta method."""
    point, h, n = found.point, duration / _STEPS, len(found.point.q)

    def at(x: np.ndarray, t: float) -> SolvedState:
        return solved_at(residuals, x[:n], x[n:], t, point.parameters, forces)

    def rates(x: np.ndarray, t: float) -> np.ndarray:
        return np.concatenate([x[n:], at(x, t).point.qdd])

    x, t = np.concatenate([point.q, point.qd]), point.t
    for _ in range(_STEPS):
        a = rates(x, t)
        b = rates(x + h / 2 * a, t + h / 2)
        c = rates(x + h / 2 * b, t + h / 2)
        d = rates(x + h * c, t + h)
        x, t = x + h / 6 * (a + 2 * b + 2 * c + d), t + h
    return at(x, t)
