"""Loops over links for one state with the interface of a program: loads added, and a validity check after the results.

One small module serves all trees; only the table of addresses and sizes differs. See `recursive/rolled_sweeps` for the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from dalembert.codegen.function import Native
from dalembert.codegen.llvm._machine_code import load_functions, word_loads

_WORDS = {
    "loops": "ptr",
    "links": "ptr",
    "loads": "ptr",
    "tables": "ptr",
    "rows": "i64",
    "front": "i64",
    "speeds": "i64",
}
_WORDS |= {"tiny": "double", "tolerance": "double", "parts": "i64"}
_HEAD = word_loads(_WORDS)
_FUNCTION = f"""
define void @checked(ptr noalias %x, ptr %p, ptr %table, ptr noalias %out) {{
{_HEAD}
BODY
call void @check(ptr %x, ptr %table, ptr %out)
ret void
}}
"""
_UNLOADED = "call void %loops(ptr %x, ptr %p, ptr %links, ptr %out)"
_COPY = """
%front.bytes = mul i64 %front, 8
%speed.bytes = mul i64 %speeds, 8
%row.bytes = mul i64 %rows, 8
%two = mul i64 %speed.bytes, 2
%some = add i64 %row.bytes, %two
%bytes = add i64 %some, 16
%y = call ptr @malloc(i64 %bytes)
call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 %front.bytes, i1 false)
%behind = getelementptr double, ptr %y, i64 %front
%last = sub i64 %rows, 1
%t.at = getelementptr double, ptr %x, i64 %last
%t = load double, ptr %t.at
"""
_FREE = "call void @free(ptr %y)"
# the loads at (q, s, t) are stored after the memory of all rows
_LOADS = f"""{_COPY}
store double %t, ptr %behind
%f = getelementptr double, ptr %y, i64 %rows
call void %loads(ptr %y, ptr %p, ptr %tables, ptr %f)
"""
_BODIES = {
    "unloaded": _UNLOADED,
    # zero speeds between q and t
    "gravity": f"""{_COPY}
call void @llvm.memset.p0.i64(ptr %behind, i8 0, i64 %speed.bytes, i1 false)
%end = getelementptr double, ptr %behind, i64 %speeds
store double %t, ptr %end
call void %loops(ptr %y, ptr %p, ptr %links, ptr %out)
{_FREE}""",
    "inverse": f"""{_LOADS}
{_UNLOADED}
call void @sums(ptr %out, ptr %out, ptr %f, double -1.0, i64 %speeds)
{_FREE}""",
    "forward": f"""{_LOADS}
%tau = getelementptr double, ptr %x, i64 %front
call void @sums(ptr %behind, ptr %tau, ptr %f, double 1.0, i64 %speeds)
%end = getelementptr double, ptr %behind, i64 %speeds
store double %t, ptr %end
call void %loops(ptr %y, ptr %p, ptr %links, ptr %out)
{_FREE}""",
}
_SHARED = f"""
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare double @llvm.vector.reduce.fadd.v8f64(double, <8 x double>)

define internal void @sums(ptr %to, ptr %a, ptr %b, double %sign, i64 %count) {{
entry:
br label %loop
loop:
%i = phi i64 [ 0, %entry ], [ %next, %loop ]
%pa = getelementptr double, ptr %a, i64 %i
%pb = getelementptr double, ptr %b, i64 %i
%pt = getelementptr double, ptr %to, i64 %i
%va = load double, ptr %pa
%vb = load double, ptr %pb
%signed = fmul double %vb, %sign
%sum = fadd double %va, %signed
store double %sum, ptr %pt
%next = add i64 %i, 1
%more = icmp slt i64 %next, %count
br i1 %more, label %loop, label %done
done:
ret void
}}

define internal double @total(ptr %a, i64 %count) {{
entry:
%full.count = and i64 %count, -8
br label %eight
eight:
%i = phi i64 [ 0, %entry ], [ %i8, %take ]
%sums = phi <8 x double> [ zeroinitializer, %entry ], [ %added, %take ]
%full = icmp slt i64 %i, %full.count
br i1 %full, label %take, label %fold
take:
%p = getelementptr double, ptr %a, i64 %i
%v = load <8 x double>, ptr %p, align 8
%added = fadd <8 x double> %sums, %v
%i8 = add i64 %i, 8
br label %eight
fold:
%folded = call reassoc double @llvm.vector.reduce.fadd.v8f64(double 0.0, <8 x double> %sums)
br label %one
one:
%k = phi i64 [ %full.count, %fold ], [ %k1, %last ]
%sum = phi double [ %folded, %fold ], [ %more, %last ]
%left = icmp slt i64 %k, %count
br i1 %left, label %last, label %done
last:
%q = getelementptr double, ptr %a, i64 %k
%w = load double, ptr %q
%more = fadd double %sum, %w
%k1 = add i64 %k, 1
br label %one
done:
ret double %sum
}}

define internal void @check(ptr %x, ptr %table, ptr %out) {{
entry:
{_HEAD}
%inputs = call double @total(ptr %x, i64 %rows)
%found = call double @total(ptr %out, i64 %speeds)
%both = fadd double %inputs, %found
%finite = fmul double %both, %tiny
br label %attitude
attitude:
%i = phi i64 [ 0, %entry ], [ %i4, %squared ]
%worst = phi double [ %finite, %entry ], [ %worse, %squared ]
%open = icmp slt i64 %i, %parts
br i1 %open, label %norm, label %done
norm:
%k = phi i64 [ %i, %attitude ], [ %k1, %norm ]
%norm2 = phi double [ 0.0, %attitude ], [ %more, %norm ]
%index = add i64 %k, {len(_WORDS)}
%row.at = getelementptr i64, ptr %table, i64 %index
%row = load i64, ptr %row.at
%part.at = getelementptr double, ptr %x, i64 %row
%part = load double, ptr %part.at
%square = fmul double %part, %part
%more = fadd double %norm2, %square
%k1 = add i64 %k, 1
%i4 = add i64 %i, 4
%again = icmp slt i64 %k1, %i4
br i1 %again, label %norm, label %squared
squared:
%off = fsub double %more, 1.0
%excess = fdiv double %off, %tolerance
%excess2 = fmul double %excess, %excess
%worse = fadd double %worst, %excess2
br label %attitude
done:
%end = getelementptr double, ptr %out, i64 %speeds
store double %worst, ptr %end
ret void
}}
"""


class SweepChecks(NamedTuple):
    """Wrapper of the loops, and the data of the validity check."""

    mode: str  # a key of `_BODIES`: gravity is at zero speeds, inverse and forward have loads
    rows: int  # number of inputs, including the time
    front: int  # rows before the rows that are added
    speeds: int
    parts: Sequence[int]  # rows of quaternions, four for each
    tiny: float  # factor of all numbers, to test whether they are finite
    tolerance: float  # of the squared norms of quaternions


def checked_loops(checks: SweepChecks, loops: Native, loads: Native | None) -> Native:
    """Loops, optionally with loads, as one function of a state whose last output is the validity check."""
    load_words = (0, 0) if loads is None else (loads.address, loads.tables.ctypes.data)
    sizes = np.array([checks.rows, checks.front, checks.speeds])
    limits = np.array([checks.tiny, checks.tolerance]).view(np.int64)
    words = [loops.address, loops.tables.ctypes.data, *load_words, *sizes, *limits, len(checks.parts), *checks.parts]
    return Native(_address(checks.mode), np.array(words, dtype=np.int64))


@cache
def _address(mode: str) -> int:
    return load_functions(_SHARED + _FUNCTION.replace("BODY", _BODIES[mode]), "checked")[0]
