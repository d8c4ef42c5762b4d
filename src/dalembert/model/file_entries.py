"""Writing of elements to a model file: numbers, strings, arrays and tables.

A key with its default value is omitted. Formulas become strings that the parser reads back to the same formula.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dalembert.errors import InputError
from dalembert.model.values import unit_vector
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.surds import Component, Surd
from dalembert.symbolic.symbols import Formula

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


def direction(axis: Sequence[Component]) -> Sequence[float]:
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
