"""Equations in LaTeX, for papers and for Jupyter, and as SymPy matrices.

SymPy is slow to import, so it is imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dalembert.algebra import Array
from dalembert.equations import LinearForm
from dalembert.expressions import Kind, kind_of, rate, to_sympy
from dalembert.expressions.formula import Formula
from dalembert.expressions.numbers import readable
from dalembert.model import Elements
from dalembert.show import names
from dalembert.show.sheet import Section, Sheet, prepare
from dalembert.show.tidying import tidy

if TYPE_CHECKING:
    import sympy

MOST_COLUMNS = 10  # of a matrix that is written out
_SHORT = 60  # characters of LaTeX in an entry of a matrix
_MOST_LINES = 120  # in a notebook
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


def equations(form: LinearForm) -> str:
    r"""All equations of a form as LaTeX for a document with amsmath: sentences and `align*` environments.

    >>> from dalembert import formalisms, gallery, structure
    >>> form = formalisms.find("lagrange").derive(structure.system_of(gallery.load("simple-pendulum"), "symbolic"))
    >>> r"l^{2} m \ddot{\theta} &= - g l m \sin{\left(\theta \right)}" in equations(form)
    True
    """
    sheet = prepare(form)
    n = sheet.form.system.model.name
    out = [rf"\textbf{{{escape(n)}}} --- {escape(sheet.title)} ({sheet.counts})."]
    out += [escape(f"{note[:1].upper()}{note[1:]}.") for note in sheet.notes]
    for section in sheet.sections():
        rows = " \\\\\n".join(_rows(sheet, section))
        out.append(f"{_sentence(sheet, section)}\n\\begin{{align*}}\n{rows}\n\\end{{align*}}")
    return "\n\n".join(out) + "\n"


def display(form: LinearForm) -> str:
    r"""The equations as one formula for a notebook; a very long list of intermediates is only counted.

    >>> from dalembert import formalisms, gallery, structure
    >>> form = formalisms.find("kane").derive(structure.system_of(gallery.load("simple-pendulum"), "symbolic"))
    >>> display(form).startswith(r"$$\begin{aligned}")
    True
    """
    sheet = prepare(form)
    rows: list[str] = []
    for section in sheet.sections():
        lines = _rows(sheet, section)
        if len(rows) + len(lines) > _MOST_LINES and section.heading == "Intermediates":
            lines = [rf"&\text{{{len(lines)} lines z; latex() writes them all}}"]
        rows += [rf"&\textbf{{{section.heading}}}", *lines]
    return "$$\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}$$"


def expression(value: Formula) -> str:
    r"""One expression in LaTeX, numbers as short fractions or decimals.

    >>> import symengine as se
    >>> expression(0.5 * se.Symbol("dot(theta1)") ** 2)
    '\\frac{\\dot{\\theta}_{1}^{2}}{2}'
    """
    from sympy.printing.latex import latex

    written = readable(value)
    table = {symbol: names.for_latex(symbol.name) for symbol in written.free_symbols}
    return latex(written, symbol_names=table)


def escape(words: str) -> str:
    r"""Words as LaTeX text.

    >>> escape("wheel_1 & 2")
    'wheel\\_1 \\& 2'
    """
    return words.translate(_ESCAPES)


def _sentence(sheet: Sheet, section: Section) -> str:
    x = _unknown(sheet)
    if section.law == "dynamics":
        law = rf"M {x} = f" + (" + C" if len(sheet.C) else "")
        more = r", where $x$ is $\dot{v}$ followed by " + escape(sheet.behind.replace("q̈", "the accelerations"))
        behind = more if sheet.form.behind else ""
        if not len(sheet.A):
            return f"Dynamics, ${law}${behind}:"
        force = rf"{sheet.multipliers}^{{\mathsf{{T}}}} \lambda"
        push = f"C + {force}" if len(sheet.C) else force
        said = f"where ${push}$ are the generalized forces that the constraints exert on the system"
        return f"Dynamics, ${law} + {force}${behind}, {said}:"
    if section.law == "constraints":
        return rf"Constraints ({escape(', '.join(sheet.constraints))}), $A {x} = \beta$:"
    return f"{section.heading}:"


def _unknown(sheet: Sheet) -> str:
    return "x" if sheet.form.behind else r"\dot{v}"


def _rows(sheet: Sheet, section: Section) -> list[str]:
    """The rows of an aligned environment."""
    written = [(names.for_latex(name), expression(value)) for name, value in section.lines]
    if not section.law:
        return [f"{name} &= {value}" for name, value in written]
    short = {name: value for name, value in written if len(value) <= _SHORT}
    law, used = _law(sheet, section.law, short)
    return [law, *(f"{name} &= {value}" for name, value in written if name not in used)]


def _law(sheet: Sheet, law: str, short: dict[str, str]) -> tuple[str, set[str]]:
    """The equation in matrices, short entries written in them, and the names of these entries."""
    left, right = ("M", "f") if law == "dynamics" else ("A", "beta")
    unknown = [names.for_latex(Kind.RATE.of(v)) for v in sheet.velocities]
    large = max(getattr(sheet, left).shape) > MOST_COLUMNS
    if large or sheet.form.behind or len(sheet.J) or len(sheet.C):
        plus = " + C" if law == "dynamics" and len(sheet.C) else ""
        plus += rf" + {sheet.multipliers}^{{\mathsf{{T}}}} \lambda" if law == "dynamics" and len(sheet.A) else ""
        equal = rf"{left} {_unknown(sheet)} &= {names.for_latex(right)}{plus}, \quad v = "
        return equal + rf"\left({', '.join(map(names.for_latex, sheet.velocities))}\right)", set()
    reaction = _reaction(sheet, short) if law == "dynamics" and len(sheet.A) else ""
    matrix, column = _matrix(sheet, left, short), _matrix(sheet, right, short)
    if len(unknown) == 1 and law == "dynamics":
        factor = rf"\left({matrix}\right)" if " + " in matrix or " - " in matrix else matrix
        return f"{factor} {unknown[0]} &= {column}{reaction}", set(short)
    return f"{matrix} {brackets([[u] for u in unknown])} &= {column}{reaction}", set(short)


def _reaction(sheet: Sheet, short: dict[str, str]) -> str:
    """+ Aᵀλ in matrices."""
    multipliers = [[rf"\lambda_{{{i + 1}}}"] for i in range(len(sheet.A))]
    table = [[_entry(sheet, "A", (i, j), short) for i in range(len(sheet.A))] for j in range(sheet.A.shape[1])]
    return f" + {brackets(table)} {multipliers[0][0] if len(multipliers) == 1 else brackets(multipliers)}"


def _matrix(sheet: Sheet, name: str, short: dict[str, str]) -> str:
    block: Array = getattr(sheet, name)
    rows = block if block.ndim == 2 else block[:, None]
    indices = [[(i, j) if block.ndim == 2 else (i,) for j in range(rows.shape[1])] for i in range(rows.shape[0])]
    table = [[_entry(sheet, name, index, short) for index in row] for row in indices]
    return table[0][0] if rows.shape == (1, 1) else brackets(table)


def _entry(sheet: Sheet, name: str, index: tuple[int, ...], short: dict[str, str]) -> str:
    """An entry of a matrix: zero, written out when it is short, else its name."""
    if getattr(sheet, name)[index] == 0:
        return "0"
    if name == "M" and sheet.symmetric:
        index = tuple(sorted(index))
    called = names.for_latex(f"{name}[{','.join(str(i + 1) for i in index)}]")
    return short.get(called, called)


def brackets(table: list[list[str]]) -> str:
    """A matrix of entries in LaTeX."""
    rows = r" \\ ".join(" & ".join(row) for row in table)
    return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"
