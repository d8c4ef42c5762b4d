"""The prime field GF(P) in which identities are proved, and its circle.

P + 1 is divisible by 16·9·5·7·11·13·17·19·23 and P ≡ 3 mod 4. This gives the field what mechanics asks of numbers:

- The points c² + s² = 1 form a cyclic group of order P + 1, with the addition theorems as its product. It has points for π/d
  for every d that divides the number above, so π, π/2, π/3, π/4, π/5 ... are exact angles.
- Half of all residues are squares. They play the part of positive numbers: a square has one root that is a square itself, and
  this choice is multiplicative, √(ab) = √a √b. Roots of odd order exist everywhere and are unique.
- An identity between rational functions that fails as an identity holds at a random point with a probability of at most its
  degree divided by P ≈ 2¹²⁷ (Schwartz and Zippel).
"""

from __future__ import annotations

import random
from fractions import Fraction

P = 0x7FFFFFFFFFFFFFFFFFFFFFEE92A7E66F
HALF_TURNS = 8 * 9 * 5 * 7 * 11 * 13 * 17 * 19 * 23  # π / HALF_TURNS is the smallest part of π with a point

Circle = tuple[int, int]  # (cos, sin)
EAST: Circle = (1, 0)


class Undecidable(Exception):
    """The field has no value for a function or a number; the message names it."""


class DivisibleByPrime(Undecidable):
    """A number other than zero whose numerator or denominator is a multiple of P: the field cannot tell it from zero."""


def is_divisible(x: Fraction) -> bool:
    """True for a number other than zero whose numerator or denominator is a multiple of P.

    >>> is_divisible(Fraction(3 * P)), is_divisible(Fraction(1, P)), is_divisible(Fraction(0)), is_divisible(Fraction(7))
    (True, True, False, False)
    """
    return bool(x) and not (x.numerator % P and x.denominator % P)


def inverse(a: int) -> int:
    """1 / a.

    >>> inverse(2) * 2 % P
    1
    """
    if not a % P:
        raise ZeroDivisionError("the point is a pole")
    return pow(a, -1, P)


def residue(x: Fraction) -> int:
    """A fraction as an element of the field.

    >>> residue(Fraction(981, 100)) * 100 % P
    981
    """
    if is_divisible(x):
        raise DivisibleByPrime(f"the number {x}, which is divisible by the prime {P}")
    return x.numerator * inverse(x.denominator) % P


def is_square(a: int) -> bool:
    """True for the squares, which play the part of positive numbers; zero is one."""
    return pow(a, (P - 1) // 2, P) in (0, 1)


def root(a: int) -> int:
    """The root of a square that is a square itself.

    >>> root(4) in (2, P - 2), root(9 * 25) == root(9) * root(25) % P
    (True, True)
    """
    return pow(a, (P + 1) // 4, P)


def power(a: int, exponent: Fraction) -> int | None:
    """a to a rational power; None where the field has no such power of a, or no unique one."""
    if exponent.denominator == 1:
        return pow(a, exponent.numerator, P) if a or exponent > 0 else None
    order = (P - 1) // 2
    try:
        # the squares form a group of odd order, in which every root whose order is prime to it is unique
        if is_square(a) and a:
            return pow(a, exponent.numerator * pow(exponent.denominator, -1, order) % order, P)
        return pow(a, exponent.numerator * pow(exponent.denominator, -1, P - 1) % (P - 1), P) if a else None
    except ValueError:
        return None


def turned(a: Circle, b: Circle) -> Circle:
    """The sum of two angles."""
    return (a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P


def times(k: int, a: Circle) -> Circle:
    """k times an angle.

    >>> c, s = random_angle(random.Random(1))
    >>> times(2, (c, s)) == ((c * c - s * s) % P, 2 * s * c % P)
    True
    """
    if k < 0:
        k, a = -k, (a[0], -a[1] % P)
    out = EAST
    while k:
        if k & 1:
            out = turned(out, a)
        a = turned(a, a)
        k >>= 1
    return out


def random_angle(source: random.Random) -> Circle:
    """A random point of the circle, by the half-angle t: ((1 − t²) / (1 + t²), 2t / (1 + t²))."""
    t = source.randrange(1, P)
    below = inverse(1 + t * t)
    return (1 - t * t) * below % P, 2 * t * below % P


# the point of π / HALF_TURNS. Of all points of that order one is taken at which cosine and sine of π/4, π/5, π/6, π/8, π/10
# and π/12 are squares, as positive numbers are; so cos(π/4) is the √2/2 that formulas write for it
SMALL_ANGLE: Circle = (0xBBDE9C11236A8D5FACBB27F409127D3, 0xA6776B6BC87C807B703D1AB89D62E4E)


def part_of_pi(k: Fraction) -> Circle | None:
    """The point of k π; None where the field has none.

    >>> c, s = part_of_pi(Fraction(1, 4))
    >>> c == s == root(2) * inverse(2) % P
    True
    """
    parts = k * HALF_TURNS
    return times(int(parts), SMALL_ANGLE) if parts.denominator == 1 else None
