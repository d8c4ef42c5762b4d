"""Numerical first and second directional derivatives of a program: one direction, or one pair, in each SIMD lane.

With z the inputs and some parameters of y = f(z), and directions z′ and z″ of the first and second order,

    y′ = f_z z′,    y″ = f_zz[z′, z′] + f_z z″.

The same two equations give the variational equations and the derivatives of constraints, observables and event maps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dalembert.codegen.function import CompiledFunction, function_of, nodes
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.errors import InconsistentStateError, InputError, short_repr, suggest_name
from dalembert.mechanics import rank
from dalembert.mechanics.state_batch import dimensionless
from dalembert.model.description import Description
from dalembert.model.evaluation import Start, coordinate_name, start_state
from dalembert.model.values import is_sequence
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.constraint_manifold import Manifold
from dalembert.symbolic.algebra_base import Array, stack, vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import node
from dalembert.symbolic.symbols import SymbolKind, kind_of

_MAX_ITERATIONS = 30


@dataclass(frozen=True)
class WithDerivatives:
    """Values (m, K) with their derivatives along k directions, (m, k, K), and along pairs of them, (m, k, k, K).

    Without a batch the last axis is absent; without second derivatives `second` is None.
    """

    value: np.ndarray
    first: np.ndarray
    second: np.ndarray | None = None

    def _mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> WithDerivatives:
        return WithDerivatives(
            change(self.value), change(self.first), None if self.second is None else change(self.second)
        )

    def __getitem__(self, rows: slice) -> WithDerivatives:
        return self._mapped(lambda x: x[rows])

    def samples(self, where: slice | int | None) -> WithDerivatives:
        """A slice or one sample of the batch; None adds a batch axis."""
        return self._mapped(lambda x: x[..., where])


def with_time(y: WithDerivatives, t: float | np.ndarray) -> WithDerivatives:
    """A state with time appended; time has zero derivatives along all directions."""
    time = np.broadcast_to(np.asarray(t, dtype=float), y.value.shape[1:])[None]
    first = np.concatenate([y.first, np.zeros((1, *y.first.shape[1:]))])
    second = None if y.second is None else np.concatenate([y.second, np.zeros((1, *y.second.shape[1:]))])
    return WithDerivatives(np.concatenate([y.value, time]), first, second)


def pairs(count: int) -> list[tuple[int, int]]:
    """The index pairs i ≤ j of the directions.

    >>> pairs(2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return list(combinations_with_replacement(range(count), 2))


class Differentials:
    """A program with its derivatives along directions of its inputs and of some parameters.

    >>> x, k = GRAPH.symbols(["x", "k"])
    >>> both = Differentials(program_of([k * x * x], ["x"], ["k"]), ["k"])
    >>> along = both(WithDerivatives(np.array([3.0]), np.eye(1, 2), np.zeros((1, 2, 2))), np.array([2.0]), np.eye(1, 2, 1))
    >>> along.value, along.first, along.second.tolist()
    (array([18.]), array([[12.,  9.]]), [[[4.0, 6.0], [6.0, 0.0]]])
    """

    def __init__(self, program: Program, chosen: Sequence[str], engine: str | None = None) -> None:
        self.program, self._engine = program, engine
        self._by = (*program.inputs, *chosen)

    def _symbols(self, depth: int) -> Array:
        """z, or the symbols of the directions with `depth` more derivative brackets."""
        names = list(self._by)
        for _ in range(depth):
            names = [SymbolKind.TANGENT.of(name) for name in names]
        return GRAPH.symbols(names)

    @cached_property
    def _once(self) -> CompiledFunction:
        """y and f_z a of (x, a)."""
        y, a = vector(nodes_of(self.program)), self._symbols(1)
        return self._compiled(stack(y, GRAPH.total_derivative(y, (self._symbols(0), a))), a)

    @cached_property
    def _twice(self) -> CompiledFunction:
        """f_zz[a, b] + f_z c of (x, a, b, c)."""
        y, z = vector(nodes_of(self.program)), self._symbols(0)
        a, b, c = (self._symbols(depth) for depth in (1, 2, 3))
        first = GRAPH.total_derivative(y, (z, a))
        return self._compiled(GRAPH.total_derivative(first, (z, b), (a, c)), a, b, c)

    def _compiled(self, outputs: Array, *more: Array) -> CompiledFunction:
        inputs = [*self.program.inputs, *(str(x) for part in more for x in part)]
        return function_of(
            program_of([node(y) for y in outputs.ravel()], inputs, self.program.parameters), self._engine
        )

    def __call__(self, inputs: WithDerivatives, parameters: np.ndarray, moved: np.ndarray) -> WithDerivatives:
        """y, y′ and, if the inputs have it, y″; `moved` (chosen, k) are the directions of the chosen parameters."""
        x, batch = inputs.value, inputs.value.shape[1:]
        k, count = inputs.first.shape[1], int(np.prod(batch))
        chosen = np.broadcast_to(moved.reshape(*moved.shape, *(1,) * len(batch)), (*moved.shape, *batch))
        a = np.concatenate([inputs.first, chosen])
        out = self._lanes(self._once, x, parameters, [a.reshape(len(a), k, count)], batch)
        m = len(out) // 2
        first = out[m:].reshape(m, k, *batch)
        if inputs.second is None:
            return WithDerivatives(out[:m, 0], first)
        i, j = np.array(pairs(k)).T
        c = np.concatenate([inputs.second, np.zeros((len(moved), k, k, *batch))])[:, i, j]
        directions = [part.reshape(len(a), len(i), count) for part in (a[:, i], a[:, j], c)]
        found = self._lanes(self._twice, x, parameters, directions, batch)
        second = np.empty((m, k, k, *batch))
        second[:, i, j] = second[:, j, i] = found
        return WithDerivatives(out[:m, 0], first, second)

    @staticmethod
    def _lanes(
        function: CompiledFunction,
        x: np.ndarray,
        parameters: np.ndarray,
        directions: list[np.ndarray],
        batch: tuple[int, ...],
    ) -> np.ndarray:
        """The outputs (m, directions, *batch)."""
        k, count = directions[0].shape[1:]
        states = np.repeat(x.reshape(len(x), 1, count), k, axis=1)
        columns = np.concatenate([states, *directions]).reshape(-1, k * count)
        if parameters.ndim == 2:
            parameters = np.tile(parameters, (1, k))
        return function(np.ascontiguousarray(columns), parameters).reshape(-1, k, *batch)


@dataclass(frozen=True)
class Directions:
    """Named directions: a parameter `l`, an initial position `theta(0)`, an initial velocity `dot(theta)(0)`.

    >>> from dalembert.model.model import Model
    >>> model = Model("m").parameters(l=1.0).coordinates("x", "y").description
    >>> found = directions_of(model, ["l", "y(0)", "dot(x)(0)"])
    >>> found.parameters, found.parameter_directions.tolist(), found.initial_directions.T.tolist()
    (('l',), [[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    """

    names: tuple[str, ...]
    state_indices: tuple[int | None, ...]  # index of an initial value in (q, q̇); None for a parameter
    coordinates: int

    def __len__(self) -> int:
        return len(self.names)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters among them."""
        return tuple(name for name, index in zip(self.names, self.state_indices, strict=True) if index is None)

    @cached_property
    def parameter_directions(self) -> np.ndarray:
        """The derivatives of the parameters along each direction, (parameters, directions)."""
        out = np.zeros((len(self.parameters), len(self)))
        out[range(len(out)), [i for i, index in enumerate(self.state_indices) if index is None]] = 1.0
        return out

    @cached_property
    def initial_directions(self) -> np.ndarray:
        """The derivatives of the initial state (q, q̇) along each direction before projection, (2n, directions)."""
        out = np.zeros((2 * self.coordinates, len(self)))
        for i, index in enumerate(self.state_indices):
            if index is not None:
                out[index, i] = 1.0
        return out

    @property
    def fixed_coordinates(self) -> set[int]:
        """The coordinates with a named initial value."""
        return {index % self.coordinates for index in self.state_indices if index is not None}

    def values_in(self, parameters: dict[str, float], start: np.ndarray) -> np.ndarray:
        """The values of the differentiation variables."""
        pairs = zip(self.names, self.state_indices, strict=True)
        return np.array([parameters[name] if index is None else start[index] for name, index in pairs])


def directions_of(model: Description, of: Sequence[Any] | str, where: str = "sensitivity") -> Directions:
    """The named directions; SymPy symbols denote parameters."""
    coordinates = model.coordinate_names
    known = [name for name in model.parameter_values if kind_of(name) is None]
    starts = [f"{x}(0)" for x in (*coordinates, *map(SymbolKind.RATE.of, coordinates))]
    names_or_symbols = [of] if isinstance(of, str) else of
    if not is_sequence(names_or_symbols):
        raise InputError(
            f"{where}: got {short_repr(of)}. Expected names of parameters or initial values, such as {(known + starts)[0]}."
        )
    names = tuple(coordinate_name(each) for each in names_or_symbols)
    if not names:
        raise InputError(f"{where}: got no name. Expected parameters or initial values, such as {(known + starts)[0]}.")
    for name in names:
        if name not in known and name not in starts:
            raise InputError(
                f"{where}: '{name}' is neither a parameter nor an initial value of model '{model.name}'. "
                f"{suggest_name(name, (*known, *starts))} Write initial values as x(0) and dot(x)(0)."
            )
    if len(set(names)) < len(names):
        raise InputError(f"{where}: {', '.join(names)} contains a duplicate. Expected each name once.")
    indices = tuple(None if name in known else starts.index(name) for name in names)
    return Directions(names, indices, len(coordinates))


@dataclass(frozen=True)
class CorrectionBases:
    """Columns along which positions and velocities are projected onto the constraints, (n, rows) each."""

    q: np.ndarray
    qd: np.ndarray


@dataclass(frozen=True)
class ConstraintDerivatives:
    """The constraints of equations in q̇, with their directional derivatives.

    A direction is tangent to the constraints c(q, q̇, t; p) = 0 if c′ = c_z z′ = 0 and c″ = c_zz[z′, z′] + c_z z″ = 0, positions
    first. Corrections lie along N = M⁻¹Aᵀ, the smallest change in the mass metric: z′ − N (A N)⁻¹ c′.
    """

    equations: BoundEquations
    directions: Directions

    @property
    def any(self) -> bool:
        """True if there are constraints."""
        return bool(self._manifold.rows)

    @property
    def _manifold(self) -> Manifold:
        return self.equations.workspace.manifold

    @cached_property
    def _functions(self) -> Differentials:
        """φ and the velocity residual of (q, q̇, t), independent rows."""
        cache, key = self.equations.kernel.cache, ("constraints", self.directions.parameters)
        if key not in cache:
            space, manifold = self.equations.workspace, self._manifold
            system, known = space.system, space.system.constraints
            outputs = nodes(system.algebra, stack(known.phi[manifold.holonomic], known.velocity[manifold.rows]))
            inputs = [str(x) for x in stack(system.q, system.qd, vector([system.t]))]
            program = program_of(outputs, inputs, list(system.model.parameter_values))
            cache[key] = Differentials(program, self.directions.parameters, space.engine)
        return cache[key]

    def correction_bases(self, y: np.ndarray, t: float, free: np.ndarray | None = None) -> CorrectionBases:
        """N at a state; coordinates that are not free are not changed."""
        n, manifold = len(y) // 2, self._manifold
        _, _, A, M = manifold.evaluate(y[:n], y[n:], t, self.equations.values)
        free = np.ones(n, dtype=bool) if free is None else free
        N = np.zeros((n, len(A)))
        N[free] = np.linalg.solve(M[np.ix_(free, free)], A[:, free].T)
        return CorrectionBases(N[:, manifold.holonomic], N[:, manifold.rows])

    def tangent(self, y: WithDerivatives, t: float, bases: CorrectionBases | None = None) -> WithDerivatives:
        """The derivatives of a state, projected onto the tangent space of the constraints."""
        if not self.any or not len(self.directions):
            return y
        n, manifold = len(y.value) // 2, self._manifold
        bases = self.correction_bases(y.value, t) if bases is None else bases
        _, _, A, _ = manifold.evaluate(y.value[:n], y.value[n:], t, self.equations.values)
        k, first, second = len(manifold.holonomic), y.first.copy(), None if y.second is None else y.second.copy()
        levels = (
            (slice(0, n), slice(0, k), bases.q, A[manifold.holonomic]),
            (slice(n, None), slice(k, None), bases.qd, A[manifold.rows]),
        )
        for own, rows, N, jacobian in levels:
            if N.shape[1]:
                first[own] -= N @ np.linalg.solve(jacobian @ N, self._rates(y.value, t, first).first[rows])
        if second is None:
            return WithDerivatives(y.value, first)
        for own, rows, N, jacobian in levels:
            if N.shape[1]:
                found = self._rates(y.value, t, first, second).second
                assert found is not None
                second[own] -= np.einsum("nr,rij->nij", N @ np.linalg.inv(jacobian @ N), found[rows])
        return WithDerivatives(y.value, first, second)

    def _rates(self, y: np.ndarray, t: float, first: np.ndarray, second: np.ndarray | None = None) -> WithDerivatives:
        """c, c′ and c″ at fixed time."""
        return self._functions(
            with_time(WithDerivatives(y, first, second), t), self.equations.values, self.directions.parameter_directions
        )

    def project(self, y: np.ndarray, t: float, bases: CorrectionBases) -> np.ndarray:
        """The projection of y onto the constraints along N, positions first."""
        n, manifold, y = len(y) // 2, self._manifold, y.copy()
        facts = manifold.system.facts
        sizes = np.array(facts.sizes)
        for position in (True, False):
            rows, N = (manifold.holonomic, bases.q) if position else (manifold.rows, bases.qd)
            small = sizes[rows] * 4e-16 / (1.0 if position else facts.scales.time)
            own, last_error = slice(0, n) if position else slice(n, None), np.inf
            for _ in range(_MAX_ITERATIONS if rows else 0):
                phi, residual, A, _ = manifold.evaluate(y[:n], y[n:], t, self.equations.values)
                residuals = phi[rows] if position else residual[rows]
                error = float(np.max(np.abs(residuals) / small))
                if error <= 1.0 or (error < 1e4 and error >= last_error):
                    break
                y[own] -= N @ np.linalg.solve(A[rows] @ N, residuals)
                last_error = error
            else:
                if rows:
                    raise InconsistentStateError(
                        f"sensitivity: the initial state of model '{self.equations.model.name}' cannot be projected onto the "
                        "constraints for these parameter values. Give other values, or another initial position with q0."
                    )
        return y

    def free(self, y: np.ndarray, t: float, fixed: set[int]) -> np.ndarray:
        """Which coordinates may change to satisfy the constraints; raises if too many are fixed."""
        n, manifold = len(y) // 2, self._manifold
        free = np.array([i not in fixed for i in range(n)])
        if not self.any or not fixed:
            return free
        facts = manifold.system.facts
        _, _, A, _ = manifold.evaluate(y[:n], y[n:], t, self.equations.values)
        unit = facts.scales.positions
        rows = dimensionless(A, unit, np.array(facts.sizes))[manifold.rows]
        if int(rank.numeric_rank(rows[:, free], unit[free])) < len(manifold.rows):
            names = self.equations.model.coordinate_names
            raise InconsistentStateError(
                f"sensitivity: with fixed initial values of {', '.join(names[i] for i in sorted(fixed))}, the other coordinates "
                f"cannot satisfy the constraints of model '{self.equations.model.name}'. Name fewer initial values."
            )
        return free


@dataclass(frozen=True)
class InitialState:
    """The initial state as a function of the differentiation variables."""

    directions: Directions
    t: float
    unprojected: Differentials  # (q, q̇) before projection, as functions of the parameters
    bases: CorrectionBases | None  # columns of the projection; None without constraints

    def at(self, equations: BoundEquations, starts: Mapping[str, float], order: int) -> WithDerivatives:
        """The initial state and its derivatives, with the parameters of the equations and named initial values."""
        k = len(self.directions)
        no_inputs = WithDerivatives(np.zeros(0), np.zeros((0, k)), np.zeros((0, k, k)))
        count = len(self.unprojected.program.parameters)
        y = self.unprojected(no_inputs, equations.values[:count], self.directions.parameter_directions)
        value = y.value.copy()
        for name, index in zip(self.directions.names, self.directions.state_indices, strict=True):
            if index is not None and name in starts:
                value[index] = starts[name]
        found = WithDerivatives(value, y.first + self.directions.initial_directions, y.second if order == 2 else None)
        if self.bases is None:
            return found
        constrained = ConstraintDerivatives(equations, self.directions)
        projected = constrained.project(found.value, self.t, self.bases)
        return constrained.tangent(WithDerivatives(projected, found.first, found.second), self.t, self.bases)


def initial_state_of(
    equations: BoundEquations, directions: Directions, q0: Start, qd0: Start, t0: float, fixed: Sequence[str]
) -> InitialState:
    """The initial state of equations; coordinates in `fixed` stay unchanged, as named initial values do."""
    model = equations.model
    for name in fixed:
        if name not in model.coordinate_names:
            raise InputError(
                f"sensitivity, fixed: there is no coordinate '{name}'. {suggest_name(name, model.coordinate_names)}"
            )
    unprojected = _unprojected_start(equations, directions, q0, qd0)
    constrained = ConstraintDerivatives(equations, directions)
    if not constrained.any:
        return InitialState(directions, t0, unprojected, None)
    y = np.concatenate(start_state(model.with_parameters(_changed(equations)), q0, qd0))
    indices = directions.fixed_coordinates | {model.coordinate_names.index(name) for name in fixed}
    return InitialState(
        directions, t0, unprojected, constrained.correction_bases(y, t0, constrained.free(y, t0, indices))
    )


def _changed(equations: BoundEquations) -> dict[str, float]:
    names = equations.model.parameter_values
    return {name: value for name, value in equations.changes.items() if name in names and "(" not in name}


def _unprojected_start(equations: BoundEquations, directions: Directions, q0: Start, qd0: Start) -> Differentials:
    """The specified (q, q̇), numbers or formulas of parameters, as functions of the parameters."""
    model, system = equations.model, equations.workspace.system
    names = model.coordinate_names
    formulas = []
    for start, default, where in ((q0, model.initial[0], "q0"), (qd0, model.initial[1], "qd0")):
        specified = {} if not isinstance(start, Mapping) else {coordinate_name(key): x for key, x in start.items()}
        numbers = start_state(model, start, None)[0] if where == "q0" else start_state(model, None, start)[1]
        for name, value in zip(names, numbers if start is not None else default, strict=True):
            source = specified.get(name)
            formula = model.formula(source, f"sensitivity, {where}", constant=True) if isinstance(source, str) else None
            formulas.append(float(value) if formula is None else system.motion.lower(formula))
    program = program_of(nodes(system.algebra, vector(formulas)), [], list(model.parameter_values))
    return Differentials(program, directions.parameters, "python")
