"""First and second derivatives of a program along directions, in numbers: a direction, or a pair of them, in each lane.

With z the inputs and some parameters of y = f(z), and directions z′ and z″ of the first and second order,

    y′ = f_z z′,    y″ = f_zz[z′, z′] + f_z z″.

The same two lines give the variational equations, the derivatives of constraints, of observables and of what events do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dalembert.arguments import shown
from dalembert.codegen.function import Function, function_of
from dalembert.codegen.program import Program, nodes_of, program_of
from dalembert.errors import InputError, nearest
from dalembert.model.description import Description
from dalembert.model.initial_state import coordinate_name
from dalembert.model.values import several
from dalembert.symbolic.algebra_base import Array, stack, vector
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import node
from dalembert.symbolic.reserved_symbols import Kind, kind_of


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
