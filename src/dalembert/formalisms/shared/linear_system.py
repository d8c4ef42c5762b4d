"""The linear system that a form leaves unsolved, over any algebra or in numbers, and a formalism's own way to solve it.

M x = f + C + Jᵀλ,     A x = β
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from dalembert.symbolic.algebra_base import Algebra, Array, zeros


@dataclass(frozen=True)
class LinearSystem:
    """The parts of the system; in numbers with the batch on the first axis: M (K, n, n), f (K, n), A (K, r, n), β (K, r)."""

    M: Array
    f: Array
    A: Array
    beta: Array
    C: Array | None = None  # the non-ideal part of the constraint forces; None: all constraints are ideal
    J: Array | None = None  # multipliers enter as Jᵀλ; None: J = A

    @classmethod
    def without_rows(cls, M: Array, f: Array, C: Array | None = None) -> LinearSystem:
        """M x = f + C, over any algebra."""
        return cls(M, f, zeros(0, len(f)), zeros(0), C)

    @property
    def push(self) -> Array:
        """f + C: all that does not depend on the multipliers."""
        return self.f if self.C is None else self.f + self.C

    @property
    def directions(self) -> Array:
        """J, or A where that is the same."""
        return self.A if self.J is None else self.J

    @property
    def constrained(self) -> bool:
        """True when there are rows A x = β."""
        return self.beta.shape[-1] > 0

    def each(self, evaluate: Callable[[Array], Array]) -> LinearSystem:
        """The same with every part put through a function."""
        C, J = (None if part is None else evaluate(part) for part in (self.C, self.J))
        return LinearSystem(evaluate(self.M), evaluate(self.f), evaluate(self.A), evaluate(self.beta), C, J)

    def with_rows(self, rows: list[int] | slice) -> LinearSystem:
        """The same with some of the rows only; over an algebra, without a batch."""
        J = None if self.J is None else self.J[rows]
        return replace(self, A=self.A[rows], beta=self.beta[rows], J=J)


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

    Without a graph the whole system is solved at once. A graph may also know more than the system and not look at M; then it
    stays over the algebra it was derived in. A graph that projects along `trials` (m, n) fails where these and the rows of A are
    dependent: a run then continues with others, see `simulation/partition`.
    """

    graph: Graph | None = None
    numeric: Numeric = Numeric.WHOLE
    knows_more: bool = False
    trials: Array | None = None  # None: the graph fails only where the rows of A are dependent
