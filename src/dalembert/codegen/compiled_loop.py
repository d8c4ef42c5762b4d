"""Plain functions on arrays of numbers as machine code, which call programs by their address.

A text is written once and runs twice: as Python, and as machine code of our own (`codegen/llvm/loop_statements`) for the kinds of
arguments it is called with. The code is kept on disk with that of programs.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Written = Callable[..., Any]


class Machine(NamedTuple):
    """A function of (x, p, tables, out): its address, or itself."""

    one: int | Written
    p: np.ndarray
    tables: np.ndarray


def call(one: int | Written, x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """Run a function that is known by itself; in machine code this is a jump to its address."""
    assert callable(one)
    one(x, p, tables, out)


def call_many(
    many: int | Written, places: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray, count: int
) -> None:
    """Run a function of many states on arrays whose places are listed, as `codegen/llvm/tiles` reads them."""
    assert callable(many)
    many(places, p, tables, out, 0, count, count)


class CompiledLoop:
    """A loop in machine code, made for each kind of arguments at the first call with them."""

    def __init__(self, loop: Written) -> None:
        self._loop = loop
        self._codes: dict[tuple[Any, ...], _Code] = {}
        self._last: dict[int, tuple[Any, Any, list[Any]]] = {}  # records of the last call, with their kinds and words

    def __call__(self, *arguments: Any) -> Any:
        """What the loop returns; arrays are written in place, other threads go on meanwhile."""
        kinds, words = zip(*(self._read(i, each) for i, each in enumerate(arguments)), strict=True)
        code = self._codes.get(kinds)
        if code is None:
            code = self._codes[kinds] = _Code(self._loop, kinds)
        return code(word for part in words for word in part)

    def _read(self, place: int, argument: Any) -> tuple[Any, list[Any]]:
        """Kind and words of an argument; a record that was there in the last call, too, is not read again."""
        from dalembert.codegen.llvm.value_types import flat, kind_of

        record, kind, words = self._last.get(place, (None, None, []))
        if record is argument and isinstance(argument, tuple):
            return kind, words
        kind, words = kind_of(argument), list(flat(argument))
        if isinstance(argument, tuple):
            self._last[place] = argument, kind, words
        return kind, words


class _Code:
    """The machine code of a loop for some kinds of arguments."""

    def __init__(self, loop: Written, kinds: tuple[Any, ...]) -> None:
        from dalembert.codegen.llvm.loop_statements import ENTRY, PlainModule
        from dalembert.codegen.llvm.machine_code import loaded
        from dalembert.codegen.llvm.value_types import codes_of, rebuilt

        written = PlainModule(loop, kinds, call)
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(
            loaded(str(written.module), ENTRY, optimize=True)
        )
        self._given = struct.Struct("=" + "".join(map(codes_of, kinds)))
        self._result, self._found = written.result, struct.Struct("=" + codes_of(written.result))
        self._rebuilt = rebuilt

    def __call__(self, words: Any) -> Any:
        out = ctypes.create_string_buffer(max(self._found.size, 1))
        self._run(self._given.pack(*words), out)
        return self._rebuilt(self._result, iter(self._found.unpack_from(out)))
