"""A model at a random point of the prime field: a state on its constraints, and every formalism evaluated there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.formalisms.shared.linear_form import LinearForm, LinearSystem
from dalembert.mechanics.applied_forces import non_ideal_forces
from dalembert.mechanics.system import System
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
from dalembert.symbolic.random_points import NoRoot, Point, Root

_TRIES = 20_000
_PARTIAL = frozenset(("sqrt", "pow", "log", "asin", "acos", "atan", "atan2"))


@dataclass(frozen=True)
class ExactState:
    """A point, and velocities q̇ on the constraints there; positions are free, since no equation asks more of them."""

    system: System
    point: Point
    qd: tuple[Value, ...]

    @property
    def known(self) -> dict[Node, Value]:
        """The velocities by their symbols."""
        return dict(zip(nodes(self.system.qd), self.qd, strict=True))

    def at(self, array: Array, known: Mapping[Node, Value] | None = None, root: Root | None = None) -> Array:
        """An array of the graph as residues, in its shape; `root` takes square roots where not the field's own is asked."""
        flat = self.point.values(nodes(array), self.known if known is None else known, root=root)
        return as_residues(flat).reshape(np.shape(array))


def nodes(array: Array) -> list[Node]:
    """The entries of an array as nodes."""
    return [node(e) for e in np.asarray(array, dtype=object).ravel()]


def exact_state(
    system: System, roots: Sequence[Node], seed: int, *, generic: bool, more: Sequence[Node] = ()
) -> tuple[ExactState, int]:
    """A random state at which all roots exist, and the next seed; parameters are random where `generic`, else their values.

    `more` is evaluated there, too, but with square roots of another kind.
    """
    values = {} if generic else _values(system)
    needed = _asked(system, roots)
    for trial in range(seed, seed + _TRIES):
        point = Point(trial, [*roots, *more], values)
        try:
            qd = _velocities(system, point)
            state = ExactState(system, point, qd)
            point.values(needed, state.known)
            return state, trial + 1
        except (NoRoot, ZeroDivisionError):
            continue
    raise NoRoot(f"none of {_TRIES} random points has all roots that the model asks for")


def _asked(system: System, roots: Sequence[Node]) -> list[Node]:
    """The roots, powers and logarithms of what the state itself determines: not every point has them."""
    own = {*nodes(system.q), *nodes(system.qd), symbol("t"), *map(symbol, system.model.parameter_values)}
    known: dict[Node, bool] = {}
    for y in ordered(roots):
        known[y] = y in own if y.operation == "symbol" else all(known[a] for a in y.arguments)
    return [y for y, sure in known.items() if sure and y.operation in _PARTIAL]


def roots_are_independent(system: System, roots: Sequence[Node], *, generic: bool) -> bool:
    """True when no product of radicands is a perfect square, so that their roots can take any signs: witnessed by points.

    Only then does an identity hold for all signs of the roots when it holds for one: √(x²) = x holds at half of the points.
    """
    values = {} if generic else _values(system)
    radicands = [y.arguments[0] for y in _asked(system, roots) if y.operation in ("sqrt", "pow")]
    radicands = [y for y in dict.fromkeys(radicands) if y.operation != "constant"]
    seen: list[int] = []  # for each point the radicands that are no squares there, as bits
    columns: list[int] | None = None
    for seed in range(64 + 2 * len(radicands) if radicands else 0):
        point = Point(seed, roots, values)
        try:
            found = [x for x in point.values(radicands) if isinstance(x, int)]
        except NoRoot:
            continue
        if len(found) < len(radicands):
            return False
        columns = columns or [i for i, x in enumerate(found) if found.index(x) == i]  # equal ones are one
        seen.append(sum(1 << k for k, i in enumerate(columns) if not is_square(found[i])))
    return (columns is None and not radicands) or (columns is not None and _binary_rank(seen) == len(columns))


def _binary_rank(rows: Sequence[int]) -> int:
    """The rank of rows of bits."""
    basis: list[int] = []
    for row in rows:
        for known in basis:
            row = min(row, row ^ known)
        if row:
            basis.append(row)
    return len(basis)


def _values(system: System) -> dict[str, int]:
    return {name: residue(exact(value)) for name, value in system.model.parameter_values.items()}


def _velocity_level(system: System) -> tuple[Array, Array]:
    """a and b of the independent rows a q̇ + b = 0 that hold at every state: linear ones, without feedback."""
    levels = system.facts.levels
    rows = [i for i in system.facts.rows if levels.linear[i] and not levels.servo[i]]
    return system.constraints.A[rows], system.constraints.b[rows]


def _velocities(system: System, point: Point) -> tuple[Value, ...]:
    """Random velocities, of which as many as there are constraints are solved for."""
    a, b = _velocity_level(system)
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
class Solved:
    """Accelerations, multipliers and reactions of one formalism at an exact state."""

    qdd: Array
    reaction: Array


def outright(form: LinearForm) -> tuple[Array, Array] | None:
    """v̇ and λ over the graph, where a formalism's own way knows more than the linear system."""
    own = form.solver
    if own is None or own.graph is None or not own.knows_more:
        return None
    return own.graph(form.system.algebra, form.independent)


def solved(
    form: LinearForm, reaction: Array | None, state: ExactState, known_solution: tuple[Array, Array] | None = None
) -> Solved:
    """What a form gives at a state; `reaction` is its own formula in (q, q̇, q̈, t), None where it is Jᵀλ + C."""
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
        return Solved(qdd, state.at(reaction, known | state.known | accelerations))
    own = form.own_multipliers
    J = linear.directions if own is None else state.at(own.J, known)
    out, C = J.T @ form.multipliers(x, lam), non_ideal_forces(form.system.motion)
    return Solved(qdd, out if C is None else out + state.at(C))


def form_symbols(form: LinearForm, state: ExactState) -> dict[Node, Value]:
    """Values for the velocity variables and constants of the motion of a form."""
    known = state.known
    own = state.point.values(nodes(form.velocity.v_from_qd) + nodes(form.constants.values), known)
    return {**known, **dict(zip(nodes(form.velocity.v) + nodes(form.constants.symbols), own, strict=True))}


def _solution(form: LinearForm, linear: LinearSystem) -> tuple[Array, Array]:
    """v̇ and λ: by the formalism's own road over the field, or by elimination of the whole system."""
    if form.solver is not None and form.solver.graph is not None:
        return form.solver.graph(EXACT, linear)
    if not linear.constrained:
        return solve(linear.M, linear.push), zeros(0)
    n, r = len(linear.push), len(linear.beta)
    whole = zeros(n + r, n + r)
    whole[:n, :n], whole[:n, n:], whole[n:, :n] = linear.M, -linear.directions.T, linear.A
    found = solve(whole, np.concatenate([linear.push, linear.beta]))
    return found[:n], found[n:]
