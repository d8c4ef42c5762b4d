"""Declaring names and reading values: what every element of a model is made from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from dalembert.errors import InputError, nearest
from dalembert.expressions import is_identifier, parse
from dalembert.expressions.reading import decimal
from dalembert.model.checks.values import value as evaluate
from dalembert.model.description import Description
from dalembert.model.elements import Coordinate, Parameter
from dalembert.model.making import Maker
from dalembert.model.vectors import Vector3


class Declarations(Description, Maker):
    """Parameters, coordinates, the initial state, and the reading of numbers, vectors and matrices."""

    # what is declared

    def parameter(self, name: Any, value: float | str, description: str = "", unit: str = "") -> Self:
        """Declare a parameter with its default value, description and unit."""
        key = self._declare(name, "parameter")
        number = self.number(value, f"parameter '{key}'")
        self.parameter_list += (Parameter(key, number, description, unit),)
        self._reader.add_parameter(key, name)
        return self

    def parameters(self, values: Mapping[Any, float] | None = None, **more: float) -> Self:
        """Declare several parameters at once: `model.parameters(m=1.0, l=0.5)` or a mapping of symbols to values."""
        for name, value in {**(values or {}), **more}.items():
            self.parameter(name, value)
        return self

    def coordinate(
        self, name: Any, start: float | str = 0.0, start_rate: float | str = 0.0, description: str = "", unit: str = ""
    ) -> Self:
        """Declare a generalized coordinate with its default initial position and velocity."""
        key = self._declare(name, "coordinate")
        q0 = self.number(start, f"coordinate '{key}', initial position")
        qd0 = self.number(start_rate, f"coordinate '{key}', initial rate")
        self.coordinate_list += (Coordinate(key, description, unit, q0, qd0),)
        self._reader.add_coordinate(key, name)
        return self

    def coordinates(self, *names: Any) -> Self:
        """Declare several coordinates at once, by name or as dynamicsymbols; they start at zero, at rest."""
        for name in names:
            self.coordinate(name)
        return self

    def start(self, q: Mapping[str, float] | Sequence[float], qd: Mapping[str, float] | Sequence[float]) -> Self:
        """Set the default initial positions and velocities, by name or in the order of the coordinates."""
        q0, qd0 = self._by_name(q, "q"), self._by_name(qd, "qd")
        self.coordinate_list = tuple(
            Coordinate(c.name, c.description, c.unit, q0.get(c.name, c.start), qd0.get(c.name, c.start_rate))
            for c in self.coordinate_list
        )
        return self

    def simulation(
        self,
        duration: float | str = 10.0,
        samples: int = 501,
        integrator: str | None = None,
        step: float | str | None = None,
        assemble: bool = False,
    ) -> Self:
        """Set how a simulation of this model runs unless it is told otherwise.

        With `assemble` the initial state is only a guess: loading moves it to the nearest one that fulfils the constraints.
        """
        where = "simulation"
        self.duration = self.number(duration, f"{where}, duration")
        if self.duration <= 0:
            raise InputError(f"{where}: the duration is {self.duration:g}. Expected a positive time.")
        if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
            raise InputError(f"{where}: samples is {samples}. Expected a whole number of at least 2.")
        self.samples = samples
        self.integrator = integrator
        self.step = None if step is None else self.number(step, f"{where}, step")
        self.assemble_start = assemble
        return self

    # what needs values to be read

    @property
    def gravity(self) -> Vector3:
        """The acceleration of gravity in world axes, as formulas."""
        return self._vector(self._gravity, f"model '{self.name}', gravity", constant=True)

    def with_parameters(self, values: Mapping[str, float] | None = None, **more: float) -> Self:
        """A copy of the model with other default values of its parameters."""
        changes = {**(values or {}), **more}
        known = self.parameter_values
        for name in changes:
            if name not in known:
                raise InputError(f"model '{self.name}': there is no parameter '{name}'. {nearest(name, known)}")
        out = self.copy()
        out.parameter_list = tuple(
            Parameter(p.name, self.number(changes.get(p.name, p.value), f"parameter '{p.name}'"), p.description, p.unit)
            for p in self.parameter_list
        )
        return out

    def stabilized(self, alpha: float, beta: float) -> Self:
        """A copy whose constraints all have feedback: φ̈ + β φ̇ + α φ = 0 and ψ̇ + β ψ = 0, Baumgarte's stabilisation."""
        gains = tuple(self.number(gain, "stabilization") for gain in (alpha, beta))
        out = self.copy()
        out.holonomic_list = tuple(
            c if c.feedback else replace(c, feedback=tuple(map(decimal, gains))) for c in self.holonomic_list
        )
        out.loops = tuple(c if c.feedback else replace(c, feedback=tuple(map(decimal, gains))) for c in self.loops)
        out.nonholonomic_list = tuple(
            c if c.feedback else replace(c, feedback=(decimal(gains[1]),)) for c in self.nonholonomic_list
        )
        return out

    # how declarations are read

    def _declare(self, name: Any, kind: str) -> str:
        """The name of a new parameter or coordinate, given as text or as a SymPy symbol."""
        key = name if isinstance(name, str) else str(getattr(name, "func", name)) if kind == "coordinate" else str(name)
        if not is_identifier(key):
            raise InputError(
                f"{kind} '{key}': not a usable name. Expected an identifier of letters, digits and _ "
                "that is not t, pi or the name of a function."
            )
        if key in self.reader.names or any(s.name == key for s in self.speed_list):
            raise InputError(f"{kind} '{key}': the name is already in use. Give it a name of its own.")
        return key

    def number(self, value: Any, where: str) -> float:
        """A finite number, given as such or as a formula of earlier parameters."""
        try:
            if isinstance(value, str):
                known = self.parameter_values
                formula = parse(value, coordinates=(), parameters=known, where=where, rates=False, time=False)
                number = evaluate(formula, known)
            else:
                number = float(value)
        except InputError:
            raise
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if isinstance(value, bool) or not math.isfinite(number):
            raise InputError(f"{where}: the value is {value}. Expected a finite number.")
        return number

    def _by_name(self, values: Mapping[str, float] | Sequence[float], what: str) -> dict[str, float]:
        names = self.coordinate_names
        if isinstance(values, Mapping):
            for name in values:
                if name not in names:
                    raise InputError(f"start, {what}: there is no coordinate '{name}'. {nearest(name, names)}")
            pairs: Iterable[tuple[str, Any]] = values.items()
        else:
            if len(values) != len(names):
                raise InputError(
                    f"start, {what}: {len(values)} values for {len(names)} coordinates. Give one for each."
                )
            pairs = zip(names, values, strict=True)
        return {name: self.number(value, f"coordinate '{name}', {what}") for name, value in pairs}

    def _inertia(self, values: Sequence[Any], where: str) -> tuple[Vector3, Vector3, Vector3]:
        flat = [v for row in values for v in (row if isinstance(row, list | tuple | np.ndarray) else [row])]
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
