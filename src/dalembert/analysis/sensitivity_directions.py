"""What is differentiated by: parameters, and positions and velocities of the start, each a direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.arguments import shown
from dalembert.errors import InputError, nearest
from dalembert.model.description import Description
from dalembert.model.initial_state import coordinate_name
from dalembert.model.values import several
from dalembert.symbolic.reserved_symbols import Kind, kind_of


@dataclass(frozen=True)
class Directions:
    """Directions by name: a parameter `l`, a start `theta(0)`, the velocity of a start `dot(theta)(0)`.

    >>> from dalembert.model.model import Model
    >>> model = Model("m").parameters(l=1.0).coordinates("x", "y").description
    >>> found = directions_of(model, ["l", "y(0)", "dot(x)(0)"])
    >>> found.parameters, found.moved.tolist(), found.started.T.tolist()
    (('l',), [[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    """

    names: tuple[str, ...]
    places: tuple[int | None, ...]  # of a start among (q, q̇); None for a parameter
    coordinates: int

    def __len__(self) -> int:
        return len(self.names)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters among them."""
        return tuple(name for name, place in zip(self.names, self.places, strict=True) if place is None)

    @cached_property
    def moved(self) -> np.ndarray:
        """How the parameters move along each direction, (parameters, directions)."""
        out = np.zeros((len(self.parameters), len(self)))
        out[range(len(out)), [i for i, place in enumerate(self.places) if place is None]] = 1.0
        return out

    @cached_property
    def started(self) -> np.ndarray:
        """How the start (q, q̇) moves along each direction before constraints correct it, (2n, directions)."""
        out = np.zeros((2 * self.coordinates, len(self)))
        for i, place in enumerate(self.places):
            if place is not None:
                out[place, i] = 1.0
        return out

    @property
    def kept(self) -> set[int]:
        """The coordinates whose starts are named."""
        return {place % self.coordinates for place in self.places if place is not None}

    def values_in(self, parameters: dict[str, float], start: np.ndarray) -> np.ndarray:
        """The values of what is differentiated by."""
        pairs = zip(self.names, self.places, strict=True)
        return np.array([parameters[name] if place is None else start[place] for name, place in pairs])


def directions_of(model: Description, of: Sequence[Any] | str, where: str = "sensitivity") -> Directions:
    """The directions that are named; SymPy symbols stand for parameters."""
    coordinates = model.coordinate_names
    known = [name for name in model.parameter_values if kind_of(name) is None]
    starts = [f"{x}(0)" for x in (*coordinates, *map(Kind.RATE.of, coordinates))]
    given = [of] if isinstance(of, str) else of
    if not several(given):
        raise InputError(
            f"{where}: got {shown(of)}. Expected names of parameters or starts, such as {(known + starts)[0]}."
        )
    names = tuple(coordinate_name(each) for each in given)
    if not names:
        raise InputError(f"{where}: nothing is named. Expected parameters or starts, such as {(known + starts)[0]}.")
    for name in names:
        if name not in known and name not in starts:
            raise InputError(
                f"{where}: '{name}' is neither a parameter nor a start of model '{model.name}'. "
                f"{nearest(name, (*known, *starts))} Starts are written x(0) and dot(x)(0)."
            )
    if len(set(names)) < len(names):
        raise InputError(f"{where}: {', '.join(names)} names something twice. Expected each once.")
    places = tuple(None if name in known else starts.index(name) for name in names)
    return Directions(names, places, len(coordinates))
