"""The contract of a load: one file states all its facts.

What it is called and which bodies it names, the keys of its file form and how it is written, its maker, its formulas, what it is
checked for, and the forces it exerts: each is paired with the velocity it works on, so that its power is F · (J q̇ + c).
Conservative loads also have a potential. Energy formalisms take the potential, the others the forces themselves: if one of the
two were wrong, the formalisms would disagree. `declared` and `actions` say the same a second time for the evidence, from
positions only: see `model/declared`. The two texts share no formula, or the evidence would be none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from dalembert.algebra import Algebra, Array, Scalar, vector
from dalembert.errors import InputError, Problem
from dalembert.expressions.numbers import written_out
from dalembert.expressions.writing import written
from dalembert.model.declared import Action, Watch, Work
from dalembert.model.file_form import Element, unless
from dalembert.model.joints.base import JointMotion
from dalembert.model.keys import Keys
from dalembert.model.making import Maker
from dalembert.model.vectors import WORLD, Formula, Vector3
from dalembert.spatial import cross
from dalembert.spatial.frames import Frame


@dataclass(frozen=True)
class Wrench:
    """A force at the mass centre of a body, in world axes, and a moment about it, in body axes."""

    body: str
    force: Array
    moment: Array


@dataclass(frozen=True)
class Applied:
    """A force and the Jacobian of the velocity it works on; `potential` is None when it has none.

    `wrenches` say the same body by body; they are empty for a torque inside a joint.
    """

    name: str
    force: Array
    J: Array
    potential: Scalar | None = None
    wrenches: tuple[Wrench, ...] = ()


@dataclass(frozen=True)
class Span:
    """The ends of a spring or damper whose force has no direction where they meet, and its natural length."""

    name: str
    kind: str
    ends: tuple[Array, Array]
    length: Scalar


class Motion(Protocol):
    """A model in motion over one algebra, as far as loads and contacts have to know it."""

    @property
    def algebra(self) -> Algebra:
        """What the scalars are."""
        ...

    @property
    def qd(self) -> Array:
        """The velocities q̇."""
        ...

    def frame(self, name: str) -> Frame:
        """The frame of a body, or of the world."""
        ...

    @property
    def lower(self) -> Callable[[Formula], Scalar]:
        """Makes a scalar of a formula."""
        ...

    def center(self, body: str) -> Array:
        """The mass centre of a body, in its axes."""
        ...

    def joint(self, body: str, joint: int, motion: int) -> JointMotion:
        """One motion of a joint."""
        ...


@dataclass(frozen=True)
class Load(ABC):
    """What pushes and pulls on a model."""

    kind: ClassVar[str]
    forms: ClassVar[Mapping[str, Keys]]  # the kinds of elements in a file that it can be read from, each with its keys
    constants: ClassVar[Mapping[str, Any]] = {}  # its constant formulas by name, each with its usual value
    words: ClassVar[Mapping[str, str]] = {}  # what a reader would call some of them
    drives: ClassVar[bool] = False  # True: a drive of its joint
    friction: ClassVar[bool] = False  # True: left out where friction is not asked for

    name: str

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"{self.kind} '{self.name}'"

    @property
    @abstractmethod
    def named(self) -> list[tuple[str, str]]:
        """The bodies it names, each with the key it stands under."""

    @property
    def on(self) -> str:
        """What it acts on, in words."""
        return " and ".join(name for key, name in self.named if key in ("body", "bodies"))

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Its formulas of coordinates, velocities or time; of its vectors those that stand under no key."""
        return tuple(entry for key, entries in self.vectors if not key for entry in entries)

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """The points it acts at, each with the body it is fixed on."""
        return []

    @property
    def vectors(self) -> list[tuple[str, Sequence[Formula]]]:
        """Its vectors of formulas, each with the key it stands under; the load itself stands under none."""
        return []

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """Every formula with its path."""
        for key in self.constants:
            yield f"{self.title}, {key}", getattr(self, key)
        for key, entries in self.vectors:
            path = f"{self.title}, {key}" if key else self.title
            yield from ((f"{path}[{i}]", entry) for i, entry in enumerate(entries))

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """What is wrong with its numbers, `table` holding a value of every symbol at the start."""
        return []

    @property
    def length(self) -> Formula | None:
        """A length among its constants, if there is one."""
        return None

    @property
    def stiff(self) -> Formula | None:
        """A stiffness among its constants, if there is one."""
        return None

    def element(self, parameters: set[str]) -> tuple[str, Element]:
        """Its kind and keys as they stand in a model file; `parameters` are the names of the model's parameters."""
        shown = ((key, written(getattr(self, key), self.title), usual) for key, usual in self.constants.items())
        return self.kind, {**self._place(), **{key: unless(value, usual) for key, value, usual in shown}}

    def _place(self) -> Element:
        """What it acts on, as it stands in a file."""
        return {}

    def law(self) -> tuple[str, str]:
        """What a reader would call it, and its law in words."""
        shown = ((self.words.get(key, key.replace("_", " ")), getattr(self, key)) for key in self.constants)
        return self.kind, ", ".join(f"{name} {written_out(formula)}" for name, formula in shown)

    @abstractmethod
    def applied(self, motion: Motion) -> list[Applied]:
        """The forces it exerts."""

    def span(self, motion: Motion) -> Span | None:
        """Its ends, if its force has no direction where they meet."""
        return None

    @abstractmethod
    def declared(self, watch: Watch) -> Work:
        """For the evidence: its virtual work, from positions only and by other formulas than `applied`."""

    def actions(self, watch: Watch) -> Iterator[Action]:
        """For the evidence: its forces and couples body by body; what acts inside a joint is part of what the joint transmits."""
        yield from ()


class LoadMaker(Maker):
    """What the makers of loads share."""

    loads: tuple[Load, ...]

    def _load_name(self, name: str | None, kind: str) -> str:
        key = name or f"{kind}{len(self.loads) + 1}"
        if any(load.name == key for load in self.loads):
            raise InputError(f"{kind} '{key}': declared twice. Give each load its own name.")
        return key

    def _load(self, load: Load) -> Self:
        self.loads += (load,)
        return self


def vector_of(motion: Motion, formulas: Sequence[Formula]) -> Array:
    """Formulas as a vector of scalars."""
    return vector([motion.lower(x) for x in formulas])


def at_point(motion: Motion, body: str, point: Array, force: Array) -> tuple[Wrench, ...]:
    """The wrench of a force (world axes) at a point of a body (body axes); the world needs none."""
    if body == WORLD:
        return ()
    return (Wrench(body, force, cross(point - motion.center(body), motion.frame(body).R.T @ force)),)
