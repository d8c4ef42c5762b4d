"""SymPy printers of formulas, for LaTeX, terminals and formula strings. Imported late: SymPy is slow to load."""

from __future__ import annotations

from typing import Any, ClassVar

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter

from dalembert.display.math import symbol_names
from dalembert.display.math.latex import width
from dalembert.display.math.symbol_names import PLAIN, Letters
from dalembert.symbolic.symbols import SymbolKind

_MARK = "\uf8ff"  # sorts after all letters; no name contains it
_MARKS = {SymbolKind.RATE: _MARK, SymbolKind.ACCELERATION: 2 * _MARK}
_MAX_WIDTH = 190.0  # of a numerator, denominator or root; wider ones are written as factors
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def moving_last(expression: sympy.Basic) -> sympy.Basic:
    """Rename symbols so that SymPy, which sorts by names, writes velocities after parameters: m·l²·θ̈."""
    table: dict[sympy.Basic, sympy.Basic] = {}
    for symbol in expression.free_symbols:
        kind, _ = symbol_names.split(str(symbol))
        if kind is not None and kind in _MARKS:
            table[symbol] = sympy.Symbol(_MARKS[kind] + str(symbol))
    return expression.xreplace(table) if table else expression


class _MovingFirst(Printer):
    """Sums start with the terms in accelerations, then those in velocities."""

    def _as_ordered_terms(self, expr: sympy.Expr, order: str | None = None) -> list[Any]:
        terms: list[Any] = list(super()._as_ordered_terms(expr, order))
        return sorted(terms, key=lambda term: -max((str(s).count(_MARK) for s in term.free_symbols), default=0))


class FormulaPrinter(StrPrinter):
    """SymPy's str printer, adapted to the syntax of formulas."""

    _signs: ClassVar = {sympy.E: "exp(1)"}

    def _print(self, expr: sympy.Basic, **kwargs: object) -> str:
        return self._signs[expr] if expr in self._signs else super()._print(expr, **kwargs)

    def _print_Float(self, expr: sympy.Float) -> str:
        return repr(float(expr))

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:
        parts = [part for pair in expr.args if isinstance(pair, ExprCondPair) for part in (pair.expr, pair.cond)]
        return f"piecewise({', '.join(self._print(part) for part in parts[:-1])})"

    def _print_Relational(self, expr: sympy.Eq | sympy.Ne | sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge) -> str:
        return f"({self._print(expr.lhs)} {expr.rel_op} {self._print(expr.rhs)})"

    def _print_And(self, expr: sympy.And) -> str:
        return f"({' and '.join(self._print(part) for part in expr.args)})"

    def _print_Or(self, expr: sympy.Or) -> str:
        return f"({' or '.join(self._print(part) for part in expr.args)})"


class PrettyPrinter(_MovingFirst, FormulaPrinter):
    """Printer with Greek letters and superscript exponents."""

    _signs: ClassVar = {**FormulaPrinter._signs, sympy.pi: "π"}

    def __init__(self, letters: Letters = PLAIN) -> None:
        super().__init__()
        self._letters = letters

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return symbol_names.for_text(expr.name.lstrip(_MARK), self._letters)

    def _print_Float(self, expr: sympy.Float) -> str:
        return f"{float(expr):.10g}"

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:
        base, power = expr.base, expr.exp
        if isinstance(power, sympy.Integer) and power > 1:
            inside = self._print(base)
            closed = base.is_Symbol or (base.is_Function and inside.endswith(")"))
            return (inside if closed else f"({inside})") + str(power).translate(_RAISED)
        return super()._print_Pow(expr, rational)


class LinePrinter(_MovingFirst, LatexPrinter):
    """SymPy's LaTeX printer with our names and breakable brackets; long parts are factors next to their fraction."""

    def __init__(self, letters: Letters = PLAIN) -> None:
        super().__init__({"fold_func_brackets": True})
        self._letters = letters
        self._known: dict[sympy.Basic, str] = {}  # printed parts, which are measured first

    def _print(self, expr: sympy.Basic, **kwargs: object) -> str:
        if kwargs:
            return super()._print(expr, **kwargs)
        if expr not in self._known:
            self._known[expr] = super()._print(expr)
        return self._known[expr]

    def _print_Symbol(self, expr: sympy.Symbol, style: str = "plain") -> str:
        return symbol_names.for_latex(expr.name.lstrip(_MARK), self._letters)

    def parenthesize(self, item: sympy.Basic, level: int, is_neg: bool = False, strict: bool = False) -> str:
        """Return a part in brackets if it needs them."""
        return _plain(super().parenthesize(item, level, is_neg, strict))

    def _print_Function(self, expr: sympy.Function, exp: str | None = None) -> str:
        """Return the argument in brackets without braces, which would prevent line breaks."""
        tex = _plain(super()._print_Function(expr, exp))
        return tex.replace("{(", "(", 1)[:-3] + ")" if tex.endswith(" )}") else tex

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:
        """Print a positive part as max(0, f), which allows line breaks; else the cases."""
        positive = _positive_part(expr)
        return super()._print_Piecewise(expr) if positive is None else rf"\max(0, {self._print(positive)})"

    def _print_Pow(self, expr: sympy.Pow) -> str:
        base, power = expr.base, expr.exp
        if power.is_Rational and (not power.is_Integer or power.is_negative) and width(self._print(base)) > _MAX_WIDTH:
            return self._power(base, power)
        return super()._print_Pow(expr)

    def _power(self, base: sympy.Basic, power: sympy.Basic) -> str:
        return f"{self.parenthesize(base, PRECEDENCE['Pow'])}^{{{power}}}"

    def _print_Mul(self, expr: sympy.Expr) -> str:
        factors = sympy.Mul.make_args(expr)
        below = [x for x in factors if isinstance(x, sympy.Pow) and x.exp.is_Rational and x.exp.is_negative]
        long = [each for each in below if width(self._print(1 / each)) > _MAX_WIDTH]
        if long:  # as negative powers after the rest
            rest = sympy.Mul(*(each for each in factors if each not in long))
            front = self._as_factor(rest, first=True) if rest != 1 else ""
            return " ".join([front, *(self._power(*each.as_base_exp()) for each in long)]).strip()
        top, bottom = sympy.fraction(expr)
        if bottom == 1 or width(self._print(top)) <= _MAX_WIDTH:
            return _plain(super()._print_Mul(expr))
        sign = "- " if expr.could_extract_minus_sign() else ""
        number, rest = (-top if sign else top).as_coeff_Mul()
        factor = self._print(sympy.Mul(number, 1 / bottom)) if number != 1 else rf"\frac{{1}}{{{self._print(bottom)}}}"
        return f"{sign}{factor} {self._as_factor(rest)}"

    def _as_factor(self, part: sympy.Expr, *, first: bool = False) -> str:
        """Return a factor of a product: a sum in brackets."""
        tex = self._print(part)
        return f"({tex})" if part.is_Add or (tex.startswith("-") and not first) else tex


def _positive_part(expr: sympy.Piecewise) -> sympy.Expr | None:
    """Return f of the piecewise "f if f > 0, else 0", None for others."""
    pairs = [(pair.expr, pair.cond) for pair in expr.args if isinstance(pair, ExprCondPair)]
    if len(pairs) != 2 or pairs[1] != (0, True):
        return None
    value, condition = pairs[0]
    if not isinstance(value, sympy.Expr) or not isinstance(condition, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
        return None
    more, less = condition.gts, condition.lts
    if not isinstance(more, sympy.Expr) or not isinstance(less, sympy.Expr):
        return None
    return value if sympy.expand(more - less - value) == 0 else None


def _plain(tex: str) -> str:
    r"""Brackets without \left and \right."""
    return tex.replace(r"\left(", "(").replace(r"\right)", ")")
