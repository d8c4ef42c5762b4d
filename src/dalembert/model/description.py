"""Description: the elements of a model as an immutable value, and the properties that follow from them."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from functools import cached_property
from numbers import Number
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from symengine import Piecewise

from dalembert.arguments import documented_class
from dalembert.errors import InputError, NotApplicableError, Problem, model_error, short_repr, suggest_name
from dalembert.model.constraints.base import FormulaConstraint
from dalembert.model.constraints.canonical import Canonical
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.constraints.loop import Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic
from dalembert.model.contacts.base import Contact
from dalembert.model.elements import (
    Body,
    Coordinate,
    Energies,
    Event,
    Limits,
    Parameter,
    Point,
    Rotor,
    Shape,
    Speed,
    named_points,
)
from dalembert.model.evaluation import value as evaluate
from dalembert.model.immutable import Frozen, FrozenValue
from dalembert.model.loads.base import Load
from dalembert.model.loads.contact_base import Unilateral
from dalembert.model.python_laws import Controller, Inputs
from dalembert.model.values import FormulaReader, Values, Vector3
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.lookup_tables import tables_in
from dalembert.symbolic.parser import parse
from dalembert.symbolic.symbols import Formula, Written, decimal
from dalembert.tables import Table, Tabular, format_cell

if TYPE_CHECKING:
    import sympy


_MAX_TABLE_ROWS = 60


@documented_class
@dataclass(repr=False, eq=False)
class Elements(Tabular, ABC):
    """The elements of a model, each an immutable record, and properties derived from them.

    Attributes
    ----------
    name : str
        Name of the model.
    gravity_input : tuple
        Acceleration of gravity in world axes as it was given, shape (3,); `gravity` has it as formulas.
    text : str
        Description by the user.
    declared_parameters : tuple of Parameter
        Parameters with default values, in the order of declaration.
    generalized_coordinates : tuple of Coordinate
        Coordinates with default initial positions and rates, in the order of q.
    symbols : mapping of str to sympy.Basic
        SymPy objects of the declared names.
    bodies : tuple of Body
        Bodies with their joints and mass properties.
    loads : tuple of Load
        Forces, torques, springs, dampers, actuators and compliant or rigid contacts.
    holonomic_constraints : tuple of Holonomic
        Constraints φ(q, t) = 0, including prescribed motions.
    nonholonomic_constraints : tuple of Nonholonomic
        Constraints ψ(q, q̇, t) = 0.
    canonical_constraints : tuple of Canonical
        Constraints φ(q, p, t) = 0 on coordinates and momenta.
    contacts : tuple of Contact
        Constraints between bodies, such as rolling, gears, couplings and distances.
    loops : tuple of Loop
        Loop-closing joints.
    rotors : tuple of Rotor
        Rotors geared to joints.
    points : tuple of Point
        Named points of bodies.
    events : tuple of Event
        Events of a simulation.
    controllers : tuple of Controller
        Control laws in Python.
    limits : mapping of str to Limits
        Limits of position, rate and effort, by coordinate.
    shapes : tuple of Shape
        Visual shapes of bodies.
    published : bool
        True for published data, whose inconsistent inertias are warnings instead of errors.
    notes : tuple of str
        What an importer changed or ignored.
    generalized_speeds : tuple of Speed
        Declared generalized speeds (quasi-velocities).
    energies : Energies or None
        Kinetic energy, potential energy and applied forces of a model without bodies.
    non_ideal_forces : mapping of str to Formula
        Non-ideal constraint forces, by coordinate.
    duration : float
        Default duration of a simulation, s.
    samples : int
        Default number of samples.
    integrator : str or None
        Default integrator; chosen automatically if None.
    step : float or None
        Default step size of an integrator with fixed steps, s.
    assemble_start : bool
        True if the initial state is a guess that is moved to the nearest one satisfying the constraints.
    """

    name: str
    gravity_input: tuple[Written, ...] = (0, 0, 0)  # read on access, since parameters may be declared later
    text: str = ""  # description by the user
    declared_parameters: tuple[Parameter, ...] = ()
    generalized_coordinates: tuple[Coordinate, ...] = ()
    # SymPy objects of the declared names
    symbols: Frozen[str, sympy.Basic] = field(default_factory=lambda: Frozen())
    bodies: tuple[Body, ...] = ()
    loads: tuple[Load, ...] = ()
    holonomic_constraints: tuple[Holonomic, ...] = ()
    nonholonomic_constraints: tuple[Nonholonomic, ...] = ()
    canonical_constraints: tuple[Canonical, ...] = ()
    contacts: tuple[Contact, ...] = ()
    loops: tuple[Loop, ...] = ()
    rotors: tuple[Rotor, ...] = ()
    points: tuple[Point, ...] = ()
    events: tuple[Event, ...] = ()
    controllers: tuple[Controller, ...] = ()
    limits: Frozen[str, Limits] = field(default_factory=lambda: Frozen())
    shapes: tuple[Shape, ...] = ()
    published: bool = False  # published data: inconsistent inertias are warnings, not errors
    notes: tuple[str, ...] = ()  # what an importer changed or ignored
    generalized_speeds: tuple[Speed, ...] = ()
    energies: Energies | None = None
    non_ideal_forces: Frozen[str, Formula] = field(default_factory=lambda: Frozen())
    duration: float = 10.0
    samples: int = 501
    integrator: str | None = None  # None: chosen automatically
    step: float | None = None
    assemble_start: bool = False  # True: the initial state is a guess and is assembled

    @property
    @abstractmethod
    def description(self) -> Description:
        """All elements as one immutable value."""

    @abstractmethod
    def replaced(self, **elements: object) -> Self:
        """Return a copy with some elements replaced, by attribute name.

        Parameters
        ----------
        **elements
            New values, by attribute name.

        Returns
        -------
        Model or Description
            The copy.
        """

    @property
    def reader(self) -> FormulaReader:
        """The reader of formulas of the declared names."""
        parameters = tuple(p.name for p in self.declared_parameters)
        return FormulaReader(self.coordinate_names, parameters, self.symbols, named_points(self))

    # properties

    def formula(
        self,
        value: Written,
        where: str = "formula",
        *,
        rates: bool = True,
        constant: bool = False,
        momenta: bool = False,
    ) -> Formula:
        """Read a formula of the declared names, as elements do.

        Parameters
        ----------
        value : str, float or sympy.Expr
            The formula.
        where : str, default 'formula'
            The element, for messages.
        rates : bool, default True
            Allow rates of coordinates.
        constant : bool, default False
            Allow parameters only.
        momenta : bool, default False
            Allow momenta, written p(x) for a coordinate x, instead of rates.

        Returns
        -------
        Formula
            The SymEngine expression.

        Raises
        ------
        InputError
            If the formula has a syntax error or an unknown or disallowed name.

        Examples
        --------
        >>> from dalembert.model.model import Model
        >>> Model("m").parameters(k=2.0).coordinates("x").formula("k*x**2/2")
        (1/2)*k*x**2
        """
        if constant:
            return self.reader.constant(value, where)
        return self.reader.read(value, where, rates=rates and not momenta, momenta=momenta)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the coordinates in the order of q."""
        return self.description.names

    @property
    def parameter_values(self) -> dict[str, float]:
        """The default values of the parameters by name."""
        return {p.name: p.value for p in self.declared_parameters}

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the declared constraints: holonomic formulas, loops, nonholonomic formulas.

        Contacts and quaternion norms are not included; `Equations.constraint_names` has every row of the multipliers.
        """
        declared = (*self.holonomic_constraints, *self.loops, *self.nonholonomic_constraints)
        return tuple(name for constraint in declared for name in constraint.row_names)

    @property
    def formula_constraints(self) -> tuple[FormulaConstraint, ...]:
        """The constraints defined by formulas: holonomic, nonholonomic, canonical."""
        return (*self.holonomic_constraints, *self.nonholonomic_constraints, *self.canonical_constraints)

    @property
    def initial(self) -> tuple[np.ndarray, np.ndarray]:
        """The default initial positions and velocities (q0, qd0)."""
        q0 = np.array([c.start for c in self.generalized_coordinates], dtype=float)
        return q0, np.array([c.start_rate for c in self.generalized_coordinates], dtype=float)

    @property
    def sympy_symbols(self) -> dict[str, Any]:
        """The SymPy symbols that the user declared, by name."""
        return dict(self.symbols)

    @property
    def titled_formulas(self) -> list[tuple[str, Formula]]:
        """Every formula of coordinates, velocities or time in the model, with the title of its element."""
        joints = [(body.name, joint) for body in self.bodies for joint in body.joints]
        found = [(f"joint of '{body}'", value) for body, joint in joints for value in joint.values]
        found += [(f"constraint '{c.name}'", c.formula) for c in self.formula_constraints]
        found += [(f"speed '{u.name}'", u.value) for u in self.generalized_speeds]
        found += [(load.title, formula) for load in self.loads for formula in load.formulas]
        if self.energies is not None:
            found += [("kinetic energy", self.energies.kinetic), ("potential energy", self.energies.potential)]
            found += [(f"force {i + 1}", formula) for i, formula in enumerate(self.energies.forces)]
        return found + [(f"non-ideal force on '{name}'", f) for name, f in self.non_ideal_forces.items()]

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Every formula of coordinates, velocities or time in the model."""
        return tuple(formula for _, formula in self.titled_formulas)

    @property
    def switching(self) -> list[str]:
        """The elements with piecewise formulas (abs, sign, min, max, piecewise, tables).

        >>> from dalembert.model.model import Model
        >>> model = Model("bead").coordinates("x")
        >>> _ = model.body("bead", joint=model.prismatic((1, 0, 0), "x"), mass=1)
        >>> model.force("bead", ("-200*max(x - 5, 0)", 0, 0), name="bumper").switching
        ["force 'bumper'"]
        """
        return sorted({title for title, f in self.titled_formulas if f.atoms(Piecewise) or tables_in(f)})

    @property
    def rigid(self) -> tuple[Unilateral, ...]:
        """The rigid contacts."""
        return tuple(load.unilateral for load in self.loads if load.unilateral is not None)

    @property
    def longest_table(self) -> int:
        """The number of rows of the longest lookup table in a formula."""
        return max((len(table) for formula in self.formulas for table in tables_in(formula)), default=0)

    def refuse_canonical(self, who: str) -> None:
        """Raise if the model has constraints on momenta, which `who` does not support.

        Raises
        ------
        NotApplicableError
            If there are constraints on momenta.
        """
        if self.canonical_constraints:
            raise NotApplicableError(
                f"{who}: the constraint '{self.canonical_constraints[0].name}' of model '{self.name}' contains momenta. "
                "Only the formalism dirac supports such constraints; remove it, or use dirac."
            )

    @property
    def inputs(self) -> Inputs:
        """The inputs: parameters computed by control laws in Python, and these laws."""
        return Inputs(self.controllers, self.coordinate_names, tuple(p.name for p in self.declared_parameters))

    def without_controllers(self) -> Self:
        """Return a copy without control laws in Python.

        Their inputs u(name) become parameters of default value 1.

        Returns
        -------
        Model or Description
            The copy, or the model itself if there are no such laws.
        """
        return self.replaced(controllers=()) if self.controllers else self

    def with_unit_contact_forces(self) -> Self:
        """Return a copy with all rigid contact forces set to 1; they are 0 unless a simulation computes them.

        Returns
        -------
        Model or Description
            The copy, or the model itself without rigid contacts.
        """
        names = {name for known in self.rigid for name in known.parameters}
        return self.with_parameters(dict.fromkeys(names, 1.0)) if names else self

    def refuse_rigid(self, who: str) -> None:
        """Raise if the model has rigid contacts, whose forces `who` cannot compute.

        Raises
        ------
        NotApplicableError
            If there are rigid contacts.
        """
        for known in self.rigid:
            raise NotApplicableError(
                f"{who}: {known.title} of model '{self.name}' is rigid, and its force is computed by dl.simulate only. Expected "
                "compliant contacts: give it a stiffness instead of restitution."
            )

    def refuse_laws(self, who: str, advice: str) -> None:
        """Raise if loads are defined by control laws in Python, where `who` needs formulas.

        Parameters
        ----------
        advice : str
            How to fix it, for the message.

        Raises
        ------
        NotApplicableError
            If there are control laws in Python.
        """
        for controller in self.controllers:
            raise NotApplicableError(
                f"{who}: '{controller.name}' of model '{self.name}' is a control law in Python. Expected formulas. {advice}"
            )

    @property
    def gravity(self) -> Vector3:
        """The acceleration of gravity in world axes, as formulas."""
        where, read = f"model '{self.name}', gravity", self.reader.constant
        x, y, z = (read(value, f"{where}[{i}]") for i, value in enumerate(self.gravity_input))
        return (x, y, z)

    def number(self, value: Any, where: str) -> float:
        """Evaluate a number or a formula of parameters.

        Parameters
        ----------
        value : float or str
            A number or a formula of parameters.
        where : str
            The element, for messages.

        Returns
        -------
        float
            Its value for the default values of the parameters.

        Raises
        ------
        InputError
            If it is not finite, or not a number or formula of parameters.
        """
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
            got = value if isinstance(value, str | Number) else short_repr(value)
            raise InputError(f"{where}: the value is {got}. Expected a finite number.")
        return number

    # validation

    def check(self) -> list[Problem]:
        """Return all problems of the model; an empty list if there are none.

        Returns
        -------
        list of Problem
            Problems, each with the element, the fact and how to fix it.
        """
        from dalembert.model.check import problems

        return problems(self)

    def require_valid(self) -> None:
        """Raise one `ModelError` with all problems that prevent the derivation of equations."""
        found = [problem for problem in self.check() if problem.blocking]
        if found:
            raise model_error(self.name, found)

    # modified copies

    def with_parameters(self, values: Values | None = None, **more: float | str) -> Self:
        """Return a copy with other default parameter values, by name or SymPy symbol.

        Parameters
        ----------
        values : mapping of str or Symbol to float or str, optional
            New values, numbers or formulas of parameters.
        **more
            New values by keyword.

        Returns
        -------
        Model or Description
            The copy.

        Raises
        ------
        InputError
            If a name is unknown, a value is not finite, or the parameter is computed by a control law.
        """
        changes = validated_parameters(self, {**(values or {}), **more})
        known = (replace(p, value=changes.get(p.name, p.value)) for p in self.declared_parameters)
        return self.replaced(declared_parameters=tuple(known))

    def stabilized(self, alpha: float, beta: float) -> Self:
        """Return a copy with Baumgarte stabilization of all constraints: φ̈ + β φ̇ + α φ = 0 and ψ̇ + β ψ = 0.

        Parameters
        ----------
        alpha : float
            Gain α of positions, 1/s².
        beta : float
            Gain β of rates, 1/s.

        Returns
        -------
        Model or Description
            The copy; constraints with their own feedback gains are unchanged.
        """
        gains = tuple(decimal(self.number(gain, "stabilization")) for gain in (alpha, beta))
        lists = {key: getattr(self, key) for key in ("holonomic_constraints", "loops", "nonholonomic_constraints")}
        return self.replaced(**{key: tuple(c.stabilized(gains) for c in found) for key, found in lists.items()})

    def tables(self) -> tuple[Table, ...]:
        """Tables of the declared coordinates, parameters, bodies, loads and constraints."""
        return tables_of(self)

    def __repr__(self) -> str:
        return (
            f"<Model '{self.name}': {len(self.bodies)} bodies, {len(self.generalized_coordinates)} coordinates, "
            f"{len(self.constraint_names) + len(self.canonical_constraints)} constraints>"
        )


@documented_class
@dataclass(repr=False)
class Description(FrozenValue, Elements):
    """Immutable description of a model: compared and hashed by content, can be pickled.

    Its attributes are those of `Model`, without the methods that add elements.

    Examples
    --------

    >>> from dalembert.model.model import Model
    >>> Model("m").coordinates("x").description == Model("m").coordinates("x").description
    True
    """

    @cached_property
    def content(self) -> str:
        """The SHA-256 hash of all fields."""
        return hashlib.sha256(repr([getattr(self, each.name) for each in fields(self)]).encode()).hexdigest()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the coordinates, cached."""
        return tuple(map(attrgetter("name"), self.generalized_coordinates))

    @cached_property
    def switching(self) -> list[str]:  # pyright: ignore[reportIncompatibleMethodOverride] (both are read only)
        """The elements with piecewise formulas, cached."""
        return super().switching

    @cached_property
    def longest_table(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] (both are read only)
        """The number of rows of the longest lookup table in a formula, cached."""
        return super().longest_table

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self) or name not in FIELDS:
            raise FrozenInstanceError(f"cannot assign to field '{name}'")
        super().__setattr__(name, value)

    def __hash__(self) -> int:
        return hash(self.content)

    @property
    def description(self) -> Description:
        """The description itself."""
        return self

    def replaced(self, **elements: object) -> Description:
        """Return a copy with some elements replaced, by attribute name.

        Parameters
        ----------
        **elements
            New values, by attribute name.

        Returns
        -------
        Description
            The copy.
        """
        out = replace(self, **elements)
        if "generalized_coordinates" not in elements and "names" in vars(self):
            vars(out)["names"] = self.names
        return out


FIELDS = tuple(each.name for each in fields(Description))


def validated_parameters(model: Elements, values: Values) -> dict[str, float]:
    """Validate new parameter values and return them by name; keys may be SymPy symbols."""
    known, out = {p.name for p in model.declared_parameters}, {}
    laws = {name: controller for controller in model.controllers for name in controller.inputs}
    for key, value in values.items():
        name = key if isinstance(key, str) else str(key)
        if name in laws:
            fact = f"{name} is computed by {laws[name].title}"
            raise InputError(f"model '{model.name}': {fact}. Use model.without_controllers() to choose its value.")
        if name not in known:
            raise InputError(f"model '{model.name}': there is no parameter '{name}'. {suggest_name(name, known)}")
        out[name] = model.number(value, f"parameter '{name}'")
    return out


def tables_of(model: Elements) -> tuple[Table, ...]:
    """Tables of coordinates, parameters, bodies, loads and constraints, without empty ones.

    >>> from dalembert.model.model import Model
    >>> print(*tables_of(Model("slide").coordinates("x").parameters(m=2.0)), sep="\\n")
    slide
    coordinate  start  rate
    x           0      0
    parameter  value
    m          2
    """
    bodies = [
        (body.name, body.parent, ", ".join(joint.kind for joint in body.joints) or "fixed", formula_string(body.mass))
        for body in model.bodies
    ]
    coordinates = [
        (c.name, format_cell(float(c.start)), format_cell(float(c.start_rate)), c.unit, c.description)
        for c in model.generalized_coordinates
    ]
    skip = {name for controller in model.controllers for name in controller.inputs}
    skip |= {name for known in model.rigid for name in known.parameters}
    parameters = [
        (p.name, format_cell(float(p.value)), p.unit, p.description)
        for p in model.declared_parameters
        if p.name not in skip
    ]
    constraints = [(name, kind) for kind, names in _constraints(model).items() for name in names]
    found = (
        _table("coordinate, start, rate, unit, meaning", coordinates),
        _table("parameter, value, unit, meaning", parameters),
        _table("body, carried by, joints, mass", bodies),
        _table("load, kind", [(load.name, load.kind) for load in model.loads]),
        _table("constraint, kind", constraints),
    )
    title = f"{model.name}: {model.text}" if model.text else model.name
    return (Table(title=title), *(table for table in found if table.rows))


def _constraints(model: Elements) -> dict[str, list[str]]:
    """The names of all constraints, by kind."""
    return {
        "holonomic": [c.name for c in model.holonomic_constraints],
        "nonholonomic": [c.name for c in model.nonholonomic_constraints],
        "of momenta": [c.name for c in model.canonical_constraints],
        **{
            kind: [c.name for c in model.contacts if c.kind == kind]
            for kind in dict.fromkeys(c.kind for c in model.contacts)
        },
        "loop": [c.name for c in model.loops],
    }


def _table(headings: str, rows: list[tuple[str, ...]]) -> Table:
    """A table without empty columns, with at most _MAX_TABLE_ROWS rows."""
    columns = headings.split(", ")
    used = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    notes = (f"and {len(rows) - _MAX_TABLE_ROWS} more",) if len(rows) > _MAX_TABLE_ROWS else ()
    body = tuple(tuple(row[i] for i in used) for row in rows[:_MAX_TABLE_ROWS])
    return Table(tuple(columns[i] for i in used), body, "", notes)
