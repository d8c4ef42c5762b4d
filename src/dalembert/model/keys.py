"""Kinds of values of the keys in a model file, and how elements are written to it. Each element defines its keys with them.

A kind defines the values allowed in a file, how the model reads them, and how they are written back. The model itself reads
formulas, so a file supports exactly what the Python interface supports. No schema library is used, since none reads formulas
or suggests the nearest name for a mistyped one.

A key with its default value is omitted. Formulas become strings that the parser reads back to the same formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

from dalembert.errors import InputError, Problem, suggest_name
from dalembert.model.values import (
    MAX_NAME,
    is_name,
    is_printable,
    is_sequence,
    motion,
    motions,
    names_of,
    pair,
    points,
    read_indices,
    unit_vector,
    vector3,
)
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.parser import parse
from dalembert.symbolic.surds import Component, Surd
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements


Value: TypeAlias = "str | float | Sequence[Value] | Mapping[str, Value]"
Element: TypeAlias = "Mapping[str, Value | None]"
ORIGIN = [0, 0, 0]


@dataclass(frozen=True)
class Urdf:
    """The URDF form of a joint: its type, its coordinates with their units, and the type without limits if it differs.

    The URDF reader names the coordinates of a joint with several motions by the joint and the motion.
    """

    type: str
    coordinates: Mapping[str, str]
    unlimited: str | None = None


def unsupported_in_urdf(
    what: str, fact: str, instead: str = "Export the model to TOML, which supports all elements."
) -> InputError:
    """The error for an element that URDF does not support."""
    return InputError(f"{what}: {fact}. {instead}")


def vector(formulas: Iterable[Formula], where: str) -> list[int | float | str]:
    """A vector of formulas."""
    return [write_formula(formula, where) for formula in formulas]


def placement_entries(position: Iterable[Formula], rotation: Iterable[Formula], where: str) -> Element:
    """Position and rotation, omitted if they are zero."""
    at, angles = vector(position, where), vector(rotation, where)
    return {"position": omit_default(at, ORIGIN), "rotation": omit_default(angles, ORIGIN)}


def _integer_direction(axis: Sequence[Component]) -> list[int] | None:
    """Integers exactly along the axis; None if they would be too large."""
    terms = [a.terms if isinstance(a, Surd) else {1: Fraction(a)} if a else {} for a in axis]
    radicands = {r for each in terms for r in each}
    if len(radicands) != 1:
        return None
    (r,) = radicands
    parts = [each.get(r, Fraction(0)) for each in terms]
    scale = math.lcm(*(x.denominator for x in parts))
    shared = math.gcd(*(int(x * scale) for x in parts))
    integers = [int(x * scale) // shared for x in parts]
    return integers if max(map(abs, integers)) < 2**63 else None


def short_direction(axis: Sequence[Component]) -> Sequence[float]:
    """A vector along the axis that is read back as this unit vector, with small numbers if possible."""
    if (integers := _integer_direction(axis)) is not None:
        return integers
    near = [float(a) for a in axis]
    sizes = sorted(abs(a) for a in near if a)
    for scale in (sizes[0], 1.0, sizes[-1]):
        trial = [int(a / scale) if (a / scale).is_integer() else a / scale for a in near]
        if sizes[-1] < 1e6 * scale and [float(a) for a in unit_vector(trial, "axis")] == near:
            return trial
    return near


def omit_default(value: Value | None, default: Value | None) -> Value | None:
    """The value, or None if it equals the default exactly."""
    return None if _same(value, default) else value


def _same(a: object, b: object) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and a == b


def without_none(entries: Element) -> dict[str, Value]:
    """The entries without None values."""
    return {key: value for key, value in entries.items() if value is not None}


MAX_ELEMENTS = 2000
MAX_FILE_ROWS = 100_000  # of a table; the limit of the file size is usually reached first
MAX_SAMPLES = 1_000_000

REQUIRED: Any = object()  # marks a required value
Check: TypeAlias = "Callable[[object, str, Elements], Iterator[Problem]]"  # yields the problems of one value in a file


@dataclass(frozen=True, eq=False)
class ValueType:
    """A kind of value: its check in a file, how a model reads it, and how it is written back (default: unchanged).

    Elements have at most one value of a kind with `unnamed`, so messages omit its key. `argument` is the annotation of an
    argument of this kind.
    """

    check: Check
    read: Callable[[Elements, Any, str], object] = lambda model, value, where: value
    write: Callable[[Any, str], Value] = lambda value, where: value
    unnamed: bool = False
    argument: str = "Written"

    def __call__(self, value: object, where: str, model: Elements) -> Iterator[Problem]:
        """The problems of a value."""
        return self.check(value, where, model)


@dataclass(frozen=True)
class Key:
    """One key of an element: its kind, and whether it is required; a file omits it if it has the `default_in_file` value.

    The motions of a joint (`motion`) may be omitted in a loop-closing joint, and some keys are not allowed there (`loop`).
    `default` is the default argument of the method, and `positional` whether it may be passed by position. `description` and
    `default_description` are the descriptions of the key and of its default in the documentation.
    """

    check: Check
    required: bool = False
    motion: bool = False
    loop: bool = True
    default_in_file: Value | None = None
    default: Any = None
    positional: bool = False
    description: str = ""
    default_description: str = ""

    @property
    def kind(self) -> ValueType:
        """The kind of its values."""
        return self.check if isinstance(self.check, ValueType) else ValueType(self.check)

    @property
    def annotation(self) -> str:
        """The annotation of its argument."""
        plain = self.kind.argument
        return f"{plain} | None" if self.default is None and not plain.endswith("| None") else plain


Keys = Mapping[str, Key]


def entries(element: object, keys: Keys, where: str, **instead: Element) -> dict[str, Value | None]:
    """The fields of an element in a file, with some replaced by `instead`; None for omitted keys."""
    out: dict[str, Value | None] = {}
    for key, about in keys.items():
        value = getattr(element, key)
        entry = (
            None
            if value is None or key in instead
            else omit_default(about.kind.write(value, where), about.default_in_file)
        )
        out |= instead.get(key, {key: entry})
    return out


def table(element: object, keys: Keys, where: str, model: Elements) -> Iterator[Problem]:
    """The problems of an element: unknown keys, missing keys and invalid values."""
    if not isinstance(element, dict):
        yield invalid_value(where, f"a table with the keys {', '.join(keys)}", element)
        return
    for key, value in element.items():
        if key not in keys:
            yield Problem(where, f"there is no key {quote(key)} here.", suggest_name(key[:MAX_NAME], keys))
        else:
            yield from keys[key].check(value, f"{where}, {key}", model)
    for key, about in keys.items():
        if about.required and key not in element:
            yield Problem(where, f"the key '{key}' is missing.", f"Add a line {key} = ... to it.")


def satisfying(fits: Callable[[object], bool], expected: str, argument: str) -> ValueType:
    """A value that satisfies a predicate."""
    return ValueType(
        lambda value, where, model: iter(() if fits(value) else [invalid_value(where, expected, value)]),
        argument=argument,
    )


def readable(expected: str, read: Callable[[Elements, str | float, str], object]) -> Check:
    """A number or string that can be read as a formula."""

    def check(value: object, where: str, model: Elements) -> Iterator[Problem]:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            yield invalid_value(where, expected, value)
        elif not (isinstance(value, float) and isfinite(value)):
            yield from problem_of(where, lambda: read(model, value, where))

    return check


def formula(*, rates: bool = True, constant: bool = False) -> Check:
    """A number or a formula in quotation marks."""
    return readable(
        "a number or a formula in quotation marks",
        lambda model, value, where: model.formula(value, where, rates=rates, constant=constant),
    )


def optional(kind: ValueType) -> ValueType:
    """A value of this kind, or none."""
    return replace(kind, read=lambda model, x, where: None if x is None else kind.read(model, x, where))


def _entries(each: Check, min_length: int, max_length: int, expected: str) -> Check:
    """An array with bounds on its length, checked entry by entry."""

    def check(value: object, where: str, model: Elements) -> Iterator[Problem]:
        if not isinstance(value, list) or not min_length <= len(value) <= max_length:
            yield invalid_value(where, expected, value)
            return
        for i, entry in enumerate(value):
            yield from each(entry, f"{where}[{i}]", model)

    return check


def array(count: int, each: Check, what: str) -> Check:
    """An array with `count` entries."""
    return _entries(each, count, count, f"an array of {count} {what}")


def many(each: Check, what: str, max_length: int = MAX_ELEMENTS) -> Check:
    """An array with a bound on its length."""
    return _entries(each, 1, max_length, f"an array of 1 to {max_length} {what}")


def moves(count: int, what: str = "formulas") -> ValueType:
    """The formulas of several motions of a joint."""
    check = array(count, position, what)
    return ValueType(check, lambda model, x, where: motions(model, x, count, where), vector, argument="ArrayInput")


def _string(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """A string without control characters, which could corrupt a terminal."""
    if not isinstance(value, str):
        yield invalid_value(where, "a string in quotation marks", value)
    elif not is_printable(value):
        yield invalid_value(where, "a string without control characters", value)


def limit(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """The largest magnitude, or the lower and the upper limit."""
    both = array(2, constant, "numbers or formulas (lowest, highest)")
    return (both if isinstance(value, list) else constant)(value, where, model)


def inertia(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """Three principal moments, six entries, or a 3×3 matrix."""
    if isinstance(value, list) and len(value) == 3 and all(isinstance(row, list) for row in value):
        yield from array(3, fixed_vector, "rows")(value, where, model)
    elif isinstance(value, list) and len(value) in (3, 6):
        yield from array(len(value), constant, "numbers or formulas")(value, where, model)
    else:
        yield invalid_value(where, "3 moments, 6 entries (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or 3 rows of 3", value)


def number(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """A number, no formula."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return constant(value, where, model) if is_number else iter([invalid_value(where, "a number", value)])


string = ValueType(_string, argument="str")
name = satisfying(is_name, f"a name in quotation marks, of 1 to {MAX_NAME} characters", "str")
integer = satisfying(
    lambda x: isinstance(x, int) and not isinstance(x, bool) and 0 <= x <= MAX_SAMPLES,
    f"an integer from 0 to {MAX_SAMPLES}",
    "int",
)
switch = satisfying(lambda x: isinstance(x, bool), "true or false", "bool")
# of coordinates, time and momenta p(x)
of_momenta = readable("a formula in quotation marks", lambda model, x, where: model.formula(x, where, momenta=True))
of_time = readable(
    "a number or a formula of the time t in quotation marks",
    lambda model, x, where: parse(x, coordinates=(), parameters=model.parameter_values, where=where, rates=False),
)

constant = ValueType(formula(constant=True), lambda model, x, where: model.reader.constant(x, where), write_formula)
constant_length, constant_stiffness = replace(constant), replace(constant)
CONSTANTS = (constant, constant_length, constant_stiffness)
size = ValueType(constant.check, lambda model, x, where: model.number(x, where), argument="float | str")
position = ValueType(formula(rates=False), motion, write_formula)
moving = ValueType(formula(), lambda model, x, where: model.reader.read(x, where), write_formula, unnamed=True)
direction = ValueType(
    array(3, number, "numbers"),
    lambda model, x, where: unit_vector(x, where),
    lambda x, where: short_direction(x),
    unnamed=True,
    argument="ArrayInput",
)
fixed_vector = ValueType(
    array(3, constant, "numbers or formulas"),
    lambda model, x, where: vector3(model.reader.constant, x, where),
    vector,
    argument="ArrayInput",
)
moving_vector = ValueType(
    array(3, moving, "numbers or formulas"),
    lambda model, x, where: vector3(model.reader.read, x, where),
    vector,
    unnamed=True,
    argument="ArrayInput",
)
optional_point = optional(fixed_vector)
two_points = ValueType(
    array(2, fixed_vector, "points"),
    points,
    lambda x, where: [vector(p, where) for p in x],
    argument="ArrayInput",
)
body_name = replace(name)
two_bodies = ValueType(
    array(2, name, "names of bodies"),
    lambda model, x, where: pair(x, where),
    lambda x, where: list(x),
    unnamed=True,
    argument="tuple[str, str]",
)
several_bodies = ValueType(
    many(name, "names of bodies"),
    lambda model, x, where: names_of(x, where),
    lambda x, where: list(x),
    unnamed=True,
    argument="Sequence[str]",
)
index_list = ValueType(
    many(integer, "integers"),
    lambda model, x, where: read_indices(x, where),
    lambda x, where: list(x),
    argument="ArrayInput",
)  # indices of joints of bodies, or of motions of joints; empty if all are 0

Pair = tuple[Formula, Formula]
optional_constant = optional(constant)


def one_or_two(first: str, second: str) -> ValueType:
    """One constant for both, or one for each; None if there is none."""
    both = array(2, constant, f"numbers or formulas ({first}, {second})")

    def read(model: Elements, entry: object, where: str) -> Pair | None:
        if entry is None:
            return None
        values = list(entry) if is_sequence(entry) else [entry]
        if len(values) > 2:
            raise InputError(f"{where}: got {len(values)} values. Expected one for both, or two: ({first}, {second}).")
        known = [model.reader.constant(x, where) for x in values]
        return known[0], known[-1]

    return ValueType(
        lambda value, where, model: (both if isinstance(value, list) else constant)(value, where, model),
        read,
        lambda pair, where: write_formula(pair[0], where) if pair[0] == pair[1] else vector(pair, where),
        argument="Written | ArrayInput",
    )


def problem_of(where: str, work: Callable[[], object]) -> Iterator[Problem]:
    """The problem of an error that `work` raises, without a repeated path."""
    try:
        work()
    except InputError as error:
        message = str(error)
        fact = message.removeprefix(where).lstrip(",: ") if message.startswith(where) else message
        yield Problem(where, fact)


def invalid_value(where: str, expected: str, got: object) -> Problem:
    """The problem of an invalid value of a key."""
    return Problem(where, f"got {_described(got)}.", f"Expected {expected}.")


def quote(string: str) -> str:
    """The string in quotation marks, shortened and printable."""
    return repr(string if len(string) <= 60 else string[:57] + "...")


def _described(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f"the string {quote(value)}"
        case int() | float():
            digits = str(value) if isinstance(value, float) or abs(value) < 10**20 else "an integer of many digits"
            return f"the number {digits}" if digits[0] != "a" else digits
        case list():
            return f"an array of {len(value)}"
        case dict():
            return "a table"
        case _:
            return f"a {type(value).__name__}"
