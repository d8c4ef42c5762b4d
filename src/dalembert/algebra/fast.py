"""heyoka expressions: a C++ graph with automatic differentiation and machine code. What the machine runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import heyoka as hy
import numpy as np

from dalembert.algebra.base import Array, DifferentialAlgebra, Scalar, vector
from dalembert.algebra.floats import real

hy.set_logger_level_critical()  # heyoka logs to stdout, which belongs to the result

_FUNCTIONS = {
    "sin": hy.sin,
    "cos": hy.cos,
    "tan": hy.tan,
    "asin": hy.asin,
    "acos": hy.acos,
    "atan": hy.atan,
    "atan2": hy.atan2,
    "sqrt": hy.sqrt,
    "exp": hy.exp,
    "log": hy.log,
    "pow": lambda x, y: x**y,
}
_ZERO = hy.expression(0.0)
_STEP = hy.expression("step along the motion")


def expression(x: Scalar) -> hy.expression:
    """`x` as a heyoka expression."""
    return x if isinstance(x, hy.expression) else hy.expression(real(x))


class Fast(DifferentialAlgebra):
    """Expressions of heyoka.

    >>> algebra = Fast()
    >>> x, y = algebra.symbols(["x", "y"])
    >>> algebra.gradient(x * y, vector([x, y]))
    array([y, x], dtype=object)
    """

    name = "fast"

    def is_zero(self, x: Scalar) -> bool:
        return x == _ZERO if isinstance(x, hy.expression) else x == 0

    def function(self, name: str, *arguments: Scalar) -> Scalar:
        return _FUNCTIONS[name](*(expression(a) for a in arguments))

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        return hy.select(condition, expression(yes), expression(no))

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Scalar:
        return (hy.lte if or_equal else hy.lt)(expression(a), expression(b))

    def logical(self, name: str, *conditions: Scalar) -> Scalar:
        return (hy.logical_and if name == "and" else hy.logical_or)(list(conditions))

    def symbols(self, names: Sequence[str]) -> Array:
        return vector([hy.expression(name) for name in names])

    def jacobian(self, f: Array, x: Array) -> Array:
        flat = [expression(e) for e in f.ravel()]
        if not flat or not len(x):
            return np.empty((*f.shape, len(x)), dtype=object)
        tensors = hy.diff_tensors(flat, diff_args=list(x), diff_order=1)
        return np.asarray(tensors.jacobian, dtype=object).reshape(*f.shape, len(x))

    def total_derivative(self, f: Array, *along: tuple[Array, Array]) -> Array:
        # d/dε f(x + ε s) at ε = 0, with s = ẋ: one forward pass instead of a whole Jacobian
        pairs = [(xj, xdj) for x, xd in along for xj, xdj in zip(x, xd, strict=True) if not self.is_zero(xdj)]
        if not pairs or not f.size:
            return np.zeros(f.shape, dtype=object)
        slopes = [hy.expression(f"slope of {xj}") for xj, _ in pairs]
        moved = {xj: xj + _STEP * s for (xj, _), s in zip(pairs, slopes, strict=True)}
        flat = hy.subs([expression(e) for e in f.ravel()], moved)
        rate = self.jacobian(vector(flat), vector([_STEP]))[:, 0]
        # x + ε s goes back to x as a whole, since x + 0·s would not be folded
        rate = hy.subs(list(rate), {to: xj for xj, to in moved.items()})
        values = {s: expression(xdj) for (_, xdj), s in zip(pairs, slopes, strict=True)}
        return vector(hy.subs(rate, values | {_STEP: hy.expression(0.0)})).reshape(f.shape)

    def substitute(self, f: Array, values: Mapping[str, Scalar]) -> Array:
        if not f.size:
            return f
        table = {hy.expression(name): expression(value) for name, value in values.items()}
        return vector(hy.subs([expression(e) for e in f.ravel()], table)).reshape(f.shape)


FAST = Fast()
