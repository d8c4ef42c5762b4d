"""What the elements of a model are written with: formulas, vectors of them, and the name of the world."""

from __future__ import annotations

from typing import Any

Formula = Any  # a SymEngine expression of plain symbols
Vector3 = tuple[Formula, Formula, Formula]
Matrix3 = tuple[Vector3, Vector3, Vector3]

WORLD = "world"
