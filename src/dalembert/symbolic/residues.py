"""The exact algebra: scalars of the prime field, for linear systems that are solved in the field and not unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn, TypeAlias

import numpy as np

from dalembert.errors import SingularError
from dalembert.symbolic import prime_field
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, vector
from dalembert.symbolic.constant_folding import exact
from dalembert.symbolic.prime_field import P


class Residue:
    """a + b i of GF(P²), where i² = −1 and b is zero but for roots of what is no square.

    >>> half = Residue(1) / 2
    >>> half + half == 1, EXACT.sqrt(Residue(-4)) * EXACT.sqrt(Residue(-4)) == -4
    (True, True)
    """

    __slots__ = ("a", "b")

    def __init__(self, a: int, b: int = 0) -> None:
        self.a, self.b = a % P, b % P

    def __add__(self, other: object) -> Residue:
        x = _residue(other)
        return NotImplemented if x is None else Residue(self.a + x.a, self.b + x.b)

    __radd__ = __add__

    def __sub__(self, other: object) -> Residue:
        x = _residue(other)
        return NotImplemented if x is None else Residue(self.a - x.a, self.b - x.b)

    def __rsub__(self, other: object) -> Residue:
        return -self + other

    def __neg__(self) -> Residue:
        return Residue(-self.a, -self.b)

    def __mul__(self, other: object) -> Residue:
        x = _residue(other)
        if x is None:
            return NotImplemented
        if not (self.b or x.b):
            return Residue(self.a * x.a)
        return Residue(self.a * x.a - self.b * x.b, self.a * x.b + self.b * x.a)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Residue:
        x = _residue(other)
        if x is None:
            return NotImplemented
        below = prime_field.inverse(x.a * x.a + x.b * x.b) if x.b else prime_field.inverse(x.a)
        return self * Residue(x.a * below, -x.b * below) if x.b else Residue(self.a * below, self.b * below)

    def __rtruediv__(self, other: object) -> Residue:
        x = _residue(other)
        return NotImplemented if x is None else x / self

    def __mod__(self, p: int) -> Residue:
        return self  # residues are reduced already

    def __bool__(self) -> bool:
        return bool(self.a or self.b)

    def __eq__(self, other: object) -> bool:
        x = _residue(other)
        return x is not None and (self.a, self.b) == (x.a, x.b)

    def __hash__(self) -> int:
        return hash((self.a, self.b))

    def __repr__(self) -> str:
        return f"Residue({self.a}, {self.b})" if self.b else f"Residue({self.a})"


def _residue(x: object) -> Residue | None:
    if type(x) is Residue:
        return x
    if isinstance(x, int | np.integer):
        return Residue(int(x))
    if isinstance(x, Fraction):
        return Residue(prime_field.residue(x))
    return Residue(prime_field.residue(exact(float(x)))) if isinstance(x, float) else None


class Exact(Algebra):
    """Arithmetic in the field. There is no order in a field, so comparisons have no meaning."""

    name = "exact"

    def number(self, value: Fraction) -> Residue:
        return Residue(prime_field.residue(value))

    def is_zero(self, x: Scalar) -> bool:
        return x == 0

    def function(self, name: str, *arguments: Scalar) -> Residue:
        # square roots only: every element of GF(P) has one in GF(P²)
        (x,) = (_residue(a) for a in arguments)
        if name != "sqrt" or x is None or x.b:
            raise SingularError(f"'{name}' has no exact value here. Expected the root of a number of the field.")
        return Residue(prime_field.root(x.a)) if prime_field.is_square(x.a) else Residue(0, prime_field.root(-x.a % P))

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> NoReturn:
        raise SingularError("a choice has no exact value here. Evaluate it before solving.")

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> NoReturn:
        raise SingularError("a comparison has no exact value here. Evaluate it before solving.")

    def logical(self, name: str, *conditions: Scalar) -> NoReturn:
        raise SingularError("a condition has no exact value here. Evaluate it before solving.")


EXACT = Exact()

Value: TypeAlias = int | Residue  # of the field: a plain number wherever it is one


def as_residues(values: Sequence[Value]) -> Array:
    """Values of the field as a vector of residues."""
    return vector([x if isinstance(x, Residue) else Residue(x) for x in values])


def narrow(x: Residue) -> Value:
    """The plain number of the field where it is one."""
    return x if x.b else x.a


def root_of_number(x: Fraction) -> Value:
    """√x of a positive number: the product of the roots of its prime factors, so that √a √b = √(ab) for all numbers.

    A prime that is no square of the field has its root in GF(P²).

    >>> root_of_number(Fraction(47)) * root_of_number(Fraction(47)) == 47
    True
    >>> root_of_number(Fraction(6)) == root_of_number(Fraction(2)) * root_of_number(Fraction(3)) % P
    True
    """
    out: Value = 1
    for prime, power in _factors(x.numerator * x.denominator).items():
        single = prime_field.root(prime) if prime_field.is_square(prime) else Residue(0, prime_field.root(-prime % P))
        out = out * pow(prime, power // 2, P) * (single if power % 2 else 1) % P
    return out * prime_field.inverse(x.denominator) % P


def _factors(n: int) -> dict[int, int]:
    """The prime factors of a number and their powers; a factor beyond a million stays as it is."""
    out: dict[int, int] = {}
    prime = 2
    while prime * prime <= n and prime < 1_000_000:
        while n % prime == 0:
            out[prime] = out.get(prime, 0) + 1
            n //= prime
        prime += 1 if prime == 2 else 2
    if n > 1:
        out[n] = out.get(n, 0) + 1
    return out


def solve(A: Array, b: Array) -> Array:
    """x of A x = b for a regular A, with pivots as they come.

    >>> solve(np.array([[0, 2], [3, 0]], dtype=object), np.array([4, 9], dtype=object))
    array([Residue(3), Residue(2)], dtype=object)
    """
    rows, pivots = eliminated(np.concatenate([A, b[:, None]], axis=1), A.shape[1])
    if len(pivots) < A.shape[1]:
        raise ZeroDivisionError("the matrix is singular at this point")
    return rows[: len(pivots), -1]


def eliminated(rows: Array, columns: int) -> tuple[Array, list[int]]:
    """The reduced rows of a matrix, and the places of the pivots among its first `columns`: their number is the rank."""
    left = [[_value(x) for x in row] for row in rows]  # plain numbers are several times faster than residues
    pivots: list[int] = []
    for j in range(columns):
        k = len(pivots)
        best = next((i for i in range(k, len(left)) if left[i][j]), None)
        if best is None:
            continue
        left[k], left[best] = left[best], left[k]
        scale = _value(Residue(1) / left[k][j])
        left[k] = [x * scale % P for x in left[k]]
        for i, row in enumerate(left):
            if i != k and (factor := row[j]):
                left[i] = [(x - factor * y) % P for x, y in zip(row, left[k], strict=True)]
        pivots.append(j)
    out = np.empty((len(left), rows.shape[1]), dtype=object)
    for i, row in enumerate(left):
        out[i] = as_residues(row)
    return out, pivots


def _value(x: object) -> Value:
    found = _residue(x)
    if found is None:
        raise SingularError(f"'{x}' is no element of the field. Expected a number.")
    return narrow(found)


def rank(A: Array) -> int:
    """The number of independent rows.

    >>> rank(np.array([[1, 2], [2, 4]], dtype=object))
    1
    """
    return len(eliminated(A, A.shape[1])[1])
