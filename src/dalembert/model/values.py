"""Reading of user values: names, numbers, vectors, axes and pairs of bodies."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from dalembert.errors import InputError, short_repr
from dalembert.symbolic.operations import exact
from dalembert.symbolic.surds import Component, unit
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    import sympy

    from dalembert.model.description import Elements

Name: TypeAlias = "str | sympy.Basic"  # of a parameter or coordinate: str or SymPy symbol

Values = Mapping[Any, float | str]  # of parameters, by name or symbol; a string is a formula of parameters
Vector3 = tuple[Formula, Formula, Formula]
Matrix3 = tuple[Vector3, Vector3, Vector3]
TwoPoints = tuple[Vector3, Vector3]
UnitVector = tuple[Component, Component, Component]  # exact to its square roots

WORLD = "world"
# a sequence of user values: numbers, str or SymPy expressions in a list, tuple or array
ArrayInput: TypeAlias = "Sequence[Written | ArrayInput] | np.ndarray"
ZERO = (0, 0, 0)


def row_of(values: object, where: str, expected: str) -> list[Written]:
    """The values as a list; raise if they are not a sequence."""
    if not is_sequence(values):
        raise InputError(f"{where}: got {short_repr(values)}. Expected {expected}.")
    return list(values)


def is_sequence(values: object, count: int | None = None) -> TypeGuard[Sequence[Written]]:
    """Whether the values are a sequence, of length `count` if it is set; a str is not."""
    if isinstance(values, Sequence) or (isinstance(values, np.ndarray) and np.ndim(values)):
        return not isinstance(values, str | bytes) and count in (None, len(values))
    return False


def vector3(read: Callable[[Written, str], Formula], values: object, where: str) -> Vector3:
    """Three components, each read as a formula."""
    if not is_sequence(values, 3):
        raise InputError(f"{where}: got {short_repr(values)}. Expected 3 components.")
    x, y, z = (read(v, f"{where}[{i}]") for i, v in enumerate(values))
    return (x, y, z)


def motions(model: Elements, formulas: object, count: int, where: str) -> tuple[Formula | None, ...]:
    """Motions of a joint; None for free motions, as in a loop-closing joint."""
    if formulas is None:
        return (None,) * count
    if not is_sequence(formulas, count):
        raise InputError(f"{where}: got {short_repr(formulas)}. Expected {count} formulas.")
    return tuple(motion(model, formula, f"{where}[{i}]") for i, formula in enumerate(formulas))


def motion(model: Elements, formula: object, where: str) -> Formula | None:
    """A motion of a joint; None if it is free."""
    return None if formula is None else model.reader.read(formula, where, rates=False)


def points(model: Elements, entry: object, where: str) -> TwoPoints:
    """Two points, one on each of two bodies."""
    if not is_sequence(entry, 2):
        count = len(entry) if is_sequence(entry) else repr(entry)
        raise InputError(f"{where}: got {count}. Expected 2 points, one on each body.")
    first, second = (vector3(model.reader.constant, p, f"{where}[{i}]") for i, p in enumerate(entry))
    return first, second


def snap_right_angles(angles: object) -> object:
    """The angles, with multiples of π/2 (to rounding) written with π, so that sines and cosines are exact."""
    return tuple(map(_quarter_turn, angles)) if is_sequence(angles) else angles


def _quarter_turn(angle: Written) -> Written:
    if isinstance(angle, float) and angle and math.isfinite(angle):
        quarters = round(angle / (math.pi / 2))
        if quarters and abs(angle - quarters * math.pi / 2) <= 1e-15 * abs(quarters):
            return f"{quarters}*pi/2"
    return angle


def unit_vector(axis: object, where: str) -> UnitVector:
    """A unit vector along `axis`, exact with square roots; integer components stay integers."""
    if is_sequence(axis) and len(axis) != 3:
        raise InputError(f"{where}: the axis has {len(axis)} components. Expected 3.")
    entries = tuple(axis) if is_sequence(axis) else axis
    numbers = [a for a in axis if _is_number(a)] if is_sequence(axis) else []
    if len(numbers) != 3:
        raise InputError(f"{where}: the axis is {short_repr(entries)}. Expected 3 numbers, e.g. (0, 0, 1).")
    try:
        length = math.hypot(*numbers)
    except OverflowError:
        length = math.inf
    if not (0 < length < math.inf):
        raise InputError(
            f"{where}: the axis has length {length:g}. Expected a nonzero vector, got {short_repr(entries)}. "
            "Give `axis` a finite, nonzero direction."
        )
    return unit([exact(float(a)) for a in numbers])


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) or (getattr(value, "is_number", False) and getattr(value, "is_real", False))


def pair(bodies: object, where: str) -> tuple[str, str]:
    """Two names of bodies."""
    match list(bodies) if is_sequence(bodies) else bodies:
        case [str(first), str(second)]:
            return first, second
    raise InputError(f"{where}, bodies: got {short_repr(bodies)}. Expected two names, of bodies or 'world'.")


def names_of(bodies: object, where: str) -> tuple[str, ...]:
    """Names of bodies, two or more."""
    match list(bodies) if is_sequence(bodies) else bodies:
        case [str(), str(), *_] as names if all(isinstance(name, str) for name in names):
            return tuple(map(str, names))
    raise InputError(f"{where}, bodies: got {short_repr(bodies)}. Expected the names of two or more bodies.")


def read_indices(indices: object, where: str) -> tuple[int, ...]:
    """Indices of joints or motions, counted from 0; empty if all are 0."""
    row = row_of(indices, where, "int values, counted from 0")
    found = tuple(int(x) for x in row if isinstance(x, Integral) and not isinstance(x, bool) and int(x) >= 0)
    if len(found) < len(row):
        raise InputError(f"{where}: got {short_repr(indices)}. Expected int values, counted from 0.")
    return found if any(found) else ()


MAX_NAME = 100  # characters


def is_name(value: object) -> TypeGuard[str]:
    """True for 1 to MAX_NAME printable characters.

    >>> is_name("left wheel/2"), is_name("a\\nb"), is_name("")
    (True, False, False)
    """
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def is_printable(value: str) -> bool:
    """True if there are no control characters except line breaks and tabs, and no lone surrogates."""
    return all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in value)


def require_name(name: object, what: str) -> None:
    """Raise if a name cannot be written to a file.

    >>> require_name("a\\nb", "model")
    Traceback (most recent call last):
        ...
    dalembert.errors.InputError: model 'a\\nb': invalid name. Expected 1 to 100 printable characters.
    """
    if not isinstance(name, str):
        raise InputError(f"{what}: the name is {short_repr(name)}. Expected a str.")
    if not is_name(name):
        display_name = ascii(name) if len(name) <= MAX_NAME else f"{name[:20]!a}... of {len(name)} characters"
        expected = f"Expected 1 to {MAX_NAME} printable characters."
        raise InputError(f"{what} {display_name}: invalid name. {expected}")


def require_printable(element: object) -> None:
    """Raise if the name, description or unit of an element cannot be written to a file."""
    what, name = type(element).__name__.lower(), getattr(element, "name", None)
    if isinstance(name, str):
        require_name(name, what)
    for key in ("description", "unit"):
        string = getattr(element, key, None)
        if isinstance(string, str) and not is_printable(string):
            expected = "Expected a str without control characters; line breaks and tabs are allowed."
            raise InputError(f"{what} '{name}', {key}: got {string[:60]!a}. {expected}")


def require_new_printable(elements: tuple[object, ...], known: tuple[object, ...]) -> None:
    """Apply `require_printable` to the elements after the known ones, or to all if none was added."""
    for element in elements[len(known) :] or elements:
        require_printable(element)
