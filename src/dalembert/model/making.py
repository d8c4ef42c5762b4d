"""What makers of elements share: reading numbers, vectors and placements, and refusing arguments nobody has.

A maker is the method of a model that makes one kind of element. It stands in the file of its element, in a class of its own;
the family puts these classes together, and `Model` inherits from the families.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TypeAlias, TypeGuard

import numpy as np

from dalembert.arguments import shown
from dalembert.errors import InputError
from dalembert.model.formulas import Reader
from dalembert.model.vectors import Vector3
from dalembert.symbolic.constant_folding import exact
from dalembert.symbolic.surds import Component, unit
from dalembert.symbolic.symbols import Formula, Written

# values in a row as users write them: numbers, text or SymPy, in a list, tuple or array
Given: TypeAlias = "Sequence[Written | Given] | np.ndarray"
ZERO = (0, 0, 0)


class Maker(ABC):
    """How a model reads what its elements are made from."""

    @property
    @abstractmethod
    def reader(self) -> Reader:
        """Reads formulas of the declared names."""

    @property
    @abstractmethod
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the coordinates."""

    @property
    @abstractmethod
    def parameter_values(self) -> dict[str, float]:
        """The default values of the parameters by name."""

    @abstractmethod
    def number(self, value: Written, where: str) -> float:
        """A finite number, given as such or as a formula of parameters."""

    @abstractmethod
    def formula(
        self,
        value: Written,
        where: str = "formula",
        *,
        rates: bool = True,
        constant: bool = False,
        momenta: bool = False,
    ) -> Formula:
        """Any formula of the declared names; `constant` allows parameters only, `momenta` p(x) in place of velocities."""

    def _vector(self, values: object, where: str, *, constant: bool = False) -> Vector3:
        return vector3(self.reader.constant if constant else self.reader.read, values, where)


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


def motions(maker: Maker, formulas: object, count: int, where: str) -> tuple[Formula | None, ...]:
    """Motions of a joint; None where they are free, as in a joint that closes a loop."""
    if formulas is None:
        return (None,) * count
    if not several(formulas, count):
        raise InputError(f"{where}: got {shown(formulas)}. Expected {count} formulas.")
    return tuple(motion(maker, formula, f"{where}[{i}]") for i, formula in enumerate(formulas))


def motion(maker: Maker, formula: object, where: str) -> Formula | None:
    """A motion of a joint; None where it is free."""
    return None if formula is None else maker.reader.read(formula, where, rates=False)


def points(maker: Maker, given: object, where: str) -> tuple[Vector3, Vector3]:
    """Two points, one on each of two bodies."""
    if not several(given, 2):
        count = len(given) if several(given) else repr(given)
        raise InputError(f"{where}: got {count}. Expected 2 points, one on each body.")
    first, second = (vector3(maker.reader.constant, p, f"{where}[{i}]") for i, p in enumerate(given))
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


def unit_vector(axis: object, where: str) -> tuple[Component, Component, Component]:
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
