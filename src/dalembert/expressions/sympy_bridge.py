"""Formulas from SymPy and back, by a white list over SymPy's tree.

SymPy is slow to import, so it is imported inside the functions: who never gives or asks for SymPy never waits for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import symengine as se
from symengine.lib.symengine_wrapper import FunctionSymbol

from dalembert.errors import FormulaError, nearest
from dalembert.expressions.internal import rate
from dalembert.expressions.reading import decimal, fold, number, quote
from dalembert.expressions.symbols import (
    FUNCTIONS,
    TIME,
    absolute,
    compare,
    coordinate,
    flaw,
    maximum,
    minimum,
    piecewise,
    power_flaw,
    signum,
)

if TYPE_CHECKING:
    import sympy


def from_sympy(
    expr: Any,
    *,
    coordinates: Mapping[Any, str],
    parameters: Mapping[Any, str],
    where: str,
    rates: bool = True,
) -> se.Basic:
    """The formula of a SymPy expression over `dynamicsymbols`, their first derivatives, time and parameters.

    `coordinates` maps each dynamic symbol to the name of its coordinate, `parameters` each symbol to the name of its
    parameter. With `rates=False` velocities are refused.

    >>> from sympy import Symbol
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> q, k = dynamicsymbols("q"), Symbol("k", positive=True)
    >>> from_sympy(k * q.diff(), coordinates={q: "theta"}, parameters={k: "k"}, where="force 'push'")
    k*dot(theta)
    """
    import sympy

    if isinstance(expr, str):
        fact = f"{where}: the text {quote(expr)} stands where a SymPy expression or a number belongs."
        raise FormulaError(f"{fact} Give a SymPy expression, or put the text where formulas are read.")
    if not isinstance(expr, sympy.Basic):
        return number(expr, where)
    reader = _Reader(expr, coordinates, parameters, where, rates)
    reader.expect(expr, condition=False)
    return fold(expr, reader.children, reader.build)


def to_sympy(
    expr: se.Basic, *, coordinates: Sequence[str], symbols: Mapping[str, sympy.Expr] | None = None
) -> sympy.Expr:
    """The SymPy expression of a formula: coordinates as `dynamicsymbols`, velocities as their derivatives.

    Every other symbol is looked up in `symbols`, or becomes a plain SymPy symbol of its name.

    >>> to_sympy(coordinate("k") * rate("theta"), coordinates=["theta"])
    k*Derivative(theta(t), t)
    """
    import sympy
    from sympy.physics.mechanics import dynamicsymbols

    time = _time()
    table: dict[str, Any] = {**(symbols or {}), TIME.name: time}
    for name in coordinates:
        table[name] = dynamicsymbols(name)
        table[rate(name).name] = sympy.Derivative(table[name], time)

    def build(node: Any, parts: list[Any]) -> Any:
        if isinstance(node, se.Symbol):
            return table.get(node.name, sympy.Symbol(node.name))
        return _to_sympy_node(node, parts)

    return fold(se.sympify(expr), lambda node: node.args, build)


def _unevaluated_piecewise(pairs: Iterable[tuple[Any, Any]]) -> Any:
    from sympy import Basic, Piecewise, Tuple
    from sympy.functions.elementary.piecewise import ExprCondPair

    # even with evaluate=False SymPy rewrites conditions that hold a Piecewise, in seconds or in endless recursion
    return Basic.__new__(Piecewise, *(Tuple.__new__(ExprCondPair, value, condition) for value, condition in pairs))


def _to_sympy_node(node: Any, parts: list[Any]) -> Any:
    import sympy

    if not parts:
        return node._sympy_()
    if isinstance(node, se.Piecewise):
        return _unevaluated_piecewise(zip(parts[::2], parts[1::2], strict=True))
    if isinstance(node, FunctionSymbol):
        return sympy.Function(node.get_name())(*parts)
    kind: Any = getattr(sympy, type(node).__name__)
    options = {"evaluate": False} if issubclass(kind, sympy.logic.boolalg.Boolean) else {}
    return kind(*parts, **options)


@dataclass(frozen=True)
class _Reader:
    """From a SymPy tree to SymEngine: `children` is the white list, `build` makes one node."""

    whole: Any
    coordinates: Mapping[Any, str]
    parameters: Mapping[Any, str]
    where: str
    rates: bool

    def error(self, fact: str, advice: str) -> FormulaError:
        """The error with the element and the expression it is about."""
        return FormulaError(f"{self.where}, SymPy expression {quote(str(self.whole))}: {fact} {advice}")

    def expect(self, node: Any, *, condition: bool) -> None:
        """Refuse a condition where a number belongs, and the other way round."""
        import sympy
        from sympy.core.relational import Relational
        from sympy.logic.boolalg import BooleanAtom

        if condition and not isinstance(node, (Relational, BooleanAtom, sympy.And, sympy.Or, sympy.Not, sympy.ITE)):
            raise self.error(f"{quote(str(node))} is not a condition.", "Use < <= > >= joined by And and Or.")
        if not condition and not isinstance(node, sympy.Expr):
            raise self.error(f"{quote(str(node))} stands where a number belongs.", "Give a scalar expression.")

    def children(self, node: Any) -> list[Any]:
        """The parts of an allowed node; every other node is an error."""
        import sympy
        from sympy.core.relational import Relational

        if node in self.coordinates or node in self.parameters or node == _time():
            return []
        if isinstance(node, sympy.Piecewise):
            return self._branches(node)
        if isinstance(node, (sympy.Not, sympy.ITE)):
            return self._normal_form(node)
        joined = isinstance(node, (sympy.And, sympy.Or))
        if joined or isinstance(node, (sympy.Add, sympy.Mul, sympy.Pow, Relational, *_builders())):
            for part in node.args:
                self.expect(part, condition=joined)
            return list(node.args)
        self._check_leaf(node)
        return []

    def build(self, node: Any, parts: list[se.Basic]) -> se.Basic:
        """The SymEngine expression of one node from those of its parts."""
        import sympy

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

    def _branches(self, node: Any) -> list[Any]:
        import sympy

        pairs = [(pair.expr, pair.cond) for pair in node.args]
        if pairs[-1][1] is not sympy.true:
            raise self.error(f"{quote(str(node))} has no default value.", "Give its last branch the condition True.")
        for value, condition in pairs:
            self.expect(value, condition=False)
            self.expect(condition, condition=True)
        return [part for pair in pairs for part in pair]

    def _normal_form(self, node: Any) -> list[Any]:
        """The same condition with And and Or only."""
        form = node.to_nnf(simplify=False)
        self.expect(form, condition=True)
        if form == node:
            self.expect(node.args[0], condition=True)
        return [form]

    def _check_leaf(self, node: Any) -> None:
        import sympy
        from sympy.core.function import AppliedUndef
        from sympy.logic.boolalg import BooleanAtom

        if isinstance(node, (sympy.Derivative, sympy.Number, BooleanAtom)) or node in _constants():
            return
        if isinstance(node, sympy.Symbol):
            self._refuse_symbol(node)
        if isinstance(node, AppliedUndef):
            known = [_name(key) for key in self.coordinates]
            raise self.error(f"the coordinate {quote(str(node))} is not known.", nearest(_name(node), known))
        if isinstance(node, sympy.Function):
            known = sorted(kind.__name__ for kind in _builders())
            raise self.error(f"the function '{_name(node)}' cannot be used.", nearest(_name(node), known))
        advice = "Use sums, products, powers, real numbers, Piecewise and the usual functions."
        raise self.error(f"{quote(str(node))} cannot be used in a formula.", advice)

    def _refuse_symbol(self, node: Any) -> None:
        known = [_name(key) for key in (*self.parameters, *self.coordinates)]
        if node.name in known:
            fact = f"the symbol '{node.name}' is not the one that was declared under this name."
            raise self.error(fact, "Use the same symbol in both places, with the same assumptions.")
        raise self.error(f"the symbol {quote(node.name)} is not known here.", nearest(node.name, known))

    def _leaf(self, node: Any) -> se.Basic:
        import sympy

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
        return TIME if node == _time() else _constants()[node]

    def _rate(self, node: Any) -> se.Basic:
        if node.expr not in self.coordinates or set(node.variables) != {_time()}:
            advice = "Only the time derivative of a coordinate is; call `.doit()` for the others."
            raise self.error(f"the derivative {quote(str(node))} is not a velocity.", advice)
        if len(node.variables) > 1:
            advice = "Expected coordinates, velocities and time; write the formula with these."
            raise self.error(f"accelerations are not allowed in a formula, got {quote(str(node))}.", advice)
        if not self.rates:
            advice = "Expected coordinates and parameters only; leave derivatives out."
            raise self.error(f"velocities are not allowed here, got {quote(str(node))}.", advice)
        return rate(self.coordinates[node.expr])


def _combine(node: Any, parts: list[se.Basic]) -> se.Basic:
    import sympy

    if isinstance(node, sympy.Piecewise):
        return piecewise(*parts[:-1])
    if isinstance(node, sympy.Add):
        return se.Add(*parts)
    if isinstance(node, sympy.Mul):
        return se.Mul(*parts)
    if isinstance(node, sympy.Pow):
        return parts[0] ** parts[1]
    return _builders()[node.func](*parts)


def _condition(node: Any, parts: list[se.Basic]) -> se.Basic:
    if not parts:
        return se.true if node else se.false
    return _relations().get(node.func, lambda form: form)(*parts)


def _name(key: Any) -> str:
    return str(getattr(key, "name", None) or getattr(key, "func", key))


def _time() -> Any:
    from sympy.physics import mechanics

    source: Any = mechanics.dynamicsymbols
    return source._t


@functools.cache
def _constants() -> dict[Any, se.Basic]:
    import sympy

    return {sympy.pi: se.pi, sympy.E: se.E}


@functools.cache
def _builders() -> dict[Any, Callable[..., se.Basic]]:
    import sympy

    same = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log")
    return {
        **{getattr(sympy, name): FUNCTIONS[name].build for name in same},
        sympy.Abs: absolute,
        sympy.sign: signum,
        sympy.Min: minimum,
        sympy.Max: maximum,
        sympy.sinh: lambda x: (se.exp(x) - se.exp(-x)) / 2,
        sympy.cosh: lambda x: (se.exp(x) + se.exp(-x)) / 2,
        # this form stays finite for every x
        sympy.tanh: lambda x: 1 - 2 / (se.exp(2 * x) + 1),
        sympy.Heaviside: lambda x, middle: piecewise(0, compare(se.Lt, x, 0), middle, compare(se.Le, x, 0), 1),
    }


@functools.cache
def _relations() -> dict[Any, Callable[..., se.Basic]]:
    import sympy

    return {
        sympy.StrictLessThan: lambda a, b: compare(se.Lt, a, b),
        sympy.LessThan: lambda a, b: compare(se.Le, a, b),
        sympy.StrictGreaterThan: lambda a, b: compare(se.Gt, a, b),
        sympy.GreaterThan: lambda a, b: compare(se.Ge, a, b),
        sympy.Equality: lambda a, b: se.And(compare(se.Le, a, b), compare(se.Ge, a, b)),
        sympy.Unequality: lambda a, b: se.Or(compare(se.Lt, a, b), compare(se.Gt, a, b)),
        sympy.And: se.And,
        sympy.Or: se.Or,
    }
