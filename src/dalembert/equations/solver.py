"""A formalism's own way from the unsolved form to accelerations, once as a graph and once in numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Algebra, Array

Graph = Callable[[Algebra, Array, Array, Array, Array, Array], tuple[Array, Array]]
Numbers = Callable[..., tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Solver:
    """v̇ and λ from (M, f, A, β, C).

    `graph` works over any algebra, with independent rows of A; `numbers` works on arrays with the batch on the first
    axis and, when `rank_revealing`, takes dependent rows and one more argument: the rank at each state, None where it has to
    find that itself. C has no entries where all constraints are ideal.
    """

    graph: Graph
    numbers: Numbers
    rank_revealing: bool = False
