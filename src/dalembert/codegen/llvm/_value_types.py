"""Types of values in compiled loops: numbers, arrays, and records of them. In machine code each is a row of words.

| type | words |
|---|---|
| a number | itself |
| an array in C order | the address of its data, and its shape |
| a view of an array | the address of its first number, its shape and its strides |
| a record or a tuple | those of its fields |
| a function, or None | none: it is known at compile time |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import ir

from dalembert.errors import EngineError


@dataclass(frozen=True)
class ScalarType:
    """Numbers of one type."""

    name: str
    word: ir.Type = field(compare=False)
    code: str = field(compare=False)  # format character of the module `struct`

    def __repr__(self) -> str:
        return self.name


INT = ScalarType("an int", ir.IntType(64), "q")
ARENA = INT.word.as_pointer()
_BYTE = ir.IntType(8).as_pointer()
_BLOCK_BYTES = 1 << 16
_HEAD_BYTES = 16  # of a block: preserves the alignment of the heap
REAL = ScalarType("a float", ir.DoubleType(), "d")
BOOL = ScalarType("a bool", ir.IntType(1), "q")


@dataclass(frozen=True)
class Array:
    """Arrays of numbers in C order."""

    item: ScalarType
    ndim: int


@dataclass(frozen=True)
class ArrayView:
    """Arrays with strides, in units of elements; they exist only inside expressions."""

    item: ScalarType
    ndim: int


@dataclass(frozen=True)
class Known:
    """A compile-time constant: a function, or None."""

    value: object


@dataclass(frozen=True)
class RecordValue:
    """Records with named fields, and tuples."""

    record_type: type
    fields: tuple[Kind, ...]

    @cached_property
    def _hash(self) -> int:
        return hash((self.record_type, self.fields))

    def __hash__(self) -> int:  # cached: types are looked up in every call of a loop
        return self._hash


Kind = ScalarType | Array | ArrayView | Known | RecordValue
MachineWord = Any  # an LLVM value, which is untyped in llvmlite
Builder = Any  # appends instructions; llvmlite has no type hints
NOTHING = RecordValue(tuple, ())
_ITEMS = {np.dtype(np.float64): REAL, np.dtype(np.int64): INT, np.dtype(np.bool_): BOOL}


def words_of(kind: Kind) -> list[ir.Type]:
    """The LLVM types of the words of a value."""
    if isinstance(kind, ScalarType):
        return [kind.word]
    if isinstance(kind, Array):
        return [kind.item.word.as_pointer(), *[INT.word] * kind.ndim]
    if isinstance(kind, ArrayView):
        return [kind.item.word.as_pointer(), *[INT.word] * (2 * kind.ndim)]
    if isinstance(kind, Known):
        return []
    return [word for each in kind.fields for word in words_of(each)]


def codes_of(kind: Kind) -> str:
    """The words of a value as `struct` format characters."""
    if isinstance(kind, ScalarType):
        return kind.code
    if isinstance(kind, RecordValue):
        return "".join(map(codes_of, kind.fields))
    return "q" * len(words_of(kind))


def kind_of(value: object) -> Kind:
    """The type of a Python value."""
    if isinstance(value, np.ndarray):
        if value.dtype not in _ITEMS or not value.flags.c_contiguous:
            raise EngineError(
                f"machine code: got an array of {value.dtype} with shape {value.shape} and strides {value.strides}. "
                "Expected float, int64 or bool in C order: pass np.ascontiguousarray(..., dtype=float)."
            )
        return Array(_ITEMS[value.dtype], value.ndim)
    if isinstance(value, tuple):
        return RecordValue(type(value), tuple(map(kind_of, value)))
    for types, kind in (((bool, np.bool_), BOOL), ((int, np.integer), INT), ((float, np.floating), REAL)):
        if isinstance(value, types):
            return kind
    raise EngineError(
        f"machine code: got a value of {type(value).__name__}. Expected numbers, arrays and tuples of them."
    )


def to_words(value: object) -> Iterator[object]:
    """The words of a Python value."""
    if isinstance(value, np.ndarray):
        yield value.__array_interface__["data"][0]
        yield from value.shape
    elif isinstance(value, tuple):
        for each in value:
            yield from to_words(each)
    else:
        yield value


def to_python(kind: Kind, words: Iterator[float]) -> object:
    """A Python value from words; arrays are not supported."""
    if isinstance(kind, RecordValue):
        found = tuple(to_python(each, words) for each in kind.fields)
        return found if kind.fields else None
    if not isinstance(kind, ScalarType):
        raise EngineError("machine code: a function called from Python cannot return an array.")
    return bool(next(words)) if kind is BOOL else next(words)


@dataclass(frozen=True)
class CodeValue:
    """A value in the generated code."""

    kind: Kind
    words: tuple[MachineWord, ...]

    @property
    def word(self) -> MachineWord:
        """The word of a number."""
        return self.words[0]

    def parts(self) -> list[CodeValue]:
        """The fields of a record or tuple."""
        assert isinstance(self.kind, RecordValue)
        out, at = [], 0
        for kind in self.kind.fields:
            size = len(words_of(kind))
            out.append(CodeValue(kind, self.words[at : at + size]))
            at += size
        return out


def integer(value: int) -> CodeValue:
    """An integer constant."""
    return CodeValue(INT, (ir.Constant(INT.word, value),))


def joined(parts: list[CodeValue], record_type: type = tuple) -> CodeValue:
    """A record or tuple of values."""
    return CodeValue(
        RecordValue(record_type, tuple(part.kind for part in parts)),
        tuple(word for part in parts for word in part.words),
    )


def constant(value: object) -> CodeValue | None:
    """Convert a Python number, or None, to a constant; None for anything else."""
    if value is None:
        return CodeValue(Known(None), ())
    if isinstance(value, bool):
        return CodeValue(BOOL, (ir.Constant(BOOL.word, int(value)),))
    if isinstance(value, int):
        return integer(value)
    return CodeValue(REAL, (ir.Constant(REAL.word, float(value)),)) if isinstance(value, float) else None


class MemoryFunctions:
    """The functions of a module that allocate and free memory."""

    def __init__(self, module: ir.Module) -> None:
        self.malloc = ir.Function(module, ir.FunctionType(_BYTE, [INT.word]), "malloc")
        self.free = ir.Function(module, ir.FunctionType(ir.VoidType(), [_BYTE]), "free")
        self.allocate = ir.Function(module, ir.FunctionType(ARENA, [ARENA, INT.word]), "allocate")
        self.release = ir.Function(module, ir.FunctionType(ir.VoidType(), [ARENA]), "release")
        self.allocate.linkage = self.release.linkage = "internal"
        self._write_allocate(ir.IRBuilder(self.allocate.append_basic_block()))
        self._write_release(ir.IRBuilder(self.release.append_basic_block()))

    def arena(self, builder: Builder) -> MachineWord:
        """A new arena in the stack frame of a function."""
        arena = builder.alloca(INT.word, size=3)
        for i in range(3):
            builder.store(integer(0).word, builder.gep(arena, [integer(i).word]))
        return arena

    def _write_allocate(self, builder: Builder) -> None:
        """Write the function that allocates memory for a number of words."""
        arena, count = self.allocate.args
        free, end, last = (builder.gep(arena, [integer(i).word]) for i in range(3))
        size = builder.mul(count, integer(8).word)
        found = builder.load(free)
        after = builder.add(found, size)
        with builder.if_then(builder.icmp_signed("<=", after, builder.load(end)), likely=True):
            builder.store(after, free)
            builder.ret(builder.inttoptr(found, ARENA))
        large = builder.icmp_signed(">", size, integer(_BLOCK_BYTES).word)
        block = builder.select(large, size, integer(_BLOCK_BYTES).word)
        begin = builder.call(self.malloc, [builder.add(block, integer(_HEAD_BYTES).word)])
        builder.store(builder.load(last), builder.bitcast(begin, ARENA))
        builder.store(builder.ptrtoint(begin, INT.word), last)
        begin = builder.add(builder.load(last), integer(_HEAD_BYTES).word)
        builder.store(builder.add(begin, size), free)
        builder.store(builder.add(begin, block), end)
        builder.ret(builder.inttoptr(begin, ARENA))

    def _write_release(self, builder: Builder) -> None:
        """Write the function that frees all blocks of an arena."""
        last = builder.gep(self.release.args[0], [integer(2).word])
        test, free, done = (self.release.append_basic_block() for _ in range(3))
        builder.branch(test)
        builder.position_at_end(test)
        block = builder.load(last)
        builder.cbranch(builder.icmp_signed("==", block, integer(0).word), done, free)
        builder.position_at_end(free)
        pointer = builder.inttoptr(block, ARENA)
        builder.store(builder.load(pointer), last)
        builder.call(self.free, [builder.bitcast(pointer, _BYTE)])
        builder.branch(test)
        builder.position_at_end(done)
        builder.ret_void()
