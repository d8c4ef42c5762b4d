"""A model at a random point of the prime field: a state on its constraints, and every formalism evaluated there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Array, zeros
from dalembert.algebra.field import P, residue
from dalembert.algebra.nodes import Node, exact, node, ordered, symbol
from dalembert.algebra.points import NoRoot, Point
from dalembert.algebra.residues import EXACT, eliminated, residues, solve
from dalembert.equations import LinearForm
from dalembert.kinematics import non_ideal_forces
from dalembert.structure import System

_TRIES = 20_000
_PARTIAL = frozenset(("sqrt", "pow", "log", "asin", "acos", "atan", "atan2"))


@dataclass(frozen=True)
class ExactState:
    """A point, and velocities q̇ on the constraints there; positions are free, since no equation asks more of them."""

    system: System
    point: Point
    qd: tuple[int, ...]

    @property
    def known(self) -> dict[Node, int]:
        """The velocities by their symbols."""
        return dict(zip(nodes(self.system.qd), self.qd, strict=True))

    def at(self, array: Array, known: Mapping[Node, int] | None = None) -> Array:
        """An array of the graph as residues, in its shape."""
        flat = self.point.values(nodes(array), self.known if known is None else known)
        return residues(flat).reshape(np.shape(array))


def nodes(array: Array) -> list[Node]:
    """The entries of an array as nodes."""
    return [node(e) for e in np.asarray(array, dtype=object).ravel()]


def exact_state(system: System, roots: Sequence[Node], seed: int, *, generic: bool) -> tuple[ExactState, int]:
    """A random state at which all roots exist, and the next seed; parameters are random where `generic`, else their values."""
    values = {} if generic else _values(system)
    needed = _asked(system, roots)
    for trial in range(seed, seed + _TRIES):
        point = Point(trial, roots, values)
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


def _values(system: System) -> dict[str, int]:
    return {name: residue(exact(value)) for name, value in system.model.parameter_values.items()}


def _velocity_level(system: System) -> tuple[Array, Array]:
    """a and b of the independent rows a q̇ + b = 0 that hold at every state: linear ones, without feedback."""
    levels = system.facts.levels
    rows = [i for i in system.facts.rows if levels.linear[i] and not levels.servo[i]]
    return system.constraints.A[rows], system.constraints.b[rows]


def _velocities(system: System, point: Point) -> tuple[int, ...]:
    """Random velocities, of which as many as there are constraints are solved for."""
    a, b = _velocity_level(system)
    n = len(system.q)
    qd = [point.draw() for _ in range(n)]
    if not len(b):
        return tuple(qd)
    left = residues(point.values(nodes(a))).reshape(a.shape)
    right = residues(point.values(nodes(b)))
    reduced, pivots = eliminated(np.concatenate([left, -right[:, None]], axis=1), n)
    for row, j in zip(reduced, pivots, strict=False):
        rest = sum(row[k].a * qd[k] for k in range(n) if k not in pivots)
        qd[j] = (row[n].a - rest) % P
    return tuple(qd)


@dataclass(frozen=True)
class Solved:
    """Accelerations, multipliers and reactions of one formalism at an exact state."""

    qdd: Array
    reaction: Array


def solved(form: LinearForm, reaction: Array | None, state: ExactState) -> Solved:
    """What a form gives at a state; `reaction` is its own formula in (q, q̇, q̈, t), None where it is Jᵀλ + C."""
    known = form_symbols(form, state)
    M, f, A, beta, C, W, bias = (
        state.at(part, known) for part in (form.M, form.f, form.A, form.beta, form.C, form.W, form.qdd_bias)
    )
    J = A if form.J is None else state.at(form.J, known)
    x, lam = _solution(form, M, f, A, beta, C, J)
    vd = x[: len(form.v)]
    qdd = W @ vd + bias
    if reaction is not None:
        accelerations = dict(zip(nodes(form.system.qdd), (e.a for e in qdd), strict=True))
        return Solved(qdd, state.at(reaction, known | state.known | accelerations))
    lam = lam if len(lam) or form.J is None else x[len(form.v) : len(form.v) + len(form.J)]
    out = J.T @ lam if len(lam) else zeros(len(qdd))
    extra = non_ideal_forces(form.system.motion)
    return Solved(qdd, out + state.at(extra) if len(extra) else out)


def form_symbols(form: LinearForm, state: ExactState) -> dict[Node, int]:
    """Values for the velocity variables and constants of the motion of a form."""
    known = state.known
    own = state.point.values(nodes(form.v_from_qd) + nodes(form.constants_from), known)
    return {**known, **dict(zip(nodes(form.v) + nodes(form.constants), own, strict=True))}


def _solution(form: LinearForm, M: Array, f: Array, A: Array, beta: Array, C: Array, J: Array) -> tuple[Array, Array]:
    """v̇ and λ: by the formalism's own road over the field, or by elimination of the whole system."""
    if form.solver is not None:
        k = len(form.system.facts.levels.names)
        rows = list(form.system.facts.rows) if len(beta) == k else list(range(len(beta)))
        x, lam = form.solver.graph(EXACT, M, f, A[rows], beta[rows], C)
        full = zeros(len(beta))
        full[rows] = lam
        return x, full
    push = f + C if len(C) else f
    n, r = len(push), len(beta)
    if not r:
        return solve(M, push), zeros(0)
    whole = zeros(n + r, n + r)
    whole[:n, :n], whole[:n, n:], whole[n:, :n] = M, -J.T, A
    found = solve(whole, np.concatenate([push, beta]))
    return found[:n], found[n:]
