"""What makers of elements share: reading numbers, vectors and placements, and refusing arguments nobody has.

A maker is the method of a model that makes one kind of element. It stands in the file of its element, in a class of its own;
the family puts these classes together, and `Model` inherits from the families.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from dalembert.algebra.folding import exact
from dalembert.algebra.surds import Component, unit
from dalembert.arguments import shown
from dalembert.errors import InputError
from dalembert.expressions.formula import Written
from dalembert.model.formulas import Reader
from dalembert.model.vectors import Formula, Vector3

Given = Sequence[Any]  # values in a row as users write them: numbers, text or SymPy, in a list, tuple or array
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
    def number(self, value: Any, where: str) -> float:
        """A finite number, given as such or as a formula of parameters."""

    @abstractmethod
    def formula(
        self, value: Any, where: str = "formula", *, rates: bool = True, constant: bool = False, momenta: bool = False
    ) -> Formula:
        """Any formula of the declared names; `constant` allows parameters only, `momenta` p(x) in place of velocities."""

    def _constants(self, where: str, **values: Any) -> tuple[Formula, ...]:
        """Formulas of parameters, by the names of their arguments."""
        return tuple(self.reader.constant(value, f"{where}, {key}") for key, value in values.items())

    def _vector(self, values: Sequence[Written], where: str, *, constant: bool = False) -> Vector3:
        read = self.reader.constant if constant else self.reader.read
        if not several(values, 3):
            raise InputError(f"{where}: got {shown(values)}. Expected 3 components.")
        x, y, z = (read(v, f"{where}[{i}]") for i, v in enumerate(values))
        return (x, y, z)

    def _points(self, points: Sequence[Sequence[Written]], where: str) -> tuple[Vector3, Vector3]:
        if not several(points, 2):
            count = len(points) if several(points) else repr(points)
            raise InputError(f"{where}, points: got {count}. Expected 2 points, one on each body.")
        first, second = (self._vector(p, f"{where}, points[{i}]", constant=True) for i, p in enumerate(points))
        return first, second

    def _placement(
        self, where: str, position: Sequence[Written], rotation: Sequence[Written]
    ) -> tuple[Vector3, Vector3]:
        return (
            self._vector(position, f"{where}, position", constant=True),
            self._vector(_quarter_turns(rotation), f"{where}, rotation", constant=True),
        )

    def _motion(self, formula: Written, where: str) -> Formula | None:
        """A motion of a joint; None where it is free, as in a joint that closes a loop."""
        return None if formula is None else self.reader.read(formula, where, rates=False)

    def _motions(self, formulas: Sequence[Any] | None, count: int, where: str) -> tuple[Formula | None, ...]:
        if formulas is None:
            return (None,) * count
        if not several(formulas, count):
            raise InputError(f"{where}: got {shown(formulas)}. Expected {count} formulas.")
        return tuple(self._motion(formula, f"{where}[{i}]") for i, formula in enumerate(formulas))


def row_of(values: Any, where: str, expected: str) -> list[Any]:
    """The values in a row, such as a list or an array holds them."""
    if not several(values):
        raise InputError(f"{where}: got {shown(values)}. Expected {expected}.")
    return list(values)


def several(values: Any, count: int | None = None) -> bool:
    """Whether these are values in a row, and as many as `count` says; text is not."""
    row = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    if not row and not (isinstance(values, np.ndarray) and np.ndim(values)):
        return False
    return count is None or len(values) == count


def _quarter_turns(angles: Sequence[Written]) -> Sequence[Any]:
    """The angles, those that are multiples of π/2 as near as doubles can be written with π, so that zeros stay exact."""
    return tuple(map(_quarter_turn, angles)) if several(angles) else angles


def _quarter_turn(angle: Written) -> Any:
    if isinstance(angle, float) and angle and math.isfinite(angle):
        quarters = round(angle / (math.pi / 2))
        if quarters and abs(angle - quarters * math.pi / 2) <= 1e-15 * abs(quarters):
            return f"{quarters}*pi/2"
    return angle


def unit_vector(axis: Sequence[float], where: str) -> tuple[Component, Component, Component]:
    """A unit vector along `axis`, exact to its square roots; whole components stay whole."""
    if not several(axis):
        raise InputError(f"{where}: the axis is {shown(axis)}. Expected 3 numbers, e.g. (0, 0, 1).")
    if len(axis) != 3:
        raise InputError(f"{where}: the axis has {len(axis)} components. Expected 3.")
    if not all(isinstance(a, Real) or (getattr(a, "is_number", False) and getattr(a, "is_real", False)) for a in axis):
        raise InputError(f"{where}: the axis is {shown(tuple(axis))}. Expected 3 numbers, e.g. (0, 0, 1).")
    try:
        length = math.hypot(*axis)
    except OverflowError:
        length = math.inf
    if not (0 < length < math.inf):
        raise InputError(
            f"{where}: the axis has length {length:g}. Expected a direction, got {shown(tuple(axis))}. "
            "Give `axis` a non-zero vector."
        )
    return unit([exact(float(a)) for a in axis])


def pair(bodies: Sequence[str], where: str) -> tuple[str, str]:
    """Two names of bodies."""
    if not several(bodies, 2) or not all(isinstance(body, str) for body in bodies):
        raise InputError(f"{where}, bodies: got {shown(bodies)}. Expected two names, of bodies or 'world'.")
    return (bodies[0], bodies[1])
