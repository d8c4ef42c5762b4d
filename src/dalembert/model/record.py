"""Records of elements, and the model methods generated from them.

An element is a frozen dataclass. Each field that users set is an `argument`: its kind defines the values allowed in a file and
how they are read and written; the other options define defaults and documentation. The method, the file keys, the schema, the
form of the studio, the table of the documentation and the type stub are generated from the fields.

    @record
    class Damper(Between):
        kind = "damper"
        damping: Formula = argument(constant)

A record whose method does more than read its arguments has a separate function, marked with `builder_of`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from abc import ABC
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from dalembert.arguments import joined, sections, validate_arguments
from dalembert.errors import InputError
from dalembert.model.keys import (
    REQUIRED,
    Check,
    Element,
    Key,
    Keys,
    Value,
    ValueType,
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
Arguments = dict[str, Any]  # user arguments by field name
F = TypeVar("F", bound=Callable[..., object])
_WIDTH = 116  # of a generated docstring
_LINK = re.compile(r"\[([^]]+)\]\(#[^)]*\)")


def argument(
    kind: Check,
    method_default: object = REQUIRED,
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
    """Define a field that users set.

    Parameters
    ----------
    kind
        Allowed values, reading and writing.
    method_default
        Default value; without it the argument is required.
    saved
        The value that a file omits, if it is not `method_default`.
    required
        Whether a file must contain it, if that differs from the method.
    positional
        Whether it may be passed by position.
    motion, loop
        Joints only: whether it is a motion, which is free in a loop-closing joint, and whether such a joint has it.
    about, absent
        Its description and the description of its default, for the documentation.
    options
        Options of `dataclasses.field`.
    """
    key = Key(
        kind,
        required=(method_default is REQUIRED) if required is None else required,
        motion=motion,
        loop=loop,
        default_in_file=_as_lists(method_default) if saved is REQUIRED else saved,
        default=method_default,
        positional=positional,
        description=about,
        default_description=absent,
    )
    return field(metadata={"key": key}, **options)


def motion(kind: Check, *, about: str = "") -> Any:
    """Define a field of a joint with the formulas of one or several motions; None for the free motions of a loop."""
    return argument(kind, None, required=True, positional=True, motion=True, about=about)


def _as_lists(value: object) -> Any:
    if value is REQUIRED:
        return None
    return [_as_lists(each) for each in value] if isinstance(value, tuple) else value


@dataclass_transform(frozen_default=True, field_specifiers=(argument, motion, field))
def record(cls: type[T]) -> type[T]:
    """Create a frozen dataclass whose fields may be arguments."""
    return dataclass(frozen=True)(cls)


@dataclass(frozen=True)
class Builder:
    """A model method that builds an element, and the keys of its table in a file."""

    name: str
    function: Callable[..., object]
    keys: Keys | None  # None: it has no table in a file


class Record(ABC):
    """An element of a model."""

    kind: ClassVar[str]
    descriptions: ClassVar[Mapping[str, str]] = {}  # documentation of inherited arguments
    functions: ClassVar[dict[str, Builder]] = {}  # methods that are not generated: see `builder_of`
    generated: ClassVar[bool] = True  # False: built by methods of other records

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.functions = {}

    @classmethod
    def arguments(cls) -> Keys:
        """The fields that users set in the order of the method: positional ones, its own, inherited ones."""
        return _arguments(cls)

    @classmethod
    def keys(cls) -> Keys:
        """The keys of its fields in a file, the name first."""
        return _keys(cls)

    @classmethod
    def builders(cls) -> dict[str, Builder]:
        """The methods that build it, by name."""
        own = {cls.kind: _generate_method(cls)} if cls.generated and cls.kind not in cls.functions else {}
        return {**own, **cls.functions}

    @classmethod
    def forms(cls) -> dict[str, Keys]:
        """The file tables that it can be read from, each with its keys."""
        return {name: each.keys for name, each in cls.builders().items() if each.keys is not None}

    @classmethod
    def returns(cls) -> str:
        """The return annotation of its method."""
        return "Self"

    @classmethod
    def more_parameters(cls) -> list[inspect.Parameter]:
        """Parameters of its method that are not fields."""
        return []

    @classmethod
    def build(cls, model: Model, **arguments: Any) -> object:
        """Build it from user arguments, and add it to the model if it is a separate element."""
        raise NotImplementedError

    @classmethod
    def complete_arguments(cls, model: Model, arguments: Arguments, where: str) -> Arguments:
        """Complete the arguments with defaults that depend on others; raise if they are inconsistent."""
        return arguments

    @classmethod
    def read(cls, model: Model, arguments: Mapping[str, object], where: str) -> Self:
        """Create the record from user arguments, each read by its kind; messages begin with `where`."""
        known = _arguments(cls)
        values = dict(arguments)
        for key, value in cls.complete_arguments(model, dict(arguments), where).items():
            if (about := known.get(key)) is not None and key != "name":
                path = where if about.kind.unnamed else f"{where}, {key}"
                values[key] = about.kind.read(model, value, path)
        return cls(**values)


class Named(Record):
    """A named element that a model stores with the others of its family."""

    family: ClassVar[str]  # name of the family in messages
    model_attribute: ClassVar[str]  # attribute of the model that stores the family
    numbered: ClassVar[bool] = True  # False: the name is required

    name: str

    @classmethod
    def build(cls, model: Model, **arguments: object) -> Model:
        """Add it to the model; without a name it is numbered."""
        earlier = getattr(model, cls.model_attribute)
        name = arguments.pop("name")
        if cls.numbered:
            name = name or f"{cls.kind}{len(earlier) + 1}"
        where = f"{cls.kind} '{name}'"
        if name in cls.used_names(model):
            raise InputError(f"{where}: declared twice. Give each {cls.family} a unique name.")
        setattr(model, cls.model_attribute, (*earlier, cls.read(model, {"name": name, **arguments}, where)))
        return model

    @classmethod
    def used_names(cls, model: Model) -> Collection[str]:
        """The names already in use."""
        return {each.name for each in getattr(model, cls.model_attribute)}

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{self.kind} '{self.name}'"

    @property
    def referenced_bodies(self) -> list[tuple[str, str]]:
        """The bodies it refers to, each with its key."""
        found = [(key, value) for kind in (body_name, two_bodies, several_bodies) for key, value in self._of(kind)]
        return [(key, name) for key, names in found for name in ([names] if isinstance(names, str) else names or ())]

    @property
    def characteristic_length(self) -> Formula | None:
        """A length among its constants, if there is one."""
        return next((value for _, value in self._of(constant_length)), None)

    def _of(self, kind: ValueType) -> list[tuple[str, Any]]:
        """The fields of a kind."""
        return [(key, getattr(self, key)) for key, about in self.keys().items() if about.kind is kind]

    def element(self, parameters: set[str]) -> tuple[str, Element]:
        """Its kind and keys in a model file; `parameters` are the names of the model parameters."""
        return self.kind, entries(self, self.keys(), self.title)


@cache
def _arguments(cls: type[Record]) -> Keys:
    known: dict[str, Key] = {x.name: x.metadata["key"] for x in fields(cls) if "key" in x.metadata}  # type: ignore[arg-type]
    own = dict.fromkeys(name for base in cls.__mro__ for name in inspect.get_annotations(base) if name in known)
    known |= {name: replace(known[name], description=about) for name, about in cls.descriptions.items()}
    first = [name for name in known if known[name].positional and known[name].default is REQUIRED]
    first += [name for name in own if known[name].positional and known[name].default is not REQUIRED]
    others = sorted(own, key=lambda name: name == "name")
    return {name: known[name] for name in dict.fromkeys((*first, *others))}


@cache
def _keys(cls: type[Record]) -> Keys:
    known = _arguments(cls)
    return {key: known[key] for key in sorted(known, key=lambda key: key != "name")}


@cache
def _generate_method(cls: type[Record]) -> Builder:
    """Generate the method of a record, with its signature and docstring."""

    def method(self: Model, **arguments: object) -> object:
        return cls.build(self, **arguments)

    method.__name__ = cls.kind
    method.__qualname__, method.__module__ = f"Model.{cls.kind}", cls.__module__
    method.__doc__ = _docstring(cls)
    method.__signature__ = signature_of(cls)  # type: ignore[attr-defined]
    return Builder(cls.kind, validate_arguments(method, by_name=True), cls.keys())


def signature_of(cls: type[Record]) -> inspect.Signature:
    """The signature of the method that builds a record."""
    parts = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name, key in cls.arguments().items():
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if key.positional else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if key.default is REQUIRED else key.default
        parts.append(inspect.Parameter(name, kind, default=default, annotation=key.annotation))
    return inspect.Signature([*parts, *cls.more_parameters()], return_annotation=cls.returns())


def _docstring(cls: type[Record]) -> str:
    """The docstring of a record with its parameters."""
    described = [(name, key) for name, key in cls.arguments().items() if key.description]
    if not described:
        return cls.__doc__ or ""
    plain = {
        name: _LINK.sub(r"\1", key.description) for name, key in described
    }  # the links lead to the page on model files
    entries = [
        f"{name} : {key.annotation}\n" + textwrap.indent(textwrap.fill(plain[name], _WIDTH), "    ")
        for name, key in described
    ]
    return joined({**sections(cls.__doc__ or ""), "Parameters": "\n".join(entries)})


def builder_of(kind: type[Record], keys: Keys | None = None, *, in_files: bool = True) -> Callable[[F], F]:
    """Register a function as the model method that builds records of a kind.

    `keys` are those of its table in a file, by default the record's; without `in_files` it has no table.
    """

    def mark(function: F) -> F:
        name = function.__name__
        known = kind.keys() if keys is None else keys
        kind.functions[name] = Builder(name, validate_arguments(function), known if in_files else None)
        return function

    return mark


def builders(records: Iterable[type[Record]]) -> dict[str, Builder]:
    """The methods that build these records, by name."""
    return {name: builder for each in records for name, builder in each.builders().items()}
