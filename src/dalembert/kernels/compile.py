"""From expressions to compiled functions of arrays: coordinates on the first axis, batch on the last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dalembert.algebra import Array, DifferentialAlgebra
from dalembert.errors import EngineError

# SymEngine finds shared parts by itself, but not in reasonable time beyond this
LARGEST = 100_000_000
MOST_PARTS = 2000


class Function(ABC):
    """A compiled function of inputs (n,) or (n, batch) and parameters (m,) or (m, batch)."""

    n_outputs: int

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


def graph_size(outputs: Array) -> tuple[int, int]:
    """The operations of SymEngine expressions with every part counted as often as it occurs, and the number of parts.

    Parts are told apart by their hashes: comparing twins that do not share memory would take as long as what is measured.

    >>> import symengine as se
    >>> x = se.Symbol("x")
    >>> graph_size(np.array([se.sin(x) + x], dtype=object))
    (4, 3)
    """
    import symengine as se

    sizes: dict[int, int] = {}
    total = 0
    for output in outputs:
        root = se.sympify(output)
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [part for part in node.args if hash(part) not in sizes]
            if missing:
                stack.extend(missing)
            else:
                sizes[hash(node)] = 1 + sum(sizes[hash(part)] for part in node.args)
                stack.pop()
        total += sizes[hash(root)]
    return total, len(sizes)


class PortableFunction(Function):
    """Machine code from SymEngine's LLVM back end: the fallback for machines without heyoka."""

    def __init__(self, inputs: Array, outputs: Array, parameters: Array) -> None:
        import symengine as se

        self.n_outputs = len(outputs)
        size, parts = graph_size(outputs)
        if size > LARGEST and parts > MOST_PARTS:
            raise EngineError(
                f"the engine 'portable' cannot compile these expressions: they have {parts} parts and, written out without "
                f"sharing them, {size:.1e} operations. Expected at most {MOST_PARTS} or {LARGEST:.0e}. "
                "Use engine='heyoka', other speeds, or a formalism such as lagrange."
            )
        arguments = [*inputs, *parameters]
        backend = "llvm" if se.have_llvm else "lambda"
        self._compiled = se.Lambdify(arguments, [se.sympify(e) for e in outputs], backend=backend, cse=True)

    def evaluate(self, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Run the machine code on all columns."""
        rows = np.ascontiguousarray(np.concatenate([inputs, parameters], axis=0).T)
        return np.asarray(self._compiled(rows), dtype=float).reshape(len(rows), self.n_outputs).T


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
    kind = HeyokaFunction if algebra.name == "fast" else PortableFunction
    return kind(inputs, outputs, parameters)
