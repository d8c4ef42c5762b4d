"""Equations in LaTeX, for papers and for Jupyter, and as SymPy matrices.

SymPy is slow to import, so it is imported inside the functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dalembert.algebra import Array
from dalembert.expressions import Kind, kind_of, rate, to_sympy
from dalembert.expressions.formula import Formula
from dalembert.expressions.numbers import readable
from dalembert.model import Elements
from dalembert.show import breaking, names
from dalembert.show.tidying import tidy

if TYPE_CHECKING:
    import sympy

    from dalembert.show.pages import Page, Section

MOST_COLUMNS = 10  # of a matrix that is written out
_MOST_LINES = 120  # in a notebook
_LOWERED = "₀₁₂₃₄₅₆₇₈₉"
_MARKS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0307": "dot", "\u0308": "ddot"}
_SIGNS = {
    "∂": r"\partial ", "Σ": r"\sum ", "−": "-", "·": r"\cdot ", "√": r"\surd ", "ᵀ": r"^{\mathsf{T}} ", "⁺": "^{+} ",
    "′": "' ", "×": r"\times ", "π": r"\pi ", "²": "^{2} ",
}  # fmt: skip
_WORD = re.compile(r"⁻¹|[^\W\d_][\u0300-\u036f]*(?:_\w+|[₀-₉]+)*|\s+|.")
_HEAD = r"""\documentclass[11pt]{article}
\usepackage[margin=2cm]{geometry}
\usepackage{amsmath,amssymb}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\begin{document}"""
_WORDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "&%$#_{}"} | _WORDS)


def to_sympy_matrix(
    model: Elements, array: Array, dynamic: Iterable[str] = (), *, shorten: bool = True
) -> sympy.Matrix:
    """A SymPy matrix of `dynamicsymbols`, their derivatives, time and the symbols the user declared.

    `dynamic` names further symbols that change with time, such as speeds. A constant of the motion becomes the symbol
    G_x. The shape is kept, also when a side is 0.

    >>> from dalembert.model import Model
    >>> import numpy as np, symengine as se
    >>> model = Model("m").parameters(k=1.0).coordinates("x")
    >>> to_sympy_matrix(model, np.array([[se.Symbol("k") * se.Symbol("dot(x)")]], dtype=object))
    Matrix([[k*Derivative(x(t), t)]])
    """
    import sympy
    from sympy.physics.mechanics import dynamicsymbols

    given = model.sympy_symbols
    table = dict(given)
    for name in model.coordinate_names:
        moving, constant = given.get(name, dynamicsymbols(name)), Kind.CONSTANT.of(name)
        symbol = sympy.Symbol(names.for_formula(constant, model.parameter_values))
        table |= {name: moving, rate(name).name: moving.diff(), constant: symbol}
        table[Kind.ACCELERATION.of(name)] = moving.diff().diff()
    table |= {name: dynamicsymbols(name) for name in dynamic}
    velocities = {name for name in table if kind_of(name) in (Kind.RATE, Kind.CONSTANT)} | set(dynamic)
    short = [tidy(entry, velocities) if shorten else entry for entry in array.ravel()]
    entries = [to_sympy(entry, coordinates=(), symbols=table) for entry in short]
    return sympy.Matrix(*array.shape, entries)


def page(found: Page) -> str:
    r"""A page as LaTeX for a document with amsmath: sentences and `align*` environments, long formulas across lines."""
    out = [rf"\textbf{{{escape(found.model)}}} --- {escape(found.title)} ({found.counts})."]
    out += [escape(f"{note[:1].upper()}{note[1:]}.") for note in found.notes]
    for section in found.sections:
        words = f"${words_in_latex(section.heading)}$" if section.is_law else _sentence(section.heading)
        heading = f"{words} {escape(section.equation)}".rstrip()
        out.append(heading + (":\n" + aligned(_lines(section)) if section.rows else "."))
    return "\n\n".join(out) + "\n"


def document(pages: Iterable[str]) -> str:
    """A whole document that compiles: the pages, in LaTeX, between its head and its foot."""
    return "\n".join([_HEAD, "\n\\clearpage\n".join(pages), "\\end{document}", ""])


def display(found: Page) -> str:
    r"""A page as one formula for a notebook; of a very long one the first lines."""
    rows: list[str] = []
    for section in found.sections:
        lines = _lines(section)
        if len(rows) + len(lines) > _MOST_LINES:
            rows.append(rf"&\text{{{len(lines)} lines more; latex() writes them all}}")
            break
        words = words_in_latex(section.heading) if section.is_law else rf"\textbf{{{escape(section.heading)}}}"
        rows += [rf"&{words}", *lines]
    return "$$\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}$$"


def aligned(lines: list[str]) -> str:
    """Lines in an environment that may go over pages."""
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"


def _lines(section: Section) -> list[str]:
    return [line for left, right in section.rows for line in breaking.broken(expression(left), expression(right))]


def _sentence(heading: str) -> str:
    """A heading whose letter, before a colon, is a formula."""
    letter, mark, meaning = heading.partition(": ")
    return f"${words_in_latex(letter)}$: {_with_formulas(meaning)}" if mark else escape(heading)


def _with_formulas(words: str) -> str:
    """Words in which what is not plain text is a formula."""
    parts = re.split(r"(\S*[^\x00-\x7f–’]\S*|\S*_\S*)", words)
    return "".join(f"${words_in_latex(part)}$" if i % 2 else escape(part) for i, part in enumerate(parts))


def words_in_latex(words: str) -> str:
    r"""An equation in Unicode letters in LaTeX.

    >>> words_in_latex("M_NI u̇_NI = L_NI"), words_in_latex("Aᵀλ − ∂L/∂q̇")
    ('\\mathbf{M}_{NI} \\dot{u}_{NI} = \\mathbf{L}_{NI}', '\\mathbf{A}^{\\mathsf{T}} \\lambda - \\partial L/\\partial \\dot{q}')
    """
    out = []
    for token in _WORD.findall(unicodedata.normalize("NFD", words)):
        out.append(_in_latex(token))
    return re.sub(r" (?=[\^,;)/])", "", re.sub(r"\s+", " ", "".join(out))).strip()


def _in_latex(token: str) -> str:
    letter = token[0]
    if letter in _SIGNS:
        return _SIGNS[letter]
    if not letter.isalpha():
        return token
    marks = [_MARKS[mark] for mark in token if mark in _MARKS]
    below = re.findall(r"_(\w+)", token)
    lowered = "".join(c for c in token if c in _LOWERED).translate(str.maketrans(_LOWERED, "0123456789"))
    greek = names.for_latex(unicodedata.name(letter).rsplit(" ", 1)[-1].lower()) if ord(letter) > 0x370 else letter
    written = rf"\mathbf{{{letter}}}" if letter.isupper() and letter.isascii() and letter not in "TVLRSH" else greek
    if letter.isupper() and letter.isascii() and below:
        written = rf"\mathbf{{{letter}}}"
    for mark in marks:
        written = rf"\{mark}{{{written}}}"
    index = ", ".join([*([lowered] if lowered else []), *below])
    return f"{written}_{{{index}}} " if index else f"{written} "


def expression(value: Formula) -> str:
    r"""One expression in LaTeX, numbers as short fractions or decimals.

    >>> import symengine as se
    >>> expression(0.5 * se.Symbol("dot(theta1)") ** 2)
    '\\frac{\\dot{\\theta}_{1}^{2}}{2}'
    """
    from dalembert.show.printers import LinePrinter, moving_last

    return LinePrinter().doprint(moving_last(readable(value)))


def escape(words: str) -> str:
    r"""Words as LaTeX text.

    >>> escape("wheel_1 & 2")
    'wheel\\_1 \\& 2'
    """
    return words.translate(_ESCAPES)


def brackets(table: list[list[str]]) -> str:
    """A matrix of entries in LaTeX."""
    rows = r" \\ ".join(" & ".join(row) for row in table)
    return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"
