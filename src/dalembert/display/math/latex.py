"""Equations in LaTeX, for papers and Jupyter, and as SymPy matrices.

SymPy is slow to import, so it is imported inside the functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dalembert.display.math import line_breaking, symbol_names
from dalembert.display.math.simplify import simplify
from dalembert.display.math.symbol_names import PLAIN, Letters
from dalembert.model.description import Elements
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.formula_writer import readable
from dalembert.symbolic.symbols import Formula, SymbolKind, kind_of, rate
from dalembert.symbolic.sympy_bridge import to_sympy
from dalembert.tables import escape_latex as escape

if TYPE_CHECKING:
    import sympy

    from dalembert.display.math.pages import EquationSection, Page

MAX_COLUMNS = 10  # of a printed matrix
_MAX_LINES = 120  # in a notebook
_LOWERED = "₀₁₂₃₄₅₆₇₈₉"
_MARKS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0307": "dot", "\u0308": "ddot"}
_SIGNS = {
    "∂": r"\partial ", "Σ": r"\sum ", "−": "-", "·": r"\cdot ", "√": r"\surd ", "ᵀ": r"^{\mathsf{T}} ", "⁺": "^{+} ",
    "′": "' ", "×": r"\times ", "π": r"\pi ", "²": "^{2} ", "⁻¹": "^{-1} ", "½": r"\tfrac{1}{2} ", "→": r"\to ",
    "≤": r"\leq ", "≥": r"\geq ", "∈": r"\in ", "⊥": r"\perp ", "–": r"\text{--}", "’": "'", "ᵢ": "_{i} ", "ₖ": "_{k} ",
    "*": "^{*} ",
}  # fmt: skip
_WORD = re.compile(r"[A-Za-zÀ-ɏ]{3,}[.)]?")  # plain words may have accents: Poincaré
_POWER = r"\^\([^()]*\)"  # in text: M^(−1/2)
_HEAD = r"""\documentclass[11pt,fleqn]{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{amsmath,amssymb}
\allowdisplaybreaks
\setlength{\mathindent}{1em}
\setlength{\emergencystretch}{3em}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\begin{document}"""


def to_sympy_matrix(
    model: Elements, array: Array, dynamic: Iterable[str] = (), *, shorten: bool = True
) -> sympy.Matrix:
    """Return a SymPy matrix of `dynamicsymbols`, their derivatives, time and the symbols that the user declared.

    `dynamic` names further symbols that change with time, such as speeds. A constant of the motion becomes the symbol
    G_x. The shape is preserved, also if a dimension is 0.

    >>> from dalembert.model.model import Model
    >>> import numpy as np, symengine as se
    >>> model = Model("m").parameters(k=1.0).coordinates("x")
    >>> to_sympy_matrix(model, np.array([[se.Symbol("k") * se.Symbol("dot(x)")]], dtype=object))
    Matrix([[k*Derivative(x(t), t)]])
    """
    import sympy
    from sympy.physics.mechanics import dynamicsymbols

    declared = model.sympy_symbols
    table = dict(declared)
    for name in model.coordinate_names:
        moving, constant = declared.get(name, dynamicsymbols(name)), SymbolKind.CONSTANT.of(name)
        symbol = sympy.Symbol(symbol_names.for_formula(constant, model.parameter_values))
        table |= {name: moving, rate(name).name: moving.diff(), constant: symbol}
        table[SymbolKind.ACCELERATION.of(name)] = moving.diff().diff()
    table |= {name: dynamicsymbols(name) for name in dynamic}
    velocities = {name for name in table if kind_of(name) in (SymbolKind.RATE, SymbolKind.CONSTANT)} | set(dynamic)
    short = [simplify(entry, velocities) if shorten else entry for entry in array.ravel()]
    entries = [to_sympy(entry, coordinates=(), symbols=table) for entry in short]
    return sympy.Matrix(*array.shape, entries)


def page(found: Page) -> str:
    r"""Return a page as LaTeX for a document with amsmath: text and `align*` environments, with line breaks."""
    out = [rf"\textbf{{{sentence(found.model)}}} --- {sentence(found.title)} ({found.counts})."]
    out += [sentence(f"{note[:1].upper()}{note[1:]}.") for note in found.notes]
    out += [equations(heading(found, section), section.equation, lines(found, section)) for section in found.sections]
    return "\n\n".join(out) + "\n"


def document(pages: Iterable[str]) -> str:
    """Return a complete LaTeX document with the pages."""
    return "\n".join([_HEAD, "\n\\clearpage\n".join(pages), "\\end{document}", ""])


def display(found: Page) -> str:
    r"""Return a page as one formula for a notebook; only the first lines of a very long page."""
    rows: list[str] = []
    for section in found.sections:
        more = lines(found, section)
        if len(rows) + len(more) > _MAX_LINES:
            rows.append(rf"&\text{{{len(more)} more lines; use latex() for all}}")
            break
        plain = rf"\textbf{{{escape(section.heading)}}}"
        rows += [f"&{formula_to_latex(section.heading, found.letters) if section.is_law else plain}", *more]
    return display_lines(rows)


def display_lines(rows: list[str]) -> str:
    """Return lines as one formula for a notebook."""
    return "$$\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}$$"


def equations(heading: str, equation: str, rows: list[str]) -> str:
    """Return a heading with its equation number, and lines in an environment that allows page breaks."""
    title = f"{heading} {sentence(equation)}".rstrip()
    return f"{title}:\n\\begin{{align*}}\n" + " \\\\\n".join(rows) + "\n\\end{align*}" if rows else f"{title}."


def lines(found: Page, section: EquationSection, limit: float = line_breaking.LINE) -> list[str]:
    """Return the lines of a section, at most `limit` points wide if possible."""
    rows = [(expression(a, found.letters), expression(b, found.letters)) for a, b in section.rows]
    return line_breaking.broken(rows, limit)


def heading(found: Page, section: EquationSection) -> str:
    """Return a heading in LaTeX; the letter before a colon is a formula."""
    if section.is_law:
        return f"${formula_to_latex(section.heading, found.letters)}$"
    letter, mark, meaning = section.heading.partition(": ")
    return f"${formula_to_latex(letter, found.letters)}$: {sentence(meaning)}" if mark else sentence(section.heading)


def sentence(words: str) -> str:
    r"""Return a sentence with its formulas in LaTeX.

    >>> sentence("the twists, t = N q̇, of rod_1")
    'the twists, t = N $\\dot{q}$, of rod\\_1'
    """
    parts = re.split(rf"((?:[^\s,;:]*[^\x00-\x7f–’][^\s,;:]*)|(?<!\w)[A-Za-z](?:_\w+(?:{_POWER})?|{_POWER}))", words)
    formula = [i % 2 == 1 and not _WORD.fullmatch(part) for i, part in enumerate(parts)]
    return "".join(
        f"${formula_to_latex(part)}$" if yes else escape(part) for yes, part in zip(formula, parts, strict=True)
    )


def formula_to_latex(words: str, letters: Letters = PLAIN) -> str:
    r"""Convert an equation in Unicode to LaTeX.

    >>> formula_to_latex("M_NI u̇_NI = L_NI"), formula_to_latex("Aᵀλ − ∂L/∂q̇")
    ('\\mathbf{M}_{NI} \\dot{u}_{NI} = \\mathbf{L}_{NI}', '\\mathbf{A}^{\\mathsf{T}} \\lambda - \\partial L/\\partial \\dot{q}')
    """
    normalized = unicodedata.normalize("NFD", words)
    scalars = {letter for letter in "RSH" if f"∂{letter}" in normalized} | set("TVL")
    out = [_in_latex(token, scalars, letters.bold_signs) for token in symbol_names.tokens(words)]
    return re.sub(r" (?=[\^,;)/])", "", re.sub(r"\s+", " ", "".join(out))).strip()


def _in_latex(token: str, scalars: set[str], clashing: frozenset[str]) -> str:
    letter = token[0]
    if re.fullmatch(_POWER, token):
        return f"^{{{token[2:-1].replace('−', '-')}}} "
    if token in _SIGNS or letter in _SIGNS:
        return _SIGNS.get(token, _SIGNS.get(letter, ""))
    if not letter.isalpha():
        return token if letter.isascii() and letter not in "%#&$" else escape(token)
    if len(token) > 1 and token.isascii() and token.isalpha():
        return rf"\text{{{token}}} "
    marks = [_MARKS[mark] for mark in token if mark in _MARKS]
    below = re.findall(r"_([A-Za-z0-9]+)", token)
    lowered = "".join(c for c in token if c in _LOWERED).translate(str.maketrans(_LOWERED, "0123456789"))
    written = (
        symbol_names.for_latex(unicodedata.name(letter).rsplit(" ", 1)[-1].lower()) if ord(letter) > 0x370 else letter
    )
    if letter.isupper() and ord(letter) > 0x370:
        written = symbol_names.for_latex(unicodedata.name(letter).rsplit(" ", 1)[-1].capitalize())
    capital = letter.isupper() and letter.isascii() and (bool(below) or letter not in scalars)
    if capital or letter in clashing:
        written = symbol_names.in_bold_latex(written)
    for mark in marks:
        written = rf"\{mark}{{{written}}}"
    index = ", ".join([*([lowered] if lowered else []), *below])
    return f"{written}_{{{index}}} " if index else f"{written} "


def expression(value: Formula, letters: Letters = PLAIN) -> str:
    r"""Return an expression in LaTeX, numbers as short fractions or decimals.

    >>> import symengine as se
    >>> expression(0.5 * se.Symbol("dot(theta1)") ** 2)
    '\\frac{\\dot{\\theta}_{1}^{2}}{2}'
    """
    from dalembert.display.math._printers import LinePrinter, moving_last

    return line_breaking.sized(LinePrinter(letters).doprint(moving_last(readable(value))))


def brackets(table: list[list[str]]) -> str:
    """Return a matrix of entries in LaTeX."""
    rows = r" \\ ".join(" & ".join(row) for row in table)
    return rf"{{\begin{{bmatrix}} {rows} \end{{bmatrix}}}}"
