"""Reduction of angles to |r| ≤ π/4 by quarter turns, accurate for every double.

Up to 2²⁰ the quarter turns are subtracted in parts of π/2 short enough for exact products (W. J. Cody and W. Waite 1980).
Beyond that, the bits of x · 2/π around the binary point are computed with integers (M. H. Payne and R. N. Hanek 1983), for each
lane separately, behind a branch that is taken when any lane needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from llvmlite import ir

from dalembert.codegen.llvm._vector_arithmetic import (
    DOUBLE,
    INF,
    INTEGER,
    NAN,
    Bits,
    Pair,
    Real,
    VectorBuilder,
    internal,
    madd,
    ordered_sum,
    product,
)

# π/2 = Σ parts: three of 33 bits, so that the product with 20 bits of quarter turns is exact, and the rest (from mpmath)
HALF_PI_PARTS = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e0p-69", "0x1.b839a252049c1p-104"))
)
HALF_PI_LONG_PARTS = tuple(
    map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"))
)
HALF_PI = tuple(map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54")))  # π/2 as a pair
TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")

# adding 3·2⁵¹ rounds to an integer, which is then in the lowest bits
ROUNDING_SHIFT = 3 * 2.0**51
LARGEST = 2.0**20
WORDS = 20  # 64 zeros, then 2/π to 1216 bits: 2⁹⁷¹, the last bit of the largest double, still has 192 of them
FIELDS = ir.LiteralStructType([INTEGER, DOUBLE, DOUBLE])  # quarters, r.hi, r.lo of one lane
Value = TypeVar("Value", Real, Bits)


@dataclass(frozen=True)
class ReducedArgument:
    """x = r + quarters · π/2, with |r| slightly above π/4 at most; only the two lowest bits of `quarters` are significant."""

    quarters: Bits
    r: Pair


def reduced(x: Real) -> ReducedArgument:
    """x reduced by quarter turns; r is NaN if x is infinite or NaN."""
    return _beyond(x, _near(x))


def reduced_once(x: Real) -> ReducedArgument:
    """`reduced` with r rounded: r.lo is omitted."""
    return _beyond(x, _rounded(x))


def _beyond(x: Real, near: ReducedArgument) -> ReducedArgument:
    """The result for moderate x, and the exact reduction for huge x."""
    builder = x.lanes.builder
    huge = ~(abs(x) < LARGEST)
    start = builder.block
    with builder.if_then(huge.anywhere(), likely=False):
        far = _far(huge.real(x, LARGEST))
        finite = abs(x) < INF
        quarters = huge.bits(far.quarters, near.quarters)
        hi = huge.real(finite.real(far.r.hi, NAN), near.r.hi)
        lo = huge.real(finite.real(far.r.lo, 0.0), near.r.lo)
        predecessors = (start, builder.block)
    r = Pair(_either(predecessors, near.r.hi, hi), _either(predecessors, near.r.lo, lo))
    return ReducedArgument(_either(predecessors, near.quarters, quarters), r)


def _rounded(x: Real) -> ReducedArgument:
    """Cody and Waite without error terms: the significant part is rounded once, and the first difference is exact.

    With fused products a part may have 53 bits: x and n·π/2 are then multiples of 2⁻⁵³, and their difference is below 1.
    """
    shifted = madd(x, x.lanes.real(TWO_OVER_PI), ROUNDING_SHIFT)
    n, r = shifted - ROUNDING_SHIFT, x
    for part in HALF_PI_LONG_PARTS if x.lanes.fma else HALF_PI_PARTS:
        r = madd(n, x.lanes.real(-part), r)
    return ReducedArgument(shifted.bits(), Pair(r, x.lanes.real(0.0)))


def _near(x: Real) -> ReducedArgument:
    """Cody and Waite: x − n·π/2 part by part; the first three products are exact.

    The sums are exact in any order of size: where the first term is the smaller one, both are multiples of one bit and
    below 2⁵³ of it.
    """
    shifted = x * TWO_OVER_PI + ROUNDING_SHIFT
    n = shifted - ROUNDING_SHIFT
    first, second, third, fourth = (x.lanes.real(-part) for part in HALF_PI_PARTS)
    one = ordered_sum(madd(n, first, x), n * second)
    two = ordered_sum(one.hi, n * third)
    return ReducedArgument(shifted.bits(), ordered_sum(two.hi, madd(n, fourth, one.lo + two.lo)))


def _either(predecessors: tuple[ir.Block | None, ir.Block | None], one: Value, other: Value) -> Value:
    """Phi node: one value or the other, by the predecessor block."""
    lanes = one.lanes
    phi = lanes.builder.phi(lanes.shape(DOUBLE if isinstance(one, Real) else INTEGER))
    for block, incoming in zip(predecessors, (one, other), strict=True):
        phi.add_incoming(incoming.value, block)
    return type(one)(lanes, phi)


def _far(x: Real) -> ReducedArgument:
    """Payne and Hanek, lane by lane."""
    lanes, builder = x.lanes, x.lanes.builder
    function = _payne_hanek(builder.module, lanes.fma)
    results = [builder.call(function, [part]) for part in lanes.apart(x.value)]
    quarters, hi, lo = (
        lanes.together(scalar, [lanes.emit("extract_value", result, i) for result in results])
        for i, scalar in enumerate(FIELDS.elements)
    )
    return ReducedArgument(Bits(lanes, quarters), Pair(Real(lanes, hi), Real(lanes, lo)))


def _payne_hanek(module: ir.Module, fma: bool) -> ir.Function:
    """The function of one double ≥ 2²⁰ that returns quarters, r.hi and r.lo."""
    name = f"payne_hanek{'.fma' if fma else ''}"
    known = module.globals.get(name)
    if isinstance(known, ir.Function):
        return known
    function = internal(module, name, FIELDS, [DOUBLE])
    lanes = VectorBuilder(ir.IRBuilder(function.append_basic_block("entry")), 1, fma)
    quarters, r = _scalar_reduction(Real(lanes, function.args[0]))
    lanes.builder.ret(lanes.struct(FIELDS, [quarters.value, r.hi.value, r.lo.value]))
    return function


def _scalar_reduction(x: Real) -> tuple[Bits, Pair]:
    """Quarters and r of one double x = ± m 2ᵉ ≥ 2²⁰, with integer m; the sign of x is restored at the end."""
    lanes = x.lanes
    magnitude = abs(x).bits()
    m = (magnitude & (1 << 52) - 1) | 1 << 52
    e = (magnitude >> 52) - 1075
    top, middle, low = _product(m, _window(lanes, e))
    # 192 bits: two of integer quarters mod 4, the rest a fraction; from one half on the next quarter is nearer
    quarters = (top + (1 << 61)) >> 62
    top, middle, low = _funnel(top, middle, 2), _funnel(middle, low, 2), low << 2
    over = lanes.bits(0) - (top >> 63)
    top, middle, low = top ^ over, middle ^ over, low ^ over
    # without leading zeros, the fraction is a pair of doubles
    zeros = Bits(lanes, lanes.emit("ctlz", top.value, ir.IntType(1)(0)))
    top, middle = _funnel(top, middle, zeros), _funnel(middle, low, zeros)
    rest = _funnel(top, middle, 53)
    scale = ((lanes.bits(1023) - zeros) << 52).real()
    fraction = Pair(_converted(top >> 11) * 2.0**-53 * scale, _converted(rest) * 2.0**-117 * scale)
    r = product(fraction, Pair(lanes.real(HALF_PI[0]), lanes.real(HALF_PI[1])))
    sign = x.sign() ^ (over & 1 << 63)
    negative = x < 0.0
    return negative.bits(lanes.bits(0) - quarters, quarters), Pair(r.hi.flipped(sign), r.lo.flipped(sign))


def _window(lanes: VectorBuilder, e: Bits) -> list[Bits]:
    """The 192 bits of 2/π from the weight 2¹⁻ᵉ; the bits before contribute full turns of 2ᵉ."""
    builder = lanes.builder
    start = e + 62  # 64 zeros, then the weight 2⁻¹
    table, word = _table(builder.module), start >> 6
    index = ir.IntType(32)(0)
    words = []
    for i in range(4):
        words.append(Bits(lanes, builder.load(builder.gep(table, [index, (word + i).value], inbounds=True))))
    return [_funnel(words[i], words[i + 1], start & 63) for i in range(3)]


def _product(m: Bits, words: list[Bits]) -> tuple[Bits, Bits, Bits]:
    """m times a number of three words, highest first, truncated to 192 bits."""
    lanes, builder, wide = m.lanes, m.lanes.builder, ir.IntType(128)

    def times(word: Bits) -> ir.Value:
        return lanes.emit("mul", builder.zext(m.value, wide), builder.zext(word.value, wide))

    def upper(value: ir.Value) -> ir.Value:
        return lanes.emit("lshr", value, wide(64))

    low = times(words[2])
    middle = lanes.emit("add", times(words[1]), upper(low))
    top = lanes.emit("add", times(words[0]), upper(middle))
    top, middle, low = (Bits(lanes, lanes.emit("trunc", value, INTEGER)) for value in (top, middle, low))
    return top, middle, low


def _funnel(high: Bits, low: Bits, shift: Bits | int) -> Bits:
    """The upper word of two words shifted left."""
    lanes = high.lanes
    return Bits(lanes, lanes.intrinsic("llvm.fshl", INTEGER, high.value, low.value, lanes.bits(shift).value))


def _converted(integer: Bits) -> Real:
    return Real(integer.lanes, integer.lanes.emit("uitofp", integer.value, DOUBLE))


def _table(module: ir.Module) -> ir.GlobalVariable:
    """64 zeros and the bits of 2/π after the point, in 64-bit words."""
    name = "two_over_pi"
    known = module.globals.get(name)
    if isinstance(known, ir.GlobalVariable):
        return known
    kind = ir.ArrayType(INTEGER, WORDS)
    table = ir.GlobalVariable(module, kind, name)
    table.linkage = "internal"
    table.global_constant = True
    bits = two_over_pi(64 * (WORDS - 1))
    words = [bits >> 64 * (WORDS - 1 - i) & (1 << 64) - 1 for i in range(WORDS)]
    table.initializer = ir.Constant(kind, words)  # type: ignore[assignment]
    return table


@cache
def two_over_pi(bits: int) -> int:
    """⌊2ᵇⁱᵗˢ · 2/π⌋, from π = 16 arctan(1/5) − 4 arctan(1/239) in integers (J. Machin 1706).

    >>> two_over_pi(53) / 2**53
    0.6366197723675813
    """
    guarded = bits + 64

    def arctan(denominator: int) -> int:
        power = total = (1 << guarded) // denominator
        step = 1
        while power:
            power //= -denominator * denominator
            step += 2
            total += power // step
        return total

    pi = 16 * arctan(5) - 4 * arctan(239)
    return (2 << bits + guarded) // pi
