"""What the elements of a model are written with: formulas, vectors of them, and the name of the world."""

from __future__ import annotations

from dalembert.expressions.formula import Formula as Formula

Vector3 = tuple[Formula, Formula, Formula]
Matrix3 = tuple[Vector3, Vector3, Vector3]

WORLD = "world"
