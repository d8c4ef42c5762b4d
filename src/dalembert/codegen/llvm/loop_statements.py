"""Compile Python functions to one LLVM module: loops over numbers in arrays, without Python objects.

Supported: numbers, arrays of float, int or bool in C order, records (`NamedTuple`) of them; assignments, `if`, `while`,
`for` over `range`, `break`, `continue`, `return`; arithmetic, comparisons, `and`, `or`, `not`, `x if c else y`, also on arrays
(`_array_expressions`); nonnegative indices and slices; `np.empty`, `np.zeros`, `np.ones`, `np.full` and the functions of
`WRITERS` and `ARRAY_WRITERS`; other functions of this subset, which may be arguments, and those that a loop replaces
(`compiled_loop.in_machine_code`). A test for None is decided at compile time.

The first assignment fixes the type of a variable. Indices are not checked. The return type is the annotated one. A function
that returns arrays allocates them in an arena of its caller, which is freed when the caller returns. In other functions the
arrays of `np.empty` and `np.zeros` live until the function returns, in a loop until the next iteration.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType

import numpy as np
from llvmlite import ir

from dalembert.codegen.compiled_loop import REPLACEMENTS, call
from dalembert.codegen.llvm._array_expressions import ARRAY_WRITERS, ArrayExpressions, sizes_of
from dalembert.codegen.llvm._loop_expressions import WRITERS, call_program
from dalembert.codegen.llvm._machine_code import SCALAR, digest_of, load_code, load_functions
from dalembert.codegen.llvm._value_types import (
    ARENA,
    BOOL,
    INT,
    NOTHING,
    REAL,
    Array,
    Builder,
    CodeValue,
    Kind,
    Known,
    MachineWord,
    MemoryFunctions,
    RecordValue,
    ScalarType,
    constant,
    integer,
    joined,
    words_of,
)
from dalembert.errors import EngineError

ENTRY = "loop"
_SMALL = 256  # numbers
_RETURNED = {"None": NOTHING, "float": REAL, "int": INT, "bool": BOOL}
_ITEMS: dict[object, ScalarType] = {float: REAL, np.float64: REAL, np.int64: INT, np.bool_: BOOL}
_BYTE = ir.IntType(8).as_pointer()
_PACKAGE = Path(__file__).parents[2]
_CALLED = ("codegen", "mechanics")  # packages whose functions loops call, besides those of their own folder


def c_functions(functions: Mapping[Callable[..., None], Sequence[object]]) -> list[int]:
    """The addresses of functions with a C signature: after the constants in `known`, four arrays of floats, then integers."""
    module = LoopModule(call)
    for python_function, known in functions.items():
        module.c_entry(python_function, known)
    return load_functions(str(module.module), *(function.__name__ for function in functions), passes=SCALAR)


@cache
def _sources(folder: Path) -> str:
    """The SHA-256 of the sources that determine the code of the loops in a folder."""
    files = [path for name in _CALLED for path in (_PACKAGE / name).rglob("*.py")] + list(folder.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def load_loop(loop: FunctionType, kinds: tuple[Kind, ...], passes: Sequence[str]) -> tuple[int, Kind]:
    """The address of a loop, and the type of its result; the code is generated if it is not in the disk cache."""

    def source() -> str:
        module = LoopModule(call)
        module.entry(loop, kinds)
        outside = {name for name in module.files if not name.is_relative_to(folder)}
        outside = {name for name in outside if not any(name.is_relative_to(_PACKAGE / each) for each in _CALLED)}
        if outside:
            raise EngineError(f"the loop {loop.__qualname__} calls functions in {outside}. Expected one of {_CALLED}.")
        return str(module.module)

    folder = Path(loop.__code__.co_filename).parent
    digest = digest_of(f"{loop.__module__}.{loop.__qualname__} {kinds} {_sources(folder)}", passes)
    (address,) = load_code(digest, source, ENTRY, passes=passes)
    result = _returned(loop, _tree(loop))
    assert result is not None
    return address, result


def _tree(python_function: FunctionType) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(python_function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


class LoopModule:
    """Loops and all functions that they call, compiled for each combination of argument types."""

    def __init__(self, jump: Callable[..., None]) -> None:
        self.module, self.jump = ir.Module(), jump
        self.memory = MemoryFunctions(self.module)
        self._written: dict[tuple[FunctionType, tuple[Kind, ...]], tuple[ir.Function, Kind]] = {}
        self.return_arrays: list[ir.Function] = []

    @property
    def files(self) -> set[Path]:
        """The files of the compiled functions."""
        return {Path(function.__code__.co_filename) for function, _ in self._written}

    def function(self, python_function: FunctionType, kinds: tuple[Kind, ...]) -> tuple[ir.Function, Kind]:
        """The code of a function for these argument types, and its return type.

        A function that returns arrays has an arena for them and the address of the results as additional arguments.
        """
        if (python_function, kinds) not in self._written:
            tree = _tree(python_function)
            result = _returned(python_function, tree)
            words = [word for kind in kinds for word in words_of(kind)]
            if result is None:
                made = self._declared(python_function, ir.VoidType(), [ARENA, ARENA, *words])
                made.attributes.add("noinline")  # a call costs little compared with the allocation
                if not any(isinstance(node, ast.For | ast.While) for node in ast.walk(tree)):
                    made.attributes.add("optsize")  # small arrays: otherwise compilation takes twice as long
                self.return_arrays.append(made)
                self._written[python_function, kinds] = (
                    made,
                    Statements(self, made, python_function, tree, kinds, None).write(),
                )
            else:
                out = words_of(result)
                back = ir.VoidType() if not out else out[0] if len(out) == 1 else ir.LiteralStructType(out)
                made = self._declared(python_function, back, words)
                self._written[python_function, kinds] = made, result
                Statements(self, made, python_function, tree, kinds, result).write()
        return self._written[python_function, kinds]

    def _declared(self, python_function: FunctionType, back: ir.Type, words: list[ir.Type]) -> ir.Function:
        name = self.module.get_unique_name(f"{python_function.__name__}.")
        made = ir.Function(self.module, ir.FunctionType(back, words), name)
        made.linkage = "internal"
        return made

    def entry(self, loop: FunctionType, kinds: Sequence[Kind]) -> Kind:
        """The entry point for Python: all arguments as a row of words, and the address of the result; return its type."""
        function, result = self.function(loop, tuple(kinds))
        row = INT.word.as_pointer()
        builder: Builder = ir.IRBuilder(
            ir.Function(self.module, ir.FunctionType(ir.VoidType(), [row, row]), ENTRY).append_basic_block()
        )
        packed, out = builder.function.args
        words = []
        for i, word in enumerate(word for kind in kinds for word in words_of(kind)):
            raw = builder.load(builder.gep(packed, [integer(i).word]))
            words.append(_unpacked(builder, raw, word))
        found = builder.call(function, words)
        parts = words_of(result)
        for i, _ in enumerate(parts):
            each = found if len(parts) == 1 else builder.extract_value(found, i)
            each = builder.zext(each, INT.word) if each.type == BOOL.word else each
            raw = builder.bitcast(each, INT.word) if each.type == REAL.word else each
            builder.store(raw, builder.gep(out, [integer(i).word]))
        builder.ret_void()
        return result

    def c_entry(self, python_function: Callable[..., None], known: Sequence[object]) -> None:
        """A C function with four arrays of unknown length, and integers."""
        integers = len(inspect.signature(python_function).parameters) - len(known) - 4
        kinds = [*map(Known, known), *[Array(REAL, 1)] * 4, *[INT] * integers]
        function, _ = self.function(python_function, tuple(kinds))
        signature = ir.FunctionType(ir.VoidType(), [REAL.word.as_pointer()] * 4 + [INT.word] * integers)
        builder = ir.IRBuilder(ir.Function(self.module, signature, python_function.__name__).append_basic_block())
        pointers, others = builder.function.args[:4], builder.function.args[4:]
        builder.call(function, [word for each in pointers for word in (each, integer(0).word)] + list(others))
        builder.ret_void()


def _unpacked(builder: Builder, raw: MachineWord, word: ir.Type) -> MachineWord:
    """Convert 64 bits to a word."""
    if isinstance(word, ir.PointerType):
        return builder.inttoptr(raw, word)
    if word == BOOL.word:
        return builder.trunc(raw, word)
    return builder.bitcast(raw, word) if word == REAL.word else raw


def _returned(python_function: FunctionType, tree: ast.FunctionDef) -> Kind | None:
    """The return type of a function, by its annotation; None for arrays, whose type follows from the values."""
    annotation = "None" if tree.returns is None else ast.unparse(tree.returns)
    names = annotation.removeprefix("tuple[").removesuffix("]").split(", ")
    if all(name in _RETURNED for name in names):
        kinds = tuple(_RETURNED[name] for name in names)
        return RecordValue(tuple, kinds) if annotation.startswith("tuple[") else kinds[0]
    if "np.ndarray" in annotation or "numpy.ndarray" in str(python_function.__globals__.get(annotation)):
        return None
    raise EngineError(f"{tree.name}: machine code does not support functions that return {annotation}.")


class Statements(ArrayExpressions):
    """Code generation for the body of one function."""

    def __init__(
        self,
        within: LoopModule,
        function: ir.Function,
        python_function: FunctionType,
        tree: ast.FunctionDef,
        kinds: tuple[Kind, ...],
        result: Kind | None,
    ) -> None:
        self.within, self.module, self.known = within, within.module, python_function.__globals__
        self.function_name, self.tree, self.result = python_function.__qualname__, tree, result
        self.slots: dict[str, CodeValue] = {}
        self._heap: list[MachineWord] = []  # addresses of pointers to arrays allocated here
        self._loops: list[tuple[ir.Block, ir.Block]] = []  # targets of `continue` and `break`
        self._first: Builder = ir.IRBuilder(function.append_basic_block("variables"))
        self.builder: Builder = ir.IRBuilder(function.append_basic_block("body"))
        self._found = [self._first.alloca(word) for word in words_of(result)] if result is not None else []
        self._end = function.append_basic_block("end")
        words = iter(function.args if result is not None else function.args[2:])
        self._arena: MachineWord | None = function.args[0] if result is None else None
        for argument, kind in zip(tree.args.args, kinds, strict=True):
            self._assign(argument, argument.arg, CodeValue(kind, tuple(next(words) for _ in words_of(kind))))

    @property
    def _returns_arrays(self) -> bool:
        return self.builder.function in self.within.return_arrays

    def write(self) -> Kind:
        """Generate the function; return the type of its result."""
        self._block(self.tree.body)
        if not self.builder.block.is_terminated:
            if self.result == NOTHING:
                self._leave(joined([]))
            else:
                self.builder.unreachable()
        self._first.branch(self._first.function.blocks[1])
        self.builder.position_at_end(self._end)
        for slot in self._heap:
            self.builder.call(self.within.memory.free, [self.builder.load(slot)])
        assert self.result is not None
        if self._returns_arrays:
            self.builder.ret_void()
            return self.result
        if self._arena is not None:
            self.builder.call(self.within.memory.release, [self._arena])
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
        return self.result

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if self.builder.block.is_terminated:
                return
            write = getattr(self, f"_{type(node).__name__}", None)
            if write is None:
                self.raise_unsupported(node)
            write(node)

    def _Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # docstrings are skipped
            self.expression(node.value)

    # variables

    def _assign(self, node: ast.AST, name: str, value: CodeValue) -> None:
        if name not in self.slots:
            self.slots[name] = CodeValue(
                value.kind, tuple(self._first.alloca(word.type, name=name) for word in value.words)
            )
        slot = self.slots[name]
        for word, at in zip(self.convert(value, slot.kind, node).words, slot.words, strict=True):
            self.builder.store(word, at)

    def _store(self, target: ast.expr, value: CodeValue) -> None:
        if isinstance(target, ast.Name):
            self._assign(target, target.id, value)
        elif isinstance(target, ast.Tuple) and isinstance(value.kind, RecordValue):
            for each, part in zip(target.elts, value.parts(), strict=True):
                self._store(each, part)
        elif isinstance(target, ast.Subscript):
            address = self.element_address(target, self.operand(target.value))
            if isinstance(address.kind, ScalarType):
                self.builder.store(self.convert(value, address.kind, target).word, address.word)
            else:
                self.fill(target, address, value)
        else:
            self.raise_unsupported(target, "machine code does not support assignment to")

    def _Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._store(target, value)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        before = self.operand(node.target)
        if isinstance(node.target, ast.Name) and isinstance(before.kind, Array):
            self.raise_unsupported(node)
        self._store(node.target, self.operation(node, node.op, before, self.operand(node.value)))

    # branches and loops

    def _If(self, node: ast.If) -> None:
        test = self.truth(node.test)
        if isinstance(test, ir.Constant):
            self._block(node.body if test.constant else node.orelse)
            return
        branches = [self.builder.append_basic_block(name) for name in ("then", "else")]
        after = self.builder.append_basic_block("after")
        self.builder.cbranch(test, *branches)
        for branch, body in zip(branches, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(branch)
            self._block(body)
            self._go(after)
        self.builder.position_at_end(after)

    def _go(self, block: ir.Block) -> None:
        """Branch to a block unless the current block is terminated."""
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    def _loop(
        self,
        node: ast.While | ast.For,
        test: Callable[[], MachineWord],
        begin: Callable[[], object] = lambda: None,
        step: Callable[[], object] = lambda: None,
    ) -> None:
        if node.orelse:
            self.raise_unsupported(node, "machine code does not support `else` of a loop:")
        check, body, more, after = (self.builder.append_basic_block(name) for name in ("check", "do", "next", "after"))
        self.builder.branch(check)
        self.builder.position_at_end(check)
        self.builder.cbranch(test(), body, after)
        self.builder.position_at_end(body)
        self._loops.append((more, after))
        begin()
        self._block(node.body)
        self._loops.pop()
        self._go(more)
        self.builder.position_at_end(more)
        step()
        self.builder.branch(check)
        self.builder.position_at_end(after)

    def _While(self, node: ast.While) -> None:
        self._loop(node, lambda: self.truth(node.test))

    def _For(self, node: ast.For) -> None:
        iterable = node.iter
        if not isinstance(iterable, ast.Call) or self.expression(iterable.func) is not range:
            self.raise_unsupported(node.iter, "machine code does not support a loop over")
        limits = [self.integer_operand(each) for each in iterable.args[:2]]
        begin, end = limits if len(limits) == 2 else (integer(0).word, limits[0])
        by = 1 if len(iterable.args) < 3 else ast.literal_eval(iterable.args[2])
        counter = self._first.alloca(INT.word)
        self.builder.store(begin, counter)
        self._loop(
            node,
            lambda: self.builder.icmp_signed("<" if by > 0 else ">", self.builder.load(counter), end),
            lambda: self._store(node.target, CodeValue(INT, (self.builder.load(counter),))),
            lambda: self.builder.store(self.builder.add(self.builder.load(counter), integer(by).word), counter),
        )

    def _Break(self, node: ast.Break) -> None:
        self.builder.branch(self._loops[-1][1])

    def _Continue(self, node: ast.Continue) -> None:
        self.builder.branch(self._loops[-1][0])

    def _Return(self, node: ast.Return) -> None:
        value = joined([]) if node.value is None else self.value(node.value)
        self._leave(value if self.result is None else self.convert(value, self.result, node))

    def _leave(self, value: CodeValue) -> None:
        """Return a value."""
        if self.result is None:
            self.result = value.kind
            for i, word in enumerate(value.words):
                at = self._first.gep(self._first.function.args[1], [integer(i).word])
                self._found.append(self._first.bitcast(at, word.type.as_pointer()))
        for word, at in zip(value.words, self._found, strict=True):
            self.builder.store(word, at)
        self.builder.branch(self._end)

    # calls

    def _Call(self, node: ast.Call) -> CodeValue:
        function, before = self._function(node.func)
        keywords = {each.arg: each.value for each in node.keywords}
        if function in (np.empty, np.zeros, np.ones, np.full):
            return self._made(node, function, keywords.get("dtype"))
        arguments = before + [self.argument(each) for each in node.args]
        if function is self.within.jump:
            return call_program(self, node, *arguments)
        if isinstance(function, np.ufunc) or function in (abs, np.where):
            return self.elementwise(lambda *each: self._writer(node, function)(self, node, *each), *arguments)
        if function in REPLACEMENTS:
            function, expected = REPLACEMENTS[function]
            if {name: ast.literal_eval(each) for name, each in keywords.items()} != expected:
                self.raise_unsupported(node)
            return self.called(node, function, arguments)
        if function in WRITERS or function in ARRAY_WRITERS:
            return self._writer(node, function)(self, node, *arguments)
        if isinstance(function, type) and hasattr(function, "_fields"):
            return joined(arguments, function)
        if keywords:
            self.raise_unsupported(node)
        return self.called(node, function, arguments)

    def _writer(self, node: ast.Call, function: object) -> Callable[..., CodeValue]:
        """The generator of a function with special code."""
        found = WRITERS.get(function) or ARRAY_WRITERS.get(function)
        return found if found is not None else self.raise_unsupported(node)

    def _function(self, node: ast.expr) -> tuple[object, list[CodeValue]]:
        """A function and its first arguments; a method of an array is the NumPy function of that name."""
        if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name | ast.Attribute):
            return getattr(np, node.attr, None), [self.value(node.value)]
        if isinstance(node, ast.Attribute) and isinstance(owner := self.expression(node.value), CodeValue):
            return getattr(np, node.attr, None), [self.dense(owner)]
        found = self.expression(node)
        if isinstance(found, CodeValue):
            found = (
                found.kind.value
                if isinstance(found.kind, Known)
                else self.raise_unsupported(node, "expected a function, got")
            )
        return found, []

    def called(self, node: ast.AST, function: object, arguments: Sequence[CodeValue]) -> CodeValue:
        """Call another compiled function."""
        if not isinstance(function, FunctionType):
            self.raise_unsupported(node)
        missing = len(inspect.signature(function).parameters) - len(arguments)
        defaults = (function.__defaults__ or ())[-missing:] if missing else ()
        values = [*arguments, *(constant(each) or CodeValue(Known(each), ()) for each in defaults)]
        made, result = self.within.function(function, tuple(each.kind for each in values))
        words = [word for each in values for word in each.words]
        kinds = words_of(result)
        if made in self.within.return_arrays:
            results = self._first.alloca(INT.word, size=max(len(kinds), 1))
            self.builder.call(made, [self.arena, results, *words])
            addresses = [self.builder.gep(results, [integer(i).word]) for i in range(len(kinds))]
            found = [
                self.builder.load(self.builder.bitcast(at, kind.as_pointer()))
                for at, kind in zip(addresses, kinds, strict=True)
            ]
            return CodeValue(result, tuple(found))
        found = self.builder.call(made, words)
        return CodeValue(
            result,
            (found,) if len(kinds) == 1 else tuple(self.builder.extract_value(found, i) for i in range(len(kinds))),
        )

    @property
    def arena(self) -> MachineWord:
        """The arena of arrays that live until this function returns, or its caller if it returns arrays."""
        if self._arena is None:
            self._arena = self.within.memory.arena(self._first)
        return self._arena

    def counter(self) -> MachineWord:
        """The address of an integer in the stack frame."""
        return self._first.alloca(INT.word)

    def allocate(self, count: MachineWord) -> MachineWord:
        """The address of memory for `count` numbers in the arena."""
        return self.builder.call(self.within.memory.allocate, [self.arena, count])

    def _made(self, node: ast.Call, function: object, dtype: ast.expr | None) -> CodeValue:
        """Create an array."""
        item = REAL if dtype is None else _ITEMS[self.expression(dtype)]
        shape = sizes_of(self.value(node.args[0]))
        count = shape[0]
        for size in shape[1:]:
            count = self.builder.mul(count, size)
        if self._returns_arrays:
            data = self.allocate(count)
        elif all(isinstance(size, ir.Constant) for size in shape):  # small arrays are allocated in the stack frame
            data = self._first.alloca(ir.ArrayType(REAL.word, int(np.prod([size.constant for size in shape]))))
        else:
            data = self._from_heap(count) if self._loops else self._from_stack(count)
        found = CodeValue(Array(item, len(shape)), (self.builder.bitcast(data, item.word.as_pointer()), *shape))
        if function is np.zeros:
            self._clear(data, count)
        elif function is not np.empty:
            self.fill(
                node,
                found,
                CodeValue(REAL, (ir.Constant(REAL.word, 1.0),)) if function is np.ones else self.value(node.args[1]),
            )
        return found

    def _from_stack(self, count: MachineWord) -> MachineWord:
        """Memory that lives until the function returns: in the stack frame if it is small, else on the heap."""
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

    def _from_heap(self, count: MachineWord) -> MachineWord:
        slot = self._first.alloca(_BYTE)
        self._first.store(ir.Constant(_BYTE, None), slot)
        self._heap.append(slot)
        self.builder.call(self.within.memory.free, [self.builder.load(slot)])  # memory of the previous iteration
        found = self.builder.call(
            self.within.memory.malloc, [self.builder.add(self.builder.mul(count, integer(8).word), integer(8).word)]
        )
        self.builder.store(found, slot)
        return self.builder.bitcast(found, REAL.word.as_pointer())

    def _clear(self, data: MachineWord, count: MachineWord) -> None:
        kind = ir.FunctionType(ir.VoidType(), [_BYTE, ir.IntType(8), INT.word, BOOL.word])
        name = "llvm.memset.p0.i64"
        clear = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        size = self.builder.mul(count, integer(8).word)
        zero, no = ir.Constant(ir.IntType(8), 0), ir.Constant(BOOL.word, 0)
        self.builder.call(clear, [self.builder.bitcast(data, _BYTE), zero, size, no])
