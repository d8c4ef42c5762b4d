"""A program as statements of a language: the one walk that all writers share.

A value that is used once stands where it is used, as long as the line stays short; the others get names: `sin_theta1` for the
sine of a symbol, z1, z2, ... else. Values are formed in the order in which the program forms them, so every language gives what
the program gives, but for the rounding of its functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt

from dalembert.codegen.program import Program
from dalembert.io.code.code_source import Namer
from dalembert.symbolic.operations import BLOCKS, CONDITIONS, OPERATIONS
from dalembert.symbolic.rolled_solve import order_of_symmetric

_LONG = 90  # signs of a value that stands where it is used
_WIDE = 118  # signs of a line
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
class Language:
    """How a language writes statements."""

    words: Mapping[str, str]  # how each operation is written, where it is not as in `base`
    base: str  # the column of the table of operations: c or python
    line: str = "{} = {}"
    condition: str = "{} = {}"
    factor: str = "{name} = {operation}([{entries}])"
    solve: str = "{name} = {operation}({factor}, [{entries}])"
    entry: str = "{}[{}]"
    first: int = 0  # the index of the first entry
    onward: str = ""  # what ends a line that goes on
    field: str = "p.{}"  # a parameter

    def word(self, operation: str) -> str:
        """The template of an operation."""
        return self.words.get(operation) or getattr(OPERATIONS[operation], self.base)

    def binding(self, operation: str) -> int:
        """How strongly an operation binds; what is written as a function, or in brackets, is an atom."""
        return _ATOM if self.word(operation).endswith(")") else _BINDING.get(operation, 0)


@dataclass(frozen=True)
class Body:
    """The statements of a program, and its outputs as text."""

    lines: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)  # those that are used, by the names of the program
    parameters: bool = False  # is any used?


@dataclass(frozen=True)
class _Text:
    """A value as text, and how strongly it holds together."""

    text: str
    binding: int = _ATOM


def body_of(program: Program, language: Language, names: Mapping[str, str]) -> Body:
    """The statements of a program; `names` are those of its symbols."""
    return _Walk(program, language, names).body()


class _Walk:
    """One walk through the lines."""

    def __init__(self, program: Program, language: Language, names: Mapping[str, str]) -> None:
        self._program, self._language = program, language
        self._namer = Namer(frozenset(names.values()))
        self._plain = {i: names[name] for i, name in enumerate((*program.inputs, *program.parameters))}
        self._uses = Counter(a for _, places in program.lines for a in places)
        self._uses.update(program.outputs)
        self._lines: list[str] = []
        self._values = self._leaves(names)
        self._orders: dict[int, int] = {}  # of factors

    def _leaves(self, names: Mapping[str, str]) -> dict[int, _Text]:
        program, language = self._program, self._language
        found = [_Text(names[name]) for name in program.inputs]
        found += [_Text(language.field.format(names[name])) for name in program.parameters]
        found += [_Text(repr(x), _ATOM if x >= 0 else _BINDING["negative"]) for x in program.numbers]
        found += [_Text(f"table{i + 1}") for i in range(len(program.tables))]
        return dict(enumerate(found))

    def body(self) -> Body:
        program = self._program
        for step, (operation, places) in enumerate(program.lines):
            y = program.first_line + step
            if operation in BLOCKS:
                self._values[y] = self._block(y, operation, places)
            else:
                self._values[y] = self._kept(y, operation, places, self._written(operation, places))
        used = self._uses
        n, m = len(program.inputs), len(program.parameters)
        inputs = [name for i, name in enumerate(program.inputs) if used[i]]
        outputs = [self._values[a].text for a in program.outputs]
        return Body(self._lines, outputs, inputs, any(used[i] for i in range(n, n + m)))

    def _written(self, operation: str, places: Sequence[int]) -> _Text:
        """An operation with its arguments in brackets where they need them."""
        word, own = self._language.word(operation), self._language.binding(operation)
        if own == _ATOM:
            return _Text(word.format(*(self._values[a].text for a in places)))
        texts = []
        for i, a in enumerate(places):
            value = self._values[a]
            held = value.binding > own or (value.binding == own and i == 0 and operation != "negative")
            texts.append(value.text if held else f"({value.text})")
        return _Text(word.format(*texts), own)

    def _kept(self, y: int, operation: str, places: Sequence[int], value: _Text) -> _Text:
        """The value itself, or the name of a new line."""
        if self._uses[y] == 1 and len(value.text) < _LONG:
            return value
        known = self._plain.get(places[0]) if len(places) == 1 and self._language.binding(operation) == _ATOM else None
        name = self._namer.new(f"{operation}_{known}") if known else self._new()
        line = self._language.condition if operation in CONDITIONS else self._language.line
        self._lines.append(line.format(name, value.text))
        return _Text(name)

    def _new(self) -> str:
        return self._namer.new(f"z{len(self._lines) + 1}")

    def _block(self, y: int, operation: str, places: Sequence[int]) -> _Text:
        """A factor, a solution or an entry of one."""
        language = self._language
        if operation == "entry":
            i = int(float(self._values[places[1]].text)) + language.first
            return _Text(language.entry.format(self._values[places[0]].text, i))
        name = self._new()
        if operation.endswith("_factor"):
            symmetric = operation.startswith("symmetric")
            n = self._orders[y] = order_of_symmetric(len(places)) if symmetric else isqrt(len(places))
            size = len(places) if symmetric else 2 * n * n
            known = {"name": name, "operation": operation, "n": n, "size": size}
            text = language.factor.format(entries=self._entries(places), **known)
        else:
            factor, *b = places
            room = len(b) if operation.startswith("symmetric") else 2 * len(b)
            known = {
                "name": name,
                "operation": operation,
                "n": len(b),
                "size": room,
                "factor": self._values[factor].text,
            }
            text = language.solve.format(entries=self._entries(b), **known)
        self._lines.append(text)
        return _Text(name)

    def _entries(self, places: Sequence[int]) -> str:
        return wrapped([self._values[a].text for a in places], self._language.onward)


def indented(lines: Sequence[str], indent: str = "    ") -> list[str]:
    """Lines, some of which go on below, moved to the right."""
    return [indent + line.replace("\n", f"\n{indent}") for line in lines]


def wrapped(parts: Sequence[str], onward: str = "") -> str:
    """Parts with commas between them, over several lines where one would be too wide."""
    rows: list[list[str]] = [[]]
    width = 20
    for part in parts:
        if width + len(part) > _WIDE - 10 and rows[-1]:
            rows.append([])
            width = 8
        rows[-1].append(part)
        width += len(part) + 2
    return f",{onward}\n    ".join(", ".join(row) for row in rows)
