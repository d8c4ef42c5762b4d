"""Records of elements, and the methods of a model that are generated from them.

An element is one frozen dataclass. Each field that users give is an `argument`: its kind says what a file may hold, what the
model reads it as and how it is written back, and the rest says what it is where nothing is given. Method, file keys, schema,
form of the studio, table of the documentation and type stub all come from the fields.

    @record
    class Damper(Between):
        kind = "damper"
        damping: Formula = argument(constant)

A record whose method does more than read its arguments has a function beside it, marked by `builds`.
"""

from __future__ import annotations

import inspect
import textwrap
from abc import ABC
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from dalembert.arguments import checked
from dalembert.errors import InputError
from dalembert.model.file_form import Element, Value
from dalembert.model.keys import (
    REQUIRED,
    Check,
    Key,
    Keys,
    Kind,
    body_name,
    constant_length,
    entries,
    several_bodies,
    two_bodies,
)
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.model import Model

T = TypeVar("T")
Arguments = dict[str, Any]  # what a user gave, by the names of the fields
F = TypeVar("F", bound=Callable[..., object])
_WIDTH = 116  # of a generated docstring


def argument(
    kind: Check,
    usual: object = REQUIRED,
    *,
    saved: Value | None = REQUIRED,
    required: bool | None = None,
    positional: bool = False,
    motion: bool = False,
    loop: bool = True,
    about: str = "",
    absent: str = "",
    **options: Any,
) -> Any:
    """A field that users give.

    Parameters
    ----------
    kind
        What it may hold, how it is read and how it is written.
    usual
        What it is where nothing is given; without it the argument is required.
    saved
        What a file leaves out, where that is not `usual`.
    required
        Whether a file has to hold it, where that is not as for the method.
    positional
        Whether it may be given without its name.
    motion, loop
        Of joints: whether it is a motion, which is free in a joint that closes a loop, and whether such a joint has it.
    about, absent
        What it is, and what it is where it is left out, for the documentation.
    options
        Options of `dataclasses.field`.
    """
    key = Key(
        kind,
        required=(usual is REQUIRED) if required is None else required,
        motion=motion,
        loop=loop,
        usual=_listed(usual) if saved is REQUIRED else saved,
        default=usual,
        positional=positional,
        about=about,
        absent=absent,
    )
    return field(metadata={"key": key}, **options)


def motion(kind: Check, *, about: str = "") -> Any:
    """A field of a joint: the formulas of one motion or several, free where nothing is given, as in a loop."""
    return argument(kind, None, required=True, positional=True, motion=True, about=about)


def _listed(value: object) -> Any:
    if value is REQUIRED:
        return None
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


@dataclass_transform(frozen_default=True, field_specifiers=(argument, motion, field))
def record(cls: type[T]) -> type[T]:
    """A frozen dataclass, whose fields may be arguments."""
    return dataclass(frozen=True)(cls)


@dataclass(frozen=True)
class Builder:
    """A method of a model that makes an element, and the keys that its table in a file has."""

    name: str
    function: Callable[..., object]
    keys: Keys | None  # None: it has no table in a file


class Record(ABC):
    """An element of a model."""

    kind: ClassVar[str]
    sentences: ClassVar[Mapping[str, str]] = {}  # what the documentation says of arguments that it inherits
    functions: ClassVar[dict[str, Builder]] = {}  # written by hand: see `builds`
    generated: ClassVar[bool] = True  # False: other records' methods make it

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.functions = {}

    @classmethod
    def arguments(cls) -> Keys:
        """The fields that users give, in the order of the method: what needs no name, its own, those it inherits."""
        return _arguments(cls)

    @classmethod
    def keys(cls) -> Keys:
        """The keys of its fields as they stand in a file, the name first."""
        return _keys(cls)

    @classmethod
    def builders(cls) -> dict[str, Builder]:
        """The methods that make it, by name."""
        own = {cls.kind: _generated(cls)} if cls.generated and cls.kind not in cls.functions else {}
        return {**own, **cls.functions}

    @classmethod
    def forms(cls) -> dict[str, Keys]:
        """The tables of a file that it can be read from, each with its keys."""
        return {name: each.keys for name, each in cls.builders().items() if each.keys is not None}

    @classmethod
    def returns(cls) -> str:
        """The annotation of what its method returns."""
        return "Self"

    @classmethod
    def more_parameters(cls) -> list[inspect.Parameter]:
        """Parameters of its method that are no fields."""
        return []

    @classmethod
    def build(cls, model: Model, **given: Any) -> object:
        """Make it of what a user gave; add it to the model where it is an element of its own."""
        raise NotImplementedError

    @classmethod
    def completed(cls, model: Model, given: Arguments, where: str) -> Arguments:
        """What a user gave, with values that depend on others; raises where they do not fit together."""
        return given

    @classmethod
    def read(cls, model: Model, given: Mapping[str, object], where: str) -> Self:
        """The record of what a user gave, each value read as its kind says; `where` begins messages."""
        known = _arguments(cls)
        values = dict(given)
        for key, value in cls.completed(model, dict(given), where).items():
            if (about := known.get(key)) is not None and key != "name":
                path = where if about.kind.alone else f"{where}, {key}"
                values[key] = about.kind.read(model, value, path)
        return cls(**values)


class Named(Record):
    """An element with a name of its own, which a model holds among others of its family."""

    family: ClassVar[str]  # what messages call the others
    stored: ClassVar[str]  # the attribute of the model that holds them
    numbered: ClassVar[bool] = True  # False: users must name it

    name: str

    @classmethod
    def build(cls, model: Model, **given: object) -> Model:
        """Add it to the model, numbered where it has no name."""
        earlier = getattr(model, cls.stored)
        name = given.pop("name")
        if cls.numbered:
            name = name or f"{cls.kind}{len(earlier) + 1}"
        where = f"{cls.kind} '{name}'"
        if name in cls.taken(model):
            raise InputError(f"{where}: declared twice. Give each {cls.family} its own name.")
        setattr(model, cls.stored, (*earlier, cls.read(model, {"name": name, **given}, where)))
        return model

    @classmethod
    def taken(cls, model: Model) -> Collection[str]:
        """The names that a new one may not have."""
        return {each.name for each in getattr(model, cls.stored)}

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"{self.kind} '{self.name}'"

    @property
    def named(self) -> list[tuple[str, str]]:
        """The bodies it names, each with the key it stands under."""
        found = [(key, value) for kind in (body_name, two_bodies, several_bodies) for key, value in self._of(kind)]
        return [(key, name) for key, names in found for name in ([names] if isinstance(names, str) else names or ())]

    @property
    def characteristic_length(self) -> Formula | None:
        """A length among its constants, if there is one."""
        return next((value for _, value in self._of(constant_length)), None)

    def _of(self, kind: Kind) -> list[tuple[str, Any]]:
        """The fields of a kind."""
        return [(key, getattr(self, key)) for key, about in self.keys().items() if about.kind is kind]

    def element(self, parameters: set[str]) -> tuple[str, Element]:
        """Its kind and keys as they stand in a model file; `parameters` are the names of the model's parameters."""
        return self.kind, entries(self, self.keys(), self.title)


@cache
def _arguments(cls: type[Record]) -> Keys:
    known: dict[str, Key] = {x.name: x.metadata["key"] for x in fields(cls) if "key" in x.metadata}  # type: ignore[arg-type]
    own = dict.fromkeys(name for base in cls.__mro__ for name in inspect.get_annotations(base) if name in known)
    known |= {name: replace(known[name], about=said) for name, said in cls.sentences.items()}
    places = [name for name in known if known[name].positional and known[name].default is REQUIRED]
    places += [name for name in own if known[name].positional and known[name].default is not REQUIRED]
    others = sorted(own, key=lambda name: name == "name")
    return {name: known[name] for name in dict.fromkeys((*places, *others))}


@cache
def _keys(cls: type[Record]) -> Keys:
    known = _arguments(cls)
    return {key: known[key] for key in sorted(known, key=lambda key: key != "name")}


@cache
def _generated(cls: type[Record]) -> Builder:
    """The method of a record, with a signature and a docstring of its own."""

    def method(self: Model, **given: object) -> object:
        return cls.build(self, **given)

    method.__name__ = cls.kind
    method.__qualname__, method.__module__ = f"Model.{cls.kind}", cls.__module__
    method.__doc__ = _documented(cls)
    method.__signature__ = signature_of(cls)  # type: ignore[attr-defined]
    return Builder(cls.kind, checked(method, by_name=True), cls.keys())


def signature_of(cls: type[Record]) -> inspect.Signature:
    """The signature of the method that makes a record."""
    parts = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name, key in cls.arguments().items():
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if key.positional else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if key.default is REQUIRED else key.default
        parts.append(inspect.Parameter(name, kind, default=default, annotation=key.annotation))
    return inspect.Signature([*parts, *cls.more_parameters()], return_annotation=cls.returns())


def _documented(cls: type[Record]) -> str:
    """The docstring of a record, and what each argument is."""
    said = [(name, key) for name, key in cls.arguments().items() if key.about]
    if not said:
        return cls.__doc__ or ""
    lines = ["", "Parameters", "----------"]
    for name, key in said:
        lines += [f"{name} : {key.annotation}", *textwrap.indent(textwrap.fill(key.about, _WIDTH), "    ").splitlines()]
    return inspect.cleandoc(cls.__doc__ or "") + "\n" + "\n".join(lines) + "\n"


def builds(kind: type[Record], keys: Keys | None = None, *, in_files: bool = True) -> Callable[[F], F]:
    """Mark a function as the method of a model that makes records of a kind.

    `keys` are those of its table in a file, where they are not the record's; without `in_files` it has no such table.
    """

    def mark(function: F) -> F:
        name = function.__name__
        known = kind.keys() if keys is None else keys
        kind.functions[name] = Builder(name, checked(function), known if in_files else None)
        return function

    return mark


def builders(records: Iterable[type[Record]]) -> dict[str, Builder]:
    """The methods that make these records, by name."""
    return {name: builder for each in records for name, builder in each.builders().items()}
