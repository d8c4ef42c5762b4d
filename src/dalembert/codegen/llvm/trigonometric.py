"""Sine, cosine, tangent and their inverses.

The polynomials interpolate the power series of sin r / r, cos r and arctan u / u, without their first terms, at the Chebyshev
nodes of the interval of r² or u², computed with mpmath to 120 digits and rounded (tests/codegen/test_functions.py finds
them again).
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.codegen.llvm.argument_reduction import reduced, reduced_once
from dalembert.codegen.llvm.vector_arithmetic import (
    INF,
    NAN,
    Bits,
    Pair,
    Real,
    exact_product,
    madd,
    nested,
    ordered_sum,
    polynomial,
    quotient,
)

# (sin r / r − 1) / r² and (cos r − 1 + r²/2) / r⁴, for r² up to (π/4)²
SINE = (
    -0.16666666666666666,
    0.008333333333330948,
    -0.00019841269836758574,
    2.755731610255244e-06,
    -2.5051131845003624e-08,
    1.5918129294866608e-10,
)
COSINE = (
    0.041666666666666664,
    -0.0013888888888887398,
    2.480158729876569e-05,
    -2.7557317271729793e-07,
    2.08761462684032e-09,
    -1.1382632425521717e-11,
)
# (arctan u / u − 1) / u², for u² up to tan²(π/8)
ARC = (
    -0.3333333333333333,
    0.19999999999999804,
    -0.14285714285659828,
    0.11111111105155447,
    -0.09090908753500877,
    0.07692296375032143,
    -0.06666424885738255,
    0.05878928997834775,
    -0.05230454270650244,
    0.04551593220626549,
    -0.034570561981427744,
    0.016285756855221028,
)
TAN_EIGHTH = 0.41421356237309503  # tan(π/8)
QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)  # a pair; hi ends in three zeros, small multiples are exact

# below, x³ is out of reach of the last bit of x
LINEAR = 2.0**-27


@dataclass(frozen=True)
class Circle:
    """The point (cos x, sin x), each not yet rounded, after a quarter turn or two if the bits `quarters` say so."""

    cosine: Pair
    sine: Pair
    quarters: Bits


def circle(x: Real) -> Circle:
    """Cosine and sine of the reduced angle r, with what r.lo adds to first order."""
    angle = reduced(x)
    r = angle.r
    z = r.hi * r.hi
    half = z * 0.5
    one = 1.0 - half
    sine = Pair(r.hi, madd(r.hi * z, polynomial(z, SINE), r.lo * one))
    cosine = Pair(one, ((1.0 - one) - half) + madd(z * z, polynomial(z, COSINE), -(r.hi * r.lo)))
    return Circle(cosine, sine, angle.quarters)


def sincos(x: Real) -> tuple[Real, Real]:
    """Sine and cosine of x, from one reduction of |x|; to 1.6 units in the last place, 2 without fused products."""
    angle = reduced_once(abs(x))
    r, q = angle.r.hi, angle.quarters
    z = r * r
    sine = madd(r * z, nested(z, SINE), r)
    cosine = madd(z * z, nested(z, COSINE), madd(z, x.lanes.real(-0.5), 1.0))
    odd, second = q << 63, q << 62  # the two bits of the quarter, each in the place of the sign
    s = odd.is_negative().real(cosine, sine).flipped((x.bits() ^ second) & 1 << 63)
    c = odd.is_negative().real(sine, cosine).flipped((odd ^ second) & 1 << 63)
    return s, c


def tan(x: Real) -> Real:
    """sin/cos, or −cos/sin after an odd number of quarter turns."""
    point = circle(x)
    odd = (point.quarters & 1).equals(1)
    above, below = odd.pair(point.cosine, point.sine), odd.pair(point.sine, point.cosine)
    above, below = ordered_sum(above.hi, above.lo), ordered_sum(below.hi, below.lo)
    ratio = quotient(above, below).rounded().flipped(point.quarters << 63)
    return (abs(x) < LINEAR).real(x, ratio)


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point (x, y); both are scaled together first, away from overflow and underflow."""
    a, b = abs(y), abs(x)
    both_infinite = a.equals(INF) & b.equals(INF)
    a, b = both_infinite.real(1.0, a), both_infinite.real(1.0, b)
    largest = (a > b).real(a, b)
    scale = (largest > 2.0**500).real(2.0**-500, (largest < 2.0**-500).real(2.0**500, 1.0))
    zero = x.lanes.real(0.0)
    angle = _angle(Pair(a * scale, zero), Pair(b * scale, zero), x.sign(), y.sign())
    return (x.is_number() & y.is_number()).real(angle, NAN)


def atan(x: Real) -> Real:
    """The angle of the point (1, x)."""
    return atan2(x, x.lanes.real(1.0))


def asin(x: Real) -> Real:
    """The angle of the point (√(1 − x²), x)."""
    size = abs(x)
    angle = _angle(Pair(size, x.lanes.real(0.0)), _complement(size), x.lanes.bits(0), x.sign())
    return (size <= 1.0).real(angle, NAN)


def acos(x: Real) -> Real:
    """The angle of the point (x, √(1 − x²))."""
    size = abs(x)
    angle = _angle(_complement(size), Pair(size, x.lanes.real(0.0)), x.sign(), x.lanes.bits(0))
    return (size <= 1.0).real(angle, NAN)


def _complement(x: Real) -> Pair:
    """√(1 − x²) for 0 ≤ x ≤ 1."""
    square = exact_product(x, x)
    rest = ordered_sum(x.lanes.real(1.0), -square.hi)
    rest = ordered_sum(rest.hi, rest.lo - square.lo)
    root = rest.hi.sqrt()
    back = exact_product(root, root)
    error = ((rest.hi - back.hi) - back.lo) + rest.lo
    return Pair(root, (root > 0.0).real(error / (root + root), 0.0))


def _angle(y: Pair, x: Pair, x_sign: Bits, y_sign: Bits) -> Real:
    """The angle of (±x, ±y) with x, y ≥ 0: a multiple of π/4 and an arctangent u ≤ tan(π/8) on one side of it."""
    lanes = y.hi.lanes
    steep = y.hi > x.hi
    a, b = steep.pair(x, y), steep.pair(y, x)
    b = Pair(b.hi.equals(0.0).real(1.0, b.hi), b.lo)
    # arctan(a/b) = π/4 + arctan((a − b)/(a + b))
    middle = a.hi > b.hi * TAN_EIGHTH
    below, above = ordered_sum(b.hi, a.hi), ordered_sum(-b.hi, a.hi)
    a, b = (
        middle.pair(Pair(above.hi, above.lo + (a.lo - b.lo)), a),
        middle.pair(Pair(below.hi, below.lo + (a.lo + b.lo)), b),
    )
    u = quotient(a, b)
    z = u.hi * u.hi
    rest = (abs(u.hi) < LINEAR).real(0.0, u.lo * (1.0 - z))
    tail = madd(u.hi * z, polynomial(z, ARC), rest)
    # eighths of a turn: 0 or 1, mirrored at the diagonal, mirrored at the y axis
    eighths = middle.real(1.0, 0.0)
    eighths = steep.real(2.0 - eighths, eighths)
    left = ~x_sign.equals(0)
    eighths = left.real(4.0 - eighths, eighths)
    mirrored = steep.bits(x_sign ^ 1 << 63, x_sign)
    base = ordered_sum(eighths * QUARTER_PI[0], u.hi.flipped(mirrored))
    angle = base.hi + (base.lo + madd(eighths, lanes.real(QUARTER_PI[1]), tail.flipped(mirrored)))
    return angle.flipped(y_sign)
