"""Where a motion starts: positions and velocities as users give them, by name or in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.arguments import shown
from dalembert.errors import InputError, nearest
from dalembert.model.description import Elements

Start = Mapping[Any, Any] | Sequence[Any] | np.ndarray | None


def start_state(
    model: Elements, q0: Start, qd0: Start, where: str = "simulate", names: tuple[str, str] = ("q0", "qd0")
) -> tuple[np.ndarray, np.ndarray]:
    """Initial positions and velocities from values in order or by name; what is not given is the model's.

    Values may be formulas of parameters, and names SymPy symbols.

    >>> from dalembert.model import Model
    >>> q, _ = start_state(Model("m").coordinates("x", "y"), {"y": "pi/2"}, None)
    >>> q.round(3).tolist()
    [0.0, 1.571]
    """
    q, qd = model.initial
    return _read(model, q0, q, f"{where}, {names[0]}"), _read(model, qd0, qd, f"{where}, {names[1]}")


def _read(model: Elements, given: Start, default: np.ndarray, where: str) -> np.ndarray:
    names = model.coordinate_names
    if given is None:
        return default
    if isinstance(given, Mapping):
        found = dict(zip(names, default.tolist(), strict=True))
        for key, value in given.items():
            name = coordinate_name(key)
            if name not in found:
                raise InputError(f"{where}: there is no coordinate '{name}'. {nearest(name, names)}")
            found[name] = model.number(value, f"{where}, '{name}'")
        return np.array(list(found.values()))
    values = list(given) if isinstance(given, np.ndarray | Sequence) and not isinstance(given, str) else []
    if len(values) != len(names) or any(
        isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.ndim > 0) for x in values
    ):
        raise InputError(f"{where}: got {_shape(given)}. Expected {len(names)} values, for {', '.join(names)}.")
    return np.array([model.number(x, f"{where}, '{name}'") for name, x in zip(names, values, strict=True)])


def _shape(given: object) -> str:
    """The shape of an array, or what is there in its place."""
    try:
        return f"shape {np.shape(np.asarray(given, dtype=float))}"
    except (TypeError, ValueError):  # no numbers, or rows of different lengths
        return shown(given)


def coordinate_name(key: Any) -> str:
    """The name behind a key: text, or a dynamicsymbol."""
    return key if isinstance(key, str) else str(getattr(key, "func", key))
