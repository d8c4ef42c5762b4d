"""Initial positions and velocities, by name or in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.model.values import is_sequence
from dalembert.symbolic.symbols import Written

if TYPE_CHECKING:
    from dalembert.model.description import Elements

ByCoordinate: TypeAlias = "Mapping[Any, Written] | Sequence[Written] | np.ndarray"  # by name, or in order
Start: TypeAlias = "ByCoordinate | None"


def start_state(
    model: Elements, q0: Start, qd0: Start, where: str = "simulate", names: tuple[str, str] = ("q0", "qd0")
) -> tuple[np.ndarray, np.ndarray]:
    """Initial positions and velocities from values in order or by name; the model has the defaults.

    Values may be formulas of parameters, and names SymPy symbols.

    >>> from dalembert.model.model import Model
    >>> q, _ = start_state(Model("m").coordinates("x", "y"), {"y": "pi/2"}, None)
    >>> q.round(3).tolist()
    [0.0, 1.571]
    """
    q, qd = model.initial
    return _read(model, q0, q, f"{where}, {names[0]}"), _read(model, qd0, qd, f"{where}, {names[1]}")


def _read(model: Elements, state: Start, default: np.ndarray, where: str) -> np.ndarray:
    if state is None:
        return default
    found = by_coordinate(model.coordinate_names, state, where)
    numbers = {name: model.number(value, f"{where}, '{name}'") for name, value in found.items()}
    return np.array([numbers.get(name, old) for name, old in zip(model.coordinate_names, default, strict=True)])


def by_coordinate(names: Sequence[str], state: ByCoordinate, where: str) -> dict[str, Written]:
    """Values by coordinate name, from values in order or by name or SymPy symbol."""
    if isinstance(state, Mapping):
        found = {coordinate_name(key): value for key, value in state.items()}
        for name in found:
            if name not in names:
                raise InputError(f"{where}: there is no coordinate '{name}'. {suggest_name(name, names)}")
        return found
    if not is_sequence(state, len(names)) or any(is_sequence(x) for x in state):
        raise InputError(f"{where}: got {_shape(state)}. Expected {len(names)} values, for {', '.join(names)}.")
    return dict(zip(names, state, strict=True))


def _shape(state: object) -> str:
    """The shape of an array, or the repr of another value."""
    try:
        return f"shape {np.shape(np.asarray(state, dtype=float))}" if is_sequence(state) else short_repr(state)
    except (TypeError, ValueError, OverflowError):  # not numbers, or rows of different lengths
        return short_repr(state)


def coordinate_name(key: object) -> str:
    """The name of a key: a str or a dynamicsymbol."""
    return key if isinstance(key, str) else str(getattr(key, "func", key))
