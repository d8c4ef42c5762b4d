"""Values as users write them, and how they are read: names, numbers, vectors, axes and pairs of bodies."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from dalembert.arguments import shown
from dalembert.errors import InputError
from dalembert.symbolic.operations import exact
from dalembert.symbolic.surds import Component, unit
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    import sympy

    from dalembert.model.description import Elements

Name: TypeAlias = "str | sympy.Basic"  # of a parameter or coordinate: text, or the symbol it was declared by

Values = Mapping[Any, float | str]  # of parameters, by name or symbol
Vector3 = tuple[Formula, Formula, Formula]
Matrix3 = tuple[Vector3, Vector3, Vector3]
TwoPoints = tuple[Vector3, Vector3]
UnitVector = tuple[Component, Component, Component]  # exact to its square roots

WORLD = "world"
# values in a row as users write them: numbers, text or SymPy, in a list, tuple or array
Given: TypeAlias = "Sequence[Written | Given] | np.ndarray"
ZERO = (0, 0, 0)


def row_of(values: object, where: str, expected: str) -> list[Written]:
    """The values in a row, such as a list or an array holds them."""
    if not several(values):
        raise InputError(f"{where}: got {shown(values)}. Expected {expected}.")
    return list(values)


def several(values: object, count: int | None = None) -> TypeGuard[Sequence[Written]]:
    """Whether these are values in a row, and as many as `count` says; text is not."""
    if isinstance(values, Sequence) or (isinstance(values, np.ndarray) and np.ndim(values)):
        return not isinstance(values, str | bytes) and count in (None, len(values))
    return False


def vector3(read: Callable[[Written, str], Formula], values: object, where: str) -> Vector3:
    """Three components, each read as a formula."""
    if not several(values, 3):
        raise InputError(f"{where}: got {shown(values)}. Expected 3 components.")
    x, y, z = (read(v, f"{where}[{i}]") for i, v in enumerate(values))
    return (x, y, z)


def motions(model: Elements, formulas: object, count: int, where: str) -> tuple[Formula | None, ...]:
    """Motions of a joint; None where they are free, as in a joint that closes a loop."""
    if formulas is None:
        return (None,) * count
    if not several(formulas, count):
        raise InputError(f"{where}: got {shown(formulas)}. Expected {count} formulas.")
    return tuple(motion(model, formula, f"{where}[{i}]") for i, formula in enumerate(formulas))


def motion(model: Elements, formula: object, where: str) -> Formula | None:
    """A motion of a joint; None where it is free."""
    return None if formula is None else model.reader.read(formula, where, rates=False)


def points(model: Elements, given: object, where: str) -> TwoPoints:
    """Two points, one on each of two bodies."""
    if not several(given, 2):
        count = len(given) if several(given) else repr(given)
        raise InputError(f"{where}: got {count}. Expected 2 points, one on each body.")
    first, second = (vector3(model.reader.constant, p, f"{where}[{i}]") for i, p in enumerate(given))
    return first, second


def quarter_turns(angles: object) -> object:
    """The angles, those that are multiples of π/2 as near as doubles can be written with π, so that zeros stay exact."""
    return tuple(map(_quarter_turn, angles)) if several(angles) else angles


def _quarter_turn(angle: Written) -> Written:
    if isinstance(angle, float) and angle and math.isfinite(angle):
        quarters = round(angle / (math.pi / 2))
        if quarters and abs(angle - quarters * math.pi / 2) <= 1e-15 * abs(quarters):
            return f"{quarters}*pi/2"
    return angle


def unit_vector(axis: object, where: str) -> UnitVector:
    """A unit vector along `axis`, exact to its square roots; whole components stay whole."""
    if several(axis) and len(axis) != 3:
        raise InputError(f"{where}: the axis has {len(axis)} components. Expected 3.")
    given = tuple(axis) if several(axis) else axis
    numbers = [a for a in axis if _is_number(a)] if several(axis) else []
    if len(numbers) != 3:
        raise InputError(f"{where}: the axis is {shown(given)}. Expected 3 numbers, e.g. (0, 0, 1).")
    try:
        length = math.hypot(*numbers)
    except OverflowError:
        length = math.inf
    if not (0 < length < math.inf):
        raise InputError(
            f"{where}: the axis has length {length:g}. Expected a direction, got {shown(given)}. "
            "Give `axis` a non-zero vector."
        )
    return unit([exact(float(a)) for a in numbers])


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) or (getattr(value, "is_number", False) and getattr(value, "is_real", False))


def pair(bodies: object, where: str) -> tuple[str, str]:
    """Two names of bodies."""
    match list(bodies) if several(bodies) else bodies:
        case [str(first), str(second)]:
            return first, second
    raise InputError(f"{where}, bodies: got {shown(bodies)}. Expected two names, of bodies or 'world'.")


def names_of(bodies: object, where: str) -> tuple[str, ...]:
    """Names of bodies, two or more."""
    match list(bodies) if several(bodies) else bodies:
        case [str(), str(), *_] as names if all(isinstance(name, str) for name in names):
            return tuple(map(str, names))
    raise InputError(f"{where}, bodies: got {shown(bodies)}. Expected names of two bodies or more.")


def places_of(given: object, where: str) -> tuple[int, ...]:
    """Which joints or motions, counted from 0; none where all are the first."""
    row = row_of(given, where, "whole numbers, counted from 0")
    found = tuple(int(x) for x in row if isinstance(x, Integral) and not isinstance(x, bool) and int(x) >= 0)
    if len(found) < len(row):
        raise InputError(f"{where}: got {shown(given)}. Expected whole numbers, counted from 0.")
    return found if any(found) else ()


MAX_NAME = 100  # characters


def is_name(value: object) -> TypeGuard[str]:
    """True for 1 to MAX_NAME printable characters.

    >>> is_name("left wheel/2"), is_name("a\\nb"), is_name("")
    (True, False, False)
    """
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def is_text(value: str) -> bool:
    """True where there are no control characters besides line breaks and tabs, and no half of a surrogate pair."""
    return all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in value)


def require_name(name: object, what: str) -> None:
    """Refuse a name that no file can hold.

    >>> require_name("a\\nb", "model")
    Traceback (most recent call last):
        ...
    dalembert.errors.InputError: model 'a\\nb': not a name. Expected 1 to 100 printable characters; choose another.
    """
    if not isinstance(name, str):
        raise InputError(f"{what}: the name is {shown(name)}. Expected a str.")
    if not is_name(name):
        shown_name = ascii(name) if len(name) <= MAX_NAME else f"{name[:20]!a}... of {len(name)} characters"
        expected = f"Expected 1 to {MAX_NAME} printable characters; choose another."
        raise InputError(f"{what} {shown_name}: not a name. {expected}")


def require_texts(element: object) -> None:
    """Refuse an element whose name, description or unit no file can hold."""
    what, name = type(element).__name__.lower(), getattr(element, "name", None)
    if isinstance(name, str):
        require_name(name, what)
    for key in ("description", "unit"):
        text = getattr(element, key, None)
        if isinstance(text, str) and not is_text(text):
            expected = "Expected text without control characters; line breaks and tabs are allowed."
            raise InputError(f"{what} '{name}', {key}: got {text[:60]!a}. {expected}")


def require_new_texts(elements: tuple[object, ...], known: tuple[object, ...]) -> None:
    """The same for elements behind the known ones, or for all where none was added."""
    for element in elements[len(known) :] or elements:
        require_texts(element)
