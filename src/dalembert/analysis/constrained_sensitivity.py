"""Derivatives on the constraints: a start and its derivatives that fulfil them, and the correction of drift.

A direction stays on the constraints c(q, q̇, t; p) = 0 where c′ = c_z z′ = 0 and c″ = c_zz[z′, z′] + c_z z″ = 0, positions first.
What is missing is made up along N = M⁻¹Aᵀ, the way of least motion in the metric of the masses: z′ − N (A N)⁻¹ c′.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.analysis.directional_derivatives import Differentials, Directions, Varied, with_time
from dalembert.codegen.function import nodes
from dalembert.codegen.program import program_of
from dalembert.errors import InconsistentStateError, InputError, nearest
from dalembert.mechanics import rank
from dalembert.mechanics.constraint_rows import dimensionless
from dalembert.model.initial_state import Start, coordinate_name, start_state
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.constraint_manifold import Manifold
from dalembert.symbolic.algebra_base import stack, vector

_ROUNDS = 30


@dataclass(frozen=True)
class Ways:
    """Along which positions and velocities are corrected, (n, rows) each."""

    q: np.ndarray
    qd: np.ndarray


@dataclass(frozen=True)
class Constrained:
    """The constraints of equations in q̇, with their derivatives along directions."""

    equations: BoundEquations
    directions: Directions

    @property
    def any(self) -> bool:
        """True where there are constraints."""
        return bool(self._manifold.rows)

    @property
    def _manifold(self) -> Manifold:
        return self.equations.workspace.manifold

    @cached_property
    def _functions(self) -> Differentials:
        """φ and the velocity residual of (q, q̇, t), independent rows."""
        kept, key = self.equations.kernel.kept, ("constraints", self.directions.parameters)
        if key not in kept:
            space, held = self.equations.workspace, self._manifold
            system, known = space.system, space.system.constraints
            outputs = nodes(system.algebra, stack(known.phi[held.holonomic], known.velocity[held.rows]))
            inputs = [str(x) for x in stack(system.q, system.qd, vector([system.t]))]
            program = program_of(outputs, inputs, list(system.model.parameter_values))
            kept[key] = Differentials(program, self.directions.parameters, space.engine)
        return kept[key]

    def ways(self, y: np.ndarray, t: float, free: np.ndarray | None = None) -> Ways:
        """N at a state; coordinates that are not free stay where they are."""
        n, held = len(y) // 2, self._manifold
        _, _, A, M = held.evaluate(y[:n], y[n:], t, self.equations.values)
        free = np.ones(n, dtype=bool) if free is None else free
        N = np.zeros((n, len(A)))
        N[free] = np.linalg.solve(M[np.ix_(free, free)], A[:, free].T)
        return Ways(N[:, held.holonomic], N[:, held.rows])

    def tangent(self, y: Varied, t: float, ways: Ways | None = None) -> Varied:
        """The derivatives of a state on the constraints, projected onto them."""
        if not self.any or not len(self.directions):
            return y
        n, held = len(y.value) // 2, self._manifold
        ways = self.ways(y.value, t) if ways is None else ways
        _, _, A, _ = held.evaluate(y.value[:n], y.value[n:], t, self.equations.values)
        k, first, second = len(held.holonomic), y.first.copy(), None if y.second is None else y.second.copy()
        levels = (
            (slice(0, n), slice(0, k), ways.q, A[held.holonomic]),
            (slice(n, None), slice(k, None), ways.qd, A[held.rows]),
        )
        for own, rows, N, slopes in levels:
            if N.shape[1]:
                first[own] -= N @ np.linalg.solve(slopes @ N, self._rates(y.value, t, first).first[rows])
        if second is None:
            return Varied(y.value, first)
        for own, rows, N, slopes in levels:
            if N.shape[1]:
                found = self._rates(y.value, t, first, second).second
                assert found is not None
                second[own] -= np.einsum("nr,rij->nij", N @ np.linalg.inv(slopes @ N), found[rows])
        return Varied(y.value, first, second)

    def _rates(self, y: np.ndarray, t: float, first: np.ndarray, second: np.ndarray | None = None) -> Varied:
        """c, c′ and c″; time stands still."""
        return self._functions(with_time(Varied(y, first, second), t), self.equations.values, self.directions.moved)

    def placed(self, y: np.ndarray, t: float, ways: Ways) -> np.ndarray:
        """The state on the constraints that is reached from y along N, positions first."""
        n, held, y = len(y) // 2, self._manifold, y.copy()
        facts = held.system.facts
        sizes = np.array(facts.sizes)
        for position in (True, False):
            rows, N = (held.holonomic, ways.q) if position else (held.rows, ways.qd)
            small = sizes[rows] * 4e-16 / (1.0 if position else facts.scales.time)
            own, last = slice(0, n) if position else slice(n, None), np.inf
            for _ in range(_ROUNDS if rows else 0):
                phi, residual, A, _ = held.evaluate(y[:n], y[n:], t, self.equations.values)
                off = phi[rows] if position else residual[rows]
                left = float(np.max(np.abs(off) / small))
                if left <= 1.0 or (left < 1e4 and left >= last):
                    break
                y[own] -= N @ np.linalg.solve(A[rows] @ N, off)
                last = left
            else:
                if rows:
                    raise InconsistentStateError(
                        f"sensitivity: the start of model '{self.equations.model.name}' cannot be brought onto the constraints "
                        "with these values of the parameters. Give other values, or another start by q0."
                    )
        return y

    def free(self, y: np.ndarray, t: float, keep: set[int]) -> np.ndarray:
        """Which coordinates may move to fulfil the constraints; raises where too many are fixed."""
        n, held = len(y) // 2, self._manifold
        free = np.array([i not in keep for i in range(n)])
        if not self.any or not keep:
            return free
        facts = held.system.facts
        _, _, A, _ = held.evaluate(y[:n], y[n:], t, self.equations.values)
        unit = facts.scales.positions
        rows = dimensionless(A, unit, np.array(facts.sizes))[held.rows]
        if int(rank.numeric_rank(rows[:, free], unit[free])) < len(held.rows):
            names = self.equations.model.coordinate_names
            raise InconsistentStateError(
                f"sensitivity: with the start of {', '.join(names[i] for i in sorted(keep))} given, the constraints of model "
                f"'{self.equations.model.name}' leave the other coordinates no way to follow. Name fewer starts."
            )
        return free


@dataclass(frozen=True)
class Origin:
    """The start as a function of what is differentiated by."""

    directions: Directions
    t: float
    given: Differentials  # (q, q̇) before projection, as functions of the parameters
    ways: Ways | None  # along which the constraints are fulfilled; None where there are none

    def at(self, equations: BoundEquations, starts: Mapping[str, float], order: int) -> Varied:
        """The start and its derivatives, with the parameters of the equations and values of named starts."""
        k = len(self.directions)
        nothing = Varied(np.zeros(0), np.zeros((0, k)), np.zeros((0, k, k)))
        count = len(self.given.program.parameters)
        y = self.given(nothing, equations.values[:count], self.directions.moved)
        value = y.value.copy()
        for name, place in zip(self.directions.names, self.directions.places, strict=True):
            if place is not None and name in starts:
                value[place] = starts[name]
        found = Varied(value, y.first + self.directions.started, y.second if order == 2 else None)
        if self.ways is None:
            return found
        constrained = Constrained(equations, self.directions)
        placed = constrained.placed(found.value, self.t, self.ways)
        return constrained.tangent(Varied(placed, found.first, found.second), self.t, self.ways)


def origin_of(
    equations: BoundEquations, directions: Directions, q0: Start, qd0: Start, t0: float, keep: Sequence[str]
) -> Origin:
    """The start of equations; those in `keep` stay where they are, as named starts do."""
    model = equations.model
    for name in keep:
        if name not in model.coordinate_names:
            raise InputError(
                f"sensitivity, keep: there is no coordinate '{name}'. {nearest(name, model.coordinate_names)}"
            )
    given = _given(equations, directions, q0, qd0)
    constrained = Constrained(equations, directions)
    if not constrained.any:
        return Origin(directions, t0, given, None)
    y = np.concatenate(start_state(model.with_parameters(_changed(equations)), q0, qd0))
    kept = directions.kept | {model.coordinate_names.index(name) for name in keep}
    return Origin(directions, t0, given, constrained.ways(y, t0, constrained.free(y, t0, kept)))


def _changed(equations: BoundEquations) -> dict[str, float]:
    names = equations.model.parameter_values
    return {name: value for name, value in equations.changes.items() if name in names and "(" not in name}


def _given(equations: BoundEquations, directions: Directions, q0: Start, qd0: Start) -> Differentials:
    """(q, q̇) as they are given, numbers or formulas of parameters, as functions of the parameters."""
    model, system = equations.model, equations.workspace.system
    names = model.coordinate_names
    formulas = []
    for start, usual, where in ((q0, model.initial[0], "q0"), (qd0, model.initial[1], "qd0")):
        written = {} if not isinstance(start, Mapping) else {coordinate_name(key): x for key, x in start.items()}
        plain = start_state(model, start, None)[0] if where == "q0" else start_state(model, None, start)[1]
        for name, value in zip(names, plain if start is not None else usual, strict=True):
            text = written.get(name)
            formula = model.formula(text, f"sensitivity, {where}", constant=True) if isinstance(text, str) else None
            formulas.append(float(value) if formula is None else system.motion.lower(formula))
    program = program_of(nodes(system.algebra, vector(formulas)), [], list(model.parameter_values))
    return Differentials(program, directions.parameters, "python")
