"""The programs that runs integrate, evaluated at states: each returns ẏ = (q̇, v̇, powers) from the compiled object of a run.

- the integrated right-hand side: the machine code for one state that the compiled integrators call, or the Python function;
- SIMD lanes: the machine code with one state per lane that sweeps use, in full and in partial tiles;
- the Taylor program: the recurrences that `taylor` integrates; their coefficients of order 1 are ẏ.

ẏ is compared with the velocities of the state, with the reference accelerations of all formulations, q̈ = W v̇ + b, and with the
powers of loads and constraints at these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dalembert.api.equations import Equations
from dalembert.api.tree_equations import TreeEquations
from dalembert.codegen.function import NativeFunction
from dalembert.codegen.taylor_series import rates_of_series
from dalembert.errors import EngineError
from dalembert.evidence.agreement import (
    Reference,
    difference_of_accelerations,
    difference_of_momentum_rates,
    largest_ratio,
)
from dalembert.formalisms.shared.common_quantities import powers_into
from dalembert.formalisms.shared.linear_form import LinearForm, LinearSystem
from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.state_batch import States
from dalembert.mechanics.system import System
from dalembert.recursive.plan import read_state
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.mode_changes import mode_manager_of
from dalembert.simulation.right_hand_side import RightHandSide, stacked
from dalembert.simulation.segment_problem import has_series
from dalembert.symbolic.algebra_base import Array, zeros
from dalembert.symbolic.nodes import Node, node, ordered, symbol
from dalembert.symbolic.operations import exact
from dalembert.symbolic.prime_field import (
    EXACT,
    Residue,
    Value,
    as_residues,
    eliminated,
    is_square,
    narrow,
    residue,
    solve,
)
from dalembert.symbolic.random_points import NoRoot, RandomPoint, Root, root_beyond

NUMERICALLY_SOLVED = "runs solve these equations numerically at every step: there is no optimized program"
_MAX_TRIALS = 20_000
_PARTIAL_FUNCTIONS = frozenset(("sqrt", "pow", "log", "asin", "acos", "atan", "atan2"))


class NotRun(Exception):
    """No run uses such a program here; the message is the reason."""


@dataclass(frozen=True)
class Batch:
    """A batch of states y = (q, v) in the variables of the integrated equations, with times and constants."""

    equations: BoundEquations
    y: np.ndarray
    t: np.ndarray
    values: np.ndarray  # parameters, (parameters, K); those that fix conditions differ between states
    constants: np.ndarray  # parameters and constants of the motion
    first: bool = False  # True for the reference formulation

    @property
    def kernel(self) -> RightHandSide:
        """The compiled equations."""
        return self.equations.kernel

    @property
    def inputs(self) -> np.ndarray:
        """Inputs (q, v, t) of every state, (inputs, K)."""
        return stacked(self.y, self.t)


def batch_of(equations: BoundEquations, states: States, values: np.ndarray | None = None, first: bool = False) -> Batch:
    """Return the states in the variables of a formulation; `values` reuses the result of `condition_values`."""
    run = run_equations(equations)
    values = condition_values(equations, states) if values is None else values
    v, motion_constants = run.kernel.start(states.q, states.qd, states.t, values)
    return Batch(
        run, np.concatenate([states.q, v]), states.t, values, np.concatenate([values, motion_constants]), first
    )


def run_equations(equations: BoundEquations) -> BoundEquations:
    """Return the equations that a run integrates; if conditions switch, each is fixed by a parameter."""
    mode_manager = mode_manager_of(equations)
    return equations if mode_manager is None else mode_manager.equations


def condition_values(equations: BoundEquations, states: States) -> np.ndarray:
    """Return the parameter values of `run_equations` at every state, (parameters, K)."""
    mode_manager, model = mode_manager_of(equations), equations.model
    if mode_manager is None:
        return np.repeat(equations.values[:, None], len(states), axis=1)
    found = [
        mode_manager.evaluate_modes(float(t), q, qd) for q, qd, t in zip(states.q.T, states.qd.T, states.t, strict=True)
    ]
    unit_forces = {name: model.parameter_values[name] for known in model.rigid for name in known.parameters}
    return np.stack([replace(each, changes=each.changes | unit_forces).values for each in found], axis=1)


def integrated_rates(batch: Batch) -> np.ndarray:
    """Return ẏ (states, K), state by state, from the function whose machine code the integrators call."""
    function, columns = batch.kernel.rates_function, zip(batch.inputs.T, batch.constants.T, strict=True)
    return np.stack([function(np.ascontiguousarray(x), np.ascontiguousarray(p)) for x, p in columns], axis=1)


def lane_rates(batch: Batch) -> np.ndarray:
    """Return ẏ (states, K) from the SIMD code: a full tile, partial tiles of every size, then the remaining states."""
    function, x, p = batch.kernel.rates_function, batch.inputs, batch.constants
    if not isinstance(function, NativeFunction):
        raise NotRun("solved numerically, state by state: sweeps integrate them one at a time")
    ends = np.minimum(np.cumsum([0, function.lanes, *range(1, function.lanes), len(x.T)]), len(x.T))
    return np.concatenate([function(x[:, a:b], p[:, a:b]) for a, b in pairwise(ends.tolist()) if b > a], axis=1)


def taylor_rates(batch: Batch) -> np.ndarray:
    """Return ẏ (states, K) from the series that runs integrate: their coefficients of order 1."""
    if not has_series(batch.equations):
        raise NotRun("solved numerically, without a Taylor series: runs use dop853")
    try:
        table = batch.kernel.series
    except EngineError as error:  # a long table
        raise NotRun(str(error)) from None
    out = np.empty((len(table.outputs), len(batch.t)))
    columns = (np.ascontiguousarray(part, dtype=float) for part in (batch.constants, batch.t, batch.y))
    rates_of_series(table, *columns, out)
    return out


# keyed by the names in reports
PROGRAMS: Mapping[str, Callable[[Batch], np.ndarray]] = {
    "integrated right-hand side": integrated_rates,
    "SIMD lanes": lane_rates,
    "Taylor program": taylor_rates,
}


def _powers(system: System) -> Array:
    return powers_into(system)[1]


def difference_of_rates(rates: np.ndarray, batch: Batch, states: States, known: Reference) -> float:
    """Return the largest relative difference of ẏ from the known velocities, accelerations and powers."""
    kernel, space, n, size = batch.kernel, batch.equations.workspace, len(states.q), len(batch.y)
    qdd = kernel.second_rates(batch.y, batch.t, batch.constants, rates[n:size])
    speed = np.abs(states.qd / known.unit).max(axis=0, initial=0.0)
    rate_scale = np.maximum(speed, 1 / space.facts.scales.time)
    same = np.abs(rates[:n] - states.qd) <= _inconsistency(batch, states)
    qd = np.where(same, rates[:n], states.qd)
    if batch.equations.about.velocities.are_momenta:
        rate_scale = rate_scale * known.magnification  # of q̇ = M⁻¹ p
        second = difference_of_momentum_rates(qdd, states.qd, known)
    else:
        second = difference_of_accelerations(qdd, known)
    found = [second, largest_ratio((rates[:n] - qd) / known.unit, rate_scale)]
    if kernel.working:
        names, state = powers_into(space.system)[0], (states.q, qd, known.qdd)
        powers = dict(zip(names, space.evaluated(_powers, state, states.t, batch.values), strict=True))
        for name, rate in zip(kernel.working, rates[size:], strict=True):
            power = powers.get(name, 0.0)  # dirac lists constraints whose power vanishes only if all constraints hold
            found.append(largest_ratio((rate - power)[None], np.maximum(known.force_scale * rate_scale, np.abs(power))))
    return max(found)


def _inconsistency(batch: Batch, states: States) -> np.ndarray:
    """Return the admissible difference of velocities from those of the speeds: they satisfy the constraints to rounding.

    If constraints are nearly dependent, a small residual is a large change of velocities, |A⁺ (A q̇ + b)|.
    """
    space = batch.equations.workspace
    rows = list(space.facts.rows)
    if not rows:
        return np.zeros(len(states))
    _, residual, A, _ = space.manifold.evaluate(states.q, states.qd, states.t, batch.values)
    off = np.linalg.pinv(np.moveaxis(A[rows], -1, 0)) @ residual[rows].T[..., None]
    return 10 * np.linalg.norm(off[..., 0], axis=1)


def tree_difference(equations: TreeEquations, states: States, known: Reference) -> float:
    """Return the largest relative difference for a large tree, whose recursion a run calls state by state."""
    plan, n = equations.plan, equations.plan.tree.n
    state = read_state(plan, states.q, states.qd, states.t)
    y = np.concatenate([state.q, state.s, np.zeros((len(equations.work_sources), len(states)))])
    rates = np.stack([equations.rates(float(t), y[:, k]) for k, t in enumerate(states.t)], axis=1)
    return difference_of_accelerations(state.shaped(state.second_rates(rates[n : equations.n_states])), known)


@dataclass(frozen=True)
class OptimizedRates:
    """Right-hand side of one formulation before and after optimization, as nodes of the graph."""

    kernel: RightHandSide
    raw: Array
    optimized: Array
    fixed_conditions: bool  # conditions are parameters here, selections in the formulations: accelerations differ

    @property
    def roots(self) -> list[Node]:
        """Everything that is evaluated."""
        velocity = self.kernel.form.velocity
        return [y for part in (self.raw, self.optimized, velocity.W, velocity.qdd_bias) for y in nodes(part)]

    def differences(self, state: ExactState, known: FormSolution) -> Iterator[str]:
        """Yield the differences of the optimized rates from the raw ones and from the proved accelerations."""
        form = self.kernel.form
        table = form_symbols(form, state)
        raw, optimized = (state.at(part, table, state.point.any_root) for part in (self.raw, self.optimized))
        names = [str(x) for x in self.kernel.state_symbols]
        if wrong := [name for name, a, b in zip(names, raw, optimized, strict=True) if a != b]:
            yield f"the rates of {', '.join(wrong)} in the optimized program differ from the proved ones"
        if self.fixed_conditions:
            return
        n, m = len(form.system.q), form.n_states
        optimized, W, bias = (
            state.at(part, table, root_beyond) for part in (self.optimized, form.velocity.W, form.velocity.qdd_bias)
        )
        qdd = W @ optimized[n:m] + bias
        if not (qdd == known.qdd).all():
            yield "the accelerations of the optimized program differ from the proved ones"
        if form.own_multipliers is None and not (optimized[:n] == as_residues(state.qd)).all():
            yield "the velocities of the optimized program differ from the proved ones"


def optimized_rates(equations: Equations) -> OptimizedRates | None:
    """Return the right-hand side that a run integrates; None if the equations are solved numerically."""
    run = run_equations(equations)
    kernel = run.kernel
    if not kernel.fused:
        return None
    optimized = np.array(kernel.shortened_rates, dtype=object)
    return OptimizedRates(kernel, kernel.rates, optimized, fixed_conditions=run is not equations)


@dataclass(frozen=True)
class ExactState:
    """A point with velocities q̇ that satisfy the constraints there; positions are free, as no equation restricts them."""

    system: System
    point: RandomPoint
    qd: tuple[Value, ...]

    @property
    def known(self) -> dict[Node, Value]:
        """Velocities keyed by their symbols."""
        return dict(zip(nodes(self.system.qd), self.qd, strict=True))

    def at(self, array: Array, known: Mapping[Node, Value] | None = None, root: Root | None = None) -> Array:
        """Evaluate an array of nodes as residues of the same shape; `root` replaces the square root of the field."""
        flat = self.point.values(nodes(array), self.known if known is None else known, root=root)
        return as_residues(flat).reshape(np.shape(array))


def nodes(array: Array) -> list[Node]:
    """Return the entries of an array as nodes."""
    return [node(e) for e in np.asarray(array, dtype=object).ravel()]


def exact_state(
    system: System, roots: Sequence[Node], seed: int, *, generic: bool, more: Sequence[Node] = ()
) -> tuple[ExactState, int]:
    """Return a random state at which all roots exist, and the next seed; parameters are random if `generic`.

    `more` is also evaluated there, but with square roots in an extension of the field.
    """
    values = {} if generic else _values(system)
    needed = _partial_nodes(system, roots)
    for trial in range(seed, seed + _MAX_TRIALS):
        point = RandomPoint(trial, [*roots, *more], values)
        try:
            qd = _velocities(system, point)
            state = ExactState(system, point, qd)
            point.values(needed, state.known)
            return state, trial + 1
        except (NoRoot, ZeroDivisionError):
            continue
    raise NoRoot(f"none of {_MAX_TRIALS} random points has all square roots that the model requires")


def _partial_nodes(system: System, roots: Sequence[Node]) -> list[Node]:
    """Return roots, powers and logarithms of quantities of the state: they do not exist at every point."""
    own = {*nodes(system.q), *nodes(system.qd), symbol("t"), *map(symbol, system.model.parameter_values)}
    known: dict[Node, bool] = {}
    for y in ordered(roots):
        known[y] = y in own if y.operation == "symbol" else all(known[a] for a in y.arguments)
    return [y for y, sure in known.items() if sure and y.operation in _PARTIAL_FUNCTIONS]


def roots_are_independent(system: System, roots: Sequence[Node], *, generic: bool) -> bool:
    """Return True if no product of radicands is a perfect square, so that their roots can have any signs; tested at points.

    Only then does an identity hold for all signs of the roots if it holds for one: √(x²) = x holds at half of the points.
    """
    values = {} if generic else _values(system)
    radicands = [y.arguments[0] for y in _partial_nodes(system, roots) if y.operation in ("sqrt", "pow")]
    radicands = [y for y in dict.fromkeys(radicands) if y.operation != "constant"]
    nonsquares: list[int] = []  # for each point the radicands that are not squares there, as bits
    columns: list[int] | None = None
    for seed in range(64 + 2 * len(radicands) if radicands else 0):
        point = RandomPoint(seed, roots, values)
        try:
            found = [x for x in point.values(radicands) if isinstance(x, int)]
        except NoRoot:
            continue
        if len(found) < len(radicands):
            return False
        columns = columns or [i for i, x in enumerate(found) if found.index(x) == i]  # equal ones count once
        nonsquares.append(sum(1 << k for k, i in enumerate(columns) if not is_square(found[i])))
    return (columns is None and not radicands) or (columns is not None and _binary_rank(nonsquares) == len(columns))


def _binary_rank(rows: Sequence[int]) -> int:
    """Return the rank over GF(2) of rows of bits."""
    basis: list[int] = []
    for row in rows:
        for known in basis:
            row = min(row, row ^ known)
        if row:
            basis.append(row)
    return len(basis)


def _values(system: System) -> dict[str, int]:
    return {name: residue(exact(value)) for name, value in system.model.parameter_values.items()}


def _velocities(system: System, point: RandomPoint) -> tuple[Value, ...]:
    """Return random velocities; as many as there are constraints are solved for."""
    # a and b of the independent rows a q̇ + b = 0 that hold at every state: linear rows without feedback
    levels = system.facts.levels
    rows = [i for i in system.facts.rows if levels.linear[i] and not levels.servo[i]]
    a, b = system.constraints.A[rows], system.constraints.b[rows]
    n = len(system.q)
    qd: list[Value] = [point.draw() for _ in range(n)]
    if not len(b):
        return tuple(qd)
    left = as_residues(point.values(nodes(a))).reshape(a.shape)
    right = as_residues(point.values(nodes(b)))
    reduced, pivots = eliminated(np.concatenate([left, -right[:, None]], axis=1), n)
    for row, j in zip(reduced, pivots, strict=False):
        qd[j] = narrow(row[n] - sum((row[k] * qd[k] for k in range(n) if k not in pivots), start=Residue(0)))
    return tuple(qd)


@dataclass(frozen=True)
class FormSolution:
    """Accelerations and reactions of one formulation at an exact state."""

    qdd: Array
    reaction: Array


def explicit_solution(form: LinearForm) -> tuple[Array, Array] | None:
    """Return v̇ and λ over the graph if the formulation's own solver uses more than the linear system."""
    own = form.solver
    if own is None or own.graph is None or not own.uses_other_data:
        return None
    return own.graph(form.system.algebra, form.independent)


def solve_form(
    form: LinearForm, reaction: Array | None, state: ExactState, known_solution: tuple[Array, Array] | None = None
) -> FormSolution:
    """Solve a form at a state; `reaction` is its own formula in (q, q̇, q̈, t), None for Jᵀλ + C."""
    known = form_symbols(form, state)
    linear = form.independent.each(lambda part: state.at(part, known))
    if known_solution is None:
        x, lam = _solution(form, linear)
    else:
        x, lam = (state.at(part, known) for part in known_solution)
    W, bias = state.at(form.velocity.W, known), state.at(form.velocity.qdd_bias, known)
    qdd = W @ x[: len(form.velocity.v)] + bias
    if reaction is not None:
        accelerations = dict(zip(nodes(form.system.qdd), map(narrow, qdd), strict=True))
        return FormSolution(qdd, state.at(reaction, known | state.known | accelerations))
    own = form.own_multipliers
    J = linear.directions if own is None else state.at(own.J, known)
    out, C = J.T @ form.multipliers(x, lam), non_ideal_forces(form.system.motion)
    return FormSolution(qdd, out if C is None else out + state.at(C))


def form_symbols(form: LinearForm, state: ExactState) -> dict[Node, Value]:
    """Return the values of the velocity variables and constants of the motion of a form."""
    known = state.known
    own = state.point.values(nodes(form.velocity.v_from_qd) + nodes(form.constants.values), known)
    return {**known, **dict(zip(nodes(form.velocity.v) + nodes(form.constants.symbols), own, strict=True))}


def _solution(form: LinearForm, linear: LinearSystem) -> tuple[Array, Array]:
    """Solve for v̇ and λ by the formulation's own solver over the field, or by elimination of the full system."""
    if form.solver is not None and form.solver.graph is not None:
        return form.solver.graph(EXACT, linear)
    if not linear.constrained:
        return solve(linear.M, linear.push), zeros(0)
    n, r = len(linear.push), len(linear.beta)
    matrix = zeros(n + r, n + r)
    matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = linear.M, -linear.directions.T, linear.A
    found = solve(matrix, np.concatenate([linear.push, linear.beta]))
    return found[:n], found[n:]
