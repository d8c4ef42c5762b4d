"""The contract of a contact or coupling: one file states all its facts.

A contact names bodies and becomes constraints before anything else happens: `formulas` reads them off the motion of the bodies.
`pushes` says where the forces of these constraints act. `declared` says for the evidence, from positions only and by other
formulas, what it forbids: see `model/reference_model`. What holds positions alone is `Held`: it says what must vanish as a sum
of parts, by which the initial state is checked, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from dalembert.errors import InputError, Problem
from dalembert.model.checks.check_values import Table
from dalembert.model.file_form import Element
from dalembert.model.keys import Keys, body, constant_length, entries, first_of, make, several_bodies, two_bodies
from dalembert.model.loads.base import Motion, formulas_in
from dalembert.model.making import Maker
from dalembert.model.reference_model import Condition, Places, Traced, Watch, held
from dalembert.model.vectors import WORLD, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, zeros
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements

Formulas = Mapping[str, Scalar]


@dataclass(frozen=True)
class Push:
    """What a constraint does to a body for a multiplier of one: a force at a point and a moment, in world axes."""

    body: str
    force: Array
    moment: Array
    point: Array


def pushed(bodies: Sequence[str], force: Array, point: Array, moment: Array | None = None) -> list[Push]:
    """A force at a point on the last body, and its opposite at the same place on the first of two; none on the world."""
    turn = zeros(3) if moment is None else moment
    both = zip(reversed(bodies), ((force, turn), (-force, -turn)), strict=False)
    return [Push(name, *push, point) for name, push in both if name != WORLD]


@dataclass(frozen=True)
class Contact(ABC):
    """What ties bodies to each other or to the ground without a joint."""

    kind: ClassVar[str]
    keys: ClassVar[Keys]  # the keys of its file form
    unit: ClassVar[str | None] = "m"  # of its constraints on positions; None: that of their formulas

    name: str

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"{self.kind} '{self.name}'"

    @property
    def named(self) -> list[tuple[str, str]]:
        """The bodies it names, each with the key it stands under."""
        kinds = (body, two_bodies, several_bodies)
        found = [(key, getattr(self, key)) for key, about in self.keys.items() if about.kind in kinds]
        return [(key, name) for key, names in found for name in ([names] if isinstance(names, str) else names)]

    @property
    def size(self) -> Formula | None:
        """A length among its constants, if there is one."""
        return first_of(self, self.keys, constant_length)

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """The points it holds, each with the body it is fixed on."""
        return []

    @property
    def in_joints(self) -> list[tuple[str, int, int]]:
        """The motions of joints that it names: body, joint and motion."""
        return []

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """Every formula with its path."""
        for key in self.keys:
            yield from formulas_in(getattr(self, key), f"{self.title}, {key}")

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """What is wrong with it in its model, `table` holding a value of every symbol at the start."""
        return []

    def element(self) -> Element:
        """Its keys as they stand in a model file."""
        return entries(self, self.keys, self.title)

    def parts(self, places: Places) -> Array | None:
        """For the evidence: the parts, along the second axis, of which every row sums up to zero; None if there is none."""
        return None

    @abstractmethod
    def formulas(self, motion: Motion) -> tuple[Formulas, Formulas]:
        """The constraints on positions and on velocities that it makes, by name: each vanishes."""

    @abstractmethod
    def pushes(self, motion: Motion) -> dict[str, list[Push]]:
        """Constraint by constraint: what it does to the bodies; those that are left out act inside the joints."""

    @abstractmethod
    def declared(self, watch: Watch) -> Iterator[Condition]:
        """For the evidence: what must vanish, from positions only and by other formulas."""


@dataclass(frozen=True)
class Held(Contact):
    """What holds positions, and nothing else."""

    @abstractmethod
    def parts(self, places: Places) -> Array:
        """For the evidence: the parts, along the second axis, of which every row sums up to zero."""

    def declared(self, watch: Watch) -> Iterator[Condition]:
        """The sums vanish, and so do their rates."""
        parts = watch.traced(self.parts)
        levels = (parts.value, parts.rate, parts.second)
        gap = Traced(*(level.sum(axis=1) for level in (*levels, parts.change)))
        yield held(self.name, watch, gap, sizes=[np.abs(level).sum(axis=1) for level in levels])


class ContactMaker(Maker):
    """What the makers of contacts share."""

    contacts: tuple[Contact, ...]

    @property
    @abstractmethod
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the constraints as declared."""

    def _contact_name(self, kind: type[Contact], name: str | None) -> str:
        return name or f"{kind.kind}{len(self.contacts) + 1}"

    def _contact(self, kind: type[Contact], name: str | None, **given: object) -> Self:
        """Add a contact of this kind, each value read as its key says."""
        key = self._contact_name(kind, name)
        where = f"{kind.kind} '{key}'"
        if key in self.constraint_names or any(contact.name == key for contact in self.contacts):
            raise InputError(f"{where}: declared twice. Give each constraint its own name.")
        self.contacts += (make(kind, [key], kind.keys, given, self, where),)
        return self
