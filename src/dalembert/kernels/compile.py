"""From expressions to compiled functions of arrays: coordinates on the first axis, batch on the last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import symengine as se

from dalembert.algebra import Array, DifferentialAlgebra, stack
from dalembert.algebra.graph import GRAPH
from dalembert.algebra.nodes import Node, node, symbol
from dalembert.expressions.lower import Lowering
from dalembert.kernels.program import Program

FEW = 16  # columns: beyond them NumPy is quicker than floats one by one


class Native(NamedTuple):
    """Machine code `void one(const double *x, const double *p, const double *tables, double *out)` for one state."""

    address: int
    tables: np.ndarray


class Function(ABC):
    """A compiled function of inputs (n,) or (n, batch) and parameters (m,) or (m, batch)."""

    n_outputs: int
    native: Native | None = None  # None: known to Python only

    @abstractmethod
    def evaluate(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The outputs for inputs (n, batch) and parameters (m, batch)."""

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The outputs, (k,) for one state or (k, batch) for many."""
        single = inputs.ndim == 1
        columns = np.ascontiguousarray(inputs[:, None] if single else inputs, dtype=float)
        batch = columns.shape[1]
        constants = parameters[:, None] if parameters.ndim == 1 else parameters
        constants = np.ascontiguousarray(np.broadcast_to(constants, (len(parameters), batch)), dtype=float)
        out = self.evaluate(columns, constants)
        return out[:, 0] if single else out


class HeyokaFunction(Function):
    """Machine code from heyoka; code is kept on disk and reused between processes."""

    def __init__(self, inputs: Array, outputs: Array, parameters: Array) -> None:
        import heyoka as hy

        from dalembert.algebra.fast import expression

        self.n_outputs = len(outputs)
        expressions = hy.subs(
            [expression(e) for e in outputs],
            {p: hy.par[i] for i, p in enumerate(parameters)} if len(parameters) else {},
        )
        self.compiled = hy.cfunc(expressions, vars=list(inputs))
        self._n_parameters = self.compiled.nparams

    def evaluate(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Run the machine code on all columns."""
        return self.compiled(inputs, pars=np.ascontiguousarray(parameters[: self._n_parameters]))

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The outputs; one state goes straight to the machine code."""
        if inputs.ndim == 1 and parameters.ndim == 1:
            return self.compiled(inputs, pars=parameters[: self._n_parameters])
        return super().__call__(inputs, parameters)


class PortableFunction(Function):
    """A straight-line program in Python: on floats for few states, on NumPy arrays for many. For machines without heyoka."""

    def __init__(self, arguments: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.n_outputs = len(outputs)
        self._program = Program(outputs, arguments)

    def evaluate(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Run the program on the columns, one by one or together."""
        columns = np.concatenate([inputs, parameters], axis=0)
        if columns.shape[1] > FEW:
            return self._program.many(columns)
        out = np.empty((self.n_outputs, columns.shape[1]))
        for k, column in enumerate(columns.T.tolist()):
            out[:, k] = self._program.one(column)
        return out

    def __call__(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The outputs; one state goes straight to the program on floats."""
        if inputs.ndim == 1 and parameters.ndim == 1:
            return np.array(self._program.one([*inputs.tolist(), *parameters.tolist()]), dtype=float)
        return super().__call__(inputs, parameters)


class EmptyFunction(Function):
    """A function without outputs."""

    n_outputs = 0

    def evaluate(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Nothing, for every column."""
        return np.zeros((0, inputs.shape[1]))


def compile_function(algebra: DifferentialAlgebra, inputs: Array, outputs: Array, parameters: Array) -> Function:
    """A compiled function of `outputs`, in the engine that belongs to the algebra."""
    if not len(outputs):
        return EmptyFunction()
    if algebra.name == "fast":
        return HeyokaFunction(inputs, outputs, parameters)
    return PortableFunction(nodes(algebra, stack(inputs, parameters)), nodes(algebra, outputs))


def nodes(algebra: DifferentialAlgebra, expressions: Array) -> list[Node]:
    """Expressions of the algebras `graph` and `symbolic` as nodes of the graph.

    >>> from dalembert.algebra import choose
    >>> nodes(choose("symbolic"), choose("symbolic").symbols(["x"]) + 1)
    [(1.0 + x)]
    """
    if algebra.name == "symbolic":
        names = {x.name for e in expressions for x in se.sympify(e).free_symbols}
        lower = Lowering(GRAPH, {name: symbol(name) for name in names})
        return [node(lower(e)) for e in expressions]
    return [node(e) for e in expressions]
