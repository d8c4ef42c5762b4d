"""What a module calls: elementary functions of all lanes, and the search in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dalembert.algebra.operations import OPERATIONS

if TYPE_CHECKING:
    from dalembert.programs.llvm.emit import Target

Row = Callable[[str], str]  # writes an instruction and gives the name of its value


class Library:
    """The functions that one module uses, each defined in it once."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._used: dict[str, str] = {}

    @property
    def text(self) -> str:
        return "\n".join(self._used.values())

    def call(self, row: Row, name: str, arguments: Sequence[str]) -> str:
        t = self._target
        if name == "sqrt":
            kind = ("" if t.lanes == 1 else f"v{t.lanes}") + ("f32" if t.single else "f64")
            self._used["sqrt"] = f"declare {t.vector} @llvm.sqrt.{kind}({t.vector})"
            return row(f"call {t.vector} @llvm.sqrt.{kind}({t.vector} {arguments[0]})")
        n = OPERATIONS[name].arity
        self._used[name] = f"declare double @{name}({', '.join(['double'] * n)})"
        if t.lanes == 1:
            return row(f"call double @{name}({', '.join(f'double {a}' for a in arguments)})")
        out = "poison"
        for i in range(t.lanes):
            parts = [row(f"extractelement {t.vector} {a}, i32 {i}") for a in arguments]
            y = row(f"call double @{name}({', '.join(f'double {a}' for a in parts)})")
            out = row(f"insertelement {t.vector} {out}, double {y}, i32 {i}")
        return out

    def pair(self, row: Row, x: str) -> tuple[str, str]:
        return self.call(row, "sin", [x]), self.call(row, "cos", [x])

    def multiply_add(self, row: Row, a: str, b: str, c: str) -> str:
        """a b + c, rounded once."""
        t = self._target
        kind = ("" if t.lanes == 1 else f"v{t.lanes}") + ("f32" if t.single else "f64")
        self._used["fma"] = f"declare {t.vector} @llvm.fma.{kind}({t.vector}, {t.vector}, {t.vector})"
        return row(f"call {t.vector} @llvm.fma.{kind}({t.vector} {a}, {t.vector} {b}, {t.vector} {c})")

    def table(self, row: Row, place: str, x: str) -> str:
        """A table at x, lane by lane."""
        t = self._target
        self._used["table"] = _TABLE.replace("REAL", t.real)
        if t.lanes == 1:
            return row(f"call {t.real} @dl.table(ptr %tables, {place}, {t.real} {x})")
        out = "poison"
        for i in range(t.lanes):
            part = row(f"extractelement {t.vector} {x}, i32 {i}")
            y = row(f"call {t.real} @dl.table(ptr %tables, {place}, {t.real} {part})")
            out = row(f"insertelement {t.vector} {out}, {t.real} {y}, i32 {i}")
        return out


# after: how many times are not above x, by halving; then the line through the points around x, level outside
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
