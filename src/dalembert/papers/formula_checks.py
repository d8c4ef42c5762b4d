"""Formulas that are printed beside formulas that are computed: when they are the same, and how they are shown.

Both are texts of the syntax of model files; a velocity is written `x_dot`, an acceleration `x_ddot`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from dalembert.errors import FormulaError
from dalembert.symbolic.parser import parse
from dalembert.symbolic.symbols import Formula
from dalembert.symbolic.sympy_bridge import to_sympy

_WORD = re.compile(r"[A-Za-z]\w*(?!\w*\()")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GREEK = {"phi": "φ", "theta": "θ", "psi": "ψ", "pi": "π", "mu": "μ", "alpha": "α", "beta": "β", "tau": "τ", "l": "ℓ"}
_DOTS = {"dot": "\u0307", "ddot": "\u0308"}


@cache
def same_formula(a: str, b: str) -> bool:
    """Whether two texts are the same function of real variables; False where one is no formula.

    >>> same_formula("sin(phi)**2 - 1", "-cos(phi)**2"), same_formula("l", "l**2"), same_formula("x", "not one")
    (True, False, False)
    """
    import sympy

    try:
        difference = to_sympy(_parsed(a) - _parsed(b), coordinates=())
    except FormulaError:
        return False
    if sympy.expand(difference) == 0:  # quick, and true of most
        return True
    names = [x for x in difference.free_symbols if isinstance(x, sympy.Symbol)]
    return sympy.simplify(difference.subs([(x, sympy.Symbol(x.name, positive=True)) for x in names])) == 0


def shown(text: str) -> str:
    """A formula as people write it; any other text as it is.

    >>> shown("-l**2*sin(phi)/sqrt(1 + l**2)"), shown("m*x_ddot - M1*q2_dot"), shown("a1*s12")
    ('−ℓ²·sin(φ)/√(1 + ℓ²)', 'm·ẍ − M₁·q̇₂', 'a₁·s₁₂')
    """
    try:
        _parsed(text)
    except FormulaError:
        return text
    text = re.sub(r"[A-Za-z]\w*", lambda found: _letter(found[0]), text)
    text = re.sub(r"\*\*(\d+)", lambda found: found[1].translate(_RAISED), text)
    return text.replace("sqrt", "√").replace("*", "·").replace("-", "−")


def _letter(name: str) -> str:
    base, _, accent = name.partition("_")
    if accent and accent not in _DOTS:
        return name
    letter = base.rstrip("0123456789")
    dotted = unicodedata.normalize("NFC", _GREEK.get(letter, letter) + _DOTS.get(accent, ""))
    return dotted + base[len(letter) :].translate(_LOWERED)


def _parsed(text: str) -> Formula:
    names = set(_WORD.findall(text)) - {"pi"}
    return parse(text, coordinates=(), parameters=names, where="printed", time=False)
