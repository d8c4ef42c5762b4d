"""Equations as plain text for a terminal, and as formulas for JSON."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dalembert.display.math import symbol_names
from dalembert.display.math.sheet import notes_of, prepare, taken_names
from dalembert.display.math.symbol_names import PLAIN, Letters
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.formula_writer import readable
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.display.math.pages import Page

_WIDTH = 100


def page(found: Page, width: int = _WIDTH) -> str:
    """Return a page as wrapped Unicode text."""
    out = [f"{found.model}: {found.title}", found.counts]
    for note in found.notes:
        out += textwrap.wrap(f"{note[:1].upper()}{note[1:]}.", width)
    for section in found.sections:
        title = bold_letters(section.heading, found.letters) if section.is_law else section.heading
        heading = f"{title}  {section.equation}".rstrip()
        out += ["", *textwrap.wrap(heading, width, subsequent_indent="  ")]
        for left, right in section.rows:
            line = f"{expression(left, found.letters)} = {expression(right, found.letters)}"
            out += textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="      ", break_long_words=False)
    return "\n".join(out) + "\n"


def bold_letters(sentence: str, letters: Letters) -> str:
    """Return an equation with letters in bold if the user has the same names.

    >>> bold_letters("q̇ = H s", symbol_names.letters_of(["s"], ["s1"]))
    'q̇ = H 𝐬'
    """

    bold = letters.bold_signs
    parts = [symbol_names.in_bold_text(x[0]) + x[1:] if x[0] in bold else x for x in symbol_names.tokens(sentence)]
    return unicodedata.normalize("NFC", "".join(parts)) if bold else sentence


def expression(value: Formula, letters: Letters = PLAIN) -> str:
    """Return an expression as Unicode text.

    >>> import symengine as se
    >>> expression(0.5 * se.Symbol("dot(theta1)") ** 2 - se.Symbol("m2"))
    'θ̇₁²/2 − m₂'
    """
    from dalembert.display.math._printers import PrettyPrinter, moving_last

    written = PrettyPrinter(letters).doprint(moving_last(readable(value)))
    return written.replace("**", "^").replace("*", "·").replace("-", "−")


def formula(value: Formula, name: Callable[[str], str] = str) -> str:
    """Return an expression in the syntax of formulas; `name` maps the symbols to names.

    >>> import symengine as se
    >>> x = se.Symbol("x")
    >>> formula(se.Piecewise((0.5 * x, x < 1), (se.exp(x), True)))
    'piecewise(x/2, (x < 1), exp(x))'
    """
    from sympy import Symbol

    from dalembert.display.math._printers import FormulaPrinter

    written = readable(value)
    table = {s: Symbol(name(s.name)) for s in written.free_symbols if name(s.name) != s.name}
    return FormulaPrinter().doprint(written.xreplace(table) if table else written)


def as_dict(form: LinearForm) -> dict[str, Any]:
    """Return the equations as plain data; every expression is a str in the syntax of formulas.

    Intermediates are [name, expression] in order of computation; speeds and constants of the motion are formulas in
    coordinates and velocities.

    >>> from dalembert.formalisms import lagrange
    >>> from dalembert.io import gallery
    >>> from dalembert.mechanics.system import system_of
    >>> form = lagrange.derive(system_of(gallery.load("simple-pendulum"), "symbolic")).form
    >>> found = as_dict(form)
    >>> found["mass_matrix"], found["forcing"]
    ([['l**2*m']], ['-g*l*m*sin(theta)'])
    """
    sheet, model = prepare(form), form.system.model
    taken = taken_names(form)

    def called(name: str) -> str:
        return symbol_names.for_formula(name, taken)

    def written(block: Array) -> list[object]:
        return [formula(entry, called) if block.ndim == 1 else written(entry) for entry in block]

    velocities = [called(name) for name in sheet.velocities]
    speeds = zip(velocities, written(sheet.v_from_qd), strict=True) if sheet.in_speeds else ()
    constants = (called(str(symbol)) for symbol in form.constants.symbols)
    return {
        "formalism": form.formalism,
        "model": model.name,
        "coordinates": list(model.coordinate_names),
        "velocities": velocities,
        "speeds": dict(speeds),
        "constants": dict(zip(constants, written(sheet.constants_from), strict=True)),
        "intermediates": [[name, formula(value, called)] for name, value in sheet.parts],
        "kinematics": written(sheet.qd),
        "multiplier_kinematics": written(sheet.S),
        "mass_matrix": written(sheet.M),
        "forcing": written(sheet.f),
        "constraint_matrix": written(sheet.A),
        "constraint_forcing": written(sheet.beta),
        "multiplier_matrix": written(sheet.J) if len(sheet.J) else written(sheet.A),
        "non_ideal": written(sheet.C),
        "n_dynamic": form.n_dynamic,
        "n_states": form.n_states,
        "ignorable": [model.coordinate_names[i] for i in form.system.facts.ignorable],
        "notes": list(notes_of(form)),
    }
