"""How SymPy writes our formulas, and the same for a terminal. Imported late: SymPy is slow to load."""

from __future__ import annotations

from typing import ClassVar

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.printing.str import StrPrinter

from dalembert.show import names

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class FormulaPrinter(StrPrinter):
    """SymPy's text, changed where our formulas differ from it."""

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


class PrettyPrinter(FormulaPrinter):
    """The same with Greek letters and raised exponents."""

    _signs: ClassVar = {**FormulaPrinter._signs, sympy.pi: "π"}

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return names.for_text(expr.name)

    def _print_Float(self, expr: sympy.Float) -> str:
        return f"{float(expr):.10g}"

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:
        base, power = expr.base, expr.exp
        if isinstance(power, sympy.Integer) and power > 1:
            inside = self._print(base)
            closed = base.is_Symbol or (base.is_Function and inside.endswith(")"))
            return (inside if closed else f"({inside})") + str(power).translate(_RAISED)
        return super()._print_Pow(expr, rational)
