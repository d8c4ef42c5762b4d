"""Interface of a scalar algebra: the operations that a derivation may use.

Matrices are NumPy arrays of dtype object, so `A @ v + h` is the same source code over every algebra. The arithmetic
operations (+ − × ÷ and functions) suffice for kinematics and recursions. The differential algebra adds Jacobians and time
derivatives, which the formulations need.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np

from dalembert.errors import EngineError, InputError, suggest_name
from dalembert.symbolic.lookup_tables import LookupTable

# operands and results of operators: each class accepts its own, and NumPy's overloads cannot be resolved by the type checker
Operand: TypeAlias = Any


class Scalar(Protocol):
    """A number, a batch of numbers, a node, a residue, a series or a SymEngine expression."""

    def __neg__(self) -> Operand: ...
    def __add__(self, other: Operand, /) -> Operand: ...
    def __radd__(self, other: Operand, /) -> Operand: ...
    def __sub__(self, other: Operand, /) -> Operand: ...
    def __rsub__(self, other: Operand, /) -> Operand: ...
    def __mul__(self, other: Operand, /) -> Operand: ...
    def __rmul__(self, other: Operand, /) -> Operand: ...
    def __truediv__(self, other: Operand, /) -> Operand: ...
    def __rtruediv__(self, other: Operand, /) -> Operand: ...


Array = np.ndarray
Scalars: TypeAlias = Sequence[Scalar]
Parameters: TypeAlias = Mapping[str, Scalar]  # values by name


class Algebra(ABC):
    """Arithmetic on scalars of one type."""

    name: str
    pi: Scalar = math.pi

    def number(self, value: Fraction) -> Scalar:
        """Convert a fraction of a formula to a scalar; exact where the algebra is exact."""
        return float(value)

    @property
    def half(self) -> Scalar:
        """One half; exact where the algebra is exact."""
        return self.number(Fraction(1, 2))

    @abstractmethod
    def is_zero(self, x: Scalar) -> bool:
        """Return True when `x` is structurally zero (never because of its value at some state)."""

    @abstractmethod
    def function(self, name: str, *arguments: Scalar) -> Scalar:
        """The value of sin, cos, tan, asin, acos, atan, atan2, sqrt, exp, log or pow."""

    @abstractmethod
    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        """`yes` where the condition holds, `no` elsewhere."""

    @abstractmethod
    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Scalar:
        """The condition a < b or a ≤ b."""

    @abstractmethod
    def logical(self, name: str, *conditions: Scalar) -> Scalar:
        """Combine the conditions with `and` or `or`."""

    def pack(self, x: Array) -> Array:
        """Convert an array of scalars to the type in which matrix products are fastest."""
        return x

    def interpolate(self, table: LookupTable, x: Scalar) -> Scalar:
        """Interpolate a table at `x`."""
        raise EngineError(f"the algebra '{self.name}' does not support tables. Use 'graph'.")

    def solver(self, kind: str, A: Array, columns: int) -> Callable[[Array], Array] | None:
        """A⁻¹ as one operation on vectors and matrices of columns; None where the solution is expanded into scalar operations."""
        return None

    def sin(self, x: Scalar) -> Scalar:
        """The sine of `x`."""
        return self.function("sin", x)

    def cos(self, x: Scalar) -> Scalar:
        """The cosine of `x`."""
        return self.function("cos", x)

    def sqrt(self, x: Scalar) -> Scalar:
        """The square root of `x`."""
        return self.function("sqrt", x)


class DifferentialAlgebra(Algebra):
    """An algebra whose scalars are differentiable expressions of symbols."""

    @abstractmethod
    def symbols(self, names: Sequence[str]) -> Array:
        """One symbol per name, as an object vector."""

    @abstractmethod
    def jacobian(self, f: Array, x: Array) -> Array:
        """∂f/∂x with shape f.shape + (len(x),)."""

    @abstractmethod
    def total_derivative(self, f: Array, *along: tuple[Array, Array]) -> Array:
        """Σ (∂f/∂x) ẋ over the pairs (x, ẋ) in `along`, in the shape of f."""

    @abstractmethod
    def substitute(self, f: Array, values: Mapping[str, Scalar]) -> Array:
        """Replace the symbols named in `values` in `f`, all simultaneously."""

    def merged(self, *arrays: Array) -> list[Array]:
        """The same functions, each in its shortest known form if the algebra can decide equality."""
        return list(arrays)

    def gradient(self, f: Scalar, x: Array) -> Array:
        """∂f/∂x of one scalar, as a vector."""
        return self.jacobian(vector([f]), x)[0]


def vector(entries: Sequence[Scalar] | Array) -> Array:
    """An object vector of the entries."""
    out = np.empty(len(entries), dtype=object)
    for i, entry in enumerate(entries):
        out[i] = entry
    return out


def matrix(rows: Sequence[Sequence[Scalar]]) -> Array:
    """An object matrix of the rows; entries may themselves be arrays (batches of numbers)."""
    out = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for i, row in enumerate(rows):
        out[i] = vector(row)
    return out


def scaled(factor: Scalar, v: Array) -> Array:
    """factor × v, entry by entry; the factor may be a batch of numbers."""
    return vector([factor * entry for entry in v])


def zeros(*shape: int) -> Array:
    """An object array of exact zeros."""
    return np.full(shape, 0, dtype=object)


def identity(n: int) -> Array:
    """The n×n identity matrix with exact entries."""
    out = zeros(n, n)
    np.fill_diagonal(out, 1)
    return out


def stack(*blocks: Array) -> Array:
    """Stack the blocks vertically (vectors end to end); empty blocks are dropped."""
    return np.concatenate([np.asarray(block, dtype=object) for block in blocks], axis=0)


def choose(name: str) -> DifferentialAlgebra:
    """Return the differential algebra `name`: `graph`, `rolled` (a graph with large linear systems as nodes) or `symbolic`."""
    if name in ("graph", "rolled"):
        from dalembert.symbolic.graph import GRAPH, ROLLED

        return GRAPH if name == "graph" else ROLLED
    if name == "symbolic":
        from dalembert.symbolic.symengine_algebra import SYMBOLIC

        return SYMBOLIC
    raise InputError(
        f"there is no algebra '{name}'. Expected 'graph' or 'symbolic'. {suggest_name(name, ['graph', 'symbolic'])}"
    )
