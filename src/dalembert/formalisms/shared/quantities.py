"""What a formalism shows of itself: its own quantities, by its own letters, each with the number of its equation.

`derive` of a formalism hands every quantity of its paper to `show` on the line that computes it, and goes on with what it gets
back. Where equations are run nobody looks: `SILENT` gives the value back. Where they are read, `Record` keeps it, and gives
back a shorter form of it, so that what follows is short too. What a paper shows beside the way comes by `also` and is made when
it is looked at; what it ends with comes by `law`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dalembert.symbolic.algebra_base import Array, Scalar

Short = Callable[[Array], Array]  # a value in a shorter form; for reading only
Naming = Callable[[str, Array], Array]  # a key and its value: the value by which it is called from then on
Sharing = Callable[[Array], tuple[list[tuple[str, Scalar]], Array]]  # names of what rows share, and the rows by them
Rows = tuple[Array, Array]  # left and right sides
Shown = TypeVar("Shown")  # an array or a scalar


@dataclass(frozen=True)
class Quantity:
    """One quantity of a paper; its value is a matrix, a vector, a scalar, or names of things that are no numbers.

    >>> from dalembert.symbolic.algebra_base import identity
    >>> Quantity("N_l", "(9b)", "carries twists outwards", lambda: identity(2)).make().tolist()
    [[1, 0], [0, 1]]
    """

    key: str  # its letter in ASCII: accents and indices behind underscores, as in M_tilde and w_1
    equation: str  # its number in the paper of the formalism
    meaning: str
    make: Callable[[], Array]
    of: tuple[str, ...] = ()  # what it belongs to, one name for each place of its first axis: bodies, speeds
    shown: Array | None = None  # its short form, where the derivation goes on with that


@dataclass(frozen=True)
class Law:
    """Equations that a derivation ends with: in words, and row by row."""

    equation: str  # its number in the paper
    words: str  # by letters, as in M_NI u̇_NI = L_NI
    uses: tuple[str, ...]  # the keys of the quantities in it
    make: Callable[[], Rows]


@dataclass(frozen=True)
class Stage:
    """Some quantities of a derivation that belong together, under a heading."""

    heading: str
    quantities: tuple[Quantity, ...]


class Show:
    """Shows quantities to nobody.

    >>> Show()("T", "(7)", "kinetic energy", 3)
    3
    """

    def short(self, value: Array) -> Array:
        """A shorter form of a value that is not shown itself."""
        return value

    def __call__(self, key: str, equation: str, meaning: str, value: Shown, of: Sequence[str] = ()) -> Shown:
        """A quantity on the way of the derivation; what is given back is what it goes on with."""
        return value

    by_names = False  # True where long entries go on by their names

    def last(self, key: str, equation: str, meaning: str, value: Array) -> Array:
        """Rows of velocity terms that nothing is differentiated after: they may go on through names of what they share."""
        return value

    def named(self, key: str, value: Array) -> Array:
        """A value by the names of its entries where they are long: M[1,2] is an entry of M."""
        return value

    def direction(self, value: Array) -> Array:
        """A vector whose length means nothing, in a shorter length."""
        return value

    def beside(self, tell: Callable[[], None]) -> None:
        """Quantities beside the way that are made one from another: `tell` shows them, where somebody looks."""

    def also(self, key: str, equation: str, meaning: str, make: Callable[[], Array], of: Sequence[str] = ()) -> None:
        """A quantity beside the way, made when it is looked at."""

    def value(self, key: str) -> Array:
        """The short form of a quantity that was shown."""
        raise KeyError(key)

    def law(self, equation: str, words: str, uses: Sequence[str], make: Callable[[], Rows]) -> None:
        """Equations that the derivation ends with, made when they are looked at."""


SILENT = Show()


class Record(Show):
    """Keeps what is shown, in its order.

    >>> record = Record()
    >>> record("T", "(7)", "kinetic energy", 3), list(record.quantities)
    (3, ['T'])
    """

    def __init__(
        self,
        short: Short | None = None,
        naming: Naming | None = None,
        direction: Short | None = None,
        rows: Sharing | None = None,
    ) -> None:
        self._short, self._naming, self._direction, self._rows = short, naming, direction, rows
        self.by_names = naming is not None
        self._found: dict[str, Array] = {}
        self._names: dict[str, Scalar] = {}
        self._quantities: dict[str, Quantity] = {}
        self._laws: list[Law] = []
        self._untold: list[Callable[[], None]] = []  # what is shown beside the way, until somebody looks for it

    @property
    def names(self) -> dict[str, Scalar]:
        """What names of entries stand for."""
        self._tell_all()
        return self._names

    @property
    def quantities(self) -> dict[str, Quantity]:
        """All quantities, in their order."""
        self._tell_all()
        return self._quantities

    @property
    def laws(self) -> list[Law]:
        """The equations that the derivation ends with."""
        self._tell_all()
        return self._laws

    def find(self, key: str) -> Quantity | None:
        """One quantity; what comes after it beside the way is not made."""
        while key not in self._quantities and self._untold:
            self._untold.pop(0)()
        return self._quantities.get(key)

    def _tell_all(self) -> None:
        while self._untold:
            self._untold.pop(0)()

    def short(self, value: Array) -> Array:
        """A shorter form of a value, where there is one."""
        return value if self._short is None else self._short(value)

    def __call__(self, key: str, equation: str, meaning: str, value: Shown, of: Sequence[str] = ()) -> Shown:
        """Keeps the quantity, and gives back its shorter form."""
        whole = np.asarray(value, dtype=object)
        found = self._found[key] = self.short(whole)
        self._quantities[key] = Quantity(key, equation, meaning, lambda: whole, tuple(of), found)
        return found if isinstance(value, np.ndarray) else found[()]  # pyright: ignore[reportReturnType]

    def last(self, key: str, equation: str, meaning: str, value: Array) -> Array:
        """Keeps the rows, and gives them back through names of what they share."""
        if self._rows is None:
            return self(key, equation, meaning, value)
        lines, found = self._rows(value)
        self._names |= dict(lines)
        self._found[key] = found
        self._quantities[key] = Quantity(key, equation, meaning, lambda: value, (), found)
        return found

    def named(self, key: str, value: Array) -> Array:
        """The value by the names of its entries, which are kept."""
        if self._naming is None:
            return value
        found = self._naming(key, value)
        self._names |= {str(a): b for a, b in zip(found.flat, value.flat, strict=True) if a is not b and a != b}
        return found

    def direction(self, value: Array) -> Array:
        """The vector in a shorter length, where there is one."""
        return value if self._direction is None else self._direction(value)

    def beside(self, tell: Callable[[], None]) -> None:
        """Keeps the tale until somebody looks for what it shows."""
        self._untold.append(tell)

    def also(self, key: str, equation: str, meaning: str, make: Callable[[], Array], of: Sequence[str] = ()) -> None:
        """Keeps the quantity."""
        self._quantities[key] = Quantity(key, equation, meaning, make, tuple(of))

    def value(self, key: str) -> Array:
        """The short form of a quantity that was shown."""
        return self._found[key][()]

    def law(self, equation: str, words: str, uses: Sequence[str], make: Callable[[], Rows]) -> None:
        """Keeps the law."""
        self._laws.append(Law(equation, words, tuple(uses), make))
