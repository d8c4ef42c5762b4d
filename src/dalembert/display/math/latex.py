r"""Equations in LaTeX, for papers and Jupyter, and as SymPy matrices.

SymPy is slow to import, so it is imported inside the functions.

A formula breaks before a sign outside of braces, so never inside a fraction or an index, and if that is not enough between
factors. The printer writes brackets without \left and \right, which prevent line breaks, and long numerators, denominators and
roots as factors.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dalembert.display.math import symbol_names
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


LINE = 455.0  # width in points, of an 11-point document on A4 or letter paper
_MAX_LEFT = 110.0  # width of an aligned left side
_INDENT = 11.0  # of continued lines
_SCALES = (1.0, 1.0, 0.76, 0.6)  # display, text, index, index of an index
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}]|\s+|.", re.DOTALL)
_FONTS = ("mathrm", "mathbf", "mathsf", "boldsymbol", "text", "left", "right", "bigl", "bigr")
_ZERO_WIDTH = {f"\\{word}" for word in (*_FONTS, "dot", "ddot", "tilde", "hat", "bar")}  # commands without width
_OPENING, _CLOSING = {"{", "\\left", "\\begin"}, {"}", "\\right", "\\end"}
_WIDE = {"+": 13.4, "-": 13.4, "=": 14.6, "<": 14.6, ">": 14.6, "\\leq": 14.6, "\\geq": 14.6, "\\quad": 11.0}
_WIDE |= {"\\sin": 15.3, "\\cos": 16.5, "\\tan": 17.7, "\\sqrt": 9.2, "\\;": 3.1, "\\_": 4.0, "\\cdot": 7.9}
_WIDE |= {"\\Bigl": 2.4, "\\Bigr": 2.4}  # in addition to the bracket after it
_WIDE |= dict.fromkeys("()[]ijlt,.:;|'", 4.3) | {"m": 9.7, "w": 8.2, "M": 11.9, "W": 11.9}
_FACTOR = re.compile(r"(?<=[^\s(]) (?=\(|\\[Bb]igl|\\frac|\\sqrt|\\sin|\\cos|\\tan|\\dot|\\ddot)")


def width(tex: str, style: int = 0) -> float:
    r"""Return the width of a formula in points; of a fraction that of its wider half, of an index less.

    >>> width("a + b") > width(r"\frac{a + b}{c}") - 5, width("a_{b}") < width("a b"), width("M") > width("l")
    (True, True, True)
    """
    return _measured(_TOKEN.findall(tex), 0, style)[0]


def _measured(tokens: list[str], at: int, style: int, *, one: bool = False) -> tuple[float, int]:
    """Return the width of tokens from a position to the end of their group, or of one token, and the end position."""
    total, widest = 0.0, 0.0
    inner = min(style + 1, 3)
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in ("}", "\\end"):
            break
        if token == "{":
            more, at = _measured(tokens, at, style)
            total += more
        elif token == "\\frac":
            above, at = _measured(tokens, at, inner, one=True)
            below, at = _measured(tokens, at, inner, one=True)
            total += max(above, below) + 2.5
        elif token == "\\begin":  # cases: its widest row
            at = tokens.index("}", at) + 1
            more, at = _measured(tokens, at, 1)
            at = tokens.index("}", at) + 1
            total += more + 25.0
        elif token in ("_", "^"):
            more, at = _measured(tokens, at, max(inner, 2), one=True)
            total += more
        elif token == "\\\\":
            total, widest = 0.0, max(widest, total)
        elif token.strip() and token not in _ZERO_WIDTH:
            total += _SCALES[style] * _letter(token)
        if one and token not in _ZERO_WIDTH and token.strip():
            break
    return max(total, widest), at


def _letter(token: str) -> float:
    if token in _WIDE:
        return _WIDE[token]
    if token[0] == "\\":
        return 8.3 if token[1].isupper() else 6.6
    return 9.2 if token.isupper() else 5.6 if token.isdigit() else 5.9


def broken(rows: Iterable[tuple[str, str]], limit: float = LINE) -> list[str]:
    r"""Return the lines of left = right, row by row, for an aligned environment; long left sides start at the margin.

    >>> broken([("x", "a + b")])
    ['x &= a + b']
    >>> broken([("x", "a + b - c")], limit=40)
    ['x &= a', '&\\quad + b', '&\\quad - c']
    >>> broken([("a + b + c", "d")], limit=40)
    ['&a + b', '&\\quad + c', '&\\quad = d']
    """
    rows = list(rows)
    start = max((width(left) for left, _ in rows), default=0.0)
    if start > min(_MAX_LEFT, limit / 2):
        return [line for left, right in rows for line in _flowing("&", f"{left} = {right}", limit)]
    return [line for left, right in rows for line in _flowing(f"{left} &= ", right, limit - start - _WIDE["="])]


def _flowing(head: str, tex: str, available: float) -> list[str]:
    """Return a formula after `head`, broken into lines that fit."""
    lines, line, used = [], head, 0.0
    parts: list[str] = []  # parts wider than a line also break between factors, and conditions go below their values
    for part in pieces(tex):
        factors = [part] if width(part) <= available - _INDENT else _factors(_in_one_column(part))
        parts += [factors[0], *(rf" \cdot {factor}" for factor in factors[1:])]
    for piece in parts:
        size = width(piece)
        if used and used + size > available:
            lines.append(line.rstrip())
            line, used = r"&\quad ", _INDENT
            piece = piece.lstrip()
        line += piece
        used += size
    return [*lines, line.rstrip()]


def _in_one_column(part: str) -> str:
    r"""Return cases with each condition below its value.

    >>> _in_one_column(r"\begin{cases} a & \text{for}\: b > 0 \\0 & \text{otherwise} \end{cases}")
    '\\begin{cases} a \\\\ \\quad \\text{for}\\: b > 0 \\\\0 \\quad \\text{otherwise} \\end{cases}'
    """
    return part.replace(r"& \text{for}", r"\\ \quad \text{for}").replace(
        r"& \text{otherwise}", r"\quad \text{otherwise}"
    )


def _factors(part: str) -> list[str]:
    """Return the factors of a product outside of braces."""
    out, at = [], 0
    for match in _FACTOR.finditer(part):
        before = part[: match.start()]
        depth = sum((token in _OPENING) - (token in _CLOSING) for token in _TOKEN.findall(before))
        follows_sign = before.rstrip().endswith(("+", "-", "=", r"\sin", r"\cos", r"\tan", ","))
        if depth == 0 and not follows_sign:
            out.append(part[at : match.start()])
            at = match.end()
    return [*out, part[at:]]


def sized(tex: str) -> str:
    r"""Enlarge brackets around fractions individually, which allows line breaks between them.

    >>> sized(r"a (\frac{b}{c} + d) (e)")
    'a \\Bigl(\\frac{b}{c} + d\\Bigr) (e)'
    """
    found = _TOKEN.findall(tex)
    open_at: list[tuple[int, bool]] = []
    depth = 0
    for i, token in enumerate(found):
        depth += (token in _OPENING) - (token in _CLOSING)
        plain = i == 0 or found[i - 1] not in ("\\left", "\\right")
        if token == "\\frac":
            open_at = [(at, True) for at, _ in open_at]
        elif token == "(" and plain:
            open_at.append((i, False))
        elif token == ")" and plain and open_at:
            at, large = open_at.pop()
            if large:
                size = "Big" if depth == 0 else "big"
                found[at], found[i] = rf"\{size}l(", rf"\{size}r)"
    return "".join(found)


def pieces(tex: str) -> list[str]:
    r"""Split a formula into parts; each but the first starts with a sign.

    >>> pieces(r"a (b - c) + \frac{d + e}{f}")
    ['a (b', ' - c)', ' + \\frac{d + e}{f}']
    """
    out, line, depth = [], "", 0
    for token in _TOKEN.findall(tex):
        depth += (token in _OPENING) - (token in _CLOSING)
        signed = token in ("+", "-", "=") and depth == 0 and line.endswith(" ") and line.strip()
        if signed and not line.rstrip().endswith(("(", "=", ",")):
            out.append(line.rstrip(" "))
            line = " "
        line += token
    return [*out, line]


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


def lines(found: Page, section: EquationSection, limit: float = LINE) -> list[str]:
    """Return the lines of a section, at most `limit` points wide if possible."""
    rows = [(expression(a, found.letters), expression(b, found.letters)) for a, b in section.rows]
    return broken(rows, limit)


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

    return sized(LinePrinter(letters).doprint(moving_last(readable(value))))


def brackets(table: list[list[str]]) -> str:
    """Return a matrix of entries in LaTeX."""
    rows = r" \\ ".join(" & ".join(row) for row in table)
    return rf"{{\begin{{bmatrix}} {rows} \end{{bmatrix}}}}"
