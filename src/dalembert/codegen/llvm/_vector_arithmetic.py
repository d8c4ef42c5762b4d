"""Arithmetic on LLVM values with operators, on one double or on a vector of doubles.

`Real`, `Bits` and `Truth` wrap doubles, 64-bit integers and conditions; each operator appends one instruction to the builder of
their `VectorBuilder`. No instruction mixes lanes, none carries a fast-math flag, and fused multiply-adds are emitted only by
`madd`: a result has the same bits in every lane and at every width.
`Pair` is an unevaluated sum hi + lo of two doubles, for the steps where 53 bits are not enough (T. J. Dekker 1971).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

DOUBLE, INTEGER = ir.DoubleType(), ir.IntType(64)
NAN = float("nan")
INF = float("inf")


def pattern(x: float) -> int:
    """The bit pattern of a double as an integer."""
    return struct.unpack("<Q", struct.pack("<d", x))[0]


@dataclass(frozen=True)
class VectorBuilder:
    """Destination of instructions: a builder, the number of lanes, and whether fused multiply-adds are allowed."""

    builder: ir.IRBuilder
    width: int
    fma: bool

    def shape(self, scalar: ir.Type) -> ir.Type:
        """The type of all lanes: the scalar type for one lane, a vector type for more."""
        return scalar if self.width == 1 else ir.VectorType(scalar, self.width)

    def constant(self, scalar: ir.Type, value: float) -> ir.Constant:
        """The same number in every lane."""
        return ir.Constant(self.shape(scalar), value if self.width == 1 else [value] * self.width)

    def real(self, x: Real | float) -> Real:
        """Convert to doubles."""
        return x if isinstance(x, Real) else Real(self, self.constant(DOUBLE, x))

    def bits(self, i: Bits | int) -> Bits:
        """Convert to integers."""
        return i if isinstance(i, Bits) else Bits(self, self.constant(INTEGER, i))

    def emit(self, instruction: str, *operands: object) -> ir.Value:
        """Append an instruction, named by its builder method, and return its value."""
        return getattr(self.builder, instruction)(*operands)

    def intrinsic(self, name: str, scalar: ir.Type, *operands: ir.Value) -> ir.Value:
        """Call an LLVM intrinsic whose operands and result have one type."""
        suffix = "f64" if scalar == DOUBLE else "i64"
        full = f"{name}.{suffix}" if self.width == 1 else f"{name}.v{self.width}{suffix}"
        kind = self.shape(scalar)
        function = self.builder.module.declare_intrinsic(full, fnty=ir.FunctionType(kind, [kind] * len(operands)))
        return self.builder.call(function, operands)

    def apart(self, value: ir.Value) -> list[ir.Value]:
        """Extract the scalars from the lanes of a value."""
        if self.width == 1:
            return [value]
        return [self.emit("extract_element", value, ir.IntType(32)(i)) for i in range(self.width)]

    def together(self, scalar: ir.Type, parts: list[ir.Value]) -> ir.Value:
        """Combine one scalar per lane to a value."""
        if self.width == 1:
            return parts[0]
        value: ir.Value = ir.Constant(self.shape(scalar), ir.Undefined)
        for i, part in enumerate(parts):
            value = self.emit("insert_element", value, part, ir.IntType(32)(i))
        return value

    def struct(self, kind: ir.LiteralStructType, parts: Sequence[ir.Value]) -> ir.Value:
        """Combine several values to one, for a function to return."""
        value: ir.Value = ir.Constant(kind, ir.Undefined)
        for i, part in enumerate(parts):
            value = self.emit("insert_value", value, part, i)
        return value


def internal(module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> ir.Function:
    """A new internal function of a module; it is not inlined, so that many calls compile fast."""
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "internal"
    for attribute in ("noinline", "nounwind", "readnone"):
        function.attributes.add(attribute)
    return function


def _real_operator(instruction: str) -> Callable[[Real, Real | float], Real]:
    return lambda a, b: Real(a.lanes, a.lanes.emit(instruction, a.value, a.lanes.real(b).value))


def _bits_operator(instruction: str) -> Callable[[Bits, Bits | int], Bits]:
    return lambda a, b: Bits(a.lanes, a.lanes.emit(instruction, a.value, a.lanes.bits(b).value))


def _comparison(relation: str) -> Callable[[Real, Real | float], Truth]:
    return lambda a, b: a._compare(relation, b)


@dataclass(frozen=True, eq=False)
class Real:
    """Doubles."""

    lanes: VectorBuilder
    value: ir.Value

    __add__, __sub__ = _real_operator("fadd"), _real_operator("fsub")
    __mul__, __truediv__ = _real_operator("fmul"), _real_operator("fdiv")

    def __radd__(self, other: float) -> Real:
        return self.lanes.real(other) + self

    def __rsub__(self, other: float) -> Real:
        return self.lanes.real(other) - self

    def __rmul__(self, other: float) -> Real:
        return self.lanes.real(other) * self

    def __neg__(self) -> Real:
        return Real(self.lanes, self.lanes.emit("fneg", self.value))

    def __abs__(self) -> Real:
        return Real(self.lanes, self.lanes.intrinsic("llvm.fabs", DOUBLE, self.value))

    # comparisons are false if an operand is NaN
    __lt__, __le__ = _comparison("<"), _comparison("<=")
    __gt__, __ge__ = _comparison(">"), _comparison(">=")

    def _compare(self, relation: str, other: Real | float) -> Truth:
        right = self.lanes.real(other).value
        return Truth(self.lanes, self.lanes.emit("fcmp_ordered", relation, self.value, right))

    def equals(self, other: Real | float) -> Truth:
        """True where both are the same number."""
        return self._compare("==", other)

    def is_number(self) -> Truth:
        """True where this is not NaN."""
        return self._compare("ord", self)

    def sqrt(self) -> Real:
        """The square root, correctly rounded."""
        return Real(self.lanes, self.lanes.intrinsic("llvm.sqrt", DOUBLE, self.value))

    def bits(self) -> Bits:
        """The bit pattern."""
        return Bits(self.lanes, self.lanes.emit("bitcast", self.value, self.lanes.shape(INTEGER)))

    def sign(self) -> Bits:
        """The sign bit, with all other bits zero."""
        return self.bits() & 1 << 63

    def flipped(self, sign: Bits) -> Real:
        """The negative number where the sign bit is set."""
        return (self.bits() ^ sign).real()


@dataclass(frozen=True, eq=False)
class Bits:
    """64-bit integers; sums and differences wrap around, a right shift fills with zeros."""

    lanes: VectorBuilder
    value: ir.Value

    __add__, __sub__ = _bits_operator("add"), _bits_operator("sub")
    __and__, __or__, __xor__ = _bits_operator("and_"), _bits_operator("or_"), _bits_operator("xor")
    __lshift__, __rshift__ = _bits_operator("shl"), _bits_operator("lshr")

    def equals(self, other: Bits | int) -> Truth:
        """True where both are the same integer."""
        return Truth(self.lanes, self.lanes.emit("icmp_signed", "==", self.value, self.lanes.bits(other).value))

    def is_negative(self) -> Truth:
        """True where the highest bit is set."""
        return Truth(self.lanes, self.lanes.emit("icmp_signed", "<", self.value, self.lanes.bits(0).value))

    def real(self) -> Real:
        """The double with these bits."""
        return Real(self.lanes, self.lanes.emit("bitcast", self.value, self.lanes.shape(DOUBLE)))


@dataclass(frozen=True, eq=False)
class Truth:
    """Conditions, one per lane."""

    lanes: VectorBuilder
    value: ir.Value

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.lanes, self.lanes.emit("and_", self.value, other.value))

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.lanes, self.lanes.emit("or_", self.value, other.value))

    def __invert__(self) -> Truth:
        return Truth(self.lanes, self.lanes.emit("not_", self.value))

    def real(self, yes: Real | float, no: Real | float) -> Real:
        """`yes` where this holds, `no` elsewhere."""
        either = self.lanes.real(yes).value, self.lanes.real(no).value
        return Real(self.lanes, self.lanes.emit("select", self.value, *either))

    def bits(self, yes: Bits | int, no: Bits | int) -> Bits:
        """`yes` where this holds, `no` elsewhere."""
        either = self.lanes.bits(yes).value, self.lanes.bits(no).value
        return Bits(self.lanes, self.lanes.emit("select", self.value, *either))

    def pair(self, yes: Pair, no: Pair) -> Pair:
        """`yes` where this holds, `no` elsewhere."""
        return Pair(self.real(yes.hi, no.hi), self.real(yes.lo, no.lo))

    def anywhere(self) -> ir.Value:
        """One bit: true if the condition holds in any lane."""
        if self.lanes.width == 1:
            return self.value
        together = ir.IntType(self.lanes.width)
        return self.lanes.emit("icmp_unsigned", "!=", self.lanes.emit("bitcast", self.value, together), together(0))


@dataclass(frozen=True)
class Pair:
    """hi + lo, with |lo| at most half a unit in the last place of hi, or slightly more where documented."""

    hi: Real
    lo: Real

    def rounded(self) -> Real:
        """The double nearest to the sum."""
        return self.hi + self.lo


def madd(a: Real, b: Real, c: Real | float) -> Real:
    """a b + c: rounded once if fused multiply-adds are allowed, otherwise twice."""
    lanes = a.lanes
    if not lanes.fma:
        return a * b + c
    return Real(lanes, lanes.intrinsic("llvm.fma", DOUBLE, a.value, b.value, lanes.real(c).value))


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """c₀ + c₁x + c₂x² + ..., in pairs: the terms of one round are independent."""
    terms: list[Real | float] = list(coefficients)
    while len(terms) > 1:
        rest = terms[len(terms) & ~1 :]
        terms = [madd(x.lanes.real(odd), x, even) for even, odd in zip(terms[::2], terms[1::2], strict=False)] + rest
        x = x * x
    return x.lanes.real(terms[0])


def nested(x: Real, coefficients: Sequence[float]) -> Real:
    """c₀ + x (c₁ + x (c₂ + ...)): fewer operations than `polynomial`, for values that are computed in parallel."""
    *rest, value = coefficients
    total = x.lanes.real(value)
    for c in reversed(rest):
        total = madd(total, x, c)
    return total


def ordered_sum(a: Real, b: Real) -> Pair:
    """a + b exactly, if |a| ≥ |b| or a = 0."""
    total = a + b
    return Pair(total, b - (total - a))


def exact_product(a: Real, b: Real) -> Pair:
    """a b exactly, if the error does not underflow and |a|, |b| do not exceed 2⁹⁰⁰."""
    product = a * b
    if a.lanes.fma:
        return Pair(product, madd(a, b, -product))
    (a_hi, a_lo), (b_hi, b_lo) = halves(a), halves(b)
    return Pair(product, a_lo * b_lo - (((product - a_hi * b_hi) - a_lo * b_hi) - a_hi * b_lo))


def halves(a: Real) -> tuple[Real, Real]:
    """a as the sum of two numbers of 26 bits, whose products are exact (Veltkamp's splitting)."""
    spread = a * (2.0**27 + 1)
    hi = spread - (spread - a)
    return hi, a - hi


def product(a: Pair, b: Pair) -> Pair:
    """a b, to about 2⁻¹⁰²."""
    exact = exact_product(a.hi, b.hi)
    return ordered_sum(exact.hi, exact.lo + madd(a.hi, b.lo, a.lo * b.hi))


def quotient(a: Pair, b: Pair) -> Pair:
    """a / b, to about 2⁻¹⁰⁰; hi is the rounded quotient of the two hi."""
    q = a.hi / b.hi
    back = exact_product(q, b.hi)
    return Pair(q, ((((a.hi - back.hi) - back.lo) + a.lo) - q * b.lo) / b.hi)
