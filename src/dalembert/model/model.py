"""Model: the mutable builder of a mechanical system.

Methods such as `body`, `coordinates` and `spring` add elements and return the model; methods of joints return the joint.
Attributes such as `bodies`, `loads` and `coordinate_names` read them. Methods of joints, loads, constraints, contacts, points,
rotors and events are generated from their records (`model/record`); `model.pyi` has their signatures for type checkers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Self

import numpy as np

from dalembert.arguments import documented_class, validate_arguments
from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.model import constraints, contacts, joints, loads
from dalembert.model.attitude import Rotation, roll_pitch_yaw, rotate_inertia
from dalembert.model.description import FIELDS, Description, Elements
from dalembert.model.elements import Body, Coordinate, Energies, Event, Limits, Parameter, Point, Rotor, Shape, Speed
from dalembert.model.evaluation import Start, by_coordinate, coordinate_name, start_state
from dalembert.model.evaluation import value as evaluate
from dalembert.model.immutable import Frozen
from dalembert.model.joints.base import Joint, joints_of
from dalembert.model.record import Record, builders
from dalembert.model.solids import MassProperties, combine, solid
from dalembert.model.values import (
    WORLD,
    ArrayInput,
    Name,
    Values,
    Vector3,
    is_printable,
    is_sequence,
    require_name,
    require_new_printable,
    row_of,
    vector3,
)
from dalembert.symbolic.symbols import Written, is_identifier


class Model(Elements):
    """A mechanical system: parameters, coordinates, bodies with their joints, loads, constraints, quasi-velocities.

    Elements are added by methods that return the model, so calls can be chained; the elements themselves are
    immutable records, and `derive` works on a copy. A formula is a str (`"m*g"`, `"dot(theta)"`), a number, or a SymPy
    expression of `dynamicsymbols`.

    Parameters
    ----------
    name : str
        Name of the model.
    gravity : array_like, shape (3,)
        Acceleration of gravity in world axes, numbers or formulas of parameters; (0, 0, 0) by default.
    description : str
        Free description of the model.

    Attributes
    ----------
    description : Description
        All elements as an immutable value; `text` has the free description.

    Raises
    ------
    InputError
        If the name is not printable or `gravity` does not have 3 components.

    Examples
    --------
    >>> model = Model("pendulum", gravity=(0, -9.81, 0))
    >>> _ = model.parameters(m=1.0, l=0.5).coordinates("theta")
    >>> rod = model.revolute(axis=(0, 0, 1), angle="theta")
    >>> _ = model.body("bob", joint=rod, mass="m", center=(0, "-l", 0))
    >>> model.coordinate_names
    ('theta',)
    """

    _value: Description

    def __init__(self, name: str, gravity: ArrayInput = (0, 0, 0), description: str = "") -> None:
        require_name(name, "model")
        if not is_printable(description):
            raise InputError(f"model '{name}', description: got {description[:60]!a}. Expected no control characters.")
        g = tuple(row_of(gravity, f"model '{name}', gravity", "3 components, e.g. (0, -9.81, 0)"))
        if len(g) != 3:
            raise InputError(f"model '{name}': gravity has {len(g)} components. Expected 3, e.g. (0, -9.81, 0).")
        self._set(Description(name, g, description))

    @property
    def description(self) -> Description:
        """All elements added so far, as an immutable value."""
        return self._value

    def _set(self, description: Description) -> Self:
        vars(self).update({name: getattr(description, name) for name in FIELDS}, _value=description)
        return self

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a model has no attribute '{name}'. {suggest_name(name, (*FIELDS, *dir(type(self))))}")

    def __setattr__(self, name: str, value: object) -> None:
        if name not in FIELDS:
            raise AttributeError(f"a model has no element '{name}' to set. {suggest_name(name, FIELDS)}")
        if isinstance(value, tuple):
            require_new_printable(value, getattr(self, name))
        self._set(self.description.replaced(**{name: Frozen(value) if isinstance(value, dict) else value}))

    @classmethod
    def of(cls, description: Elements) -> Self:
        """Create a model from a description or from another model.

        Parameters
        ----------
        description : Model or Description
            The elements.

        Returns
        -------
        Model
            An independent model.
        """
        return cls.__new__(cls)._set(description.description)

    def replaced(self, **elements: object) -> Self:
        """Return a copy with some elements replaced, by attribute name.

        Parameters
        ----------
        **elements
            New values, by attribute name.

        Returns
        -------
        Model
            The copy.
        """
        return type(self).of(replace(self.description, **elements))

    def copy(self) -> Self:
        """Return an independent copy; the immutable elements are shared.

        Returns
        -------
        Model
            The copy.
        """
        return self.replaced()

    # declarations

    @validate_arguments
    def parameter(self, name: Name, value: float | str, description: str = "", unit: str = "") -> Self:
        """Declare a parameter with its default value, description and unit.

        Parameters
        ----------
        name : str or Symbol
            Unique name of the parameter.
        value : float or str
            Default value, a number or a formula of earlier parameters.
        """
        key = self._declare(name, "parameter")
        number = self.number(value, f"parameter '{key}'")
        self.declared_parameters += (Parameter(key, number, description, unit),)
        self._store_symbol(key, name)
        return self

    def parameters(self, values: Values | None = None, **more: float | str) -> Self:
        """Declare several parameters at once: `model.parameters(m=1.0, l=0.5)`.

        Parameters
        ----------
        values : mapping of str or Symbol to float or str, optional
            Default values by name.
        **more
            Default values by keyword.

        Raises
        ------
        InputError
            If `values` is not a mapping, a name is invalid or in use, or a value is not finite.
        """
        if values is not None and not isinstance(values, Mapping):
            raise InputError(f"parameters: got {values!r}. Expected a mapping of names to values, or m=1.0, l=0.5.")
        for name, value in {**(values or {}), **more}.items():
            self.parameter(name, value)
        return self

    @validate_arguments
    def coordinate(
        self, name: Name, start: float | str = 0.0, start_rate: float | str = 0.0, description: str = "", unit: str = ""
    ) -> Self:
        """Declare a generalized coordinate with its default initial position and velocity.

        Parameters
        ----------
        name : str or dynamicsymbol
            Unique name of the coordinate.
        start : float or str, default 0.0
            Default initial position, a number or a formula of parameters.
        start_rate : float or str, default 0.0
            Default initial velocity.
        """
        key = self._declare(name, "coordinate")
        q0 = self.number(start, f"coordinate '{key}', initial position")
        qd0 = self.number(start_rate, f"coordinate '{key}', initial rate")
        self.generalized_coordinates += (Coordinate(key, description, unit, q0, qd0),)
        self._store_symbol(key, name)
        return self

    def _store_symbol(self, name: str, symbol: Name) -> None:
        if not isinstance(symbol, str):
            self.symbols = self.symbols | {name: symbol}

    def coordinates(self, *names: Name) -> Self:
        """Declare several coordinates at once; initial positions and velocities are zero.

        Parameters
        ----------
        *names
            Names or dynamicsymbols.
        """
        for name in names:
            self.coordinate(name)
        return self

    @validate_arguments
    def start(self, q: Start, qd: Start) -> Self:
        """Set the default initial positions and velocities, by name or in the order of the coordinates.

        Parameters
        ----------
        q : array_like, shape (n,), or mapping of str to float
            Initial positions.
        qd : array_like, shape (n,), or mapping of str to float
            Initial velocities.
        """
        states = zip(self.generalized_coordinates, *start_state(self, q, qd, "start", ("q", "qd")), strict=True)
        self.generalized_coordinates = tuple(replace(c, start=float(x), start_rate=float(v)) for c, x, v in states)
        return self

    @validate_arguments
    def simulation(
        self,
        duration: float | str = 10.0,
        samples: int | float = 501,  # a float raises the error below
        integrator: str | None = None,
        step: float | str | None = None,
        assemble: bool = False,
    ) -> Self:
        """Set the default options of a simulation of this model.

        Parameters
        ----------
        duration : float or str, default 10.0
            Simulated time, s.
        samples : int, default 501
            Number of equidistant samples.
        integrator : str, optional
            The key of the integrator; chosen automatically if None.
        step : float or str, optional
            Step size of an integrator with fixed steps, s.
        assemble : bool, default False
            The initial state is a guess: loading moves it to the nearest one that satisfies the constraints.
        """
        where = "simulation"
        seconds = self.number(duration, f"{where}, duration")
        if seconds <= 0:
            raise InputError(f"{where}, duration: got {seconds:g}. Expected a positive number of seconds.")
        if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
            raise InputError(f"{where}, samples: got {samples}. Expected an int >= 2.")
        length = None if step is None else self.number(step, f"{where}, step")
        options = {"duration": seconds, "samples": samples, "integrator": integrator, "step": length}
        return self._set(replace(self.description, **options, assemble_start=assemble))

    def _declare(self, name: Name, kind: str) -> str:
        """Return the name of a new parameter or coordinate, a str or a SymPy symbol, after validation."""
        key = coordinate_name(name) if kind == "coordinate" else str(name)
        if not is_identifier(key):
            raise InputError(
                f"{kind} '{key}': invalid name. Expected an identifier of letters, digits and _ "
                "that is not t, pi or the name of a function."
            )
        if key in {*self.parameter_values, *self.coordinate_names, *(s.name for s in self.generalized_speeds)}:
            raise InputError(f"{kind} '{key}': the name is already in use. Choose a unique name.")
        return key

    # bodies

    solid = validate_arguments(solid)

    @validate_arguments
    def body(
        self,
        name: str,
        *,
        joint: Joint | Sequence[Joint],
        parent: str = WORLD,
        mass: Written = 0,
        center: ArrayInput = (0, 0, 0),
        inertia: ArrayInput = (0, 0, 0),
        inertia_axes: Rotation = (0, 0, 0),
        solid: MassProperties | Sequence[MassProperties] = (),
        description: str = "",
    ) -> Self:
        """Add a body, connected to `parent` by one joint or a sequence of joints.

        Parameters
        ----------
        name : str
            Unique name of the body: letters, digits, _ and -.
        joint : Joint or sequence of Joint
            The joints from the parent to the body, such as `model.revolute(...)`.
        parent : str, default 'world'
            The parent body, or the world.
        mass : float or formula, default 0
            Mass.
        center : array_like, shape (3,)
            Mass center in body axes.
        inertia : array_like, shape (3,), (6,) or (3, 3)
            Inertia about the mass center: (Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) with Ixy = −∫xy dm, or the matrix.
        inertia_axes : sequence or matrix
            Rotation from the axes of `inertia` to body axes, as in joints.
        solid : MassProperties or sequence of MassProperties
            Homogeneous solids, instead of mass, center and inertia; see `solid`.
        """
        where = f"body '{name}'"
        if name == WORLD or not is_identifier(name.replace("-", "_")):
            raise InputError(f"{where}: invalid body name. Expected letters, digits, _ or -, and not 'world'.")
        if name in map(attrgetter("name"), self.bodies):
            raise InputError(f"{where}: declared twice. Give each body a unique name.")
        joints = joints_of(joint, where)
        for i, each in enumerate(joints):
            each.require_motions(f"{where}, joint {i}")
        matter = MassProperties(
            self.reader.constant(mass, f"{where}, mass"),
            vector3(self.reader.constant, center, f"{where}, center"),
            rotate_inertia(
                _inertia(self, inertia, f"{where}, inertia"),
                roll_pitch_yaw(self, inertia_axes, f"{where}, inertia_axes"),
            ),
        )
        if solids := _solids(solid, where):
            if any(x != 0 for x in (matter.mass, *matter.center, *(entry for row in matter.inertia for entry in row))):
                raise InputError(f"{where}: both `solid` and mass, center or inertia are set. Give one or the other.")
            matter = combine(solids)
        self.bodies += (Body(name, parent, joints, matter.mass, matter.center, matter.inertia, description),)
        return self

    @validate_arguments
    def limit(
        self,
        coordinate: str,
        *,
        lower: float | str | None = None,
        upper: float | str | None = None,
        velocity: float | str | None = None,
        effort: float | str | None = None,
    ) -> Self:
        """Set the limits of a coordinate: position, velocity and effort of its drive.

        Limits are not enforced automatically: `joint_stop` adds stops at lower and upper.

        Parameters
        ----------
        coordinate : str
            The name of the coordinate.
        lower, upper : float or str, optional
            Limits of the position.
        velocity : float or str, optional
            Limit of the rate.
        effort : float or str, optional
            Limit of the force or torque of the drive.
        """
        where = f"limit of '{coordinate}'"
        if coordinate not in self.coordinate_names:
            raise InputError(f"{where}: there is no such coordinate. {suggest_name(coordinate, self.coordinate_names)}")
        limits = (("lower", lower), ("upper", upper), ("velocity", velocity), ("effort", effort))
        values = {key: None if x is None else self.number(x, f"{where}, {key}") for key, x in limits}
        self.limits = self.limits | {coordinate: Limits(**values)}
        return self

    @validate_arguments
    def shape(
        self,
        body: str,
        kind: str,
        size: ArrayInput = (),
        *,
        position: ArrayInput = (0.0, 0.0, 0.0),
        rotation: Rotation = (0.0, 0.0, 0.0),
        color: ArrayInput | None = None,
        mesh: str = "",
    ) -> Self:
        """Add a visual shape to a body; it is used in drawings only, not in the equations.

        Parameters
        ----------
        kind : {'box', 'cylinder', 'capsule', 'sphere', 'mesh'}
            Kind of the shape.
        size : array_like
            Three edges of a box, radius and length of a cylinder or capsule, radius of a sphere, three scales of a mesh.
        position : array_like, shape (3,)
            Center of the shape in body axes.
        rotation : sequence or matrix
            Orientation on the body: roll, pitch and yaw, rad, or another rotation.
        color : array_like, shape (4,), optional
            Red, green, blue and alpha, from 0 to 1.
        mesh : str, default ''
            File of a mesh.
        """
        where = f"shape of '{body}'"
        counts = {"box": 3, "cylinder": 2, "capsule": 2, "sphere": 1, "mesh": 3}
        if kind not in counts:
            raise InputError(f"{where}: there is no shape '{kind}'. {suggest_name(kind, counts)}")
        numbers = tuple(self.number(x, where) for x in row_of(size, where, f"{counts[kind]} sizes"))
        if len(numbers) != counts[kind]:
            raise InputError(f"{where}: got {len(numbers)} sizes. Expected {counts[kind]} for a {kind}.")
        if not is_sequence(position, 3):
            raise InputError(f"{where}, position: got {short_repr(position)}. Expected 3 numbers.")
        at = tuple(self.number(x, f"{where}, position") for x in position)
        angles = roll_pitch_yaw(self, rotation, f"{where}, rotation")
        rpy = tuple(evaluate(angle, self.parameter_values) for angle in angles)
        if color is not None and not is_sequence(color, 4):
            count = len(color) if is_sequence(color) else repr(color)
            raise InputError(f"{where}, color: got {count} values. Expected 4: red, green, blue, alpha.")
        rgba = None if color is None else tuple(self.number(x, f"{where}, color") for x in color)
        self.shapes += (Shape(body, kind, numbers, at, rpy, rgba, mesh),)
        return self

    @validate_arguments
    def note(self, sentence: str) -> Self:
        """Add a note about the model, such as what an importer ignored.

        Parameters
        ----------
        sentence : str
            The note.
        """
        self.notes += (sentence,)
        return self

    # speeds and energies

    @validate_arguments
    def speed(self, value: Written, name: str | None = None, description: str = "") -> Self:
        """Add a generalized speed (quasi-velocity), a formula linear in the velocities.

        Parameters
        ----------
        value : formula
            The generalized speed, linear in the velocities.
        name : str, optional
            Unique name; u1, u2, ... by default.
        """
        key = name or f"u{len(self.generalized_speeds) + 1}"
        if not is_identifier(key) or key in self.reader.names or any(s.name == key for s in self.generalized_speeds):
            raise InputError(f"speed '{key}': invalid or used name. Expected an unused identifier.")
        self.generalized_speeds += (Speed(key, self.reader.read(value, f"speed '{key}'"), description),)
        return self

    def speeds(self, *values: Written) -> Self:
        """Add the generalized speeds u1, u2, ... in this order.

        Parameters
        ----------
        *values
            Formulas, each linear in the velocities.
        """
        for value in values:
            self.speed(value)
        return self

    @validate_arguments
    def set_energies(
        self, kinetic: Written, potential: Written = 0, forces: Mapping[str, Written] | Sequence[Written] = ()
    ) -> Self:
        """Describe the system by its kinetic energy, potential energy and applied forces, instead of bodies.

        Parameters
        ----------
        kinetic : formula
            Kinetic energy T(q, q̇, t).
        potential : formula, default 0
            Potential energy V(q, t).
        forces : mapping of str to formula, or sequence of formula
            Applied generalized forces Q(q, q̇, t), by coordinate or in the order of q.
        """
        names = self.coordinate_names
        applied = {} if is_sequence(forces, 0) else by_coordinate(names, forces, "energies, forces")
        read = self.reader.read
        self.energies = Energies(
            read(kinetic, "kinetic energy"),
            read(potential, "potential energy", rates=False),
            tuple(read(applied.get(name, 0), f"force {i + 1}") for i, name in enumerate(names)),
        )
        return self

    @validate_arguments
    def non_ideal(self, forces: Mapping[str, Written] | Sequence[Written]) -> Self:
        """Set non-ideal constraint forces C(q, q̇, t), whose virtual work is wᵀC.

        Parameters
        ----------
        forces : mapping of str to formula, or sequence of formula
            Non-ideal constraint forces C(q, q̇, t), by coordinate or in the order of q.
        """
        entries = by_coordinate(self.coordinate_names, forces, "non_ideal").items()
        read = {name: self.reader.read(force, f"non_ideal '{name}'") for name, force in entries}
        self.non_ideal_forces = self.non_ideal_forces | read
        return self

    @classmethod
    def from_energies(
        cls,
        name: str,
        *,
        coordinates: Sequence[Name],
        kinetic: Written,
        potential: Written = 0,
        forces: Mapping[str, Written] | Sequence[Written] = (),
        holonomic: Sequence[Written] = (),
        nonholonomic: Sequence[Written] = (),
        speeds: Sequence[Written] = (),
        parameters: Values | None = None,
        non_ideal: Mapping[str, Written] | Sequence[Written] = (),
        description: str = "",
    ) -> Self:
        """Create a model from its energies T(q, q̇, t) and V(q, t), applied forces Q, constraints and speeds.

        Parameters
        ----------
        name : str
            Name of the model.
        coordinates : sequence of str or dynamicsymbol
            The coordinates q.
        kinetic : formula
            Kinetic energy T(q, q̇, t).
        potential : formula, default 0
            Potential energy V(q, t).
        forces : mapping of str to formula, or sequence of formula
            Applied generalized forces Q(q, q̇, t), by coordinate or in the order of q.
        holonomic : sequence of formula
            Constraints φ(q, t) = 0.
        nonholonomic : sequence of formula
            Constraints ψ(q, q̇, t) = 0.
        speeds : sequence of formula
            Generalized speeds, linear in the velocities.
        parameters : mapping of str or Symbol to float, optional
            Default values of the parameters.
        non_ideal : mapping of str to formula, or sequence of formula
            Non-ideal constraint forces C(q, q̇, t), by coordinate or in the order of q.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        InputError
            If a name is invalid, or a formula has an unknown name.

        Examples
        --------
        >>> from sympy import symbols, cos
        >>> from sympy.physics.mechanics import dynamicsymbols
        >>> x, k, m = dynamicsymbols("x"), *symbols("k m")
        >>> model = Model.from_energies("oscillator", coordinates=[x], kinetic=m * x.diff() ** 2 / 2,
        ...                             potential=k * x**2 / 2, parameters={m: 1.0, k: 4.0})
        >>> model.coordinate_names
        ('x',)
        """
        model = cls(name, description=description)
        model.parameters(parameters or {}).coordinates(*coordinates)
        model.set_energies(kinetic, potential, forces)
        for phi in holonomic:
            model.holonomic(phi)
        for psi in nonholonomic:
            model.nonholonomic(psi)
        if len(non_ideal):
            model.non_ideal(non_ideal)
        return model.speeds(*speeds)


def _solids(solid: object, where: str) -> list[MassProperties]:
    parts = list(solid) if is_sequence(solid) else [solid]
    found = [part for part in parts if isinstance(part, MassProperties)]
    if len(found) != len(parts):
        expected = "solids such as model.solid('box', (1, 2, 3), mass=4)"
        raise InputError(f"{where}, solid: got {short_repr(solid)}. Expected {expected}.")
    return found


def _inertia(model: Model, values: ArrayInput, where: str) -> tuple[Vector3, Vector3, Vector3]:
    """Return the inertia matrix of three moments, six entries or a matrix."""
    expected = "3 (diagonal), 6 (Ixx Iyy Izz Ixy Ixz Iyz) or 3x3"
    rows = row_of(values, where, f"{expected} numbers")
    flat = [v for row in rows for v in (row if isinstance(row, list | tuple | np.ndarray) else [row])]
    if len(flat) == 3:
        flat += [0, 0, 0]
    if len(flat) == 6:
        xx, yy, zz, xy, xz, yz = flat
        flat = [xx, xy, xz, xy, yy, yz, xz, yz, zz]
    if len(flat) != 9:
        raise InputError(f"{where}: got {len(flat)} numbers. Expected {expected}.")
    first, second, third = (vector3(model.reader.constant, flat[i : i + 3], where) for i in (0, 3, 6))
    return (first, second, third)


def add_methods(records: Iterable[type[Record]]) -> None:
    """Add the methods that build these records to `Model`."""
    for name, builder in builders(records).items():
        setattr(Model, name, builder.function)


add_methods((*joints.JOINTS, *loads.LOADS, *constraints.CONSTRAINTS, constraints.Loop, *contacts.CONTACTS))
add_methods((Point, Rotor, Event))

# shared descriptions of the arguments of its methods
documented_class(
    Model,
    {
        "name": ("str", "Unique name of the element; numbered if None."),
        "description": ("str", "Free description."),
        "unit": ("str", "Unit, for tables and plots."),
        "law": (
            "callable",
            "Control law in Python, called as law(t, state), instead of a formula; see `actuator`.",
        ),
        "period": ("float", "Sample time of the law, s; continuous if None."),
        "delay": ("float", "Time from a sample to its effect, s."),
        "vectorized": ("bool", "Whether the law accepts times (batch,) and states (n, batch)."),
        "joint": ("int", "Index of the joint of the body, from 0."),
        "motion": ("int", "Index of the motion of the joint, from 0."),
        "sequence": ("str", "Axes of the three intrinsic rotations, such as 'zyx'."),
        "angles": ("sequence of formula", "Three angles, rad; None for a quaternion, or in a loop-closing joint."),
        "quaternion": ("sequence of str", "Names of four coordinates (w, x, y, z), instead of angles."),
        "position": ("array_like, shape (3,)", "Origin of the frame, in parent axes; constants."),
        "rotation": ("sequence or matrix", "Orientation of the frame: roll, pitch and yaw, rad, or another rotation."),
        "where": ("str", "The element, for messages."),
        "feedback": (
            "tuple of float",
            "Gains (α, β) of a servo constraint, 1/s² and 1/s; an exact constraint if None.",
        ),
    },
    ("Model", "The model itself, so that calls can be chained."),
)
