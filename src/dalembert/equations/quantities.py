"""What a formalism shows of itself: its own quantities, by its own letters, each with the number of its equation.

A formalism that has something to show has a function `blocks(system, short)`, which gives its quantities in the order of its
paper, and may have `steps(system, named)`, which goes through its derivation. Both are made when they are looked at, over any
algebra.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dalembert.algebra import Array

Short = Callable[[Array], Array]  # a value in a shorter form; for reading only
Naming = Callable[[str, Array], Array]  # a key and its value: the value by which it is called from then on


@dataclass(frozen=True)
class Quantity:
    """One quantity of a paper; its value is a matrix, a vector, or names of things that are no numbers.

    >>> from dalembert.algebra import identity
    >>> Quantity("N_l", "(9b)", "carries twists outwards", lambda: identity(2)).make().tolist()
    [[1, 0], [0, 1]]
    """

    key: str  # its letter in ASCII: accents and indices behind underscores, as in M_tilde and w_1
    equation: str  # its number in the paper of the formalism
    meaning: str
    make: Callable[[], Array]


@dataclass(frozen=True)
class Stage:
    """Some quantities of a derivation that belong together, under a heading."""

    heading: str
    quantities: tuple[Quantity, ...]
