"""What the records of NumPy's arrays tell, read by machine code: where their rows lie.

NumPy tells the address of one array in a microsecond, and a batch of a small robot has six arrays. `quick` explains the records.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from dalembert.codegen.llvm.machine_code import loaded
from dalembert.codegen.llvm.native_entry import DATA, FASTCALL, FIELDS, Method

_TEXT = f"""
define ptr @listed(ptr %self, ptr %given, i64 %received) {{
entry:
%pt = getelementptr i8, ptr %self, i64 {DATA}
%table = load ptr, ptr %pt
%kind = load i64, ptr %table
%at1 = getelementptr i64, ptr %table, i64 1
%double = load i64, ptr %at1
%at2 = getelementptr i64, ptr %table, i64 2
%none = load ptr, ptr %at2
%at3 = getelementptr i64, ptr %table, i64 3
%hold = load ptr, ptr %at3
%at4 = getelementptr i64, ptr %table, i64 4
%whole = load ptr, ptr %at4
%buffer = load ptr, ptr %given
%pb = getelementptr i8, ptr %buffer, i64 {DATA}
%list = load ptr, ptr %pb
br label %each
each:
%i = phi i64 [ 1, %entry ], [ %next, %write ]
%into = phi ptr [ %list, %entry ], [ %after, %write ]
%left = icmp slt i64 %i, %received
br i1 %left, label %look, label %all
look:
%held = getelementptr ptr, ptr %given, i64 %i
%object = load ptr, ptr %held
{FIELDS}
%flat = icmp eq i32 %order, 2
%real = icmp eq i64 %number, %double
%both = and i1 %flat, %real
br i1 %both, label %inside, label %unfit
inside:
%ps = getelementptr i64, ptr %strides, i64 1
%inner = load i64, ptr %ps
%dense = icmp eq i64 %inner, 8
br i1 %dense, label %write, label %unfit
write:
%step = load i64, ptr %strides
%rows = load i64, ptr %shape
store ptr %data, ptr %into
%into1 = getelementptr i64, ptr %into, i64 1
store i64 %step, ptr %into1
%into2 = getelementptr i64, ptr %into, i64 2
store i64 %rows, ptr %into2
%after = getelementptr i64, ptr %into, i64 3
%next = add i64 %i, 1
br label %each
all:
%address = call ptr %whole(ptr %list)
ret ptr %address
unfit:
call void %hold(ptr %none)
ret ptr %none
}}
"""


@cache
def _method() -> Method:
    return Method(b"listed", loaded(_TEXT, "listed")[0], FASTCALL, None)


@cache
def listed() -> Callable[..., int | None]:
    """The function of an array of integers and of arrays (rows, states) of doubles, whose places it writes into the first.

    For each it writes the address of its numbers, the bytes between rows and the number of rows. It gives the address of the
    list, or None where an array is not of doubles or its columns do not lie side by side. `quick.is_possible` says whether
    records can be read.

    >>> a, places = np.zeros((3, 8)), np.empty(3, np.int64)
    >>> listed()(places, a) == places.ctypes.data, places.tolist() == [a.ctypes.data, 64, 3]
    (True, True)
    >>> listed()(places, a.T)
    """

    def address(function: object) -> int:
        return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]

    api = ctypes.pythonapi
    known = [id(np.ndarray), id(np.dtype(float)), id(None), address(api.Py_IncRef), address(api.PyLong_FromVoidPtr)]
    make = api.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(_method()), np.array(known, dtype=np.int64), None)
