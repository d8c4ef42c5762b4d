"""Conversion of formulas from and to SymPy. SymPy is slow to import, so it is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import symengine as se
import sympy
from symengine.lib.symengine_wrapper import FunctionSymbol
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean, BooleanAtom
from sympy.physics.mechanics import dynamicsymbols

from dalembert.errors import FormulaError, suggest_name
from dalembert.symbolic.symbols import (
    FUNCTIONS,
    TIME,
    Formula,
    absolute,
    compare,
    coordinate,
    decimal,
    flaw,
    fold,
    maximum,
    minimum,
    number,
    piecewise,
    power_flaw,
    quote,
    rate,
    signum,
)


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


def rebuilt(node: Formula, parts: list[sympy.Basic]) -> sympy.Basic:
    """The SymPy expression of one node of a formula, from those of its parts."""
    if not parts:
        return node._sympy_()
    if isinstance(node, se.Piecewise):
        # even with evaluate=False SymPy rewrites conditions that contain a Piecewise, slowly or with infinite recursion
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return sympy.Basic.__new__(sympy.Piecewise, *(sympy.Tuple.__new__(ExprCondPair, *pair) for pair in pairs))
    if isinstance(node, FunctionSymbol):
        return sympy.Function(node.get_name())(*parts)
    kind: type[sympy.Basic] = getattr(sympy, type(node).__name__)
    options = {"evaluate": False} if issubclass(kind, Boolean) else {}
    return kind(*parts, **options)


@dataclass(frozen=True)
class SympyTreeReader:
    """From a SymPy tree to SymEngine: `children` is the white list, `build` creates one node."""

    expression: sympy.Basic
    coordinates: Mapping[sympy.Basic, str]
    parameters: Mapping[sympy.Basic, str]
    where: str
    rates: bool

    def error(self, fact: str, advice: str) -> FormulaError:
        """The error with the element and the expression."""
        return FormulaError(f"{self.where}, SymPy expression {quote(str(self.expression))}: {fact} {advice}")

    def expect(self, node: sympy.Basic, *, condition: bool) -> None:
        """Reject a condition where a number is expected, and vice versa."""
        if condition and not isinstance(node, (Relational, BooleanAtom, sympy.And, sympy.Or, sympy.Not, sympy.ITE)):
            raise self.error(f"{quote(str(node))} is not a condition.", "Use < <= > >= joined by And and Or.")
        if not condition and not isinstance(node, sympy.Expr):
            raise self.error(f"expected a number, got {quote(str(node))}.", "Pass a scalar expression.")

    def children(self, node: sympy.Basic) -> list[sympy.Basic]:
        """The parts of an allowed node; any other node is an error."""
        if node in self.coordinates or node in self.parameters or node == time_symbol():
            return []
        if isinstance(node, sympy.Piecewise):
            return self._branches(node)
        if isinstance(node, (sympy.Not, sympy.ITE)):
            return self._normal_form(node)
        joined = isinstance(node, (sympy.And, sympy.Or))
        if joined or isinstance(node, (sympy.Add, sympy.Mul, sympy.Pow, Relational, *_BUILDERS)):
            for part in node.args:
                self.expect(part, condition=joined)
            return list(node.args)
        self._check_leaf(node)
        return []

    def build(self, node: sympy.Basic, parts: list[Formula]) -> Formula:
        """The SymEngine expression of one node, from those of its parts."""
        if isinstance(node, sympy.Pow):
            problem = power_flaw(*parts)
            if problem:
                raise self.error(f"the power {quote(str(node))} {problem}.", "Use a smaller exponent.")
        if not isinstance(node, sympy.Expr):
            return _condition(node, parts)
        result = _combine(node, parts) if parts else self._leaf(node)
        problem = flaw(result, constant=bool(node.is_number))
        if problem:
            raise self.error(f"{quote(str(node))} {problem}.", "Expected a finite real number; change this part.")
        return result

    def _branches(self, node: sympy.Piecewise) -> list[sympy.Basic]:
        pairs = [pair.args for pair in node.args]
        if pairs[-1][1] is not sympy.true:
            raise self.error(
                f"{quote(str(node))} has no default value.", "Set the condition of its last branch to True."
            )
        for value, condition in pairs:
            self.expect(value, condition=False)
            self.expect(condition, condition=True)
        return [part for pair in pairs for part in pair]

    def _normal_form(self, node: sympy.Not | sympy.ITE) -> list[sympy.Basic]:
        """The same condition with And and Or only."""
        form = node.to_nnf(simplify=False)
        self.expect(form, condition=True)
        if form == node:
            self.expect(node.args[0], condition=True)
        return [form]

    def _check_leaf(self, node: sympy.Basic) -> None:
        if isinstance(node, (sympy.Derivative, sympy.Number, BooleanAtom)) or node in _CONSTANTS:
            return
        if isinstance(node, sympy.Symbol):
            known = [_name(key) for key in (*self.parameters, *self.coordinates)]
            if node.name in known:
                fact = f"the symbol '{node.name}' is not the symbol declared with this name."
                raise self.error(fact, "Use the same symbol in both, with the same assumptions.")
            raise self.error(f"the symbol {quote(node.name)} is not known here.", suggest_name(node.name, known))
        if isinstance(node, AppliedUndef):
            known = [_name(key) for key in self.coordinates]
            raise self.error(f"the coordinate {quote(str(node))} is not known.", suggest_name(_name(node), known))
        if isinstance(node, sympy.Function):
            known = sorted(kind.__name__ for kind in _BUILDERS)
            raise self.error(f"the function '{_name(node)}' cannot be used.", suggest_name(_name(node), known))
        advice = "Use sums, products, powers, real numbers, Piecewise and the usual functions."
        raise self.error(f"{quote(str(node))} cannot be used in a formula.", advice)

    def _leaf(self, node: sympy.Basic) -> Formula:
        if node in self.coordinates:
            return coordinate(self.coordinates[node])
        if node in self.parameters:
            return coordinate(self.parameters[node])
        if isinstance(node, sympy.Derivative):
            return self._rate(node)
        if isinstance(node, sympy.Rational):
            return se.Integer(int(node.p)) / se.Integer(int(node.q))
        if isinstance(node, sympy.Number):
            return decimal(float(node))
        return TIME if node == time_symbol() else _CONSTANTS[node]

    def _rate(self, node: sympy.Derivative) -> Formula:
        if node.expr not in self.coordinates or set(node.variables) != {time_symbol()}:
            advice = "Only time derivatives of coordinates are allowed; call `.doit()` for the others."
            raise self.error(f"the derivative {quote(str(node))} is not a velocity.", advice)
        if len(node.variables) > 1:
            advice = "Expected coordinates, velocities and time; write the formula with these."
            raise self.error(f"accelerations are not allowed in a formula, got {quote(str(node))}.", advice)
        if not self.rates:
            advice = "Expected coordinates and parameters only; remove derivatives."
            raise self.error(f"velocities are not allowed here, got {quote(str(node))}.", advice)
        return rate(self.coordinates[node.expr])


def _combine(node: sympy.Basic, parts: list[Formula]) -> Formula:
    if isinstance(node, sympy.Piecewise):
        return piecewise(*parts[:-1])
    if isinstance(node, sympy.Add):
        return se.Add(*parts)
    if isinstance(node, sympy.Mul):
        return se.Mul(*parts)
    if isinstance(node, sympy.Pow):
        return parts[0] ** parts[1]
    return _BUILDERS[node.func](*parts)


def _condition(node: sympy.Basic, parts: list[Formula]) -> Formula:
    if not parts:
        return se.true if node else se.false
    return _RELATIONS.get(node.func, lambda form: form)(*parts)


def _name(key: sympy.Basic) -> str:
    return str(getattr(key, "name", None) or getattr(key, "func", key))


def time_symbol() -> sympy.Symbol:
    """The time symbol of SymPy's dynamic symbols."""
    return vars(dynamicsymbols)["_t"]


_CONSTANTS: dict[sympy.Basic, Formula] = {sympy.pi: se.pi, sympy.E: se.E}
_SAME = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log")
_BUILDERS: dict[type[sympy.Basic], Callable[..., Formula]] = {
    **{getattr(sympy, name): FUNCTIONS[name].build for name in _SAME},
    sympy.Abs: absolute,
    sympy.sign: signum,
    sympy.Min: minimum,
    sympy.Max: maximum,
    sympy.sinh: lambda x: (se.exp(x) - se.exp(-x)) / 2,
    sympy.cosh: lambda x: (se.exp(x) + se.exp(-x)) / 2,
    # this form is finite for every x
    sympy.tanh: lambda x: 1 - 2 / (se.exp(2 * x) + 1),
    sympy.Heaviside: lambda x, middle: piecewise(0, compare(se.Lt, x, 0), middle, compare(se.Le, x, 0), 1),
}
_RELATIONS: dict[type[sympy.Basic], Callable[..., Formula]] = {
    sympy.StrictLessThan: lambda a, b: compare(se.Lt, a, b),
    sympy.LessThan: lambda a, b: compare(se.Le, a, b),
    sympy.StrictGreaterThan: lambda a, b: compare(se.Gt, a, b),
    sympy.GreaterThan: lambda a, b: compare(se.Ge, a, b),
    sympy.Equality: lambda a, b: se.And(compare(se.Le, a, b), compare(se.Ge, a, b)),
    sympy.Unequality: lambda a, b: se.Or(compare(se.Lt, a, b), compare(se.Gt, a, b)),
    sympy.And: se.And,
    sympy.Or: se.Or,
}
