"""First and second derivatives of a program along directions, in numbers: a direction, or a pair of them, in each lane.

With z the inputs and some parameters of y = f(z), and directions z′ and z″ of the first and second order,

    y′ = f_z z′,    y″ = f_zz[z′, z′] + f_z z″.

The same two lines give the variational equations, the derivatives of constraints, of observables and of what events do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dalembert.arguments import shown
from dalembert.codegen.function import Function, function_of, nodes
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.errors import InconsistentStateError, InputError, nearest
from dalembert.mechanics import rank
from dalembert.mechanics.state_batch import dimensionless
from dalembert.model.description import Description
from dalembert.model.initial_state import Start, coordinate_name, start_state
from dalembert.model.values import several
from dalembert.simulation.bound_equations import BoundEquations
from dalembert.simulation.constraint_manifold import Manifold
from dalembert.symbolic.algebra_base import Array, stack, vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import node
from dalembert.symbolic.symbols import Kind, kind_of

_ROUNDS = 30


@dataclass(frozen=True)
class Varied:
    """Values (m, K) with their derivatives along k directions, (m, k, K), and along pairs of them, (m, k, k, K).

    Without a batch the last axis is missing; without a second order `second` is None.
    """

    value: np.ndarray
    first: np.ndarray
    second: np.ndarray | None = None

    def _mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> Varied:
        return Varied(change(self.value), change(self.first), None if self.second is None else change(self.second))

    def __getitem__(self, rows: slice) -> Varied:
        return self._mapped(lambda x: x[rows])

    def samples(self, where: slice | int | None) -> Varied:
        """Some of the batch, or one; None adds its axis."""
        return self._mapped(lambda x: x[..., where])


def with_time(y: Varied, t: float | np.ndarray) -> Varied:
    """A state with time behind it, which moves along no direction."""
    time = np.broadcast_to(np.asarray(t, dtype=float), y.value.shape[1:])[None]
    first = np.concatenate([y.first, np.zeros((1, *y.first.shape[1:]))])
    second = None if y.second is None else np.concatenate([y.second, np.zeros((1, *y.second.shape[1:]))])
    return Varied(np.concatenate([y.value, time]), first, second)


def pairs(count: int) -> list[tuple[int, int]]:
    """The pairs i ≤ j of directions.

    >>> pairs(2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return list(combinations_with_replacement(range(count), 2))


class Differentials:
    """A program with its derivatives along directions of its inputs and of some parameters.

    >>> x, k = GRAPH.symbols(["x", "k"])
    >>> both = Differentials(program_of([k * x * x], ["x"], ["k"]), ["k"])
    >>> along = both(Varied(np.array([3.0]), np.eye(1, 2), np.zeros((1, 2, 2))), np.array([2.0]), np.eye(1, 2, 1))
    >>> along.value, along.first, along.second.tolist()
    (array([18.]), array([[12.,  9.]]), [[[4.0, 6.0], [6.0, 0.0]]])
    """

    def __init__(self, program: Program, chosen: Sequence[str], engine: str | None = None) -> None:
        self.program, self._engine = program, engine
        self._by = (*program.inputs, *chosen)

    def _symbols(self, depth: int) -> Array:
        """z, or the symbols of the directions that are written with so many brackets more."""
        names = list(self._by)
        for _ in range(depth):
            names = [Kind.SLOPE.of(name) for name in names]
        return GRAPH.symbols(names)

    @cached_property
    def _once(self) -> Function:
        """y and f_z a of (x, a)."""
        y, a = vector(nodes_of(self.program)), self._symbols(1)
        return self._compiled(stack(y, GRAPH.total_derivative(y, (self._symbols(0), a))), a)

    @cached_property
    def _twice(self) -> Function:
        """f_zz[a, b] + f_z c of (x, a, b, c)."""
        y, z = vector(nodes_of(self.program)), self._symbols(0)
        a, b, c = (self._symbols(depth) for depth in (1, 2, 3))
        first = GRAPH.total_derivative(y, (z, a))
        return self._compiled(GRAPH.total_derivative(first, (z, b), (a, c)), a, b, c)

    def _compiled(self, outputs: Array, *more: Array) -> Function:
        inputs = [*self.program.inputs, *(str(x) for part in more for x in part)]
        return function_of(
            program_of([node(y) for y in outputs.ravel()], inputs, self.program.parameters), self._engine
        )

    def __call__(self, inputs: Varied, parameters: np.ndarray, moved: np.ndarray) -> Varied:
        """y, y′ and, where the inputs have it, y″; `moved` (chosen, k) are the directions of the chosen parameters."""
        x, batch = inputs.value, inputs.value.shape[1:]
        k, count = inputs.first.shape[1], int(np.prod(batch))
        chosen = np.broadcast_to(moved.reshape(*moved.shape, *(1,) * len(batch)), (*moved.shape, *batch))
        a = np.concatenate([inputs.first, chosen])
        out = self._lanes(self._once, x, parameters, [a.reshape(len(a), k, count)], batch)
        m = len(out) // 2
        first = out[m:].reshape(m, k, *batch)
        if inputs.second is None:
            return Varied(out[:m, 0], first)
        i, j = np.array(pairs(k)).T
        c = np.concatenate([inputs.second, np.zeros((len(moved), k, k, *batch))])[:, i, j]
        directions = [part.reshape(len(a), len(i), count) for part in (a[:, i], a[:, j], c)]
        found = self._lanes(self._twice, x, parameters, directions, batch)
        second = np.empty((m, k, k, *batch))
        second[:, i, j] = second[:, j, i] = found
        return Varied(out[:m, 0], first, second)

    @staticmethod
    def _lanes(
        function: Function, x: np.ndarray, parameters: np.ndarray, directions: list[np.ndarray], batch: tuple[int, ...]
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
    """Directions by name: a parameter `l`, a start `theta(0)`, the velocity of a start `dot(theta)(0)`.

    >>> from dalembert.model.model import Model
    >>> model = Model("m").parameters(l=1.0).coordinates("x", "y").description
    >>> found = directions_of(model, ["l", "y(0)", "dot(x)(0)"])
    >>> found.parameters, found.moved.tolist(), found.started.T.tolist()
    (('l',), [[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    """

    names: tuple[str, ...]
    places: tuple[int | None, ...]  # of a start among (q, q̇); None for a parameter
    coordinates: int

    def __len__(self) -> int:
        return len(self.names)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters among them."""
        return tuple(name for name, place in zip(self.names, self.places, strict=True) if place is None)

    @cached_property
    def moved(self) -> np.ndarray:
        """How the parameters move along each direction, (parameters, directions)."""
        out = np.zeros((len(self.parameters), len(self)))
        out[range(len(out)), [i for i, place in enumerate(self.places) if place is None]] = 1.0
        return out

    @cached_property
    def started(self) -> np.ndarray:
        """How the start (q, q̇) moves along each direction before constraints correct it, (2n, directions)."""
        out = np.zeros((2 * self.coordinates, len(self)))
        for i, place in enumerate(self.places):
            if place is not None:
                out[place, i] = 1.0
        return out

    @property
    def kept(self) -> set[int]:
        """The coordinates whose starts are named."""
        return {place % self.coordinates for place in self.places if place is not None}

    def values_in(self, parameters: dict[str, float], start: np.ndarray) -> np.ndarray:
        """The values of what is differentiated by."""
        pairs = zip(self.names, self.places, strict=True)
        return np.array([parameters[name] if place is None else start[place] for name, place in pairs])


def directions_of(model: Description, of: Sequence[Any] | str, where: str = "sensitivity") -> Directions:
    """The directions that are named; SymPy symbols stand for parameters."""
    coordinates = model.coordinate_names
    known = [name for name in model.parameter_values if kind_of(name) is None]
    starts = [f"{x}(0)" for x in (*coordinates, *map(Kind.RATE.of, coordinates))]
    given = [of] if isinstance(of, str) else of
    if not several(given):
        raise InputError(
            f"{where}: got {shown(of)}. Expected names of parameters or starts, such as {(known + starts)[0]}."
        )
    names = tuple(coordinate_name(each) for each in given)
    if not names:
        raise InputError(f"{where}: nothing is named. Expected parameters or starts, such as {(known + starts)[0]}.")
    for name in names:
        if name not in known and name not in starts:
            raise InputError(
                f"{where}: '{name}' is neither a parameter nor a start of model '{model.name}'. "
                f"{nearest(name, (*known, *starts))} Starts are written x(0) and dot(x)(0)."
            )
    if len(set(names)) < len(names):
        raise InputError(f"{where}: {', '.join(names)} names something twice. Expected each once.")
    places = tuple(None if name in known else starts.index(name) for name in names)
    return Directions(names, places, len(coordinates))


@dataclass(frozen=True)
class Ways:
    """Along which positions and velocities are corrected, (n, rows) each."""

    q: np.ndarray
    qd: np.ndarray


@dataclass(frozen=True)
class Constrained:
    """The constraints of equations in q̇, with their derivatives along directions.

    A direction stays on the constraints c(q, q̇, t; p) = 0 where c′ = c_z z′ = 0 and c″ = c_zz[z′, z′] + c_z z″ = 0, positions
    first. Corrections go along N = M⁻¹Aᵀ, the least motion in the metric of the masses: z′ − N (A N)⁻¹ c′.
    """

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
