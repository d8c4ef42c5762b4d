"""Expressions of compiled loops as LLVM code: numbers, arrays and records, without Python objects."""

from __future__ import annotations

import ast
import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from llvmlite import ir

from dalembert.codegen.compiled_loop import as_record, call_many, number_types
from dalembert.codegen.llvm._value_types import (
    BOOL,
    INT,
    REAL,
    Array,
    ArrayView,
    Builder,
    CodeValue,
    Kind,
    Known,
    MachineWord,
    RecordValue,
    constant,
    integer,
    joined,
)
from dalembert.errors import EngineError

Writer = Callable[..., CodeValue]
_POINTER = REAL.word.as_pointer()
_PROGRAM = ir.FunctionType(ir.VoidType(), [_POINTER] * 4)
_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_RANKS = (BOOL, INT, REAL)


class Expressions(ABC):
    """Code generation for the expressions of one function; `Statements` adds statements."""

    builder: Builder
    module: ir.Module
    known: dict[str, object]  # global names of the module
    slots: dict[str, CodeValue]  # addresses of the variables
    function_name: str

    @abstractmethod
    def dense(self, value: CodeValue) -> CodeValue:
        """A value in C order: a view is copied."""

    @abstractmethod
    def elementwise(self, function: Callable[..., CodeValue], *operands: CodeValue) -> CodeValue:
        """Apply a function elementwise to arrays, as a new array; to numbers only, a number."""

    def raise_unsupported(self, node: ast.AST, message: str = "machine code does not support") -> NoReturn:
        """Raise an error for unsupported syntax."""
        raise EngineError(
            f"{self.function_name}, line {getattr(node, 'lineno', '?')}: {message} `{ast.unparse(node)}`."
        )

    def expression(self, node: ast.expr) -> object:
        """The value of an expression; a Python object if it is known at compile time, such as a function."""
        write = getattr(self, f"_{type(node).__name__}", None)
        return self.raise_unsupported(node) if write is None else write(node)

    def operand(self, node: ast.expr) -> CodeValue:
        """The value of an expression that is not a function or module; a view is not copied."""
        found = self.expression(node)
        if not isinstance(found, CodeValue):
            self.raise_unsupported(node, "expected numbers, arrays or records, got")
        return found

    def value(self, node: ast.expr) -> CodeValue:
        """The value of an expression, with arrays in C order."""
        return self.dense(self.operand(node))

    def argument(self, node: ast.expr) -> CodeValue:
        """The value of an argument, which may be a function."""
        found = self.expression(node)
        return self.dense(found) if isinstance(found, CodeValue) else CodeValue(Known(found), ())

    def convert(self, value: CodeValue, kind: Kind, node: ast.AST) -> CodeValue:
        """Convert a value to another type without loss."""
        if value.kind == kind:
            return value
        if (
            isinstance(kind, RecordValue)
            and isinstance(value.kind, RecordValue)
            and len(kind.fields) == len(value.kind.fields)
        ):
            parts = [self.convert(part, field, node) for part, field in zip(value.parts(), kind.fields, strict=True)]
            return joined(parts, kind.record_type)
        word = None
        if value.kind == BOOL and kind == INT:
            word = self.builder.zext(value.word, INT.word)
        if value.kind == BOOL and kind == REAL:
            word = self.builder.uitofp(value.word, REAL.word)
        if value.kind == INT and kind == REAL:
            word = self.builder.sitofp(value.word, REAL.word)
        if word is None:
            self.raise_unsupported(node, f"expected {kind}, got {value.kind} in")
        return CodeValue(kind, (word,))

    def truth(self, node: ast.expr) -> MachineWord:
        """The value of an expression as a condition."""
        found = self.value(node)
        if found.kind == BOOL:
            return found.word
        if found.kind == INT:
            return self.builder.icmp_signed("!=", found.word, ir.Constant(INT.word, 0))
        if found.kind != REAL:
            self.raise_unsupported(node, f"expected a bool, got {found.kind} in")
        return self.builder.fcmp_unordered("!=", found.word, ir.Constant(REAL.word, 0.0))

    # names, numbers, records

    def _Constant(self, node: ast.Constant) -> CodeValue:
        found = constant(node.value)
        return found if found is not None else self.raise_unsupported(node)

    def _Name(self, node: ast.Name) -> object:
        if node.id in self.slots:
            return self._read(self.slots[node.id])
        if node.id not in self.known and not hasattr(builtins, node.id):
            self.raise_unsupported(node, "variable used before assignment:")
        return _folded(self.known[node.id] if node.id in self.known else getattr(builtins, node.id))

    def _read(self, slot: CodeValue) -> CodeValue:
        """The value of a variable."""
        return CodeValue(slot.kind, tuple(self.builder.load(word) for word in slot.words))

    def _slot(self, node: ast.expr) -> CodeValue | None:
        """The address of a variable, or of a field of one."""
        if isinstance(node, ast.Name):
            return self.slots.get(node.id)
        owner = self._slot(node.value) if isinstance(node, ast.Attribute) else None
        if owner is None or not isinstance(owner.kind, RecordValue) or not isinstance(node, ast.Attribute):
            return None
        names = getattr(owner.kind.record_type, "_fields", ())
        return owner.parts()[names.index(node.attr)] if node.attr in names else None

    def _Attribute(self, node: ast.Attribute) -> object:
        slot = self._slot(node)
        if slot is not None:
            return self._read(slot)
        owner = self.expression(node.value)
        return self.attribute(node, owner) if isinstance(owner, CodeValue) else _folded(getattr(owner, node.attr))

    def attribute(self, node: ast.Attribute, owner: CodeValue) -> CodeValue:
        """The shape of an array; the rest is in `ArrayExpressions`."""
        if not isinstance(owner.kind, Array | ArrayView) or node.attr != "shape":
            self.raise_unsupported(node)
        return joined([CodeValue(INT, (word,)) for word in owner.words[1 : 1 + owner.kind.ndim]])

    def _Tuple(self, node: ast.Tuple) -> CodeValue:
        return joined([self.value(each) for each in node.elts])

    # arithmetic

    def _alike(self, node: ast.AST, left: CodeValue, right: CodeValue) -> tuple[CodeValue, CodeValue]:
        """Convert two numbers to the wider type, at least int."""
        for each in (left, right):
            if each.kind not in _RANKS:
                self.raise_unsupported(node, f"expected numbers, got {each.kind} in")
        kind = max(left.kind, right.kind, INT, key=_RANKS.index)
        return self.convert(left, kind, node), self.convert(right, kind, node)

    def operation(self, node: ast.AST, operator: ast.operator, left: CodeValue, right: CodeValue) -> CodeValue:
        """left operator right."""
        if isinstance(operator, ast.Pow):
            return self._power(node, left, right)
        if isinstance(operator, ast.BitAnd) and left.kind == right.kind == BOOL:
            return CodeValue(BOOL, (self.builder.and_(left.word, right.word),))
        a, b = self._alike(node, left, right)
        if isinstance(operator, ast.Div):
            a, b = self.convert(a, REAL, node), self.convert(b, REAL, node)
            return CodeValue(REAL, (self.builder.fdiv(a.word, b.word),))
        if type(operator) in _ARITHMETIC:
            name = _ARITHMETIC[type(operator)]
            write = getattr(self.builder, f"f{name}" if a.kind == REAL else name)
            return CodeValue(a.kind, (write(a.word, b.word),))
        if isinstance(operator, ast.Mod) and a.kind == INT:
            return CodeValue(INT, (self.builder.srem(a.word, b.word),))  # valid for nonnegative numbers
        return self.raise_unsupported(node)

    def _power(self, node: ast.AST, base: CodeValue, exponent: CodeValue) -> CodeValue:
        a = self.convert(base, REAL, node)
        if isinstance(exponent.word, ir.Constant) and exponent.kind == INT and exponent.word.constant == 2:
            return CodeValue(REAL, (self.builder.fmul(a.word, a.word),))
        return self.external_call("pow", a, self.convert(exponent, REAL, node))

    def external_call(self, name: str, *arguments: CodeValue) -> CodeValue:
        """A function of the C library or an LLVM intrinsic, on floats."""
        kind = ir.FunctionType(REAL.word, [REAL.word] * len(arguments))
        function = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        return CodeValue(REAL, (self.builder.call(function, [each.word for each in arguments]),))

    def _BinOp(self, node: ast.BinOp) -> CodeValue:
        return self.operation(node, node.op, self.operand(node.left), self.operand(node.right))

    def _UnaryOp(self, node: ast.UnaryOp) -> CodeValue:
        if isinstance(node.op, ast.Not):
            return CodeValue(BOOL, (self.builder.not_(self.truth(node.operand)),))
        return self.elementwise(lambda each: self._unary(node, each), self.operand(node.operand))

    def _unary(self, node: ast.UnaryOp, found: CodeValue) -> CodeValue:
        if isinstance(node.op, ast.Invert) and found.kind == BOOL:
            return CodeValue(BOOL, (self.builder.not_(found.word),))
        if not isinstance(node.op, ast.USub) or found.kind not in (INT, REAL):
            self.raise_unsupported(node)
        if isinstance(found.word, ir.Constant):
            return CodeValue(found.kind, (ir.Constant(found.kind.word, -found.word.constant),))
        return CodeValue(found.kind, ((self.builder.fneg if found.kind == REAL else self.builder.neg)(found.word),))

    # comparison and choice

    def compared(self, node: ast.AST, sign: str, left: CodeValue, right: CodeValue) -> MachineWord:
        """Compare two numbers; NaN is not equal to anything."""
        a, b = self._alike(node, left, right)
        if a.kind == INT:
            return self.builder.icmp_signed(sign, a.word, b.word)
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, a.word, b.word)

    def _Compare(self, node: ast.Compare) -> CodeValue:
        values = [self.operand(each) for each in (node.left, *node.comparators)]
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            same = values[0].kind == values[1].kind == Known(None)
            return CodeValue(BOOL, (ir.Constant(BOOL.word, int(same == isinstance(node.ops[0], ast.Is))),))
        if len(values) == 2 and type(node.ops[0]) in _COMPARED:
            sign = _COMPARED[type(node.ops[0])]
            return self.elementwise(lambda a, b: CodeValue(BOOL, (self.compared(node, sign, a, b),)), *values)
        found: MachineWord | None = None
        for operator, left, right in zip(node.ops, values, values[1:], strict=False):
            if type(operator) not in _COMPARED:
                self.raise_unsupported(node)
            new = self.compared(node, _COMPARED[type(operator)], left, right)
            found = new if found is None else self.builder.and_(found, new)
        assert found is not None
        return CodeValue(BOOL, (found,))

    def _BoolOp(self, node: ast.BoolOp) -> CodeValue:
        """`and`, `or`: later operands are evaluated only if necessary."""
        stops = isinstance(node.op, ast.Or)
        found = self.truth(node.values[0])
        if isinstance(found, ir.Constant):  # the result is decided, or the other operands decide
            rest = node.values[1] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[1:])
            return CodeValue(BOOL, (found if found.constant == stops else self.truth(rest),))
        done = self.builder.append_basic_block("decided")
        known = []
        for i in range(len(node.values) - 1):
            found = self.truth(node.values[i]) if i else found
            known.append((ir.Constant(BOOL.word, int(stops)), self.builder.block))
            more = self.builder.append_basic_block("undecided")
            self.builder.cbranch(found, *((done, more) if stops else (more, done)))
            self.builder.position_at_end(more)
        known.append((self.truth(node.values[-1]), self.builder.block))
        self.builder.branch(done)
        self.builder.position_at_end(done)
        return CodeValue(BOOL, (self._merged(BOOL.word, known),))

    def _IfExp(self, node: ast.IfExp) -> CodeValue:
        test = self.truth(node.test)
        if isinstance(test, ir.Constant):
            return self.value(node.body if test.constant else node.orelse)
        branches = [self.builder.append_basic_block(name) for name in ("yes", "no")]
        done = self.builder.append_basic_block("chosen")
        self.builder.cbranch(test, *branches)
        found, ends = [], []
        for branch, each in zip(branches, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(branch)
            found.append(self.value(each))
            ends.append(self.builder.block)
        kind = found[0].kind
        if found[1].kind != kind:
            kind = max((each.kind for each in found), key=lambda k: _RANKS.index(k) if k in _RANKS else -1)
        for i, end in enumerate(ends):
            self.builder.position_at_end(end)
            found[i] = self.convert(found[i], kind, node)
            self.builder.branch(done)
        self.builder.position_at_end(done)
        pairs = zip(found[0].words, found[1].words, strict=True)
        return CodeValue(kind, tuple(self._merged(a.type, list(zip((a, b), ends, strict=True))) for a, b in pairs))

    def _merged(self, word: ir.Type, sources: list[tuple[MachineWord, ir.Block]]) -> MachineWord:
        """Phi node of several blocks."""
        phi = self.builder.phi(word)
        for value, block in sources:
            phi.add_incoming(value, block)
        return phi


def _folded(found: object) -> object:
    """Convert a Python number to a value; return any other object unchanged."""
    number = constant(found)
    return found if number is None else number


# functions with special code, by function object


def _length(generator: Expressions, node: ast.Call, of: CodeValue) -> CodeValue:
    return (
        CodeValue(INT, (of.words[1],))
        if isinstance(of.kind, Array)
        else generator.raise_unsupported(node, "expected an array in")
    )


def _absolute(generator: Expressions, node: ast.Call, x: CodeValue) -> CodeValue:
    if x.kind != REAL:
        generator.raise_unsupported(node, f"expected a float, got {x.kind} in")
    return generator.external_call("llvm.fabs.f64", x)


def _extreme(sign: str) -> Writer:
    """`min` or `max` of two: the second if it is less or greater, as in Python."""

    def write(generator: Expressions, node: ast.Call, left: CodeValue, right: CodeValue) -> CodeValue:
        a, b = generator._alike(node, left, right)
        return CodeValue(a.kind, (generator.builder.select(generator.compared(node, sign, b, a), b.word, a.word),))

    return write


def _function(name: str) -> Writer:
    def write(generator: Expressions, node: ast.Call, *x: CodeValue) -> CodeValue:
        return generator.external_call(name, *[generator.convert(each, REAL, node) for each in x])

    return write


def _finite(generator: Expressions, node: ast.Call, x: CodeValue) -> CodeValue:
    size = generator.external_call("llvm.fabs.f64", generator.convert(x, REAL, node))
    return CodeValue(BOOL, (generator.builder.fcmp_ordered("<", size.word, ir.Constant(REAL.word, float("inf"))),))


def _spacing(generator: Expressions, node: ast.Call, x: CodeValue) -> CodeValue:
    """The distance to the next float, which has the next bit pattern."""
    write, number = generator.builder, generator.convert(x, REAL, node).word
    bits = write.add(write.bitcast(number, INT.word), integer(1).word)
    return CodeValue(REAL, (write.fsub(write.bitcast(bits, REAL.word), number),))


def _as_integer(generator: Expressions, node: ast.Call, x: CodeValue) -> CodeValue:
    return (
        CodeValue(INT, (generator.builder.fptosi(x.word, INT.word),))
        if x.kind == REAL
        else generator.convert(x, INT, node)
    )


def _chosen(generator: Expressions, node: ast.Call, test: CodeValue, left: CodeValue, right: CodeValue) -> CodeValue:
    a, b = (left, right) if left.kind == right.kind else generator._alike(node, left, right)
    return CodeValue(a.kind, (generator.builder.select(generator.convert(test, BOOL, node).word, a.word, b.word),))


def _record(generator: Expressions, node: ast.Call, record_type: CodeValue, numbers: CodeValue) -> CodeValue:
    """A record of numbers from the beginning of an array of floats."""
    assert isinstance(record_type.kind, Known)
    made: Any = record_type.kind.value
    parts = []
    for i, kind in enumerate(number_types(made)):
        number = CodeValue(REAL, (generator.builder.load(generator.builder.gep(numbers.word, [integer(i).word])),))
        parts.append(number if kind is float else _as_integer(generator, node, number))
    return joined(parts, made)


def call_program(generator: Expressions, node: ast.Call, one: CodeValue, *arrays: CodeValue) -> CodeValue:
    """Call a program by its address."""
    function = generator.builder.inttoptr(one.word, _PROGRAM.as_pointer())
    generator.builder.call(function, [each.word for each in arrays])
    return joined([])


def _call_program_many(generator: Expressions, node: ast.Call, many: CodeValue, *arguments: CodeValue) -> CodeValue:
    """Call a program for many states by its address: four arrays, and the number of states."""
    *arrays, count = arguments
    kind = ir.FunctionType(ir.VoidType(), [*(each.word.type for each in arrays), *[INT.word] * 3])
    words = [*(each.word for each in arrays), integer(0).word, count.word, count.word]
    generator.builder.call(generator.builder.inttoptr(many.word, kind.as_pointer()), words)
    return joined([])


WRITERS: dict[object, Writer] = {
    call_many: _call_program_many,
    len: _length,
    abs: _absolute,
    min: _extreme("<"),
    max: _extreme(">"),
    float: lambda generator, node, x: generator.convert(x, REAL, node),
    int: _as_integer,
    bool: lambda generator, node, x: generator.convert(x, BOOL, node),
    as_record: _record,
    np.where: _chosen,
    np.sqrt: _function("llvm.sqrt.f64"),
    np.floor: _function("llvm.floor.f64"),
    np.arctan2: _function("atan2"),
    np.sin: _function("sin"),
    np.cos: _function("cos"),
    np.arcsin: _function("asin"),
    np.arccos: _function("acos"),
    np.arctan: _function("atan"),
    np.exp: _function("exp"),
    np.log: _function("log"),
    np.abs: _absolute,
    np.isfinite: _finite,
    np.spacing: _spacing,
}
