"""The elementary functions in LLVM IR: sin cos tan asin acos atan atan2 sqrt exp log pow.

Every function is good to 2 units in the last place for all doubles, treats ±0, subnormal numbers, ±∞ and nan as C does, calls
nothing outside its module, and gives the same bits in every lane and for every number of lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from dalembert.codegen.llvm import exponential, trigonometric
from dalembert.codegen.llvm.vector_arithmetic import DOUBLE, INTEGER, Lanes, Real, internal, madd
from dalembert.errors import EngineError

Body = Callable[..., Real | tuple[Real, Real]]

# each name: the text that writes it, and the number of its arguments
BODIES: dict[str, tuple[Body, int]] = {
    "sincos": (trigonometric.sincos, 1),
    "tan": (trigonometric.tan, 1),
    "asin": (trigonometric.asin, 1),
    "acos": (trigonometric.acos, 1),
    "atan": (trigonometric.atan, 1),
    "atan2": (trigonometric.atan2, 2),
    "exp": (exponential.exp, 1),
    "log": (exponential.log, 1),
    "pow": (exponential.power, 2),
}

# loops over many numbers of 64 or 32 bits
ROWS: dict[str, ir.Type] = {"circles": DOUBLE, "circles.narrow": ir.FloatType()}


def full_name(name: str, lanes: int, fma: bool) -> str:
    """What a function is called in a module.

    >>> full_name("exp", 4, True)
    'exp.4.fma'
    """
    return f"{name}.{lanes}{'.fma' if fma else ''}"


class Functions:
    """The elementary functions of one module, defined in it when they are first called.

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
            return Real(Lanes(builder, self.lanes, self.fma), *arguments).sqrt().value
        return builder.call(self.defined(name), arguments)

    def sincos(self, builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Sine and cosine at once."""
        both = builder.call(self.defined("sincos"), [x])
        return builder.extract_value(both, 0), builder.extract_value(both, 1)

    def multiply_add(self, builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """a b + c, rounded once where fused multiply-adds are allowed and twice elsewhere."""
        lanes = Lanes(builder, self.lanes, self.fma)
        return madd(Real(lanes, a), Real(lanes, b), Real(lanes, c)).value

    def defined(self, name: str) -> ir.Function:
        """The definition of a function in the module, found or made."""
        full = full_name(name, self.lanes, self.fma)
        known = self.module.globals.get(full)
        if isinstance(known, ir.Function):
            return known
        return self._circles(name, full) if name in ROWS else self._define(name, full)

    def _define(self, name: str, full: str) -> ir.Function:
        if name not in BODIES:
            expected = ", ".join(["sin", "cos", "sqrt", *BODIES])
            raise EngineError(f"function '{name}': no machine code is known. Expected one of {expected}.")
        body, arity = BODIES[name]
        builder = ir.IRBuilder()
        lanes = Lanes(builder, self.lanes, self.fma)
        shape = lanes.shape(DOUBLE)
        both = ir.LiteralStructType([shape, shape])
        function = internal(self.module, full, both if name == "sincos" else shape, [shape] * arity)
        builder.position_at_end(function.append_basic_block("entry"))
        value = body(*(Real(lanes, argument) for argument in function.args))
        parts = [part.value for part in value] if isinstance(value, tuple) else [value.value]
        builder.ret(lanes.struct(both, parts) if name == "sincos" else parts[0])
        return function

    def _circles(self, name: str, full: str) -> ir.Function:
        """A loop: sine and cosine of the numbers of every lane at `near`, then of those `step` further on, up to `end`.

        Both are written to `into`, one behind the other. It stands in one piece, since a call would load all constants again.
        """
        pointer = ir.PointerType()
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [pointer, pointer, INTEGER, INTEGER]), full)
        function.linkage = "internal"
        function.attributes.alignstack = 64
        near, into, step, end = function.args
        entry, loop, done = (function.append_basic_block(part) for part in ("entry", "loop", "done"))
        ir.IRBuilder(entry).branch(loop)
        builder = ir.IRBuilder(loop)
        lanes = Lanes(builder, self.lanes, self.fma)
        kind = lanes.shape(ROWS[name])
        i = builder.phi(INTEGER)
        i.add_incoming(INTEGER(0), entry)
        x = lanes.emit("load", builder.gep(near, [i], source_etype=kind), "", None, kind)
        x = x if ROWS[name] is DOUBLE else lanes.emit("fpext", x, lanes.shape(DOUBLE))
        for k, value in enumerate(trigonometric.sincos(Real(lanes, x))):
            y = value.value if ROWS[name] is DOUBLE else lanes.emit("fptrunc", value.value, kind)
            builder.store(y, builder.gep(into, [builder.add(i, INTEGER(k))], source_etype=kind))
        after = builder.add(i, step)
        i.add_incoming(after, builder.block)
        builder.cbranch(builder.icmp_signed("<", after, end), loop, done)
        ir.IRBuilder(done).ret_void()
        return function
