"""How a quantity is written in the equations that use it."""

from __future__ import annotations

from dalembert.symbolic.algebra_base import Array, Scalar


class Notation:
    """Every value as it is computed: the notation of equations that run.

    A subclass for reading returns shorter forms, and symbols in place of long entries, so that what follows stays short.

    >>> Notation().short(3), Notation().by_symbols
    (3, False)
    """

    by_symbols = False  # True where long entries are replaced by symbols

    def short(self, value: Array) -> Array:
        """A shorter form of a value."""
        return value

    def symbols(self, key: str, value: Array) -> Array:
        """A value with symbols in place of its long entries: M[1,2] is an entry of M."""
        return value

    def velocity_terms(self, value: Array) -> tuple[list[tuple[str, Scalar]], Array]:
        """Rows that are not differentiated any more: names of what they share with their meanings, and the rows by them."""
        return [], self.short(value)

    def direction(self, value: Array) -> Array:
        """A vector whose length is arbitrary, in a shorter length."""
        return value


PLAIN = Notation()
