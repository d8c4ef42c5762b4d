"""Derivatives of formulas."""

from __future__ import annotations

from functools import lru_cache

import symengine as se

from dalembert.expressions.formula import Formula


def slope(f: Formula, x: Formula) -> Formula:
    """∂f/∂x, zero where f does not contain x.

    SymEngine's derivative of atan2(y, x) divides by x where the arguments are no plain symbols, so that it has no value where
    x = 0. Here it is (x y′ − y x′)/(x² + y²), which has one everywhere but at the origin.

    >>> a = se.Symbol("a")
    >>> slope(se.atan2(se.cos(a), se.sin(a)), a).subs({a: 0})
    -1
    """
    if x not in f.free_symbols:
        return se.Integer(0)
    angle = next((each for each in _angles(f) if x in each.free_symbols), None)
    if angle is None:
        return se.diff(f, x)
    (v, u), place = angle.args, se.Symbol("[angle]")
    rest = f.subs({angle: place})
    turn = (u * slope(v, x) - v * slope(u, x)) / (u * u + v * v)
    return (slope(rest, x) + slope(rest, place) * turn).subs({place: angle})


@lru_cache(maxsize=256)
def _angles(f: Formula) -> tuple[Formula, ...]:
    """The angles by atan2 in a formula, which is differentiated by many symbols."""
    return tuple(sorted(f.atoms(se.atan2), key=str))
