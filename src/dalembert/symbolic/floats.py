"""Plain numbers: real, complex or whole batches of them as NumPy arrays. An oracle that shares no graph with the rest."""

from __future__ import annotations

import operator
from functools import reduce
from typing import SupportsFloat, TypeAlias

import numpy as np

from dalembert.symbolic.algebra_base import Algebra, Array, Scalar
from dalembert.symbolic.lookup_tables import Table
from dalembert.symbolic.operations import OPERATIONS

Number: TypeAlias = float | complex | np.ndarray  # or a batch of numbers


def number(x: Scalar) -> Number:
    """`x` as a number or a batch of numbers."""
    return x if isinstance(x, float | int | complex | np.ndarray | np.generic) else real(x)


def real(x: Scalar) -> float:
    """One real number as a float."""
    if not isinstance(x, SupportsFloat):
        raise TypeError(f"'{x}' is no real number")
    return float(x)


class Floats(Algebra):
    """Numbers. Complex ones serve the complex-step derivative, so comparisons look at the real part.

    >>> Floats().sin(0.0)
    np.float64(0.0)
    """

    name = "floats"

    def is_zero(self, x: Scalar) -> bool:
        return isinstance(x, int | float) and x == 0

    def function(self, name: str, *arguments: Scalar) -> Number:
        if name == "atan2":
            y, x = map(number, arguments)
            angle = np.arctan2(np.real(y), np.real(x))
            # first-order part for complex steps: d atan2 = (x dy − y dx)/(x² + y²)
            slope = (np.real(x) * np.imag(y) - np.real(y) * np.imag(x)) / (np.real(x) ** 2 + np.real(y) ** 2)
            return angle + 1j * slope if np.iscomplexobj(x) or np.iscomplexobj(y) else angle
        apply = operator.pow if name == "pow" else OPERATIONS[name].array
        return apply(*map(number, arguments))

    def interpolate(self, table: Table, x: Scalar) -> Number:
        return table.at(number(x))

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Number:
        return 1.0 * np.where(number(condition), number(yes), number(no))  # of integers no roots and powers can be had

    def less(self, a: Scalar, b: Scalar, *, or_equal: bool) -> Number:
        left, right = np.real(number(a)), np.real(number(b))
        return left <= right if or_equal else left < right

    def logical(self, name: str, *conditions: Scalar) -> Number:
        return reduce(np.logical_and if name == "and" else np.logical_or, map(number, conditions))


class OneState(Floats):
    """Numbers of one state: arrays of them are arrays of doubles, so that products of matrices take no Python.

    >>> OneState().pack(np.array([1, 2.5], dtype=object))
    array([1. , 2.5])
    """

    def pack(self, x: Array) -> Array:
        # complex where a complex step is on its way through
        packed = np.array(x.tolist()).reshape(x.shape)
        return packed if np.iscomplexobj(packed) else packed.astype(float)


FLOATS, ONE_STATE = Floats(), OneState()


def numbers(entries: Array, batch: int) -> np.ndarray:
    """An object array of numbers and batches of numbers as one numeric array, with the batch on the last axis.

    >>> numbers(np.array([1, 2.5], dtype=object), 2)
    array([[1. , 1. ],
           [2.5, 2.5]])
    """
    if entries.dtype != object:
        return np.repeat(entries[..., None], batch, axis=-1)
    flat = entries.ravel().tolist()
    steps = any(not isinstance(x, float | int) and np.iscomplexobj(x) for x in flat)
    out = np.empty((len(flat), batch), dtype=complex if steps else float)
    for row, x in zip(out, flat, strict=True):
        row[:] = x
    return out.reshape(*entries.shape, batch)


def plain(entries: Array) -> np.ndarray:
    """An object array of numbers, or of batches of one number, as one numeric array.

    >>> plain(np.array([1, np.array([2.5])], dtype=object))
    array([1. , 2.5])
    """
    return numbers(entries, 1)[..., 0]
