"""What the elements of a model are written with: formulas, vectors of them, and the name of the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    import sympy

Name: TypeAlias = "str | sympy.Basic"  # of a parameter or coordinate: text, or the symbol it was declared by

Values = Mapping[Any, float]  # of parameters, by name or symbol
Vector3 = tuple[Formula, Formula, Formula]
Matrix3 = tuple[Vector3, Vector3, Vector3]

WORLD = "world"
