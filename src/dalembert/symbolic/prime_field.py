"""The prime field GF(P) in which identities are proved, and its unit circle.

P + 1 is divisible by 16·9·5·7·11·13·17·19·23 and P ≡ 3 mod 4. This gives the field the properties that mechanics needs:

- The points c² + s² = 1 form a cyclic group of order P + 1, with the addition theorems as its product. It has points for π/d
  for every d that divides the number above, so π, π/2, π/3, π/4, π/5 ... are exact angles.
- Half of all residues are squares. They correspond to positive numbers: a square has exactly one root that is a square itself,
  and this choice is multiplicative, √(ab) = √a √b. Roots of odd order exist for every residue and are unique.
- A false identity between rational functions holds at a random point with a probability of at most its
  degree divided by P ≈ 2¹²⁷ (Schwartz and Zippel).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn, TypeAlias

import numpy as np

from dalembert.errors import SingularError
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, vector
from dalembert.symbolic.operations import exact

P = 0x7FFFFFFFFFFFFFFFFFFFFFEE92A7E66F
PI_DIVISOR = 8 * 9 * 5 * 7 * 11 * 13 * 17 * 19 * 23  # π / PI_DIVISOR is the smallest fraction of π with a point
Circle = tuple[int, int]  # (cos, sin)
ZERO_ANGLE: Circle = (1, 0)


class Undecidable(Exception):
    """The field has no value for a function or a number, which the message names."""


class DivisibleByPrime(Undecidable):
    """A nonzero number whose numerator or denominator is a multiple of P: the field cannot distinguish it from zero."""


def is_divisible(x: Fraction) -> bool:
    """True for a nonzero number whose numerator or denominator is a multiple of P."""
    return bool(x) and not (x.numerator % P and x.denominator % P)


def inverse(a: int) -> int:
    """1 / a."""
    if not a % P:
        raise ZeroDivisionError("the point is a pole")
    return pow(a, -1, P)


def residue(x: Fraction) -> int:
    """A fraction as an element of the field."""
    if is_divisible(x):
        raise DivisibleByPrime(f"the number {x}, which is divisible by the prime {P}")
    return x.numerator * inverse(x.denominator) % P


def is_square(a: int) -> bool:
    """True for squares, which correspond to positive numbers, and for zero."""
    return pow(a, (P - 1) // 2, P) in (0, 1)


def root(a: int) -> int:
    """The square root of a square that is a square itself.

    >>> root(4) in (2, P - 2), root(9 * 25) == root(9) * root(25) % P
    (True, True)
    """
    return pow(a, (P + 1) // 4, P)


def power(a: int, exponent: Fraction) -> int | None:
    """a to a rational power; None if the field has no such power of a, or no unique one."""
    if exponent.denominator == 1:
        return pow(a, exponent.numerator, P) if a or exponent > 0 else None
    order = (P - 1) // 2
    try:
        # the squares form a group of odd order, in which a root whose order is coprime to it is unique
        if is_square(a) and a:
            return pow(a, exponent.numerator * pow(exponent.denominator, -1, order) % order, P)
        return pow(a, exponent.numerator * pow(exponent.denominator, -1, P - 1) % (P - 1), P) if a else None
    except ValueError:
        return None


def add_angles(a: Circle, b: Circle) -> Circle:
    """The sum of two angles."""
    return (a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P


def times(k: int, a: Circle) -> Circle:
    """k times an angle."""
    if k < 0:
        k, a = -k, (a[0], -a[1] % P)
    out = ZERO_ANGLE
    while k:
        if k & 1:
            out = add_angles(out, a)
        a = add_angles(a, a)
        k >>= 1
    return out


def random_angle(source: random.Random) -> Circle:
    """A random point of the circle, by the half-angle t: ((1 − t²) / (1 + t²), 2t / (1 + t²))."""
    t = source.randrange(1, P)
    below = inverse(1 + t * t)
    return (1 - t * t) * below % P, 2 * t * below % P


# the point of π / PI_DIVISOR: among the points of that order, one where the cosine and sine of π/4, π/5, π/6, π/8, π/10 and
# π/12 are squares, as positive numbers are; so cos(π/4) is the √2/2 that formulas contain
SMALL_ANGLE: Circle = (0xBBDE9C11236A8D5FACBB27F409127D3, 0xA6776B6BC87C807B703D1AB89D62E4E)


def point_of_pi_fraction(k: Fraction) -> Circle | None:
    """The point of k π; None if the field has none.

    >>> c, s = point_of_pi_fraction(Fraction(1, 4))
    >>> c == s == root(2) * inverse(2) % P
    True
    """
    parts = k * PI_DIVISOR
    return times(int(parts), SMALL_ANGLE) if parts.denominator == 1 else None


class Residue:
    """a + b i of GF(P²), where i² = −1; b is nonzero only for roots of non-squares.

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
        below = inverse(x.a * x.a + x.b * x.b) if x.b else inverse(x.a)
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
        return Residue(residue(x))
    return Residue(residue(exact(float(x)))) if isinstance(x, float) else None


class Exact(Algebra):
    """Arithmetic in the field. A field has no order, so comparisons are undefined."""

    name = "exact"

    def number(self, value: Fraction) -> Residue:
        return Residue(residue(value))

    def is_zero(self, x: Scalar) -> bool:
        return x == 0

    def function(self, name: str, *arguments: Scalar) -> Residue:
        # only square roots: every element of GF(P) has one in GF(P²)
        (x,) = (_residue(a) for a in arguments)
        if name != "sqrt" or x is None or x.b:
            raise SingularError(
                f"'{name}' has no exact value in the prime field. Expected a square root of an element."
            )
        return Residue(root(x.a)) if is_square(x.a) else Residue(0, root(-x.a % P))

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> NoReturn:
        raise SingularError("`select` has no exact value in the prime field. Evaluate it before solving.")

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> NoReturn:
        raise SingularError("a comparison has no exact value in the prime field. Evaluate it before solving.")

    def logical(self, name: str, *conditions: Scalar) -> NoReturn:
        raise SingularError("a condition has no exact value in the prime field. Evaluate it before solving.")


EXACT = Exact()
Value: TypeAlias = int | Residue  # an int for elements of GF(P)


def as_residues(values: Sequence[Value]) -> Array:
    """Values of the field as a vector of residues."""
    return vector([x if isinstance(x, Residue) else Residue(x) for x in values])


def narrow(x: Residue) -> Value:
    """Convert to an int if the residue is an element of GF(P)."""
    return x if x.b else x.a


def root_of_number(x: Fraction) -> Value:
    """√x of a positive number: the product of the roots of its prime factors, so that √a √b = √(ab) for all numbers.

    A prime that is not a square of the field has its root in GF(P²).

    >>> root_of_number(Fraction(47)) * root_of_number(Fraction(47)) == 47
    True
    >>> root_of_number(Fraction(6)) == root_of_number(Fraction(2)) * root_of_number(Fraction(3)) % P
    True
    """
    out: Value = 1
    for prime, power in _factors(x.numerator * x.denominator).items():
        single = root(prime) if is_square(prime) else Residue(0, root(-prime % P))
        out = out * pow(prime, power // 2, P) * (single if power % 2 else 1) % P
    return out * inverse(x.denominator) % P


def _factors(n: int) -> dict[int, int]:
    """The prime factors of a number and their powers; a factor above one million is not decomposed."""
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
    """x of A x = b for a regular A, with the first nonzero pivots.

    >>> solve(np.array([[0, 2], [3, 0]], dtype=object), np.array([4, 9], dtype=object))
    array([Residue(3), Residue(2)], dtype=object)
    """
    rows, pivots = eliminated(np.concatenate([A, b[:, None]], axis=1), A.shape[1])
    if len(pivots) < A.shape[1]:
        raise ZeroDivisionError("the matrix is singular at this point")
    return rows[: len(pivots), -1]


def eliminated(rows: Array, columns: int) -> tuple[Array, list[int]]:
    """The reduced row echelon form of a matrix, and the pivot indices among its first `columns`; their count is the rank."""
    reduced = [[_value(x) for x in row] for row in rows]  # int is several times faster than Residue
    pivots: list[int] = []
    for j in range(columns):
        k = len(pivots)
        best = next((i for i in range(k, len(reduced)) if reduced[i][j]), None)
        if best is None:
            continue
        reduced[k], reduced[best] = reduced[best], reduced[k]
        scale = _value(Residue(1) / reduced[k][j])
        reduced[k] = [x * scale % P for x in reduced[k]]
        for i, row in enumerate(reduced):
            if i != k and (factor := row[j]):
                reduced[i] = [(x - factor * y) % P for x, y in zip(row, reduced[k], strict=True)]
        pivots.append(j)
    out = np.empty((len(reduced), rows.shape[1]), dtype=object)
    for i, row in enumerate(reduced):
        out[i] = as_residues(row)
    return out, pivots


def _value(x: object) -> Value:
    found = _residue(x)
    if found is None:
        raise SingularError(f"expected an element of the prime field, got '{x}'.")
    return narrow(found)


def rank(A: Array) -> int:
    """The number of independent rows."""
    return len(eliminated(A, A.shape[1])[1])
