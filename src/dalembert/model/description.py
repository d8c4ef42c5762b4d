"""What a model holds and what can be read off it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from symengine import Piecewise

from dalembert.algebra.tables import tables_in
from dalembert.errors import InputError, NotApplicableError
from dalembert.model.elements import (
    Body,
    CanonicalConstraint,
    Contact,
    Coordinate,
    Energies,
    Holonomic,
    Limits,
    Loop,
    Nonholonomic,
    Parameter,
    Rotor,
    Shape,
    Speed,
)
from dalembert.model.formulas import Reader
from dalembert.model.loads import Force, JointTorque, Load, Torque


class Description:
    """The elements of a model, each an immutable record, and what follows from them at once."""

    def __init__(self, name: str, gravity: Sequence[Any] = (0, 0, 0), description: str = "") -> None:
        self.name = name
        self.description = description
        self.parameter_list: tuple[Parameter, ...] = ()
        self.coordinate_list: tuple[Coordinate, ...] = ()
        self.bodies: tuple[Body, ...] = ()
        self.loads: tuple[Load, ...] = ()
        self.holonomic_list: tuple[Holonomic, ...] = ()
        self.nonholonomic_list: tuple[Nonholonomic, ...] = ()
        self.canonical_list: tuple[CanonicalConstraint, ...] = ()
        self.contacts: tuple[Contact, ...] = ()
        self.loops: tuple[Loop, ...] = ()
        self.rotors: tuple[Rotor, ...] = ()
        self.limits: dict[str, Limits] = {}
        self.shapes: tuple[Shape, ...] = ()
        self.published = False  # the numbers are a vendor's: odd inertias are told, not refused
        self.notes: tuple[str, ...] = ()  # what an importer understood, changed or left out
        self.speed_list: tuple[Speed, ...] = ()
        self.energies: Energies | None = None
        self.non_ideal_forces: dict[str, Any] = {}
        self.duration = 10.0
        self.samples = 501
        self.integrator: str | None = None  # None: the best that can run
        self.step: float | None = None
        self.assemble_start = False  # True: the initial state is a guess, to be assembled
        self._reader = Reader()
        # gravity may name parameters that are declared later, so it is read when it is asked for
        self._gravity = tuple(gravity)
        if len(self._gravity) != 3:
            raise InputError(
                f"model '{name}': gravity has {len(self._gravity)} components. Expected 3, e.g. (0, -9.81, 0)."
            )

    # what others read

    def formula(
        self,
        value: Any,
        where: str = "formula",
        *,
        rates: bool = True,
        constant: bool = False,
        momenta: bool = False,
    ) -> Any:
        """Any formula of the declared names, read as the elements read theirs; `constant` allows parameters only.

        With `momenta` the momentum of a coordinate x is written p(x), and velocities are refused.

        >>> from dalembert.model import Model
        >>> Model("m").parameters(k=2.0).coordinates("x").formula("k*x**2/2")
        (1/2)*k*x**2
        """
        if momenta:
            return self._reader.canonical(value, where)
        return self._reader.constant(value, where) if constant else self._reader.read(value, where, rates=rates)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the coordinates: the order of q everywhere."""
        return tuple(c.name for c in self.coordinate_list)

    @property
    def parameter_values(self) -> dict[str, float]:
        """The default values of the parameters by name."""
        return {p.name: p.value for p in self.parameter_list}

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the constraints as declared: holonomic formulas, loops, nonholonomic formulas.

        Contacts and norms of quaternions are not among them; `Equations.constraint_names` has every row of the multipliers.
        """
        loops = tuple(name for loop in self.loops for name in loop.row_names)
        return (*(c.name for c in self.holonomic_list), *loops, *(c.name for c in self.nonholonomic_list))

    @property
    def initial(self) -> tuple[np.ndarray, np.ndarray]:
        """The default initial positions and velocities (q0, qd0)."""
        q0 = np.array([c.start for c in self.coordinate_list], dtype=float)
        return q0, np.array([c.start_rate for c in self.coordinate_list], dtype=float)

    @property
    def sympy_symbols(self) -> dict[str, Any]:
        """The SymPy symbols the user declared, by name (empty for models written as text)."""
        return self._reader.sympy_symbols

    @property
    def formulas(self) -> tuple[Any, ...]:
        """Every formula of coordinates, velocities or time in the model."""
        found: list[Any] = [value for body in self.bodies for joint in body.joints for value in joint.values]
        found += [c.phi for c in self.holonomic_list] + [c.psi for c in self.nonholonomic_list]
        found += [c.phi for c in self.canonical_list] + [u.value for u in self.speed_list]
        for load in self.loads:
            match load:
                case Force():
                    found += load.force
                case Torque():
                    found += load.torque
                case JointTorque():
                    found.append(load.value)
        if self.energies is not None:
            found += [self.energies.kinetic, self.energies.potential, *self.energies.forces]
        found += self.non_ideal_forces.values()
        return tuple(found)

    @property
    def smooth(self) -> bool:
        """False when a formula switches branches (abs, sign, min, max, piecewise, tables)."""
        return not any(formula.atoms(Piecewise) or tables_in(formula) for formula in self.formulas)

    @property
    def longest_table(self) -> int:
        """The rows of the longest table of time in a formula."""
        return max((len(table) for formula in self.formulas for table in tables_in(formula)), default=0)

    def refuse_canonical(self, who: str) -> None:
        """Raise when the model has constraints on momenta, which `who` cannot treat."""
        if self.canonical_list:
            raise NotApplicableError(
                f"{who}: the constraint '{self.canonical_list[0].name}' of model '{self.name}' contains momenta. "
                "Only the formalism dirac treats such constraints; remove it, or derive by dirac."
            )

    def copy(self) -> Self:
        """An independent copy; the elements are immutable and shared."""
        out = copy.copy(self)
        out._reader = self._reader.copy()
        return out

    def __repr__(self) -> str:
        return (
            f"<Model '{self.name}': {len(self.bodies)} bodies, {len(self.coordinate_list)} coordinates, "
            f"{len(self.constraint_names) + len(self.canonical_list)} constraints>"
        )
