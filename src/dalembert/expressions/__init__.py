"""Formulas: their vocabulary, from text, from SymPy and back."""

from dalembert.expressions.internal import Kind, kind_of, momentum, rate
from dalembert.expressions.parser import parse
from dalembert.expressions.symbols import FUNCTIONS, RESERVED, TIME, coordinate, is_identifier
from dalembert.expressions.sympy_bridge import from_sympy, to_sympy

__all__ = [
    "FUNCTIONS",
    "RESERVED",
    "TIME",
    "Kind",
    "coordinate",
    "from_sympy",
    "is_identifier",
    "kind_of",
    "momentum",
    "parse",
    "rate",
    "to_sympy",
]
