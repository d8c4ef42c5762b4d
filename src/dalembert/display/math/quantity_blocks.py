"""Quantities of a formulation for display: SymPy values, text, LaTeX and plain data."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import symengine as se

from dalembert.display.math import _intermediates, latex, symbol_names
from dalembert.display.math import plain_text as text
from dalembert.display.math.latex import LINE
from dalembert.display.math.short_forms import (
    DisplayNotation,
    TooLong,
    are_names,
    length_without_names,
    operations_of,
    unfolded,
    without_names,
)
from dalembert.display.math.symbol_names import PLAIN, Letters
from dalembert.errors import InputError, suggest_name
from dalembert.formalisms.shared.quantities import FinalEquations, Quantity
from dalembert.model.description import Description
from dalembert.model.immutable import FrozenValue
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.random_points import Line, Verdict, proved_equal
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    import sympy


_WIDTH = 100
_MAX_OPERATIONS = 20_000  # of a printed value
_EMPTY = "it has no entries"  # without free coordinates, or without constraints
_MAX_ENTRY = 120  # operations of an entry without named parts
_MAX_ROWS = 16  # of a printed matrix
_MAX_ROW = 400  # operations of a printed row


@dataclass(frozen=True)
class Block(FrozenValue):
    r"""One quantity of a formulation: its key, equation number, meaning and value.

    >>> import dalembert as dl
    >>> block = dl.derive("simple-pendulum", "denoc").blocks["I"]
    >>> block.equation, block.latex, block.value
    ('(21)', '\\mathbf{I}', Matrix([[l**2*m]]))
    """

    key: str
    equation: str
    meaning: str
    entries: Array = field(repr=False, compare=False)  # SymEngine expressions, or names; empty if too long
    operations: int  # in its entries, equal ones counted once
    model: Description = field(repr=False)
    speed_names: tuple[str, ...] = field(default=(), repr=False)
    of: tuple[str, ...] = ()  # names along its first axis: bodies, speeds
    raw: Array | None = field(default=None, repr=False, compare=False)  # as computed, before simplification
    meanings: tuple[Line, ...] = field(default=(), repr=False, compare=False)  # values of the names in it and in `raw`
    letters: Letters = field(default=PLAIN, repr=False, compare=False)

    def __getitem__(self, name: str) -> Block:
        """Return the part of a body or a speed."""
        if name not in self.of:
            raise KeyError(f"block '{self.key}' has no part '{name}'. {suggest_name(name, self.of) if self.of else ''}")
        k, meaning = self.of.index(name), f"{self.meaning}, of {name}"
        entries = np.asarray(self.entries[k], dtype=object)
        raw = None if self.raw is None else np.asarray(self.raw[k], dtype=object)
        found = replace(self, entries=entries, raw=raw)
        return replace(found, operations=operations_of(entries), of=(), meaning=meaning)

    @property
    def parts(self) -> tuple[Block, ...]:
        """The parts of the block by body or speed, or the block itself."""
        return tuple(self[name] for name in self.of) or (self,)

    @property
    def letter(self) -> str:
        """Letter in text."""
        return symbol_names.of_block(self.key, bold=self._clashes)

    @property
    def heading(self) -> str:
        """Heading in a derivation."""
        return self.meaning

    @property
    def latex(self) -> str:
        """Letter in LaTeX; matrices and vectors with capital letters are bold."""
        capital = self.key[0].isupper() and not self.is_text and self.entries.shape not in ((), (1,))
        return symbol_names.of_block(self.key, latex=True, bold=capital or self._clashes)

    @property
    def _clashes(self) -> bool:
        return symbol_names.base_of(self.key) in self.letters.bold

    @property
    def is_text(self) -> bool:
        """True if its entries are names."""
        return are_names(self.entries)

    @property
    def is_long(self) -> bool:
        """True if it is too long to print."""
        return self.operations > _MAX_OPERATIONS

    @cached_property
    def proved(self) -> Verdict:
        """Compare the displayed `entries` with the computed `raw` values by exact algebra.

        >>> import dalembert as dl
        >>> dl.derive("simple-pendulum", "denoc").blocks["I"].proved
        'proved'
        """
        if self.raw is None or self.is_long:
            return "undecided"
        return "proved" if self.is_text else proved_equal([*self.raw.flat], [*self.entries.flat], self.meanings)

    @cached_property
    def expanded(self) -> Array:
        """Entries with the names of other entries replaced by their values."""
        meanings = {se.Symbol(name): meaning for name, meaning in self.meanings}
        length = self.operations if self.is_long else length_without_names(self.entries, meanings)
        if length > _MAX_OPERATIONS:
            raise InputError(
                f"block '{self.key}' of '{self.model.name}' has {length} operations when expanded. Expected at most "
                f"{_MAX_OPERATIONS}. Evaluate it by eom.blocks_at(q, qd), or replace parameters by numbers (--set on the "
                "command line)."
            )
        return without_names(self.entries, meanings)

    @cached_property
    def value(self) -> sympy.Matrix | sympy.Expr | tuple[str, ...]:
        """A SymPy matrix, with bodies stacked; an expression; or a tuple of names."""
        if self.is_text:
            return tuple(self.entries)
        entries = self.expanded
        found = latex.to_sympy_matrix(self.model, _rows(entries), self.speed_names, shorten=False)
        return found if entries.ndim else found[0, 0]  # pyright: ignore[reportReturnType]

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        return latex.display_lines(self.lines())

    def _repr_html_(self) -> str:
        from dalembert.display.math import html

        return html.fragment([html.equations(self.heading_in_latex, self.equation, self.lines())])

    @property
    def heading_in_latex(self) -> str:
        """Letter and meaning in LaTeX."""
        return f"${self.latex}$: {latex.sentence(self.meaning)}"

    @cached_property
    def _written(self) -> tuple[list[tuple[str, Formula]], Array]:
        """Entries, long ones in terms of named parts, and these parts."""
        entries = [se.sympify(entry) for entry in self.entries.flat]
        if max(map(se.count_ops, entries), default=0) <= _MAX_ENTRY:
            return [], self.entries
        parts, found = _intermediates.name_parts(entries, self.letters.user_names)
        out = np.empty(self.entries.shape, dtype=object)
        out[...] = np.array(found, dtype=object).reshape(out.shape)
        return parts, out

    def text(self, width: int = _WIDTH) -> str:
        """Return the value as Unicode text: a matrix if it fits, else the nonzero entries."""
        shape = "" if self.is_long or not self.entries.ndim else f"; {'×'.join(map(str, self.entries.shape))}"
        out = textwrap.wrap(f"{self.letter} {self.equation}: {self.meaning}{shape}", width, subsequent_indent="  ")
        if self.is_text:
            return "\n".join([*out, *(f"  {i + 1}: {name}" for i, name in enumerate(self.entries))])
        if self.is_long:
            return "\n".join([*out, f"  too long to write out: {self.operations} operations"])
        if self.of:
            for name, part in zip(self.of, self.parts, strict=True):
                body = "\n".join(part._body(width - 2))
                out += [f"  of {name}:", *textwrap.indent(body, "  ").split("\n")]
            return "\n".join(out)
        return "\n".join([*out, *self._body(width)])

    def _body(self, width: int) -> list[str]:
        return (self._grid(width) or self._entry_lines(width)) if self.entries.size else [f"  {_EMPTY}"]

    def _grid(self, width: int) -> list[str] | None:
        """Return the rows of a matrix in brackets, None if they are too wide."""
        if self.entries.size > _WIDTH or not self.entries.ndim or self._written[0]:
            return None
        rows = _rows(self.entries)
        cells = [[text.expression(se.sympify(x), self.letters) for x in row] for row in rows]
        widths = [max(len(row[j]) for row in cells) for j in range(rows.shape[1])]
        if sum(widths) + 2 * len(widths) + 4 > width:
            return None
        return [f"  [{'  '.join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))}]" for row in cells]

    def _entry_lines(self, width: int) -> list[str]:
        out: list[str] = []
        parts, entries = self._written
        named = [(self.entry(index), entries[index]) for index in np.ndindex(*entries.shape)]
        for name, value in (*named, *parts):
            if (entry := se.sympify(value)) != 0:
                left = symbol_names.for_text(name, self.letters) if name != self.key else self.letter
                line = f"{left} = {text.expression(entry, self.letters)}"
                out += textwrap.wrap(
                    line, width, initial_indent="  ", subsequent_indent="      ", break_long_words=False
                )
        return out or ["  0"]

    def entry(self, index: tuple[int, ...]) -> str:
        """Return the name of an entry: M[1,2]; of a scalar the key."""
        if not index:
            return self.key
        base, mark, last = self.key.rpartition("_")
        of_link = bool(mark) and last.isdigit()  # the key ends with a link number
        numbers = [*([last] if of_link else []), *(str(i + 1) for i in index)]
        return f"{base if of_link else self.key}[{','.join(numbers)}]"

    def to_latex(self) -> str:
        """Return the equation letter = value in LaTeX for an aligned environment."""
        return " \\\\\n".join(self.lines())

    def lines(self, limit: float = LINE) -> list[str]:
        """Return its lines in LaTeX: a matrix if it fits into `limit` points, else nonzero entries, with line breaks."""
        if self.is_text:
            return [rf"{latex.escape(str(i + 1))} &: \text{{{latex.escape(x)}}}" for i, x in enumerate(self.entries)]
        if self.is_long:
            return [rf"{self.latex} &: \text{{{self.operations} operations, too long to write out}}"]
        if not self.entries.size:
            return [rf"{self.latex} &: \text{{{_EMPTY}}}"]
        if self.of:
            # letter with the name of the body or speed as last index
            head, end = (f"{self.latex[:-1]}, ", "}") if "_{" in self.latex else (f"{self.latex}_{{", "}")
            letters = [f"{head}{symbol_names.for_latex(name, self.letters)}{end}" for name in self.of]
            named = list(zip(letters, self.parts, strict=True))
            grids = [part._grid_in_latex(letter, limit) for letter, part in named]
            if all(grids):
                return [f"{letter} &= {grid}" for (letter, _), grid in zip(named, grids, strict=True)]
        elif grid := self._grid_in_latex(self.latex, limit):
            return [f"{self.latex} &= {grid}"]
        parts, entries = self._written
        named = [(self.entry(index), entries[index]) for index in np.ndindex(*entries.shape)]
        rows = [
            (symbol_names.for_latex(name, self.letters) if name != self.key else self.latex, self._in_latex(value))
            for name, value in (*named, *parts)
            if value != 0
        ]
        return latex.broken(rows or [(self.latex, "0")], limit)

    def _in_latex(self, value: object) -> str:
        return latex.expression(se.sympify(value), self.letters)

    def _grid_in_latex(self, letter: str, limit: float) -> str | None:
        """Return the matrix in brackets, a column as its transpose if that fits; None if it is too wide or too tall."""
        if not self.entries.size or self._written[0]:
            return None
        rows = _rows(self.entries)
        cells = [[self._in_latex(x) for x in row] for row in rows]
        transposed = self.entries.ndim == 1 and len(cells) > 1
        available = limit - latex.width(letter) - 40
        for table, mark in ([([[row[0] for row in cells]], r"^{\mathsf{T}}")] if transposed else []) + [(cells, "")]:
            wide = sum(max(latex.width(row[j], 1) + 10 for row in table) for j in range(len(table[0])))
            if len(table) <= _MAX_ROWS and len(table[0]) <= latex.MAX_COLUMNS and wide <= available:
                return latex.brackets(table) + mark if rows.size != 1 else cells[0][0]
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the block as plain data; entries are str in the syntax of formulas."""
        return {
            "key": self.key,
            "letter": self.letter,
            "latex": self.latex,
            "equation": self.equation,
            "meaning": self.meaning,
            "shape": list(self.entries.shape),
            "operations": self.operations,
            "value": list(self.entries) if self.is_text else None if self.is_long else _nested(self.entries),
        }


def _nested(entries: Array) -> object:
    return [_nested(entry) for entry in entries] if np.ndim(entries) else text.formula(se.sympify(entries))


def _rows(entries: Array) -> Array:
    """Return the entries as a matrix: a vector is a column, more than two axes are stacked."""
    return entries.reshape(-1, entries.shape[-1]) if entries.ndim >= 2 else entries.reshape(-1, 1)


@dataclass(frozen=True)
class DerivationStep(FrozenValue):
    """One step of a derivation: a heading, and its results."""

    heading: str
    blocks: tuple[Block | DisplayedLaw, ...]

    @property
    def equations(self) -> tuple[str, ...]:
        """Distinct equation numbers."""
        return tuple(dict.fromkeys(block.equation for block in self.blocks))

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = _WIDTH) -> str:
        """Return the step as Unicode text; without a heading that only repeats its result."""
        if [block.heading for block in self.blocks] == [self.heading]:
            return self.blocks[0].text(width)
        body = "\n".join(block.text(width - 2) for block in self.blocks)
        return f"{self.heading}\n{textwrap.indent(body, '  ')}"

    def to_latex(self) -> str:
        """Return the step in LaTeX for a document with amsmath."""
        out = [] if len(self.blocks) == 1 else [rf"\textbf{{{latex.sentence(self.heading)}}}"]
        return "\n\n".join([*out, *(latex.equations(x.heading_in_latex, x.equation, x.lines()) for x in self.blocks)])

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return {"heading": self.heading, "blocks": [block.to_dict() for block in self.blocks]}


def block_of(
    quantity: Quantity,
    model: Description,
    speed_names: tuple[str, ...],
    short: DisplayNotation,
    letters: Letters = PLAIN,
) -> Block:
    """Return a quantity with its value, for display."""
    raw, lines = None, ()
    try:
        raw = unfolded(quantity.value)
        known = None if raw is not quantity.value else quantity.written
        value = raw if are_names(raw) else short.short(raw) if known is None else known
        operations, lines = operations_of(value), () if are_names(raw) else short.lines(value, raw)
    except TooLong as found:
        value, operations = np.empty(0, dtype=object), found.operations
    about = (quantity.key, quantity.equation, quantity.meaning)
    return Block(*about, value, operations, model, speed_names, quantity.of, raw, lines, letters)


@dataclass(frozen=True)
class DisplayedLaw(FrozenValue):
    """A law as a formula, such as M_NI u̇_NI = L_NI, and its rows.

    >>> import dalembert as dl
    >>> print(dl.derive("simple-pendulum", "lagrange").laws[0])
    d/dt ∂L/∂q̇ − ∂L/∂q = Q  (17)
      l²·m·θ̈ + g·l·m·sin(θ) = 0
    """

    equation: str
    words: str
    uses: tuple[str, ...]
    left: Array = field(repr=False, compare=False)
    right: Array = field(repr=False, compare=False)
    raw: tuple[Array, Array] = field(repr=False, compare=False)  # both sides as computed, before simplification
    meanings: tuple[Line, ...] = field(default=(), repr=False, compare=False)  # values of the names in them
    letters: Letters = field(default=PLAIN, repr=False, compare=False)
    unwritten: int = 0  # operations of rows that are too long to print and not simplified

    @property
    def heading(self) -> str:
        """Heading in a derivation."""
        return self.words

    @property
    def operations(self) -> int:
        """Number of operations in all rows."""
        return self.unwritten or sum(int(se.count_ops(x)) for x in (*self.left, *self.right))

    @property
    def is_long(self) -> bool:
        """True if a row is too long to print."""
        if self.unwritten:
            return True
        return any(se.count_ops(a) + se.count_ops(b) > _MAX_ROW for a, b in zip(self.left, self.right, strict=True))

    @cached_property
    def proved(self) -> Verdict:
        """Compare the rows with the computed ones by exact algebra; rows that are not printed are not checked."""
        if self.unwritten:
            return "undecided"
        return proved_equal([x for side in self.raw for x in side], [*self.left, *self.right], self.meanings)

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = 100) -> str:
        """Return the law as Unicode text."""
        out = [f"{text.bold_letters(self.words, self.letters)}  {self.equation}"]
        if self.is_long:
            return "\n".join([*out, f"  {self._length}"])
        for a, b in zip(self.left, self.right, strict=True):
            line = f"{text.expression(a, self.letters)} = {text.expression(b, self.letters)}"
            out += textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="      ", break_long_words=False)
        return "\n".join(out)

    @property
    def _length(self) -> str:
        rows = "1 row, " if len(self.left) == 1 else f"{len(self.left)} rows, " if len(self.left) else ""
        return f"{rows}{self.operations} operations when written out"

    @property
    def heading_in_latex(self) -> str:
        """Formula in LaTeX."""
        return f"${latex.formula_to_latex(self.words, self.letters)}$"

    def lines(self, limit: float = LINE) -> list[str]:
        """Return its rows in LaTeX, aligned at the equals sign, with line breaks beyond `limit` points."""
        if self.is_long:
            return [rf"&\text{{{self._length}}}"]
        sides = ([latex.expression(x, self.letters) for x in side] for side in (self.left, self.right))
        return latex.broken(list(zip(*sides, strict=True)), limit)

    def to_latex(self) -> str:
        """Return the rows in LaTeX for an aligned environment."""
        return " \\\\\n".join(self.lines())

    def _repr_latex_(self) -> str:
        return latex.display_lines(self.lines())

    def _repr_html_(self) -> str:
        from dalembert.display.math import html

        return html.fragment([html.equations(self.heading_in_latex, self.equation, self.lines())])

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain data; both sides are str in the syntax of formulas."""
        rows = [[text.formula(a), text.formula(b)] for a, b in zip(self.left, self.right, strict=True)]
        return {"equation": self.equation, "words": self.words, "uses": list(self.uses), "rows": rows}


def displayed_law(law: FinalEquations, short: DisplayNotation, letters: Letters = PLAIN) -> DisplayedLaw:
    """Return a law with its rows in a short form."""
    about = (law.equation, law.formula, law.uses)
    sides = (np.empty(0, dtype=object), np.empty(0, dtype=object))  # default if the rows are too long
    try:
        sides = law.sides()
        raw = tuple(np.array([se.sympify(x) for x in unfolded(side)], dtype=object) for side in sides)
        sides = (raw[0], raw[1])
        left, right = (np.array([*map(_as_sum, short.short(side))], dtype=object) for side in raw)
    except TooLong as found:
        return DisplayedLaw(*about, *sides, sides, (), letters, found.operations)
    return DisplayedLaw(*about, left, right, sides, short.lines(left, right, *raw), letters)


def _as_sum(side: Formula) -> Formula:
    """Expand a product with one sum: m l² θ̈ + m g l sin θ as in textbooks, not m l (l θ̈ + g sin θ)."""
    if not isinstance(side, se.Mul):
        return side
    sums = [factor for factor in side.args if isinstance(factor, se.Add)]
    if len(sums) != 1 or any(isinstance(factor, se.Pow) and not factor.args[1].is_positive for factor in side.args):
        return side
    common = side / sums[0]
    expanded = se.Add(*(common * term for term in sums[0].args))
    return expanded if se.count_ops(expanded) <= 2 * se.count_ops(side) else side
