"""Formulas: their vocabulary, from text, from SymPy and back."""

from dalembert.expressions.parser import parse
from dalembert.expressions.symbols import FUNCTIONS, RESERVED, TIME, coordinate, is_identifier, momentum, rate
from dalembert.expressions.sympy_bridge import from_sympy, to_sympy

__all__ = [
    "FUNCTIONS",
    "RESERVED",
    "TIME",
    "coordinate",
    "from_sympy",
    "is_identifier",
    "momentum",
    "parse",
    "rate",
    "to_sympy",
]
