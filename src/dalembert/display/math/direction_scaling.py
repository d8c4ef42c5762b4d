"""Vectors whose length means nothing, in a length that is short to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import symengine as se

from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.exact_numbers import with_exact_numbers

if TYPE_CHECKING:
    import sympy

_MOST = 150  # operations of a vector whose factors are looked for


def without_factors(vector: Array) -> Array:
    """The vector without denominators and without factors that all its entries share; its first entry begins with a plus.

    >>> x, r = se.symbols("x r")
    >>> without_factors(np.array([-(r**2) / (1 + r**2), 0, r * se.cos(x) / (1 + r**2)], dtype=object)).tolist()
    [r, 0, -cos(x)]
    """
    entries = [with_exact_numbers(se.sympify(x)) for x in vector]
    if sum(se.count_ops(x) for x in entries) > _MOST or all(x == 0 for x in entries):
        return vector
    import sympy

    waves = sorted({a for x in entries for a in x.atoms(se.Function) if isinstance(a, se.sin | se.cos)}, key=str)
    names = {wave: sympy.Dummy() for wave in waves}
    table = {wave: se.Symbol(f"@wave{i}") for i, wave in enumerate(waves)}
    own = {sympy.Symbol(f"@wave{i}"): names[wave] for i, wave in enumerate(waves)}
    plain = [sympy.sympify(x.xreplace(table)).xreplace(own) for x in entries]
    try:
        found = _primitive(plain, _circles(names))
    except sympy.PolynomialError:
        return vector
    back = {symbol: sympy.sympify(wave) for wave, symbol in names.items()}
    forms = [[se.sympify(entry.xreplace(back)) for entry in form] for form in found]
    shortest = min([entries, *forms], key=lambda form: sum(se.count_ops(x) for x in form))
    return np.array(shortest, dtype=object)


def _circles(names: dict) -> list[tuple[sympy.Symbol, sympy.Symbol]]:
    """The pairs (sin, cos) of the same angle."""
    return [(s, names[c]) for a, s in names.items() if isinstance(a, se.sin) and (c := se.cos(a.args[0])) in names]


def _primitive(entries: list[sympy.Expr], circles: list[tuple[sympy.Symbol, sympy.Symbol]]) -> list[list[sympy.Expr]]:
    """The entries over no denominator, divided by what they share: as they are, and with sin² + cos² = 1 used up."""
    import sympy

    bottoms = [sympy.fraction(sympy.together(x)) for x in entries]
    below = sympy.lcm_list([bottom for _, bottom in bottoms])
    found = [sympy.cancel(top * (below / bottom)) for top, bottom in bottoms]
    found = _divided(found)
    reduced: list[Any] = list(found)
    for s, c in circles:
        reduced = [sympy.rem(x, s**2 + c**2 - 1, s) if x.has(s) else x for x in reduced]
    return [found, _divided(reduced)]


def _divided(found: list[sympy.Expr]) -> list[sympy.Expr]:
    """The entries without what they share; the first that is not zero begins with a plus."""
    import sympy

    shared = sympy.gcd_list(found)
    first = next(x for x in found if x != 0)
    if sympy.Poly(sympy.cancel(first / shared)).LC() < 0 if (first / shared).free_symbols else first / shared < 0:
        shared = -shared
    return [sympy.cancel(x / shared) for x in found]
