"""The contract of a constraint: one file states all its facts.

The arguments it is made of, its formulas, what feedback adds to it, and what it is checked for.
Constraints by formulas come in three kinds: on positions, on velocities and on momenta. Loops take their rows from a joint.
For the evidence, formulas are taken as they are written.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

from dalembert.errors import InputError, Problem
from dalembert.model.evaluation import Table
from dalembert.model.file_form import vector
from dalembert.model.keys import Kind, array, constant, name, text
from dalembert.model.record import Named, argument, record
from dalembert.symbolic.formula_writer import written
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

Gains: TypeAlias = "Written | Sequence[Written]"  # one gain, or several


def read_gains(model: Elements, gains: Gains | None, count: int, where: str) -> tuple[Formula, ...]:
    """The gains of feedback, none where there is none."""
    if gains is None:
        return ()
    given = tuple(gains) if isinstance(gains, list | tuple) else (gains,)
    if len(given) != count:
        expected = "two gains (alpha, beta)" if count == 2 else "one gain alpha"
        raise InputError(f"{where}: got {len(given)} gains. Expected {expected}.")
    return tuple(model.reader.constant(gain, where) for gain in given)


two_gains = Kind(
    array(2, constant, "gains (alpha, beta)"),
    lambda model, x, where: read_gains(model, x, 2, where),
    vector,
    argument="Gains",
)
one_gain = Kind(
    constant.check,
    lambda model, x, where: read_gains(model, x, 1, where),
    lambda x, where: written(x[0], where) if x else [],
    argument="Gains",
)


@record
class Constraint(Named):
    """What a model is held by."""

    family = "constraint"
    gains: ClassVar[int] = 2  # how many gains feedback has: (α, β), or β alone

    name: str = argument(name, None, about="the name of the constraint", absent="numbered")
    description: str = argument(text, "", about="what it means", default="", kw_only=True)
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
        """Every formula with its path."""

    @abstractmethod
    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """What is wrong with it in its model, `table` holding a value of every symbol at the start."""

    def stabilized(self, gains: Sequence[Formula]) -> Self:
        """The same with feedback by (α, β), or β alone, where it has none of its own."""
        return self if self.feedback else replace(self, feedback=tuple(gains[-self.gains :]))


@record
class FormulaConstraint(Constraint):
    """A formula that vanishes."""

    formula: Formula

    @classmethod
    def taken(cls, model: Model) -> Collection[str]:
        """None: the check of the model tells of formulas with the same name."""
        return ()

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        yield self.title, self.formula

    def _idle(self, lacks: str, advice: str) -> list[Problem]:
        """The problem of a formula that says nothing about the motion."""
        return [Problem(self.title, f"it contains {lacks}.", advice)]
