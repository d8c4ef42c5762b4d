"""What a derivation calculates with: anything that adds, multiplies and divides, in every algebra."""

from __future__ import annotations

from typing import Any, TypeAlias

Scalar: TypeAlias = (
    Any  # a number, a batch of numbers, a node, a residue, a SymEngine or heyoka expression: duck-typed by design
)
