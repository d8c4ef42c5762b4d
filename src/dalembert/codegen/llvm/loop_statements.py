"""Plain functions of Python as one LLVM module: loops over numbers in arrays, compiled without any object of Python.

What may stand in a text: numbers, arrays of floats or integers in C order, records (`NamedTuple`) of them; assignments, `if`,
`while`, `for` over `range`, `break`, `continue`, `return`; arithmetic, comparisons, `and`, `or`, `not`, `x if c else y`; indices
that are not negative, rows of arrays and slices of rows; `np.empty`, `np.zeros` and the functions of `WRITERS`; other functions
of the same kind. A variable keeps the kind of its first value. An array that is made in a function lives until it returns, in a
loop until the next round; it cannot be returned. What a function returns is what it is annotated with. Indices are not checked.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir

from dalembert.codegen.llvm.loop_expressions import WRITERS, Expressions, jumped
from dalembert.codegen.llvm.value_types import (
    BOOL,
    INT,
    NOTHING,
    REAL,
    Array,
    Kind,
    Record,
    Scalar,
    Value,
    Word,
    integer,
    joined,
    words_of,
)
from dalembert.errors import EngineError

ENTRY = "loop"
_SMALL = 256  # numbers
_RETURNED = {"None": NOTHING, "float": REAL, "int": INT, "bool": BOOL}
_BYTE = ir.IntType(8).as_pointer()


class PlainModule:
    """A loop and all functions that it calls, each for the kinds of values that it is given."""

    def __init__(self, loop: Callable[..., Any], kinds: Sequence[Kind], jump: Callable[..., None]) -> None:
        self.module, self.jump = ir.Module(), jump
        self._written: dict[tuple[Any, tuple[Kind, ...]], tuple[ir.Function, Kind]] = {}
        self.malloc = ir.Function(self.module, ir.FunctionType(_BYTE, [INT.word]), "malloc")
        self.free = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [_BYTE]), "free")
        function, self.result = self.function(loop, tuple(kinds))
        self._entry(function, kinds)

    def function(self, text: Any, kinds: tuple[Kind, ...]) -> tuple[ir.Function, Kind]:
        """The code of a function for some kinds of values, and the kind of what it returns."""
        if (text, kinds) not in self._written:
            tree = ast.parse(textwrap.dedent(inspect.getsource(text))).body[0]
            assert isinstance(tree, ast.FunctionDef)
            result = _returned(tree)
            words = words_of(result)
            back = ir.VoidType() if not words else words[0] if len(words) == 1 else ir.LiteralStructType(words)
            given = [word for kind in kinds for word in words_of(kind)]
            made = ir.Function(self.module, ir.FunctionType(back, given), f"{text.__name__}.{len(self._written)}")
            made.linkage = "internal"
            self._written[text, kinds] = made, result
            Statements(self, made, text, tree, kinds, result).write()
        return self._written[text, kinds]

    def _entry(self, function: ir.Function, kinds: Sequence[Kind]) -> None:
        """What is called from outside: all arguments in a row of words, and where the result is written."""
        row = INT.word.as_pointer()
        builder: Any = ir.IRBuilder(
            ir.Function(self.module, ir.FunctionType(ir.VoidType(), [row, row]), ENTRY).append_basic_block()
        )
        given, out = builder.function.args
        words = []
        for i, word in enumerate(word for kind in kinds for word in words_of(kind)):
            raw = builder.load(builder.gep(given, [integer(i).word]))
            words.append(_unpacked(builder, raw, word))
        found = builder.call(function, words)
        parts = words_of(self.result)
        for i, _ in enumerate(parts):
            each = found if len(parts) == 1 else builder.extract_value(found, i)
            each = builder.zext(each, INT.word) if each.type == BOOL.word else each
            raw = builder.bitcast(each, INT.word) if each.type == REAL.word else each
            builder.store(raw, builder.gep(out, [integer(i).word]))
        builder.ret_void()


def _unpacked(builder: Any, raw: Word, word: ir.Type) -> Word:
    """64 bits as a word."""
    if isinstance(word, ir.PointerType):
        return builder.inttoptr(raw, word)
    if word == BOOL.word:
        return builder.trunc(raw, word)
    return builder.bitcast(raw, word) if word == REAL.word else raw


def _returned(tree: ast.FunctionDef) -> Kind:
    """The kind of what a function returns, by its annotation."""
    said = "None" if tree.returns is None else ast.unparse(tree.returns)
    names = said.removeprefix("tuple[").removesuffix("]").split(", ")
    if any(name not in _RETURNED for name in names):
        raise EngineError(f"{tree.name}: there is no machine code for a function that returns {said}.")
    kinds = tuple(_RETURNED[name] for name in names)
    return Record(tuple, kinds) if said.startswith("tuple[") else kinds[0]


class Statements(Expressions):
    """The body of one function."""

    def __init__(
        self,
        within: PlainModule,
        function: ir.Function,
        text: FunctionType,
        tree: ast.FunctionDef,
        kinds: tuple[Kind, ...],
        result: Kind,
    ) -> None:
        self.within, self.module, self.known = within, within.module, text.__globals__
        self.function_name, self.tree, self.result = text.__qualname__, tree, result
        self.slots: dict[str, Value] = {}
        self._heap: list[Word] = []  # where the addresses of arrays are that were made here
        self._loops: list[tuple[ir.Block, ir.Block]] = []  # where `continue` and `break` lead
        self._first: Any = ir.IRBuilder(function.append_basic_block("variables"))
        self.builder: Any = ir.IRBuilder(function.append_basic_block("body"))
        self._found = [self._first.alloca(word) for word in words_of(result)]
        self._end = function.append_basic_block("end")
        words = iter(function.args)
        for argument, kind in zip(tree.args.args, kinds, strict=True):
            self._assign(argument, argument.arg, Value(kind, tuple(next(words) for _ in words_of(kind))))

    def write(self) -> None:
        """Write all of it."""
        self._block(self.tree.body)
        if not self.builder.block.is_terminated:
            if self.result == NOTHING:
                self._leave(joined([]))
            else:
                self.builder.unreachable()
        self._first.branch(self._first.function.blocks[1])
        self.builder.position_at_end(self._end)
        for slot in self._heap:
            self.builder.call(self.within.free, [self.builder.load(slot)])
        words = [self.builder.load(at) for at in self._found]
        if not words:
            self.builder.ret_void()
        elif len(words) == 1:
            self.builder.ret(words[0])
        else:
            found = ir.Constant(self.builder.function.ftype.return_type, ir.Undefined)
            for i, word in enumerate(words):
                found = self.builder.insert_value(found, word, i)
            self.builder.ret(found)

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if self.builder.block.is_terminated:
                return
            write = getattr(self, f"_{type(node).__name__}", None)
            if write is None:
                self.refuse(node, "there is no machine code for")
            write(node)

    def _Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.expression(node.value)

    # variables

    def _assign(self, node: ast.AST, name: str, value: Value) -> None:
        if name not in self.slots:
            self.slots[name] = Value(
                value.kind, tuple(self._first.alloca(word.type, name=name) for word in value.words)
            )
        slot = self.slots[name]
        for word, at in zip(self.as_kind(value, slot.kind, node).words, slot.words, strict=True):
            self.builder.store(word, at)

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._assign(target, target.id, value)
        elif isinstance(target, ast.Tuple) and isinstance(value.kind, Record):
            for each, part in zip(target.elts, value.parts(), strict=True):
                self._store(each, part)
        elif isinstance(target, ast.Subscript):
            place = self.place(target, self.value(target.value))
            if not isinstance(place.kind, Scalar):
                self.refuse(target, "expected a number of an array, got")
            self.builder.store(self.as_kind(value, place.kind, target).word, place.word)
        else:
            self.refuse(target, "there is no machine code for a value of")

    def _Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._store(target, value)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        self._store(node.target, self.operation(node, node.op, self.value(node.target), self.value(node.value)))

    # branches and loops

    def _If(self, node: ast.If) -> None:
        ways = [self.builder.append_basic_block(name) for name in ("then", "else")]
        after = self.builder.append_basic_block("after")
        self.builder.cbranch(self.truth(node.test), *ways)
        for way, body in zip(ways, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(way)
            self._block(body)
            self._go(after)
        self.builder.position_at_end(after)

    def _go(self, block: ir.Block) -> None:
        """Go on elsewhere, where this is not decided yet."""
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    def _loop(
        self,
        node: ast.While | ast.For,
        test: Callable[[], Word],
        begin: Callable[[], object] = lambda: None,
        step: Callable[[], object] = lambda: None,
    ) -> None:
        if node.orelse:
            self.refuse(node, "there is no machine code for `else` of a loop:")
        look, body, more, after = (self.builder.append_basic_block(name) for name in ("look", "do", "next", "after"))
        self.builder.branch(look)
        self.builder.position_at_end(look)
        self.builder.cbranch(test(), body, after)
        self.builder.position_at_end(body)
        self._loops.append((more, after))
        begin()
        self._block(node.body)
        self._loops.pop()
        self._go(more)
        self.builder.position_at_end(more)
        step()
        self.builder.branch(look)
        self.builder.position_at_end(after)

    def _While(self, node: ast.While) -> None:
        self._loop(node, lambda: self.truth(node.test))

    def _For(self, node: ast.For) -> None:
        given = node.iter
        if not isinstance(given, ast.Call) or self.expression(given.func) is not range:
            self.refuse(node.iter, "there is no machine code for a loop over")
        limits = [self.whole(each) for each in given.args[:2]]
        begin, end = limits if len(limits) == 2 else (integer(0).word, limits[0])
        by = 1 if len(given.args) < 3 else ast.literal_eval(given.args[2])
        counter = self._first.alloca(INT.word)
        self.builder.store(begin, counter)
        self._loop(
            node,
            lambda: self.builder.icmp_signed("<" if by > 0 else ">", self.builder.load(counter), end),
            lambda: self._store(node.target, Value(INT, (self.builder.load(counter),))),
            lambda: self.builder.store(self.builder.add(self.builder.load(counter), integer(by).word), counter),
        )

    def _Break(self, node: ast.Break) -> None:
        self.builder.branch(self._loops[-1][1])

    def _Continue(self, node: ast.Continue) -> None:
        self.builder.branch(self._loops[-1][0])

    def _Return(self, node: ast.Return) -> None:
        value = joined([]) if node.value is None else self.value(node.value)
        self._leave(self.as_kind(value, self.result, node))

    def _leave(self, value: Value) -> None:
        """Return a value."""
        for word, at in zip(value.words, self._found, strict=True):
            self.builder.store(word, at)
        self.builder.branch(self._end)

    # calls

    def _Call(self, node: ast.Call) -> Value:
        function = self.expression(node.func)
        if node.keywords or isinstance(function, Value):
            self.refuse(node, "there is no machine code for")
        if function in (np.empty, np.zeros):
            return self._made(node, cleared=function is np.zeros)
        arguments = [self.value(each) for each in node.args]
        if function is self.within.jump:
            return jumped(self, node, *arguments)
        if function in WRITERS:
            return WRITERS[function](self, node, *arguments)
        if isinstance(function, type) and hasattr(function, "_fields"):
            return joined(arguments, function)
        if not isinstance(function, FunctionType):
            self.refuse(node, "there is no machine code for")
        made, result = self.within.function(function, tuple(each.kind for each in arguments))
        found = self.builder.call(made, [word for each in arguments for word in each.words])
        count = len(words_of(result))
        words = [found] if count == 1 else [self.builder.extract_value(found, i) for i in range(count)]
        return Value(result, tuple(words))

    def _made(self, node: ast.Call, *, cleared: bool) -> Value:
        """A new array of floats."""
        sizes = self.value(node.args[0])
        shape = [sizes.word] if sizes.kind == INT else [part.word for part in sizes.parts()]
        count = shape[0]
        for size in shape[1:]:
            count = self.builder.mul(count, size)
        if all(isinstance(size, ir.Constant) for size in shape):  # few numbers stay where the variables are
            room = ir.ArrayType(REAL.word, int(np.prod([size.constant for size in shape])))
            data = self.builder.bitcast(self._first.alloca(room), REAL.word.as_pointer())
        else:
            data = self._from_heap(count) if self._loops else self._from_stack(count)
        if cleared:
            self._clear(data, count)
        return Value(Array(REAL, len(shape)), (data, *shape))

    def _from_stack(self, count: Word) -> Word:
        """Room that lives until the function returns: beside the variables where it is small, else from the heap."""
        near, far, after = (self.builder.append_basic_block(name) for name in ("near", "far", "there"))
        self.builder.cbranch(self.builder.icmp_signed("<=", count, integer(_SMALL).word), near, far)
        self.builder.position_at_end(near)
        beside = self.builder.alloca(REAL.word, size=count)
        self.builder.branch(after)
        self.builder.position_at_end(far)
        away = self._from_heap(count)
        self.builder.branch(after)
        self.builder.position_at_end(after)
        return self._merged(beside.type, [(beside, near), (away, far)])

    def _from_heap(self, count: Word) -> Word:
        slot = self._first.alloca(_BYTE)
        self._first.store(ir.Constant(_BYTE, None), slot)
        self._heap.append(slot)
        self.builder.call(self.within.free, [self.builder.load(slot)])  # that of the round before
        found = self.builder.call(
            self.within.malloc, [self.builder.add(self.builder.mul(count, integer(8).word), integer(8).word)]
        )
        self.builder.store(found, slot)
        return self.builder.bitcast(found, REAL.word.as_pointer())

    def _clear(self, data: Word, count: Word) -> None:
        kind = ir.FunctionType(ir.VoidType(), [_BYTE, ir.IntType(8), INT.word, BOOL.word])
        name = "llvm.memset.p0.i64"
        clear = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        size = self.builder.mul(count, integer(8).word)
        zero, no = ir.Constant(ir.IntType(8), 0), ir.Constant(BOOL.word, 0)
        self.builder.call(clear, [self.builder.bitcast(data, _BYTE), zero, size, no])
