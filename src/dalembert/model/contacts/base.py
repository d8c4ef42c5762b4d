"""The contract of a contact: one file states all its facts.

A contact names a body and becomes constraints before anything else happens: `formulas` reads them off the motion of the body.
`pushes` says where the forces of these constraints act. `declared` says for the evidence, from positions only and by other
formulas, what the contact forbids: see `model/declared`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from dalembert.algebra import Array, Scalar
from dalembert.errors import InputError
from dalembert.model.declared import Condition, Watch
from dalembert.model.file_form import Element
from dalembert.model.keys import Keys, constant_length, entries, first_of, make
from dalembert.model.loads.base import Motion
from dalembert.model.making import Maker
from dalembert.model.vectors import Formula

Formulas = Mapping[str, Scalar]


@dataclass(frozen=True)
class Contact(ABC):
    """What ties a body to the ground without a joint."""

    kind: ClassVar[str]
    keys: ClassVar[Keys]  # the keys of its file form

    name: str
    body: str

    @property
    def length(self) -> Formula | None:
        """A length among its constants, if there is one."""
        return first_of(self, self.keys, constant_length)

    def element(self) -> Element:
        """Its keys as they stand in a model file."""
        return entries(self, self.keys, f"contact '{self.name}'")

    @abstractmethod
    def formulas(self, motion: Motion) -> tuple[Formulas, Formulas]:
        """The constraints on positions and on velocities that it makes, by name: each vanishes."""

    @abstractmethod
    def pushes(self, motion: Motion) -> dict[str, tuple[Array, Array]]:
        """Constraint by constraint: the direction of its force on the body and the point, both in world axes."""

    @abstractmethod
    def declared(self, watch: Watch) -> Iterator[Condition]:
        """For the evidence: what must vanish, from positions only and by other formulas."""


class ContactMaker(Maker):
    """What the makers of contacts share."""

    contacts: tuple[Contact, ...]

    @property
    @abstractmethod
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the constraints as declared."""

    def _contact(self, kind: type[Contact], name: str | None, **given: object) -> Self:
        """Add a contact of this kind, each value read as its key says."""
        key = name or f"{kind.kind}{len(self.contacts) + 1}"
        where = f"{kind.kind} '{key}'"
        if key in self.constraint_names or any(contact.name == key for contact in self.contacts):
            raise InputError(f"{where}: declared twice. Give each constraint its own name.")
        self.contacts += (make(kind, [key], kind.keys, given, self, where),)
        return self
