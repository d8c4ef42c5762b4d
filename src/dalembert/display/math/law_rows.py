"""The equations that a formalism ends with, written out row by row."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import symengine as se

from dalembert.display.math import latex, line_breaking
from dalembert.display.math import plain_text as text
from dalembert.display.math.short_forms import Shortening, TooLong, unfolded
from dalembert.display.math.symbol_names import PLAIN, Letters
from dalembert.formalisms.shared.quantities import Law
from dalembert.model.frozen import Value
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.random_points import Line, Verdict, proved_equal
from dalembert.symbolic.symbols import Formula

_WIDTH = 100
_MOST = 400  # operations of one row that is written out


@dataclass(frozen=True)
class WrittenLaw(Value):
    """A law in words, such as M_NI u̇_NI = L_NI, and its rows.

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
    raw: tuple[Array, Array] = field(
        repr=False, compare=False
    )  # both sides as they are computed, before they are tidied
    meanings: tuple[Line, ...] = field(default=(), repr=False, compare=False)  # what names in them stand for
    letters: Letters = field(default=PLAIN, repr=False, compare=False)
    unwritten: int = 0  # operations of rows that nobody would read, which are left as they are

    @property
    def heading(self) -> str:
        """What stands above it in a derivation."""
        return self.words

    @property
    def operations(self) -> int:
        """Of all rows together."""
        return self.unwritten or sum(int(se.count_ops(x)) for x in (*self.left, *self.right))

    @property
    def is_long(self) -> bool:
        """True where a row would be a wall: then the words and the quantities in them say more."""
        if self.unwritten:
            return True
        return any(se.count_ops(a) + se.count_ops(b) > _MOST for a, b in zip(self.left, self.right, strict=True))

    @cached_property
    def proved(self) -> Verdict:
        """Whether the rows are those of the formalism, by the exact algebra; rows that are not written out claim nothing."""
        if self.unwritten:
            return "undecided"
        return proved_equal([x for side in self.raw for x in side], [*self.left, *self.right], self.meanings)

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = _WIDTH) -> str:
        """The law in Unicode text."""
        out = [f"{text.words(self.words, self.letters)}  {self.equation}"]
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
        """Its words."""
        return f"${latex.words_in_latex(self.words, self.letters)}$"

    def lines(self, limit: float = line_breaking.LINE) -> list[str]:
        """Its rows in LaTeX, aligned at the sign of equality, those longer than `limit` points across lines."""
        if self.is_long:
            return [rf"&\text{{{self._length}}}"]
        rows = zip(self.left, self.right, strict=True)
        return line_breaking.broken([(self._in_latex(a), self._in_latex(b)) for a, b in rows], limit)

    def _in_latex(self, side: Formula) -> str:
        return latex.expression(side, self.letters)

    def to_latex(self) -> str:
        """The rows in LaTeX for an aligned environment."""
        return " \\\\\n".join(self.lines())

    def _repr_latex_(self) -> str:
        return latex.display_lines(self.lines())

    def _repr_html_(self) -> str:
        from dalembert.display.math import html

        return html.fragment([html.equations(self.heading_in_latex, self.equation, self.lines())])

    def to_dict(self) -> dict[str, object]:
        """The law as plain data; both sides are strings in the syntax of formulas."""
        rows = [[text.formula(a), text.formula(b)] for a, b in zip(self.left, self.right, strict=True)]
        return {"equation": self.equation, "words": self.words, "uses": list(self.uses), "rows": rows}


def written_law(law: Law, short: Shortening, letters: Letters = PLAIN) -> WrittenLaw:
    """A law with its rows in a short form."""
    about = (law.equation, law.words, law.uses)
    sides = (np.empty(0, dtype=object), np.empty(0, dtype=object))  # as long as none are found
    try:
        sides = law.sides()
        raw = tuple(np.array([se.sympify(x) for x in unfolded(side)], dtype=object) for side in sides)
        sides = (raw[0], raw[1])
        left, right = (np.array([*map(_as_sum, short.short(side))], dtype=object) for side in raw)
    except TooLong as found:
        return WrittenLaw(*about, *sides, sides, (), letters, found.operations)
    return WrittenLaw(*about, left, right, sides, short.lines(left, right, *raw), letters)


def _as_sum(side: Formula) -> Formula:
    """A product with one sum in it as a sum: textbooks write m l² θ̈ + m g l sin θ, and not m l (l θ̈ + g sin θ)."""
    if not isinstance(side, se.Mul):
        return side
    sums = [factor for factor in side.args if isinstance(factor, se.Add)]
    if len(sums) != 1 or any(isinstance(factor, se.Pow) and not factor.args[1].is_positive for factor in side.args):
        return side
    common = side / sums[0]
    whole = se.Add(*(common * term for term in sums[0].args))
    return whole if se.count_ops(whole) <= 2 * se.count_ops(side) else side
