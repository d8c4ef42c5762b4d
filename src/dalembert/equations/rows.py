"""Which of the constraints stand as rows A v̇ = β in a form."""

from __future__ import annotations

from enum import Enum

from dalembert.structure.facts import Facts


class Rows(Enum):
    """The rows a form carries.

    >>> Rows.ALL.redundant, Rows.INDEPENDENT.redundant
    (True, False)
    """

    NONE = "none: the velocity variables keep the constraints, or the unknowns contain the multipliers"
    INDEPENDENT = "the independent constraints"
    JOINTS = "the joints of the bodies, and below them the independent constraints"
    ALL = "all constraints as declared, redundant ones included"

    @property
    def redundant(self) -> bool:
        """True when dependent rows may stand among them."""
        return self is Rows.ALL

    def independent(self, known: Facts) -> list[int] | slice:
        """Which of the rows are independent, as an index."""
        return list(known.rows) if self is Rows.ALL else slice(None)

    def names(self, known: Facts) -> tuple[str, ...]:
        """What the rows are called."""
        if self is Rows.ALL:
            return known.levels.names
        names = tuple(known.levels.names[i] for i in known.rows)
        return {Rows.NONE: (), Rows.INDEPENDENT: names, Rows.JOINTS: ("the joints", *names)}[self]
