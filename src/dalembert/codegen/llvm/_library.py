"""The target of a module, and the functions that it calls: vectorized elementary functions, and table lookup."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from llvmlite import ir

from dalembert.codegen.llvm._elementary_functions import Functions, full_name
from dalembert.codegen.llvm._linear_solves import definitions

PACKED = 4  # angles of one state evaluated in one call
# instructions that align %whole, which has 64 spare bytes, to %memory
ALIGN_MEMORY = (
    "%number = ptrtoint ptr %whole to i64",
    "%above = add i64 %number, 63",
    "%even = and i64 %above, -64",
    "%memory = inttoptr i64 %even to ptr",
)
Row = Callable[[str], str]  # appends an instruction and returns the name of its value


@dataclass(frozen=True)
class MachineTarget:
    """Properties of the target machine code."""

    lanes: int = 1  # states per vector
    fused: bool = True  # a × b + c in one operation
    single: bool = False  # 32-bit floats
    checked: bool = False  # for many states: the last output is a validity check, of which only a failure is reported

    @property
    def real(self) -> str:
        """The type of a scalar."""
        return "float" if self.single else "double"

    @property
    def vector(self) -> str:
        """The type of a vector with one number per lane."""
        return self.real if self.lanes == 1 else f"<{self.lanes} x {self.real}>"

    def constant(self, x: float) -> str:
        """A number in every lane."""
        rounded = ctypes.c_float(x).value if self.single else x
        bits = f"0x{struct.unpack('>Q', struct.pack('>d', rounded))[0]:016X}"
        return bits if self.lanes == 1 else f"<{', '.join([f'{self.real} {bits}'] * self.lanes)}>"


class Library:
    """The functions that one module uses, each defined in it once.

    Elementary functions are computed in doubles; 32-bit floats are converted, which costs little compared with the function.
    """

    def __init__(self, target: MachineTarget) -> None:
        self._target = target
        self._wide = "double" if target.lanes == 1 else f"<{target.lanes} x double>"
        self._called: set[tuple[str, int]] = set()  # names and lanes
        self._declared: dict[str, str] = {}
        self._blocks = ""
        self._written: dict[str, str] = {}

    @property
    def source(self) -> str:
        """Definitions and declarations of all called functions."""
        defined = _definitions(self._target.fused, frozenset(self._called)) if self._called else ""
        defined = _joined(defined, self._blocks)
        known = _declared_in(defined)
        declared = [row for name, row in self._declared.items() if name not in known]
        return "\n".join([defined, *declared, *self._written.values()])

    def call(self, row: Row, name: str, arguments: Sequence[str]) -> str:
        """Call a function by name."""
        if name == "sqrt":
            return self._intrinsic(row, name, *arguments)
        if name in ("sin", "cos"):
            return self.pair(row, *arguments)[name == "cos"]
        return self._narrowed(row, self._called_by(row, name, self._wide, arguments))

    def pair(self, row: Row, x: str) -> tuple[str, str]:
        """The sine and the cosine of x."""
        kind = f"{{{self._wide}, {self._wide}}}"
        both = self._called_by(row, "sincos", kind, [x])
        sin, cos = (row(f"extractvalue {kind} {both}, {i}") for i in range(2))
        return self._narrowed(row, sin), self._narrowed(row, cos)

    def pairs(self, row: Row, angles: Sequence[str]) -> list[tuple[str, str]]:
        """Sines and cosines of one angle or, for one lane, of up to `PACKED` angles in one call, at the cost of one."""
        if len(angles) == 1:
            return [self.pair(row, *angles)]
        kind, packed = f"<{PACKED} x double>", "poison"
        for i in range(PACKED):
            x = self._widened(row, angles[min(i, len(angles) - 1)])
            packed = row(f"insertelement {kind} {packed}, double {x}, i32 {i}")
        self._called.add(("sincos", PACKED))
        name = full_name("sincos", PACKED, self._target.fused)
        both = row(f'call {{{kind}, {kind}}} @"{name}"({kind} {packed})')
        sin, cos = (row(f"extractvalue {{{kind}, {kind}}} {both}, {i}") for i in range(2))
        found = [[row(f"extractelement {kind} {y}, i32 {i}") for y in (sin, cos)] for i in range(len(angles))]
        return [(self._narrowed(row, s), self._narrowed(row, c)) for s, c in found]

    def circles(self) -> str:
        """The name of the function that writes the sines and cosines of some rows, one pair after the other."""
        name = "circles.narrow" if self._target.single else "circles"
        self._called.add((name, self._target.lanes))
        return full_name(name, self._target.lanes, self._target.fused)

    def _called_by(self, row: Row, name: str, kind: str, arguments: Sequence[str]) -> str:
        """The value of an elementary function of doubles."""
        self._called.add((name, self._target.lanes))
        wide = ", ".join(f"{self._wide} {self._widened(row, a)}" for a in arguments)
        return row(f'call {kind} @"{full_name(name, self._target.lanes, self._target.fused)}"({wide})')

    def multiply_add(self, row: Row, a: str, b: str, c: str) -> str:
        """a b + c, rounded once."""
        return self._intrinsic(row, "fma", a, b, c)

    def blocks(self) -> None:
        """Declare the functions for linear systems."""
        target = self._target
        self._blocks = definitions(target.lanes, target.single, target.fused)

    def function(self, name: str, write: Callable[[str], str]) -> str:
        """The name of a function defined in the module, written on first use."""
        if name not in self._written:
            self._written[name] = write(name)
        return name

    def memory(self) -> None:
        """Declare the functions for heap memory."""
        self._declared["malloc"] = "declare ptr @malloc(i64)\ndeclare void @free(ptr)"

    def _intrinsic(self, row: Row, name: str, *arguments: str) -> str:
        lanes, vector = self._target.lanes, self._target.vector
        kind = ("" if lanes == 1 else f"v{lanes}") + ("f32" if self._target.single else "f64")
        self._declared[f"llvm.{name}.{kind}"] = (
            f"declare {vector} @llvm.{name}.{kind}({', '.join([vector] * len(arguments))})"
        )
        return row(f"call {vector} @llvm.{name}.{kind}({', '.join(f'{vector} {a}' for a in arguments)})")

    def _widened(self, row: Row, x: str) -> str:
        return row(f"fpext {self._target.vector} {x} to {self._wide}") if self._target.single else x

    def _narrowed(self, row: Row, x: str) -> str:
        return row(f"fptrunc {self._wide} {x} to {self._target.vector}") if self._target.single else x

    def table(self, row: Row, table_arguments: str, x: str) -> str:
        """Interpolate a table at x, lane by lane."""
        t = self._target
        self._declared["table"] = _TABLE.replace("REAL", t.real)
        if t.lanes == 1:
            return row(f"call {t.real} @dl.table(ptr %tables, {table_arguments}, {t.real} {x})")
        out = "poison"
        for i in range(t.lanes):
            part = row(f"extractelement {t.vector} {x}, i32 {i}")
            y = row(f"call {t.real} @dl.table(ptr %tables, {table_arguments}, {t.real} {part})")
            out = row(f"insertelement {t.vector} {out}, {t.real} {y}, i32 {i}")
        return out


def _declared_in(source: str) -> set[str]:
    """The names declared in a source."""
    return {row.split("@")[1].split("(")[0].strip('"') for row in source.splitlines() if row.startswith("declare")}


def _joined(first: str, second: str) -> str:
    """Concatenate two sources without duplicate declarations."""
    known = _declared_in(first)
    rest = [row for row in second.splitlines() if not (row.startswith("declare") and _declared_in(row) <= known)]
    return "\n".join([first, *rest])


@lru_cache(maxsize=64)
def _definitions(fused: bool, names: frozenset[tuple[str, int]]) -> str:
    """The source of functions, each with its number of lanes."""
    module = ir.Module()
    for name, lanes in sorted(names):
        Functions(module, lanes, fma=fused).defined(name)
    # the target is set when the complete module is compiled
    return "\n".join(row for row in str(module).splitlines() if not row.startswith("target "))


# number of times not above x, by bisection; then the line through the points around x, constant outside
_TABLE = """
define internal REAL @dl.table(ptr %tables, i64 %start, i64 %length, i64 %order, REAL %x) noinline {
entry:
%times = getelementptr REAL, ptr %tables, i64 %start
%values = getelementptr REAL, ptr %times, i64 %length
br label %search
search:
%low = phi i64 [ 0, %entry ], [ %low2, %half ]
%high = phi i64 [ %length, %entry ], [ %high2, %half ]
%open = icmp slt i64 %low, %high
br i1 %open, label %half, label %found
half:
%sum = add i64 %low, %high
%middle = lshr i64 %sum, 1
%pm = getelementptr REAL, ptr %times, i64 %middle
%tm = load REAL, ptr %pm
%above = fcmp olt REAL %x, %tm
%beyond = add i64 %middle, 1
%low2 = select i1 %above, i64 %low, i64 %beyond
%high2 = select i1 %above, i64 %middle, i64 %high
br label %search
found:
%early = icmp eq i64 %low, 0
%late = icmp eq i64 %low, %length
%outside = or i1 %early, %late
%final = sub i64 %length, 1
br i1 %outside, label %level, label %inside
level:
%end = select i1 %early, i64 0, i64 %final
%pe = getelementptr REAL, ptr %values, i64 %end
%ye = load REAL, ptr %pe
%sloped = icmp ne i64 %order, 0
%flat = select i1 %sloped, REAL 0.0, REAL %ye
ret REAL %flat
inside:
%before = sub i64 %low, 1
%p0 = getelementptr REAL, ptr %times, i64 %before
%t0 = load REAL, ptr %p0
%p1 = getelementptr REAL, ptr %times, i64 %low
%t1 = load REAL, ptr %p1
%q0 = getelementptr REAL, ptr %values, i64 %before
%y0 = load REAL, ptr %q0
%q1 = getelementptr REAL, ptr %values, i64 %low
%y1 = load REAL, ptr %q1
%rise = fsub REAL %y1, %y0
%run = fsub REAL %t1, %t0
%slope = fdiv REAL %rise, %run
%since = fsub REAL %x, %t0
%gain = fmul REAL %slope, %since
%value = fadd REAL %y0, %gain
%first = icmp eq i64 %order, 1
%rate = select i1 %first, REAL %slope, REAL 0.0
%plain = icmp eq i64 %order, 0
%y = select i1 %plain, REAL %value, REAL %rate
ret REAL %y
}
"""
