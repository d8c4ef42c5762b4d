"""Exponential, logarithm and power.

The polynomials interpolate the power series of eʳ and artanh s / s, without their first terms, at the Chebyshev nodes of the
interval of r or s², computed with mpmath to 120 digits and rounded (tests/codegen/test_functions.py finds them again).
"""

from __future__ import annotations

from math import sqrt

from dalembert.codegen.llvm.argument_reduction import WHOLE
from dalembert.codegen.llvm.vector_arithmetic import (
    INF,
    NAN,
    Bits,
    Pair,
    Real,
    exact_product,
    madd,
    ordered_sum,
    pattern,
    polynomial,
    product,
    quotient,
)

# (eʳ − 1 − r) / r², for |r| up to ln 2 / 2
EXP = (
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333326141,
    0.0013888888888883752,
    0.00019841269874800493,
    2.4801587325533363e-05,
    2.7557255425746435e-06,
    2.7557273661348637e-07,
    2.510520637395701e-08,
    2.0914679376583935e-09,
)
# (2 artanh s / s − 2 − 2/3 s²) / s⁴, for s up to (√2 − 1) / (√2 + 1)
LOG = (
    0.4,
    0.28571428571429364,
    0.22222222221656232,
    0.18181818335314404,
    0.15384594970895457,
    0.13334804238225345,
    0.11706248540922386,
    0.11723051028097753,
)
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)  # a pair
LN_2 = (
    0.6931471805598903,
    5.497923018708371e-14,
)  # 42 bits, so that its product with an exponent is exact, and the rest
LOG2_E = 1.4426950408889634

SMALLEST_NORMAL = 2.0**-1022


def exp(x: Real) -> Real:
    """eˣ."""
    return x.is_number().real(_exp(Pair(x, x.lanes.real(0.0))), NAN)


def log(x: Real) -> Real:
    """ln x: −∞ of 0, nan of negative numbers."""
    k, s = _parted(x)
    z = s.hi * s.hi
    tail = madd(s.hi * z, polynomial(z, (TWO_THIRDS[0], *LOG)), s.lo * 2.0)
    total = ordered_sum(k * LN_2[0], s.hi * 2.0)
    value = total.hi + (total.lo + madd(k, x.lanes.real(LN_2[1]), tail))
    value = (x < INF).real(x.equals(0.0).real(-INF, value), INF)
    return (x >= 0.0).real(value, NAN)


def power(x: Real, y: Real) -> Real:
    """xʸ = ± exp(y ln |x|), with the special cases of the C standard (annex F)."""
    size = abs(y)
    # an exponent beyond 2⁶⁵ takes every base but 1 out of range; smaller ones have exact products
    limited = (size > 2.0**65).real(2.0**65, size).flipped(y.sign())
    logarithm = _pair_log(abs(x))
    exact = exact_product(limited, logarithm.hi)
    inside = abs(exact.hi) < 1024.0
    result = _exp(Pair(exact.hi, inside.real(madd(limited, logarithm.lo, exact.lo), 0.0)))
    # y is whole if adding 2⁵² loses nothing; its lowest bit is then the last one
    small = size < 2.0**52
    shifted = small.real(size + 2.0**52, size)
    whole = ~small | (shifted - 2.0**52).equals(size)
    odd = whole & (size < 2.0**53) & (shifted.bits() & 1).equals(1)
    result = result.flipped(odd.bits(x.sign(), 0))
    undefined = (x < 0.0) & (x > -INF) & ~whole
    result = (x.is_number() & y.is_number() & ~undefined).real(result, NAN)
    return (x.equals(1.0) | y.equals(0.0)).real(1.0, result)


def _exp(x: Pair) -> Real:
    """e to the x.hi + x.lo = 2ⁿ eʳ with |r| ≤ ln 2 / 2; not a fixed nan where x is not a number."""
    high = (x.hi > 710.0).real(710.0, x.hi)
    high = (high < -746.0).real(-746.0, high)
    shifted = high * LOG2_E + WHOLE
    n = shifted - WHOLE
    r = ordered_sum(high - n * LN_2[0], x.lo - n * LN_2[1])
    total = ordered_sum(x.hi.lanes.real(1.0), r.hi)
    tail = madd(r.hi * r.hi, polynomial(r.hi, EXP), madd(r.hi, r.lo, r.lo))
    return _scaled(total.hi + (total.lo + tail), shifted.bits() - pattern(WHOLE))


def _scaled(x: Real, n: Bits) -> Real:
    """2ⁿ x, in two halves: one power of two could not hold n = 1024 or reach the subnormal numbers."""
    both = n + 2 * 1023
    half = both >> 1
    return x * (half << 52).real() * ((both - half) << 52).real()


def _pair_log(x: Real) -> Pair:
    """ln x to about 2⁻⁶⁶ for x > 0; ∓∞ of 0 and ∞."""
    k, s = _parted(x)
    square = product(s, s)
    c = ordered_sum(x.lanes.real(TWO_THIRDS[0]), square.hi * polynomial(square.hi, LOG))
    tail = product(product(s, square), Pair(c.hi, c.lo + TWO_THIRDS[1]))
    body = ordered_sum(s.hi * 2.0, tail.hi)
    total = ordered_sum(k * LN_2[0], body.hi)
    low = total.lo + madd(k, x.lanes.real(LN_2[1]), body.lo + madd(s.lo, x.lanes.real(2.0), tail.lo))
    result = ordered_sum(total.hi, low)
    limit = x.equals(0.0).real(-INF, INF)
    regular = (x > 0.0) & (x < INF)
    return Pair(regular.real(result.hi, limit), regular.real(result.lo, 0.0))


def _parted(x: Real) -> tuple[Real, Pair]:
    """k and s of ln x = k ln 2 + 2 artanh s: x = 2ᵏ m with √½ ≤ m < √2, and s = (m − 1)/(m + 1)."""
    subnormal = x < SMALLEST_NORMAL
    bits = subnormal.real(x * 2.0**54, x).bits()
    exponent = (bits + (pattern(1.0) - pattern(sqrt(0.5)))) >> 52
    m = (bits - ((exponent - 1023) << 52)).real()
    k = (exponent + pattern(WHOLE)).real() - (subnormal.real(1023.0 + 54.0, 1023.0) + WHOLE)
    return k, quotient(Pair(m - 1.0, x.lanes.real(0.0)), ordered_sum(x.lanes.real(1.0), m))
