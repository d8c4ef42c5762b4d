"""Compile Python functions on numeric arrays to machine code; they call programs by address.

A loop is written once and runs either as Python or as machine code (`codegen/llvm/loop_statements`), compiled for the types of
its arguments. The machine code is cached on disk together with that of programs. `CompiledLoop` calls it from Python;
`CompiledSolver` has the signature of programs and is called from other machine code.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_type_hints

import numpy as np

if TYPE_CHECKING:
    from dalembert.codegen.llvm._value_types import Kind

LoopFunction = Callable[..., Any]
AnyRecord = TypeVar("AnyRecord")


class CallableProgram(NamedTuple):
    """A function of (x, p, tables, out): its address, or the Python function."""

    one: int | LoopFunction
    p: np.ndarray
    tables: np.ndarray


def call(one: int | LoopFunction, x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """Call a Python function; in machine code this is a jump to its address."""
    assert callable(one)
    one(x, p, tables, out)


def call_many(
    many: int | LoopFunction, layout: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray, count: int
) -> None:
    """Run a function of many states on arrays whose layout is listed, as `codegen/llvm/_batch_loop` expects it."""
    assert callable(many)
    many(layout, p, tables, out, 0, count, count)


# the loops that replace functions, with the keyword arguments of the calls
REPLACEMENTS: dict[object, tuple[LoopFunction, dict[str, object]]] = {}


def in_machine_code(function: LoopFunction, **keywords: object) -> Callable[[LoopFunction], LoopFunction]:
    """Replace a function, when called with these keywords, by a compiled loop."""

    def register(loop: LoopFunction) -> LoopFunction:
        REPLACEMENTS[function] = loop, keywords
        return loop

    return register


def as_record(record_type: Callable[..., AnyRecord], numbers: np.ndarray) -> AnyRecord:
    """Read a `NamedTuple` of numbers from the beginning of an array of floats.

    >>> class Point(NamedTuple):
    ...     count: int
    ...     size: float
    >>> as_record(Point, np.array([3.0, 0.5, 7.0]))
    Point(count=3, size=0.5)
    """
    return record_type(*(kind(number) for kind, number in zip(number_types(record_type), numbers, strict=False)))


def number_types(record_type: Any) -> list[type[int | float]]:
    """The field types, int or float, of a `NamedTuple` of numbers."""
    hints = get_type_hints(record_type)
    return [hints[name] for name in record_type._fields]


class TableHeader(NamedTuple):
    """The header of the tables of a compiled function."""

    inputs: int
    outputs: int


def at_each_state(
    one: LoopFunction,
    known: LoopFunction,
    x: np.ndarray,
    p: np.ndarray,
    tables: np.ndarray,
    out: np.ndarray,
    begin: int,
    end: int,
    stride: int,
) -> None:
    """Run one(known, x, p, tables, out) at the states begin to end of the columns of x."""
    sizes = as_record(TableHeader, tables)
    state, result = np.empty(sizes.inputs), np.empty(sizes.outputs)
    for k in range(begin, end):
        for i in range(sizes.inputs):
            state[i] = x[i * stride + k]
        one(known, state, p, tables, result)
        for i in range(sizes.outputs):
            out[i * stride + k] = result[i]


class CompiledSolver:
    """A compiled function one(known, x, p, tables, out) with the signature of programs, for one state and for many.

    `known` is a function that it calls. Its tables begin with `TableHeader`. In machine code the lengths of the four arrays are
    unknown.
    """

    lanes = 1

    def __init__(self, one: LoopFunction, known: LoopFunction) -> None:
        from dalembert.codegen.llvm._machine_code import MANY, ONE
        from dalembert.codegen.llvm.loop_statements import c_functions

        self.address, address_of_many = c_functions({one: (known,), at_each_state: (one, known)})
        self.one: Callable[..., None] = ONE(self.address)
        self.many: Callable[..., None] = MANY(address_of_many)


class CompiledLoop:
    """A compiled loop; machine code is generated at the first call with each combination of argument types.

    `vectorize` is for loops over arrays in which most of the time is spent; they compile four times slower.
    """

    def __init__(self, loop: LoopFunction, *, vectorize: bool = False) -> None:
        self._loop, self._vectorize = loop, vectorize
        self._codes: dict[tuple[Kind, ...], _Code] = {}
        self._last: dict[int, tuple[object, Kind, list[object]]] = {}  # records of the last call, with types and words

    def __call__(self, *arguments: object) -> Any:
        """The return value of the loop; arrays are modified in place, and the GIL is released."""
        kinds, words = zip(*(self._read(i, each) for i, each in enumerate(arguments)), strict=True)
        code = self._codes.get(kinds)
        if code is None:
            code = self._codes[kinds] = _Code(self._loop, kinds, self._vectorize)
        return code(word for part in words for word in part)

    def _read(self, index: int, argument: object) -> tuple[Kind, list[object]]:
        """Type and words of an argument; a record that was also passed in the last call is not converted again."""
        from dalembert.codegen.llvm._value_types import kind_of, to_words

        last = self._last.get(index)
        if last is not None and last[0] is argument:
            return last[1:]
        kind, words = kind_of(argument), list(to_words(argument))
        if isinstance(argument, tuple):
            self._last[index] = argument, kind, words
        return kind, words


class _Code:
    """The machine code of a loop for one combination of argument types."""

    def __init__(self, loop: LoopFunction, kinds: tuple[Kind, ...], vectorize: bool) -> None:
        from dalembert.codegen.llvm._machine_code import FULL, SCALAR
        from dalembert.codegen.llvm._value_types import codes_of, to_python
        from dalembert.codegen.llvm.loop_statements import load_loop

        address, result = load_loop(loop, kinds, FULL if vectorize else SCALAR)
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(address)
        self._packer = struct.Struct("=" + "".join(map(codes_of, kinds)))
        self._result, self._found = result, struct.Struct("=" + codes_of(result))
        self._to_python = to_python

    def __call__(self, words: Iterable[object]) -> object:
        out = ctypes.create_string_buffer(max(self._found.size, 1))
        self._run(self._packer.pack(*words), out)
        return self._to_python(self._result, iter(self._found.unpack_from(out)))
