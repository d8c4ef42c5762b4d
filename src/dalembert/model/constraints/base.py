"""Base classes of constraints.

A constraint defines its arguments, its formulas, its feedback terms and its validation.
Formula constraints act on positions, on velocities or on momenta. Loops take their rows from a joint.
The verification uses the formulas as they are written.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

from dalembert.errors import InputError, Problem
from dalembert.model.evaluation import Table
from dalembert.model.keys import ValueType, array, constant, name, string, vector
from dalembert.model.record import Named, argument, record
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

Gains: TypeAlias = "Written | Sequence[Written]"  # one gain, or several


def read_gains(model: Elements, gains: Gains | None, count: int, where: str) -> tuple[Formula, ...]:
    """Read the feedback gains; an empty tuple without feedback."""
    if gains is None:
        return ()
    entries = tuple(gains) if isinstance(gains, list | tuple) else (gains,)
    if len(entries) != count:
        expected = "two gains (alpha, beta)" if count == 2 else "one gain alpha"
        raise InputError(f"{where}: got {len(entries)} gains. Expected {expected}.")
    return tuple(model.reader.constant(gain, where) for gain in entries)


two_gains = ValueType(
    array(2, constant, "gains (alpha, beta)"),
    lambda model, x, where: read_gains(model, x, 2, where),
    vector,
    argument="Gains",
)
one_gain = ValueType(
    constant.check,
    lambda model, x, where: read_gains(model, x, 1, where),
    lambda x, where: write_formula(x[0], where) if x else [],
    argument="Gains",
)


@record
class Constraint(Named):
    """Base class of constraints."""

    family = "constraint"
    gains: ClassVar[int] = 2  # number of feedback gains: (α, β), or β alone

    name: str = argument(name, None, about="the name of the constraint", absent="numbered")
    description: str = argument(string, "", about="what it means", default="", kw_only=True)
    feedback: tuple[Formula, ...] = argument(
        two_gains,
        None,
        saved=[],
        about="gains `[alpha, beta]` of a servo constraint",
        default=(),
        kw_only=True,
    )

    @property
    def row_names(self) -> tuple[str, ...]:
        """The names of its rows."""
        return (self.name,)

    @abstractmethod
    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """Iterate over its formulas with their paths."""

    @abstractmethod
    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """Its problems in the model; `table` has the initial value of every symbol."""

    def stabilized(self, gains: Sequence[Formula]) -> Self:
        """Return a copy with the feedback gains (α, β), or β alone, unless it already has feedback."""
        return self if self.feedback else replace(self, feedback=tuple(gains[-self.gains :]))


@record
class FormulaConstraint(Constraint):
    """A constraint of the form formula = 0."""

    formula: Formula

    @classmethod
    def used_names(cls, model: Model) -> Collection[str]:
        """Empty: the check of the model reports duplicate names."""
        return ()

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        yield self.title, self.formula

    def _ineffective(self, lacks: str, advice: str) -> list[Problem]:
        """The problem of a formula that does not constrain the motion."""
        return [Problem(self.title, f"it contains {lacks}.", advice)]
