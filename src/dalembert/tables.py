"""Printable tables: plain text for a terminal, HTML and LaTeX for a notebook. User-defined strings are escaped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as for_html

_COMMANDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "&%$#_{}"} | _COMMANDS | {">": r"\textgreater{}"})


def escape_latex(string: str) -> str:
    r"""Escape a string for LaTeX.

    >>> escape_latex("wheel_1 & 2")
    'wheel\\_1 \\& 2'
    """
    return string.translate(_ESCAPES)


def format_cell(value: object) -> str:
    """Format a cell: very small or large floats with three digits, and a dash for None.

    >>> format_cell(None), format_cell(0.00012345), format_cell(12), format_cell("rod"), format_cell(2.5)
    ('-', '1.23e-04', '12', 'rod', '2.5')
    """
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.2e}"
    return str(value)


class Tabular(ABC):
    """Base class of objects displayed as tables: by `print`, and in a notebook."""

    @abstractmethod
    def tables(self) -> Sequence[Table]:
        """The tables to display."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))

    def _repr_html_(self) -> str:
        return "\n".join(table.html() for table in self.tables())

    def _repr_latex_(self) -> str:
        lines = [line for table in self.tables() for line in table.latex()]
        return "$$\\begin{array}{l}\n" + " \\\\\n".join(lines) + "\n\\end{array}$$"


@dataclass(frozen=True)
class Table(Tabular):
    """Rows of cells under column headings, with a title above and notes below.

    >>> print(Table(("body", "mass"), (("rod", "2"), ("cart", "10")), "Two bodies"))
    Two bodies
    body  mass
    rod   2
    cart  10
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    title: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.columns, *self.rows] if self.rows else []
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))] if lines else []
        body = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([*([self.title] if self.title else []), *body, *self.notes])

    def tables(self) -> Sequence[Table]:
        """The table itself."""
        return (self,)

    def html(self) -> str:
        """The table as HTML."""
        out = [f"<p><b>{for_html(self.title)}</b></p>"] if self.title else []
        if self.rows:
            head = "".join(f"<th>{for_html(name)}</th>" for name in self.columns)
            lines = ("".join(f"<td>{for_html(cell)}</td>" for cell in row) for row in self.rows)
            body = "".join(f"<tr>{line}</tr>" for line in lines)
            out.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        return "\n".join([*out, *(f"<p>{for_html(note)}</p>" for note in self.notes)])

    def latex(self) -> list[str]:
        """The table as lines of a LaTeX formula."""
        out = [rf"\textbf{{{escape_latex(self.title)}}}"] if self.title else []
        if self.rows:
            lines = (
                " & ".join(rf"\text{{{escape_latex(cell)}}}" for cell in row) for row in (self.columns, *self.rows)
            )
            head, *body = (f"{line} \\\\" for line in lines)
            rows = "\n".join([head, r"\hline", *body])
            out.append(f"\\begin{{array}}{{{'l' * len(self.columns)}}}\n{rows}\n\\end{{array}}")
        return [*out, *(rf"\text{{{escape_latex(note)}}}" for note in self.notes)]
