"""What formulas are: SymEngine's expressions inside, and what users may write in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import symengine as se

if TYPE_CHECKING:
    import sympy

Formula: TypeAlias = se.Basic  # an expression of plain symbols
Written: TypeAlias = "str | float | sympy.Basic | se.Basic"  # a number, text, or an expression of SymPy
