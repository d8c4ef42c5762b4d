"""The contract of a constraint: one file states all its facts.

The keys of its file form and how it is written, its maker, its formulas, what feedback adds to it, and what it is checked for.
Constraints by formulas come in three kinds: on positions, on velocities and on momenta. Loops take their rows from a joint.
For the evidence, formulas are taken as they are written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias, TypeVar

from dalembert.errors import InputError, Problem
from dalembert.model.checks.check_values import Table
from dalembert.model.file_form import Element, vector
from dalembert.model.keys import NAMED, Key, Keys, Kind, array, constant, entries, make, text
from dalembert.model.making import Maker
from dalembert.symbolic.formula_writer import written
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    from dalembert.model.description import Elements

Gains: TypeAlias = "Written | Sequence[Written]"  # one gain, or several


def read_gains(maker: Maker, gains: Gains | None, count: int, where: str) -> tuple[Formula, ...]:
    """The gains of feedback, none where there is none."""
    if gains is None:
        return ()
    given = tuple(gains) if isinstance(gains, list | tuple) else (gains,)
    if len(given) != count:
        expected = "two gains (alpha, beta)" if count == 2 else "one gain alpha"
        raise InputError(f"{where}: got {len(given)} gains. Expected {expected}.")
    return tuple(maker.reader.constant(gain, where) for gain in given)


_two = Kind(array(2, constant, "gains (alpha, beta)"), lambda maker, x, where: read_gains(maker, x, 2, where), vector)
_one = Kind(
    constant.check,
    lambda maker, x, where: read_gains(maker, x, 1, where),
    lambda x, where: written(x[0], where) if x else [],
)
DESCRIBED: Keys = {**NAMED, "description": Key(text, usual="")}
GAINS: Keys = {"feedback": Key(_two, usual=[])}
GAIN: Keys = {"feedback": Key(_one, usual=[])}


C = TypeVar("C", bound="Constraint")


@dataclass(frozen=True)
class Constraint(ABC):
    """What a model is held by."""

    kind: ClassVar[str]
    forms: ClassVar[Mapping[str, Keys]]  # the kinds of elements in a file that it can be read from, each with its keys
    gains: ClassVar[int] = 2  # how many gains feedback has: (α, β), or β alone

    name: str
    description: str = field(default="", kw_only=True)
    feedback: tuple[Formula, ...] = field(default=(), kw_only=True)  # the gains that drive it to zero, if there are any

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"{self.kind} '{self.name}'"

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

    def element(self) -> Element:
        """Its keys as they stand in a model file."""
        return entries(self, self.forms[self.kind], self.title)

    def stabilized(self, gains: Sequence[Formula]) -> Self:
        """The same with feedback by (α, β), or β alone, where it has none of its own."""
        return self if self.feedback else replace(self, feedback=tuple(gains[-self.gains :]))


@dataclass(frozen=True)
class FormulaConstraint(Constraint):
    """A formula that vanishes."""

    formula: Formula

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """The formula."""
        yield self.title, self.formula

    def _idle(self, lacks: str, advice: str) -> list[Problem]:
        """The problem of a formula that says nothing about the motion."""
        return [Problem(self.title, f"it contains {lacks}.", advice)]


class ConstraintMaker(Maker):
    """What the makers of constraints share."""

    def _constraint(self, kind: type[C], name: str | None, earlier: tuple[C, ...], **given: object) -> tuple[C, ...]:
        """Those that are there and one more of this kind, each value read as its key says."""
        key = name or f"{kind.kind}{len(earlier) + 1}"
        return (*earlier, make(kind, [key], kind.forms[kind.kind], given, self, f"{kind.kind} '{key}'"))
