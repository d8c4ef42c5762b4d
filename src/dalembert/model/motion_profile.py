"""A designed motion: formulas of time, with its position, rate and acceleration at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import symengine as se

from dalembert.arguments import numbers_given, shown
from dalembert.errors import InputError, nearest
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.floats import number as as_number
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME, Formula


class Moment(NamedTuple):
    """A motion at a time or at many: each part is a number, (n,), (K,) or (n, K)."""

    position: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray


@dataclass(frozen=True)
class Profile:
    """A motion in time of one value or of several; before its start and after its end it rests where it is there.

    It is called with a time or many. `drive`, `computed_torque` and `feedforward` take it, an entry for each coordinate. `names`
    are the coordinates it is for, where it knows them; `accuracy` is how far it may be from what it was made of.

    >>> from dalembert.model.profiles import quintic
    >>> way = quintic([0.0, 1.0], [2.0, 5.0], 4.0)
    >>> way(2.0).position, way(2.0).rate, way.acceleration([0.0, 4.0]).shape
    (array([1., 3.]), array([0.9375, 1.875 ]), (2, 2))
    """

    formulas: tuple[Formula, ...]
    start: float
    end: float
    scalar: bool = False
    names: tuple[str, ...] = ()
    accuracy: float = 0.0

    def __len__(self) -> int:
        return len(self.formulas)

    def __getitem__(self, entry: int | str) -> Profile:
        """One of its values, by its place or its name."""
        if isinstance(entry, str):
            if entry not in self.names:
                raise InputError(f"profile: there is no coordinate '{entry}'. {nearest(entry, self.names)}")
            entry = self.names.index(entry)
        if not -len(self) <= entry < len(self):
            raise IndexError(f"profile: there is no entry {entry}. It has {len(self)}.")
        names = self.names[entry : entry + 1] if entry >= 0 or not self.names else (self.names[entry],)
        return replace(self, formulas=(self.formulas[entry],), scalar=True, names=names)

    def __call__(self, t: npt.ArrayLike) -> Moment:
        """Position, rate and acceleration at a time, or at many on the last axis."""
        return Moment(*(self._at(level, t) for level in range(3)))

    def position(self, t: npt.ArrayLike) -> np.ndarray:
        """Where it is."""
        return self._at(0, t)

    def rate(self, t: npt.ArrayLike) -> np.ndarray:
        """How fast it moves."""
        return self._at(1, t)

    def acceleration(self, t: npt.ArrayLike) -> np.ndarray:
        """How its rate changes."""
        return self._at(2, t)

    @property
    def duration(self) -> float:
        """From its start to its end."""
        return self.end - self.start

    @cached_property
    def _levels(self) -> tuple[tuple[Formula, ...], ...]:
        first = tuple(se.diff(f, TIME) for f in self.formulas)
        return self.formulas, first, tuple(se.diff(f, TIME) for f in first)

    def _at(self, level: int, t: npt.ArrayLike) -> np.ndarray:
        times = numbers_given(t, "profile, t")
        if times.ndim > 1:
            raise InputError(f"profile, t: got shape {times.shape}. Expected a time or (K,).")
        if level:  # at its end, what it has as it comes there
            times = np.where(times == self.end, np.nextafter(self.end, -np.inf), times)
        lower = Lowering(FLOATS, {TIME.name: times})
        rows = [np.broadcast_to(as_number(lower(f)), times.shape) for f in self._levels[level]]
        return np.array(rows[0] if self.scalar else rows, dtype=float)


def numbers_of(ends: Sequence[npt.ArrayLike], where: str) -> tuple[list[np.ndarray], bool]:
    """Numbers that are all single or all (n,), as rows (n,), and whether they are single."""
    found = [numbers_given(end, where) for end in ends]
    shape = max((x.shape for x in found), key=len)
    if len(shape) > 1 or not all(x.shape in ((), shape) for x in found):
        shapes = ", ".join(str(x.shape) for x in found)
        raise InputError(f"{where}: got the shapes {shapes}. Expected numbers, or as many in each.")
    return [np.broadcast_to(x, shape or (1,)) for x in found], shape == ()


def both(given: object, where: str) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    """What is given for the start and for the end."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InputError(f"{where}: got {shown(given)}. Expected two, for the start and for the end.")
    return given[0], given[1]


def times_of(duration: float, start: float, where: str) -> tuple[float, float]:
    """The start and the end of a motion that lasts some time."""
    if not duration > 0:
        raise InputError(f"{where}, duration: got {duration!r}. Expected a positive number.")
    return float(start), float(start) + float(duration)
