"""A program as a built-in Python function on arrays: checks, copies and validity check in machine code.

One small module serves all programs: Python calls it like a built-in function, `f(q, s, ..., t)`, or with a result array after
t. It reads NumPy's struct of each array, whose layout is part of NumPy's ABI: type, data, dimensions, strides, dtype; a new
array is created by a function of the NumPy C API. `is_possible` checks whether this Python supports both. The function returns
the result, or None if an array does not match or the validity check of the program fails.

A second function does the same for a batch, also without calling NumPy, which needs a microsecond for the address of one array.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from dalembert.codegen.function import Native
from dalembert.codegen.llvm._machine_code import load_functions, word_loads

TYPE, DATA, ORDER, SHAPE, STRIDES, KIND, FLAGS = 8, 16, 24, 32, 40, 56, 64  # byte offsets in the struct of an array
_NUMBER = 0.1
_CONTIGUOUS, _WRITEABLE = 0x1, 0x400  # flags of an array
_FASTCALL = 0x80  # METH_FASTCALL: arguments are passed as a C array
# of %object: data, order, shape, strides and dtype; branches to %unfit if it is not an array
_FIELDS = f"""%p0 = getelementptr i8, ptr %object, i64 {TYPE}
%type = load i64, ptr %p0
%array = icmp eq i64 %type, %kind
br i1 %array, label %fields, label %unfit
fields:
%p1 = getelementptr i8, ptr %object, i64 {DATA}
%data = load ptr, ptr %p1
%p2 = getelementptr i8, ptr %object, i64 {ORDER}
%order = load i32, ptr %p2
%p3 = getelementptr i8, ptr %object, i64 {SHAPE}
%shape = load ptr, ptr %p3
%p4 = getelementptr i8, ptr %object, i64 {STRIDES}
%strides = load ptr, ptr %p4
%p5 = getelementptr i8, ptr %object, i64 {KIND}
%number = load i64, ptr %p5"""
_CALL_SOURCE = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare double @llvm.fabs.f64(double)
define ptr @fast_call(ptr %self, ptr %arguments, i64 %received) {{
entry:
%pt = getelementptr i8, ptr %self, i64 {DATA}
%table = load ptr, ptr %pt
{word_loads({"one": "ptr", "tables": "ptr", "kind": "i64", "double": "i64", "count": "i64", "inputs": "i64"})}
{word_loads({"outputs": "i64", "float": "i64", "increment": "ptr", "none": "ptr", "empty": "ptr", "axes64": "i64"}, 6)}
%axes = trunc i64 %axes64 to i32
%sizes = getelementptr i64, ptr %table, i64 12
%x = alloca double, i64 %inputs, align 64
%out = alloca double, i64 %outputs, align 64
%more = sub i64 %received, %count
%new = icmp eq i64 %more, 1
%into.result = icmp eq i64 %more, 2
%right = or i1 %new, %into.result
br i1 %right, label %clock, label %unfit
clock:
%pc = getelementptr ptr, ptr %arguments, i64 %count
%moment = load ptr, ptr %pc
%pm = getelementptr i8, ptr %moment, i64 {TYPE}
%mtype = load i64, ptr %pm
%plain = icmp eq i64 %mtype, %float
br i1 %plain, label %group, label %unfit
group:
%g = phi i64 [ 0, %clock ], [ %after, %copy ]
%offset = phi i64 [ 0, %clock ], [ %end, %copy ]
%all = icmp eq i64 %g, %count
br i1 %all, label %run, label %look
look:
%item.at = getelementptr ptr, ptr %arguments, i64 %g
%object = load ptr, ptr %item.at
{_FIELDS}
%row = icmp eq i32 %order, 1
%real = icmp eq i64 %number, %double
%both = and i1 %row, %real
br i1 %both, label %length, label %unfit
length:
%n = load i64, ptr %shape
%stride = load i64, ptr %strides
%wanted = getelementptr i64, ptr %sizes, i64 %g
%size = load i64, ptr %wanted
%long = icmp eq i64 %n, %size
%dense = icmp eq i64 %stride, 8
%fits = and i1 %long, %dense
br i1 %fits, label %copy, label %unfit
copy:
%target = getelementptr double, ptr %x, i64 %offset
%bytes = mul i64 %n, 8
call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %data, i64 %bytes, i1 false)
%after = add i64 %g, 1
%end = add i64 %offset, %n
br label %group
run:
%time = getelementptr double, ptr %x, i64 %offset
%pv = getelementptr i8, ptr %moment, i64 {DATA}
%t = load double, ptr %pv
store double %t, ptr %time
%t.rest = fsub double %t, %t
%t.finite = fcmp oeq double %t.rest, 0.0
br i1 %t.finite, label %finite, label %unfit
finite:
call void %one(ptr %x, ptr %x, ptr %tables, ptr %out)
%results = sub i64 %outputs, 1
%last = getelementptr double, ptr %out, i64 %results
%check.signed = load double, ptr %last
%check = call double @llvm.fabs.f64(double %check.signed)
%valid = fcmp ole double %check, 1.0
br i1 %valid, label %target.of, label %unfit
target.of:
br i1 %new, label %make, label %take
make:
%shape.of = getelementptr i64, ptr %sizes, i64 %count
%descr = inttoptr i64 %double to ptr
call void %increment(ptr %descr)
%made = call ptr %empty(i32 %axes, ptr %shape.of, ptr %descr, i32 0)
%failed = icmp eq ptr %made, null
br i1 %failed, label %write.not, label %write
take:
%pr = getelementptr ptr, ptr %pc, i64 1
%wanted.result = load ptr, ptr %pr
call void %increment(ptr %wanted.result)
br label %write
write:
%result = phi ptr [ %made, %make ], [ %wanted.result, %take ]
%p6 = getelementptr i8, ptr %result, i64 {DATA}
%into = load ptr, ptr %p6
%many = mul i64 %results, 8
call void @llvm.memcpy.p0.p0.i64(ptr %into, ptr %out, i64 %many, i1 false)
ret ptr %result
write.not:
ret ptr null
unfit:
call void %increment(ptr %none)
ret ptr %none
}}
"""
# of %object, if it is an array of doubles with some axes: its data; else null
_DATA_OF = f"""
define internal ptr @data.of(ptr %object, i64 %kind, i64 %double, i32 %axes) noinline {{
entry:
{_FIELDS}
%deep = icmp eq i32 %order, %axes
%real = icmp eq i64 %number, %double
%both = and i1 %deep, %real
br i1 %both, label %fit, label %unfit
fit:
ret ptr %data
unfit:
ret ptr null
}}
"""
_BATCH_SOURCE = f"""{_DATA_OF}
define ptr @batch_call(ptr %self, ptr %arguments, i64 %received) {{
entry:
%pt = getelementptr i8, ptr %self, i64 {DATA}
%table = load ptr, ptr %pt
{word_loads({"many": "ptr", "tables": "ptr", "kind": "i64", "double": "i64", "count": "i64", "inputs": "i64"})}
{word_loads({"outputs": "i64", "float": "i64", "increment": "ptr", "none": "ptr", "empty": "ptr", "axes64": "i64"}, 6)}
{word_loads({"decrement": "ptr", "release": "ptr", "acquire": "ptr"}, 12)}
%axes = trunc i64 %axes64 to i32
%sizes = getelementptr i64, ptr %table, i64 15
%wanted.shape = getelementptr i64, ptr %sizes, i64 %count
%groups = add i64 %count, 3
%words = mul i64 %groups, 3
%layout = alloca i64, i64 %words
%dims = alloca i64, i64 %axes64
%flag = alloca double
%more = sub i64 %received, %count
%new = icmp eq i64 %more, 1
%into.result = icmp eq i64 %more, 2
%right = or i1 %new, %into.result
br i1 %right, label %clock, label %unfit
clock:
%pc = getelementptr ptr, ptr %arguments, i64 %count
%moment = load ptr, ptr %pc
%pm = getelementptr i8, ptr %moment, i64 {TYPE}
%mtype = load i64, ptr %pm
%plain = icmp eq i64 %mtype, %float
br i1 %plain, label %time, label %unfit
time:
%pv = getelementptr i8, ptr %moment, i64 {DATA}
%t = load double, ptr %pv
%t.rest = fsub double %t, %t
%finite = fcmp oeq double %t.rest, 0.0
br i1 %finite, label %group, label %unfit
group:
%g = phi i64 [ 0, %time ], [ %after, %next.group ]
%states = phi i64 [ 0, %time ], [ %n, %next.group ]
%place = phi ptr [ %layout, %time ], [ %place.next, %next.group ]
%all = icmp eq i64 %g, %count
br i1 %all, label %result, label %look
look:
%item.at = getelementptr ptr, ptr %arguments, i64 %g
%item = load ptr, ptr %item.at
%data = call ptr @data.of(ptr %item, i64 %kind, i64 %double, i32 2)
%other = icmp eq ptr %data, null
br i1 %other, label %unfit, label %measure
measure:
%shape.of = getelementptr i8, ptr %item, i64 {SHAPE}
%shape = load ptr, ptr %shape.of
%strides.of = getelementptr i8, ptr %item, i64 {STRIDES}
%strides = load ptr, ptr %strides.of
%rows = load i64, ptr %shape
%shape.1 = getelementptr i64, ptr %shape, i64 1
%n = load i64, ptr %shape.1
%step = load i64, ptr %strides
%strides.1 = getelementptr i64, ptr %strides, i64 1
%inner = load i64, ptr %strides.1
%wanted = getelementptr i64, ptr %sizes, i64 %g
%size = load i64, ptr %wanted
%first = icmp eq i64 %g, 0
%known = select i1 %first, i64 %n, i64 %states
%c0 = icmp eq i64 %rows, %size
%c1 = icmp eq i64 %n, %known
%c2 = icmp eq i64 %inner, 8
%c3 = icmp sge i64 %step, 0
%c4 = icmp sgt i64 %n, 0
%d0 = and i1 %c0, %c1
%d1 = and i1 %c2, %c3
%d2 = and i1 %d0, %d1
%fits = and i1 %d2, %c4
br i1 %fits, label %next.group, label %unfit
next.group:
store ptr %data, ptr %place
%place.1 = getelementptr i64, ptr %place, i64 1
store i64 %step, ptr %place.1
%place.2 = getelementptr i64, ptr %place, i64 2
store i64 %rows, ptr %place.2
%place.next = getelementptr i64, ptr %place, i64 3
%after = add i64 %g, 1
br label %group
result:
%any = load i64, ptr %layout
store i64 %any, ptr %place
%place.t1 = getelementptr i64, ptr %place, i64 1
store i64 0, ptr %place.t1
%place.t2 = getelementptr i64, ptr %place, i64 2
store i64 1, ptr %place.t2
%results.at = getelementptr i64, ptr %place, i64 3
%last.axis = sub i64 %axes64, 1
br label %axis
axis:
%i = phi i64 [ 0, %result ], [ %i.next, %axis.done ]
%is.last = icmp eq i64 %i, %last.axis
%wanted.at = getelementptr i64, ptr %wanted.shape, i64 %i
%wanted.size = load i64, ptr %wanted.at
%dim = select i1 %is.last, i64 %states, i64 %wanted.size
%dim.at = getelementptr i64, ptr %dims, i64 %i
store i64 %dim, ptr %dim.at
br i1 %new, label %axis.done, label %compare
compare:
%given.at = getelementptr ptr, ptr %pc, i64 1
%given = load ptr, ptr %given.at
%given.data = call ptr @data.of(ptr %given, i64 %kind, i64 %double, i32 %axes)
%strange = icmp eq ptr %given.data, null
br i1 %strange, label %unfit, label %compare.axis
compare.axis:
%given.shape.of = getelementptr i8, ptr %given, i64 {SHAPE}
%given.shape = load ptr, ptr %given.shape.of
%given.dim.at = getelementptr i64, ptr %given.shape, i64 %i
%given.dim = load i64, ptr %given.dim.at
%same = icmp eq i64 %given.dim, %dim
br i1 %same, label %axis.done, label %unfit
axis.done:
%i.next = add i64 %i, 1
%more.axes = icmp slt i64 %i.next, %axes64
br i1 %more.axes, label %axis, label %shaped
shaped:
%width = mul i64 %states, 8
%total = mul i64 %width, %outputs
br i1 %new, label %make, label %take
make:
%descr = inttoptr i64 %double to ptr
call void %increment(ptr %descr)
%made = call ptr %empty(i32 %axes, ptr %dims, ptr %descr, i32 0)
%failed = icmp eq ptr %made, null
br i1 %failed, label %no.memory, label %run
take:
%given.again = getelementptr ptr, ptr %pc, i64 1
%taken = load ptr, ptr %given.again
%flags.of = getelementptr i8, ptr %taken, i64 {FLAGS}
%flags = load i32, ptr %flags.of
%wanted.flags = and i32 %flags, {_CONTIGUOUS | _WRITEABLE}
%usable = icmp eq i32 %wanted.flags, {_CONTIGUOUS | _WRITEABLE}
%taken.data = getelementptr i8, ptr %taken, i64 {DATA}
%low = load i64, ptr %taken.data
%high = add i64 %low, %total
br i1 %usable, label %apart, label %unfit
apart:
%a = phi i64 [ 0, %take ], [ %a.next, %apart.next ]
%input = phi ptr [ %layout, %take ], [ %input.next, %apart.next ]
%none.left = icmp eq i64 %a, %count
br i1 %none.left, label %taken.done, label %overlap
overlap:
%input.low = load i64, ptr %input
%input.1 = getelementptr i64, ptr %input, i64 1
%input.step = load i64, ptr %input.1
%input.2 = getelementptr i64, ptr %input, i64 2
%input.rows = load i64, ptr %input.2
%input.last = sub i64 %input.rows, 1
%extent = mul i64 %input.step, %input.last
%extent.1 = add i64 %extent, %width
%input.high = add i64 %input.low, %extent.1
%before = icmp sle i64 %input.high, %low
%behind = icmp sle i64 %high, %input.low
%disjoint = or i1 %before, %behind
br i1 %disjoint, label %apart.next, label %unfit
apart.next:
%a.next = add i64 %a, 1
%input.next = getelementptr i64, ptr %input, i64 3
br label %apart
taken.done:
call void %increment(ptr %taken)
br label %run
run:
%out = phi ptr [ %made, %make ], [ %taken, %taken.done ]
%out.data.of = getelementptr i8, ptr %out, i64 {DATA}
%out.data = load ptr, ptr %out.data.of
store ptr %out.data, ptr %results.at
%r1 = getelementptr i64, ptr %results.at, i64 1
store i64 %width, ptr %r1
%r2 = getelementptr i64, ptr %results.at, i64 2
store i64 %outputs, ptr %r2
%r3 = getelementptr i64, ptr %results.at, i64 3
store ptr %flag, ptr %r3
%r4 = getelementptr i64, ptr %results.at, i64 4
store i64 0, ptr %r4
%r5 = getelementptr i64, ptr %results.at, i64 5
store i64 1, ptr %r5
store double 0.0, ptr %flag
%thread = call ptr %release()
call void %many(ptr %layout, ptr null, ptr %tables, ptr %results.at, i64 0, i64 %states, i64 %states)
call void %acquire(ptr %thread)
%check = load double, ptr %flag
%valid = fcmp oeq double %check, 0.0
br i1 %valid, label %done, label %drop
done:
ret ptr %out
no.memory:
ret ptr null
drop:
call void %decrement(ptr %out)
br label %unfit
unfit:
call void %increment(ptr %none)
ret ptr %none
}}
"""


@cache
def is_possible() -> bool:
    """True if arrays of this Python have the expected layout."""
    a = np.zeros((2, 3))[:, 1]
    begin = id(a)

    def at(offset: int) -> int:
        return ctypes.c_int64.from_address(begin + offset).value

    if ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != DATA or np.ndarray.__basicsize__ <= KIND:
        return False
    if (at(TYPE), at(DATA), at(KIND)) != (id(np.ndarray), a.ctypes.data, id(a.dtype)):
        return False
    if (make := _empty()) is None:
        return False
    double = np.dtype(float)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(double))  # PyArray_Empty steals a reference
    made = _EMPTY_TYPE(make)(2, (ctypes.c_int64 * 2)(2, 3), id(double), 0)
    if type(made) is not np.ndarray or made.shape != (2, 3) or made.dtype != double or not made.flags.c_contiguous:
        return False
    order, flags = (ctypes.c_int32.from_address(id(each) + at).value for each, at in ((a, ORDER), (made, FLAGS)))
    if flags & (_CONTIGUOUS | _WRITEABLE) != _CONTIGUOUS | _WRITEABLE:
        return False
    facts = [ctypes.c_int64.from_address(at(offset)).value for offset in (SHAPE, STRIDES)]
    number = ctypes.c_double.from_address(id(_NUMBER) + DATA).value
    return order == 1 and facts == [2, 24] and number == _NUMBER


_EMPTY = 184  # index of PyArray_Empty(axes, shape, dtype, fortran) in NumPy's C API table
_EMPTY_TYPE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


def _empty() -> int | None:
    """The address of NumPy's function that creates an array; None if it is not exported."""
    found = getattr(import_module("numpy._core._multiarray_umath"), "_ARRAY_API", None)
    if found is None:
        return None
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_int64.from_address(get(found, None) + 8 * _EMPTY).value


class _Method(ctypes.Structure):
    """PyMethodDef: the description of a C function for Python."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def _method(name: str, source: str) -> _Method:
    return _Method(name.encode(), load_functions(source, name)[0], _FASTCALL, None)


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _built_in(name: str, source: str, words: Sequence[int | None]) -> Callable[..., Any]:
    """A function of a module as a built-in Python function; it owns the table of words that the code reads."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(_method(name, source)), np.array(words, dtype=np.int64), None)


def fast_call(code: Native, sizes: Sequence[int], shape: Sequence[int]) -> Callable[..., np.ndarray | None]:
    """The function of arrays of these sizes and the time; all outputs except the last, the validity check, are returned."""
    known = _known(code, sizes, math.prod(shape) + 1, len(shape))
    return _built_in("fast_call", _CALL_SOURCE, [*known, *sizes, *shape])


def batch_call(code: Native, sizes: Sequence[int], shape: Sequence[int]) -> Callable[..., np.ndarray | None]:
    """The function of arrays (size, states), the time and perhaps a result array, for code that reports a failed check."""
    api = ctypes.pythonapi
    calls = [_address(each) for each in (api.Py_DecRef, api.PyEval_SaveThread, api.PyEval_RestoreThread)]
    known = _known(code, sizes, math.prod(shape), len(shape) + 1)
    return _built_in("batch_call", _BATCH_SOURCE, [*known, *calls, *sizes, *shape, 0])


def _known(code: Native, sizes: Sequence[int], outputs: int, axes: int) -> list[int | None]:
    """The first words of a table; the code of a program belongs to the caller."""
    increment = _address(ctypes.pythonapi.Py_IncRef)
    known = [code.address, code.tables.ctypes.data, id(np.ndarray), id(np.dtype(float)), len(sizes), sum(sizes) + 1]
    return [*known, outputs, id(float), increment, id(None), _empty(), axes]
