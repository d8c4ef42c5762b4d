"""Source of generated code: equations of motion as named programs, and the statements of a program in a language.

A value that is used once is inlined as long as the line stays short; the others are named: `sin_theta1` for the sine of a
symbol, z1, z2, ... otherwise. Values are computed in the order of the program, so every language gives the same results, except
for the rounding of its functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from math import isqrt
from typing import Literal

import numpy as np

from dalembert.codegen.program import Program
from dalembert.symbolic.operations import BLOCKS, CONDITIONS, OPERATIONS
from dalembert.symbolic.rolled_solve import order_of_symmetric
from dalembert.symbolic.symbols import SymbolKind, split_symbol

ArgumentKind = Literal["state", "start", "along"]  # (t, y); (t, q, q̇); (t, y) and the rates of t, y and p
# reserved words of the languages and of the generated code
_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register restrict
    return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false NULL NAN INFINITY
    HUGE_VAL EOF linux unix main errno gamma signgam j0 j1 jn y0 y1 yn exp log pow abs floor ceil fabs hypot
    and as assert async await class def del elif except finally from global import in is lambda nonlocal not or pass raise try
    with yield None True False self np jnp jax ca casadi numba njit math len range list tuple float print sum min max rows
    begin end let local module mutable quote where macro baremodule export using function catch abstract primitive type im row
    otherwise parfor spmd persistent classdef methods properties events enumeration ans eps inf nan i j pi table interpolated
    t y p q qd out zeros size numel choose symmetric_factor symmetric_solve general_factor general_solve Parameters INITIAL
    parameters initial constants start rhs accelerations mass_matrix forcing constraint_matrix constraint_forcing kinematics
    reactions multipliers jacobian none ifelse power seed
"""
_RESERVED = frozenset(_WORDS.split())
_MAX_INLINE = 90  # characters of an inlined value
_LINE_WIDTH = 118  # characters of a line
_ATOM = 9
_BINDING = {
    "or": 1,
    "and": 2,
    "less": 3,
    "less_equal": 3,
    "add": 5,
    "subtract": 5,
    "multiply": 6,
    "divide": 6,
    "negative": 7,
}


@dataclass(frozen=True)
class CodeFunction:
    """One function of the code: a program, its result and its arguments."""

    name: str
    meaning: str  # for the comment
    program: Program
    shape: tuple[int, ...]  # of the result, (n,) or (rows, columns)
    arguments: ArgumentKind = "state"
    rows: tuple[str, ...] = ()  # names of the entries along the first axis

    @property
    def size(self) -> int:
        """The number of entries of the result."""
        return len(self.program.outputs)

    @property
    def dimensions(self) -> str:
        """The shape of the result as a str."""
        return " x ".join(map(str, self.shape))

    def index(self, i: int) -> str:
        """The one-based index of entry i in the result, row by row: an index, or row and column."""
        return ", ".join(str(k + 1) for k in np.unravel_index(i, self.shape))

    @property
    def table_lines(self) -> list[str]:
        """Short names for the tables that are defined outside the function."""
        return [f"table{i + 1} = {self.name}_table{i + 1}" for i in range(len(self.program.tables))]


@dataclass(frozen=True)
class ExportedEquations:
    """Equations of one model by one formulation, for all languages."""

    model: str
    formalism: str
    title: str  # of the formalism
    version: str  # of this package
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    parameters: Mapping[str, float]
    constants: Mapping[str, float]  # of the motion, with their values at the initial state
    initial: tuple[float, ...]  # the state (q, v)
    functions: tuple[CodeFunction, ...] = field(repr=False)
    notes: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)  # of coordinates and parameters

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the state variables (q, v)."""
        return self.coordinates + self.velocities

    @property
    def values(self) -> dict[str, float]:
        """Parameters and constants of the motion with their values."""
        return {**self.parameters, **self.constants}

    @property
    def fields(self) -> list[tuple[str, float, str]]:
        """Name, value and description of every parameter; a placeholder if there is none."""
        found = [(self.names[key], value, self.descriptions.get(key, "")) for key, value in self.values.items()]
        return found or [("none", 0.0, "the model has no parameters")]

    def input_arrays(self, each: CodeFunction) -> dict[str, tuple[str, int]]:
        """For every input of a function except t, its array and index."""
        n, inputs = len(self.coordinates), each.program.inputs
        if each.arguments != "start":
            seeds = inputs[len(self.states) + 1 :]
            return {x: ("y", i) for i, x in enumerate(self.states)} | {x: ("seed", i) for i, x in enumerate(seeds)}
        return {x: ("q", i) if i < n else ("qd", i - n) for i, x in enumerate(inputs[:-1])}

    def function(self, name: str) -> CodeFunction | None:
        """The function with this name; None if there is none."""
        return next((each for each in self.functions if each.name == name), None)

    @cached_property
    def names(self) -> dict[str, str]:
        """The unique name of every symbol in code, the same in all languages."""
        namer = Namer()
        rates = [name for each in self.functions for name in each.program.inputs]
        return {
            name: namer.new(name) for name in dict.fromkeys([*self.states, *rates, *self.values]) if name != "t"
        } | {"t": "t"}

    @cached_property
    def operations(self) -> frozenset[str]:
        """The operations used in any function."""
        return frozenset(name for each in self.functions for name, _ in each.program.lines)

    @property
    def heading(self) -> list[str]:
        """The lines of the comment at the top: model, formulation and version."""
        lines = [
            f"Equations of motion of '{self.model}' by the formalism {self.formalism} ({self.title}).",
            f"Generated by dalembert {self.version}; change the model and export it again rather than edit this file.",
            "",
            f"State y = (q, v): {', '.join(self.names[x] for x in self.states)}.",
        ]
        if self.constants:
            names = ", ".join(self.names[x] for x in self.constants)
            lines.append(f"Constants of the motion among the parameters: {names}.")
        return [" ".join(line.split()) for line in [*lines, *self.notes]]


def read_template(name: str) -> str:
    """A template file that is copied unchanged."""
    return (files("dalembert.io.code") / "templates" / name).read_text(encoding="utf-8")


def plain(name: str) -> str:
    """A name of letters, digits and underscores that begins with a letter.

    >>> plain("dot(theta1)"), plain("vx(upper-arm)"), plain("2 links"), plain("p(x)")
    ('theta1_dot', 'vx_upper_arm', 'x2_links', 'p_x')
    """
    kind, inner = split_symbol(name)
    found = (
        {SymbolKind.RATE: f"{inner}_dot", SymbolKind.ACCELERATION: f"{inner}_ddot"}.get(kind, name) if kind else name
    )
    found = re.sub(r"\W+", "_", found, flags=re.ASCII).strip("_")
    return found if found[:1].isalpha() else f"x{found}"


class Namer:
    """Creates unique names that are not reserved words of a language.

    >>> namer = Namer()
    >>> namer.new("x"), namer.new("x"), namer.new("double"), namer.new("y")
    ('x', 'x_2', 'double_2', 'y_2')
    """

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(_RESERVED | taken)

    def new(self, name: str) -> str:
        """The name, or a similar one that is not taken."""
        wanted = plain(name)
        found, k = wanted, 2
        while found in self._taken:
            found, k = f"{wanted}_{k}", k + 1
        self._taken.add(found)
        return found


@dataclass(frozen=True)
class Language:
    """Syntax of the statements of a language."""

    words: Mapping[str, str]  # templates of operations that differ from `base`
    base: str  # the column of the table of operations: c or python
    line: str = "{} = {}"
    condition: str = "{} = {}"
    factor: str = "{name} = {operation}([{entries}])"
    solve: str = "{name} = {operation}({factor}, [{entries}])"
    entry: str = "{}[{}]"
    first: int = 0  # the index of the first entry
    onward: str = ""  # end of a continued line
    field: str = "p.{}"  # a parameter

    def word(self, operation: str) -> str:
        """The template of an operation."""
        return self.words.get(operation) or getattr(OPERATIONS[operation], self.base)

    def reads(self, source: ExportedEquations, each: CodeFunction, body: FunctionBody) -> list[str]:
        """The lines that read the inputs of a function from its arrays."""
        arrays = source.input_arrays(each)
        found = [(source.names[x], *arrays[x]) for x in body.inputs if x != "t"]
        return [self.line.format(name, self.entry.format(array, i + self.first)) for name, array, i in found]

    def binding(self, operation: str) -> int:
        """The precedence of an operation; function calls and bracketed expressions are atoms."""
        return _ATOM if self.word(operation).endswith(")") else _BINDING.get(operation, 0)


@dataclass(frozen=True)
class FunctionBody:
    """The statements of a program, and its outputs as expressions."""

    lines: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)  # the inputs that are used, by their names in the program
    parameters: bool = False  # are any parameters used?


@dataclass(frozen=True)
class _Expression:
    """The source of an expression, and its precedence."""

    source: str
    binding: int = _ATOM


def body_of(program: Program, language: Language, names: Mapping[str, str]) -> FunctionBody:
    """The statements of a program; `names` are the names of its symbols."""
    return _StatementWriter(program, language, names).body()


class _StatementWriter:
    """Writes the statements of one program."""

    def __init__(self, program: Program, language: Language, names: Mapping[str, str]) -> None:
        self._program, self._language = program, language
        self._namer = Namer(frozenset(names.values()))
        self._plain = {i: names[name] for i, name in enumerate((*program.inputs, *program.parameters))}
        self._uses = Counter(a for _, args in program.lines for a in args)
        self._uses.update(program.outputs)
        self._lines: list[str] = []
        self._values = self._leaves(names)
        self._orders: dict[int, int] = {}  # of factors

    def _leaves(self, names: Mapping[str, str]) -> dict[int, _Expression]:
        program, language = self._program, self._language
        found = [_Expression(names[name]) for name in program.inputs]
        found += [_Expression(language.field.format(names[name])) for name in program.parameters]
        found += [_Expression(repr(x), _ATOM if x >= 0 else _BINDING["negative"]) for x in program.numbers]
        found += [_Expression(f"table{i + 1}") for i in range(len(program.tables))]
        return dict(enumerate(found))

    def body(self) -> FunctionBody:
        program = self._program
        for step, (operation, args) in enumerate(program.lines):
            y = program.first_line + step
            if operation in BLOCKS:
                self._values[y] = self._block(y, operation, args)
            else:
                value = self._operation(operation, args)
                self._values[y] = self._value_or_name(y, operation, args, value)
        used = self._uses
        n, m = len(program.inputs), len(program.parameters)
        inputs = [name for i, name in enumerate(program.inputs) if used[i]]
        outputs = [self._values[a].source for a in program.outputs]
        return FunctionBody(self._lines, outputs, inputs, any(used[i] for i in range(n, n + m)))

    def _operation(self, operation: str, args: Sequence[int]) -> _Expression:
        """An operation, with parentheses around arguments that need them."""
        word, own = self._language.word(operation), self._language.binding(operation)
        if own == _ATOM:
            return _Expression(word.format(*(self._values[a].source for a in args)))
        operands = []
        for i, a in enumerate(args):
            value = self._values[a]
            bare = value.binding > own or (value.binding == own and i == 0 and operation != "negative")
            operands.append(value.source if bare else f"({value.source})")
        return _Expression(word.format(*operands), own)

    def _value_or_name(self, y: int, operation: str, args: Sequence[int], value: _Expression) -> _Expression:
        """The inlined value, or the name assigned in a new line."""
        if self._uses[y] == 1 and len(value.source) < _MAX_INLINE:
            return value
        known = self._plain.get(args[0]) if len(args) == 1 and self._language.binding(operation) == _ATOM else None
        name = self._namer.new(f"{operation}_{known}") if known else self._new()
        line = self._language.condition if operation in CONDITIONS else self._language.line
        self._lines.append(line.format(name, value.source))
        return _Expression(name)

    def _new(self) -> str:
        return self._namer.new(f"z{len(self._lines) + 1}")

    def _block(self, y: int, operation: str, args: Sequence[int]) -> _Expression:
        """A factorization, a solution or an entry of one."""
        language = self._language
        if operation == "entry":
            i = int(float(self._values[args[1]].source)) + language.first
            return _Expression(language.entry.format(self._values[args[0]].source, i))
        name = self._new()
        if operation.endswith("_factor"):
            symmetric = operation.startswith("symmetric")
            n = self._orders[y] = order_of_symmetric(len(args)) if symmetric else isqrt(len(args))
            size = len(args) if symmetric else 2 * n * n
            known = {"name": name, "operation": operation, "n": n, "size": size}
            statement = language.factor.format(entries=self._entries(args), **known)
        else:
            factor, *b = args
            size = len(b) if operation.startswith("symmetric") else 2 * len(b)
            known = {"name": name, "operation": operation, "n": len(b), "size": size}
            statement = language.solve.format(entries=self._entries(b), factor=self._values[factor].source, **known)
        self._lines.append(statement)
        return _Expression(name)

    def _entries(self, args: Sequence[int]) -> str:
        return wrapped([self._values[a].source for a in args], self._language.onward)


def indented(lines: Sequence[str], indent: str = "    ") -> list[str]:
    """Indent lines, including continued ones."""
    return [indent + line.replace("\n", f"\n{indent}") for line in lines]


def wrapped(parts: Sequence[str], onward: str = "") -> str:
    """Parts joined by commas, on several lines if one would be too long."""
    rows: list[list[str]] = [[]]
    width = 20
    for part in parts:
        if width + len(part) > _LINE_WIDTH - 10 and rows[-1]:
            rows.append([])
            width = 8
        rows[-1].append(part)
        width += len(part) + 2
    return f",{onward}\n    ".join(", ".join(row) for row in rows)
