"""Conversion of formulas from and to SymPy. SymPy is slow to import, so it is imported on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import symengine as se

from dalembert.errors import FormulaError
from dalembert.symbolic.symbols import TIME, Formula, fold, number, quote, rate

if TYPE_CHECKING:
    import sympy


def from_sympy(
    expr: object,
    *,
    coordinates: Mapping[Any, str],
    parameters: Mapping[Any, str],
    where: str,
    rates: bool = True,
) -> Formula:
    """The formula of a SymPy expression over `dynamicsymbols`, their first derivatives, time and parameters.

    `coordinates` maps each dynamic symbol to the name of its coordinate, `parameters` each symbol to the name of its
    parameter. With `rates=False` velocities are rejected.

    >>> from sympy import Symbol
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> q, k = dynamicsymbols("q"), Symbol("k", positive=True)
    >>> from_sympy(k * q.diff(), coordinates={q: "theta"}, parameters={k: "k"}, where="force 'push'")
    k*dot(theta)
    """
    import sympy

    from dalembert.symbolic.sympy_trees import SympyTreeReader

    if isinstance(expr, str):
        fact = f"{where}: expected a SymPy expression or a number, got the str {quote(expr)}."
        raise FormulaError(f"{fact} Pass a SymPy expression, or use an argument that accepts formula strings.")
    if not isinstance(expr, sympy.Basic):
        return number(expr, where)
    reader = SympyTreeReader(expr, coordinates, parameters, where, rates)
    reader.expect(expr, condition=False)
    return fold(expr, reader.children, reader.build)


def to_sympy(
    expr: Formula, *, coordinates: Sequence[str], symbols: Mapping[str, sympy.Basic] | None = None
) -> sympy.Basic:
    """The SymPy expression of a formula: coordinates as `dynamicsymbols`, velocities as their derivatives.

    Any other symbol is looked up in `symbols`, or becomes a SymPy symbol of the same name.

    >>> to_sympy(se.Symbol("k") * rate("theta"), coordinates=["theta"])
    k*Derivative(theta(t), t)
    """
    import sympy

    from dalembert.symbolic.sympy_trees import rebuilt, time_symbol

    time = time_symbol()
    table: dict[str, sympy.Basic] = {**(symbols or {}), TIME.name: time}
    for name in coordinates:
        table[name] = moving = sympy.Function(name)(time)
        table[rate(name).name] = sympy.Derivative(moving, time)

    def build(node: Formula, parts: list[sympy.Basic]) -> sympy.Basic:
        if isinstance(node, se.Symbol):
            return table.get(node.name, sympy.Symbol(node.name))
        return rebuilt(node, parts)

    return fold(se.sympify(expr), lambda node: node.args, build)
