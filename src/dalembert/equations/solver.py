"""A formalism's own way from the unsolved form to accelerations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from dalembert.algebra import Algebra, Array
from dalembert.equations.linear_system import LinearSystem

Graph = Callable[[Algebra, LinearSystem], tuple[Array, Array]]


class Numeric(Enum):
    """How a kernel solves in numbers, where rows may be dependent or a graph would be too long."""

    WHOLE = "the whole system at once"
    MOORE_PENROSE = "the smallest force, by the Moore–Penrose inverse of A M^(−1/2)"
    LEAST_SQUARES = "the least Gaussian, by constrained least squares"
    NULL_SPACE = "the null space of A, by its singular value decomposition"
    GRAM_SCHMIDT = "the directions that the constraints leave free, by Gram and Schmidt"

    @property
    def takes_dependent_rows(self) -> bool:
        """True when rows of A may be dependent."""
        return self is not Numeric.WHOLE


@dataclass(frozen=True)
class Solver:
    """v̇ and λ from a linear system: `graph` over any algebra with independent rows, `numeric` on arrays.

    Without a graph the whole system is solved at once.
    """

    graph: Graph | None = None
    numeric: Numeric = Numeric.WHOLE
