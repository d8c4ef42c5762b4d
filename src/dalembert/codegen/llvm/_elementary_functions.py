"""The elementary functions in LLVM IR: sin cos tan asin acos atan atan2 sqrt exp log pow.

Every function is accurate to 2 units in the last place for all doubles, treats ±0, subnormal numbers, ±∞ and NaN as C does,
calls nothing outside its module, and gives the same bits in every lane and for every number of lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from llvmlite import ir

from dalembert.codegen.llvm._argument_reduction import ROUNDING_SHIFT, reduced, reduced_once
from dalembert.codegen.llvm._vector_arithmetic import (
    DOUBLE,
    INF,
    INTEGER,
    NAN,
    Bits,
    Pair,
    Real,
    VectorBuilder,
    exact_product,
    internal,
    madd,
    nested,
    ordered_sum,
    pattern,
    polynomial,
    product,
    quotient,
)
from dalembert.errors import EngineError

Body = Callable[..., Real | tuple[Real, Real]]
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
QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)  # a pair; hi ends in three zeros, so small multiples are exact
# for smaller |x|, x³ does not affect the last bit of x
LINEAR = 2.0**-27


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
    # an exponent beyond 2⁶⁵ takes every base except 1 out of range; smaller ones have exact products
    limited = (size > 2.0**65).real(2.0**65, size).flipped(y.sign())
    logarithm = _pair_log(abs(x))
    exact = exact_product(limited, logarithm.hi)
    inside = abs(exact.hi) < 1024.0
    result = _exp(Pair(exact.hi, inside.real(madd(limited, logarithm.lo, exact.lo), 0.0)))
    # y is an integer if adding 2⁵² loses nothing; its lowest bit is then the last one
    small = size < 2.0**52
    shifted = small.real(size + 2.0**52, size)
    is_integer = ~small | (shifted - 2.0**52).equals(size)
    odd = is_integer & (size < 2.0**53) & (shifted.bits() & 1).equals(1)
    result = result.flipped(odd.bits(x.sign(), 0))
    undefined = (x < 0.0) & (x > -INF) & ~is_integer
    result = (x.is_number() & y.is_number() & ~undefined).real(result, NAN)
    return (x.equals(1.0) | y.equals(0.0)).real(1.0, result)


def sincos(x: Real) -> tuple[Real, Real]:
    """Sine and cosine of x, from one reduction of |x|; to 1.6 units in the last place, 2 without fused products."""
    angle = reduced_once(abs(x))
    r, q = angle.r.hi, angle.quarters
    z = r * r
    sine = madd(r * z, nested(z, SINE), r)
    cosine = madd(z * z, nested(z, COSINE), madd(z, x.lanes.real(-0.5), 1.0))
    odd, second = q << 63, q << 62  # the two bits of the quarter, each at the position of the sign
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
    """The angle of the point (x, y); both are scaled first, to avoid overflow and underflow."""
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


# for each name: the function that emits it, and its number of arguments
BODIES: dict[str, tuple[Body, int]] = {
    "sincos": (sincos, 1),
    "tan": (tan, 1),
    "asin": (asin, 1),
    "acos": (acos, 1),
    "atan": (atan, 1),
    "atan2": (atan2, 2),
    "exp": (exp, 1),
    "log": (log, 1),
    "pow": (power, 2),
}
# loops over many numbers of 64 or 32 bits
ROWS: dict[str, ir.Type] = {"circles": DOUBLE, "circles.narrow": ir.FloatType()}
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


def full_name(name: str, lanes: int, fma: bool) -> str:
    """The name of a function in a module."""
    return f"{name}.{lanes}{'.fma' if fma else ''}"


class Functions:
    """The elementary functions of one module, defined on first use.

    >>> module = ir.Module()
    >>> double = ir.DoubleType()
    >>> twice = ir.Function(module, ir.FunctionType(double, [double]), "twice")
    >>> builder = ir.IRBuilder(twice.append_basic_block())
    >>> functions = Functions(module, 1, fma=True)
    >>> s, c = functions.sincos(builder, twice.args[0])
    >>> _ = builder.ret(functions.multiply_add(builder, s, c, functions.call(builder, "exp", s)))
    >>> [f.name for f in module.functions if not f.is_declaration]
    ['twice', 'sincos.1.fma', 'payne_hanek.fma', 'exp.1.fma']
    """

    def __init__(self, module: ir.Module, lanes: int, *, fma: bool) -> None:
        self.module = module
        self.lanes = lanes
        self.fma = fma

    def call(self, builder: ir.IRBuilder, name: str, *arguments: ir.Value) -> ir.Value:
        """The value of a function by its name in C."""
        if name in ("sin", "cos"):
            return self.sincos(builder, *arguments)[name == "cos"]
        if name == "sqrt":
            return Real(VectorBuilder(builder, self.lanes, self.fma), *arguments).sqrt().value
        return builder.call(self.defined(name), arguments)

    def sincos(self, builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Sine and cosine in one call."""
        both = builder.call(self.defined("sincos"), [x])
        return builder.extract_value(both, 0), builder.extract_value(both, 1)

    def multiply_add(self, builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """a b + c, rounded once if fused multiply-adds are allowed, otherwise twice."""
        lanes = VectorBuilder(builder, self.lanes, self.fma)
        return madd(Real(lanes, a), Real(lanes, b), Real(lanes, c)).value

    def defined(self, name: str) -> ir.Function:
        """The definition of a function in the module, created if necessary."""
        full = full_name(name, self.lanes, self.fma)
        known = self.module.globals.get(full)
        if isinstance(known, ir.Function):
            return known
        return self._circles(name, full) if name in ROWS else self._define(name, full)

    def _define(self, name: str, full: str) -> ir.Function:
        if name not in BODIES:
            expected = ", ".join(["sin", "cos", "sqrt", *BODIES])
            raise EngineError(f"function '{name}': not available in machine code. Expected one of {expected}.")
        body, arity = BODIES[name]
        builder = ir.IRBuilder()
        lanes = VectorBuilder(builder, self.lanes, self.fma)
        shape = lanes.shape(DOUBLE)
        both = ir.LiteralStructType([shape, shape])
        function = internal(self.module, full, both if name == "sincos" else shape, [shape] * arity)
        builder.position_at_end(function.append_basic_block("entry"))
        value = body(*(Real(lanes, argument) for argument in function.args))
        parts = [part.value for part in value] if isinstance(value, tuple) else [value.value]
        builder.ret(lanes.struct(both, parts) if name == "sincos" else parts[0])
        return function

    def _circles(self, name: str, full: str) -> ir.Function:
        """A loop over rows: sine and cosine of the numbers of every lane at `k` in the rows that `angles` lists.

        Both are written to `into`, one after the other. It is not split into calls, since a call would reload all constants.
        """
        pointer = ir.PointerType()
        arguments = [pointer, pointer, pointer, INTEGER, INTEGER]
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), arguments), full)
        function.linkage = "internal"
        function.attributes.alignstack = 64
        function.attributes.add("noinline")
        rows, angles, into, k, count = function.args
        entry, loop, done = (function.append_basic_block(part) for part in ("entry", "loop", "done"))
        ir.IRBuilder(entry).branch(loop)
        builder = ir.IRBuilder(loop)
        lanes = VectorBuilder(builder, self.lanes, self.fma)
        scalar = ROWS[name]
        kind = lanes.shape(scalar)
        i = builder.phi(INTEGER)
        i.add_incoming(INTEGER(0), entry)
        row = builder.load(builder.gep(angles, [i], source_etype=INTEGER), typ=INTEGER)
        at = builder.load(builder.gep(rows, [row], source_etype=pointer), typ=pointer)
        x = builder.load(builder.gep(at, [k], source_etype=scalar), align=8 if scalar is DOUBLE else 4, typ=kind)
        x = x if scalar is DOUBLE else lanes.emit("fpext", x, lanes.shape(DOUBLE))
        twice = builder.shl(i, INTEGER(1))
        for part, value in enumerate(sincos(Real(lanes, x))):
            y = value.value if scalar is DOUBLE else lanes.emit("fptrunc", value.value, kind)
            builder.store(y, builder.gep(into, [builder.or_(twice, INTEGER(part))], source_etype=kind))
        after = builder.add(i, INTEGER(1))
        i.add_incoming(after, builder.block)
        builder.cbranch(builder.icmp_signed("<", after, count), loop, done)
        ir.IRBuilder(done).ret_void()
        return function


def _exp(x: Pair) -> Real:
    """e to the x.hi + x.lo = 2ⁿ eʳ with |r| ≤ ln 2 / 2; some NaN if x is NaN."""
    high = (x.hi > 710.0).real(710.0, x.hi)
    high = (high < -746.0).real(-746.0, high)
    shifted = high * LOG2_E + ROUNDING_SHIFT
    n = shifted - ROUNDING_SHIFT
    r = ordered_sum(high - n * LN_2[0], x.lo - n * LN_2[1])
    total = ordered_sum(x.hi.lanes.real(1.0), r.hi)
    tail = madd(r.hi * r.hi, polynomial(r.hi, EXP), madd(r.hi, r.lo, r.lo))
    return _scaled(total.hi + (total.lo + tail), shifted.bits() - pattern(ROUNDING_SHIFT))


def _scaled(x: Real, n: Bits) -> Real:
    """2ⁿ x, in two factors: one power of two could not represent n = 1024 or reach the subnormal numbers."""
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
    k = (exponent + pattern(ROUNDING_SHIFT)).real() - (subnormal.real(1023.0 + 54.0, 1023.0) + ROUNDING_SHIFT)
    return k, quotient(Pair(m - 1.0, x.lanes.real(0.0)), ordered_sum(x.lanes.real(1.0), m))


@dataclass(frozen=True)
class Circle:
    """The point (cos x, sin x), not yet rounded, before the rotation by `quarters`."""

    cosine: Pair
    sine: Pair
    quarters: Bits


def circle(x: Real) -> Circle:
    """Cosine and sine of the reduced angle r, with the first-order contribution of r.lo."""
    angle = reduced(x)
    r = angle.r
    z = r.hi * r.hi
    half = z * 0.5
    one = 1.0 - half
    sine = Pair(r.hi, madd(r.hi * z, polynomial(z, SINE), r.lo * one))
    cosine = Pair(one, ((1.0 - one) - half) + madd(z * z, polynomial(z, COSINE), -(r.hi * r.lo)))
    return Circle(cosine, sine, angle.quarters)


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
    """The angle of (±x, ±y) with x, y ≥ 0: a multiple of π/4 plus or minus an arctangent u ≤ tan(π/8)."""
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
