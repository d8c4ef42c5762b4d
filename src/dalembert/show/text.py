"""Equations as plain text for a terminal, and as formulas for JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from dalembert.algebra import Array
from dalembert.equations import LinearForm
from dalembert.expressions.formula import Formula
from dalembert.expressions.numbers import readable
from dalembert.show import names
from dalembert.show.sheet import Section, Sheet, prepare, taken_names

_WIDTH = 100


def page(form: LinearForm, width: int = _WIDTH) -> str:
    """All equations of a form in Unicode text, wrapped.

    >>> from dalembert import formalisms, gallery, structure
    >>> form = formalisms.find("lagrange").derive(structure.system_of(gallery.load("simple-pendulum"), "symbolic"))
    >>> print(page(form))
    simple-pendulum: Lagrange's equations with multipliers
    1 dynamic equation, 2 states
    <BLANKLINE>
    Dynamics: M·v̇ = f with v = (θ̇)
      M₁₁ = l²·m
      f₁ = −g·l·m·sin(θ)
    <BLANKLINE>
    """
    sheet = prepare(form)
    out = [f"{form.system.model.name}: {sheet.title}", sheet.counts]
    for note in sheet.notes:
        out += textwrap.wrap(f"{note[:1].upper()}{note[1:]}.", width)
    for section in sheet.sections():
        out += ["", *textwrap.wrap(_heading(sheet, section), width, subsequent_indent="  ")]
        for name, value in section.lines:
            line = f"{names.for_text(name)} = {expression(value)}"
            out += textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="      ", break_long_words=False)
    return "\n".join(out) + "\n"


def expression(value: Formula) -> str:
    """One expression in Unicode text.

    >>> import symengine as se
    >>> expression(0.5 * se.Symbol("dot(theta1)") ** 2 - se.Symbol("m2"))
    'θ̇₁²/2 − m₂'
    """
    from dalembert.show.printers import PrettyPrinter

    written = PrettyPrinter().doprint(readable(value))
    return written.replace("**", "^").replace("*", "·").replace("-", "−")


def formula(value: Formula, name: Callable[[str], str] = str) -> str:
    """One expression in the syntax of formulas; `name` says how each symbol is called there.

    >>> import symengine as se
    >>> x = se.Symbol("x")
    >>> formula(se.Piecewise((0.5 * x, x < 1), (se.exp(x), True)))
    'piecewise(x/2, (x < 1), exp(x))'
    """
    from sympy import Symbol

    from dalembert.show.printers import FormulaPrinter

    written = readable(value)
    table = {s: Symbol(name(s.name)) for s in written.free_symbols if name(s.name) != s.name}
    return FormulaPrinter().doprint(written.xreplace(table) if table else written)


def as_dict(form: LinearForm) -> dict[str, object]:
    """The equations as plain data; every expression is a string in the syntax of formulas.

    Intermediates come as [name, expression] in the order they can be computed; speeds and constants of the motion are
    given by their formulas in coordinates and velocities.

    >>> from dalembert import formalisms, gallery, structure
    >>> form = formalisms.find("lagrange").derive(structure.system_of(gallery.load("simple-pendulum"), "symbolic"))
    >>> found = as_dict(form)
    >>> found["mass_matrix"], found["forcing"]
    ([['l**2*m']], ['-g*l*m*sin(theta)'])
    """
    sheet, model = prepare(form), form.system.model
    taken = taken_names(form)

    def called(name: str) -> str:
        return names.for_formula(name, taken)

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
        "notes": list(sheet.notes),
    }


def _heading(sheet: Sheet, section: Section) -> str:
    x = sheet.unknown
    if section.law == "dynamics":
        law = f"Dynamics: M·{x} = f" + (" + C" if len(sheet.C) else "")
        v = f"with v = ({', '.join(map(names.for_text, sheet.velocities))})"
        v += f", x = (v̇, {sheet.behind})" if sheet.form.behind else ""
        symmetric = ", M symmetric" if sheet.symmetric and len(sheet.f) > 1 else ""
        letter = sheet.multipliers
        if not letter or not len(sheet.A):
            return f"{law} {v}{symmetric}"
        push = f"C + {letter}ᵀ·λ" if len(sheet.C) else f"{letter}ᵀ·λ"
        return f"{law} + {letter}ᵀ·λ {v}{symmetric}; {push} is what the constraints exert on the system"
    if section.law == "constraints":
        return f"Constraints ({', '.join(sheet.constraints)}): A·{x} = β"
    return section.heading
