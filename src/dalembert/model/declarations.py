"""Declaring names and reading values: what every element of a model is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Never, Self

import numpy as np

from dalembert.arguments import checked
from dalembert.errors import InputError, nearest
from dalembert.model.description import FIELDS, Description, Elements
from dalembert.model.element_names import is_text, require_name, require_new_texts
from dalembert.model.elements import Coordinate, Parameter
from dalembert.model.frozen import Frozen
from dalembert.model.initial_state import Start, coordinate_name, start_state
from dalembert.model.making import Maker, row_of
from dalembert.model.vectors import Name, Values, Vector3
from dalembert.symbolic.symbols import Written, is_identifier


class Declarations(Elements, Maker):
    """Parameters, coordinates, the initial state, and the reading of numbers, vectors and matrices.

    `description` is the value that is built; the attributes of a model are its elements.
    """

    _value: Description

    def __init__(self, name: str, gravity: Sequence[Written] = (0, 0, 0), description: str = "") -> None:
        require_name(name, "model")
        if not is_text(description):
            raise InputError(f"model '{name}', description: got {description[:60]!a}. Expected no control characters.")
        given = tuple(row_of(gravity, f"model '{name}', gravity", "3 components, e.g. (0, -9.81, 0)"))
        if len(given) != 3:
            raise InputError(f"model '{name}': gravity has {len(given)} components. Expected 3, e.g. (0, -9.81, 0).")
        self._hold(Description(name, given, description))

    @property
    def description(self) -> Description:
        """The value that is built so far."""
        return self._value

    def _hold(self, description: Description) -> Self:
        vars(self).update({name: getattr(description, name) for name in FIELDS}, _value=description)
        return self

    def __getattr__(self, name: str) -> Never:
        raise AttributeError(f"a model has no attribute '{name}'. {nearest(name, (*FIELDS, *dir(type(self))))}")

    def __setattr__(self, name: str, value: object) -> None:
        if name not in FIELDS:
            raise AttributeError(f"a model has no element '{name}' to set. {nearest(name, FIELDS)}")
        if isinstance(value, tuple):
            require_new_texts(value, getattr(self, name))
        self._hold(self.description.replaced(**{name: Frozen(value) if isinstance(value, dict) else value}))

    @classmethod
    def of(cls, description: Elements) -> Self:
        """A model to go on with from a description, or from another model."""
        return cls.__new__(cls)._hold(description.description)

    def replaced(self, **elements: object) -> Self:
        """Another model with other elements, by the names of the attributes."""
        return type(self).of(replace(self.description, **elements))

    def copy(self) -> Self:
        """An independent copy; the elements are immutable and shared."""
        return self.replaced()

    # what is declared

    @checked
    def parameter(self, name: Name, value: float | str, description: str = "", unit: str = "") -> Self:
        """Declare a parameter with its default value, description and unit."""
        key = self._declare(name, "parameter")
        number = self.number(value, f"parameter '{key}'")
        self.parameter_list += (Parameter(key, number, description, unit),)
        self._remember(key, name)
        return self

    def parameters(self, values: Values | None = None, **more: float) -> Self:
        """Declare several parameters at once: `model.parameters(m=1.0, l=0.5)` or a mapping of symbols to values."""
        if values is not None and not isinstance(values, Mapping):
            raise InputError(f"parameters: got {values!r}. Expected a mapping of names to values, or m=1.0, l=0.5.")
        for name, value in {**(values or {}), **more}.items():
            self.parameter(name, value)
        return self

    @checked
    def coordinate(
        self, name: Name, start: float | str = 0.0, start_rate: float | str = 0.0, description: str = "", unit: str = ""
    ) -> Self:
        """Declare a generalized coordinate with its default initial position and velocity."""
        key = self._declare(name, "coordinate")
        q0 = self.number(start, f"coordinate '{key}', initial position")
        qd0 = self.number(start_rate, f"coordinate '{key}', initial rate")
        self.coordinate_list += (Coordinate(key, description, unit, q0, qd0),)
        self._remember(key, name)
        return self

    def _remember(self, name: str, given: Name) -> None:
        if not isinstance(given, str):
            self.symbols = self.symbols | {name: given}

    def coordinates(self, *names: Name) -> Self:
        """Declare several coordinates at once, by name or as dynamicsymbols; they start at zero, at rest."""
        for name in names:
            self.coordinate(name)
        return self

    @checked
    def start(self, q: Start, qd: Start) -> Self:
        """Set the default initial positions and velocities, by name or in the order of the coordinates."""
        given = zip(self.coordinate_list, *start_state(self, q, qd, "start", ("q", "qd")), strict=True)
        self.coordinate_list = tuple(replace(c, start=float(x), start_rate=float(v)) for c, x, v in given)
        return self

    @checked
    def simulation(
        self,
        duration: float | str = 10.0,
        samples: int | float = 501,  # a float is refused by its value, with its own message
        integrator: str | None = None,
        step: float | str | None = None,
        assemble: bool = False,
    ) -> Self:
        """Set how a simulation of this model runs unless it is told otherwise.

        With `assemble` the initial state is only a guess: loading moves it to the nearest one that fulfils the constraints.
        """
        where = "simulation"
        seconds = self.number(duration, f"{where}, duration")
        if seconds <= 0:
            raise InputError(f"{where}: the duration is {seconds:g}. Expected a positive time.")
        if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
            raise InputError(f"{where}: samples is {samples}. Expected a whole number of at least 2.")
        length = None if step is None else self.number(step, f"{where}, step")
        given = {"duration": seconds, "samples": samples, "integrator": integrator, "step": length}
        return self._hold(replace(self.description, **given, assemble_start=assemble))

    # how declarations are read

    def _declare(self, name: Name, kind: str) -> str:
        """The name of a new parameter or coordinate, given as text or as a SymPy symbol."""
        key = coordinate_name(name) if kind == "coordinate" else str(name)
        if not is_identifier(key):
            raise InputError(
                f"{kind} '{key}': not a usable name. Expected an identifier of letters, digits and _ "
                "that is not t, pi or the name of a function."
            )
        if key in self.parameter_values or key in self.coordinate_names or any(s.name == key for s in self.speed_list):
            raise InputError(f"{kind} '{key}': the name is already in use. Give it a name of its own.")
        return key

    def _inertia(self, values: Sequence[Written], where: str) -> tuple[Vector3, Vector3, Vector3]:
        given = row_of(values, where, "3 (diagonal), 6 (Ixx Iyy Izz Ixy Ixz Iyz) or 3x3 numbers")
        flat = [v for row in given for v in (row if isinstance(row, list | tuple | np.ndarray) else [row])]
        if len(flat) == 3:
            flat += [0, 0, 0]
        if len(flat) == 6:
            xx, yy, zz, xy, xz, yz = flat
            flat = [xx, xy, xz, xy, yy, yz, xz, yz, zz]
        if len(flat) != 9:
            raise InputError(
                f"{where}: got {len(flat)} numbers. Expected 3 (diagonal), 6 (Ixx Iyy Izz Ixy Ixz Iyz) or 3x3."
            )
        rows = [self._vector(flat[i : i + 3], where, constant=True) for i in (0, 3, 6)]
        return (rows[0], rows[1], rows[2])
