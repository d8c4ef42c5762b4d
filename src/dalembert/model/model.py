"""The description of a mechanical system, element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Self

from dalembert.arguments import checked, shown
from dalembert.errors import InputError, nearest
from dalembert.model.attitude import Rotation, roll_pitch_yaw, turned_inertia
from dalembert.model.body_points import PointMaker
from dalembert.model.checks.check_values import value as evaluate
from dalembert.model.constraints import ConstraintMakers
from dalembert.model.contacts import ContactMakers
from dalembert.model.declarations import Declarations
from dalembert.model.elements import Body, Energies, Limits, Rotor, Shape, Speed
from dalembert.model.events import EventMaker
from dalembert.model.initial_state import by_coordinate
from dalembert.model.joints import JointMakers
from dalembert.model.joints.base import Joint, joints_of
from dalembert.model.keys import make
from dalembert.model.loads import LoadMakers
from dalembert.model.making import row_of, several
from dalembert.model.solids import Matter, SolidMaker, together
from dalembert.model.vectors import WORLD, Name, Values
from dalembert.symbolic.symbols import Written, is_identifier


class Model(Declarations, SolidMaker, JointMakers, LoadMakers, ConstraintMakers, ContactMakers, PointMaker, EventMaker):
    """A mechanical system: parameters, coordinates, bodies with their joints, loads, constraints, quasi-velocities.

    Elements are added by methods that return the model, so calls can be chained; the elements themselves are
    immutable records, and `derive` works on a copy. Formulas are text (`"m*g"`, `"dot(theta)"`), numbers, or SymPy
    expressions of `dynamicsymbols`.

    >>> model = Model("pendulum", gravity=(0, -9.81, 0))
    >>> _ = model.parameters(m=1.0, l=0.5).coordinates("theta")
    >>> rod = model.revolute(axis=(0, 0, 1), angle="theta")
    >>> _ = model.body("bob", joint=rod, mass="m", center=(0, "-l", 0))
    >>> model.coordinate_names
    ('theta',)
    """

    # bodies

    @checked
    def body(
        self,
        name: str,
        *,
        joint: Joint | Sequence[Joint],
        parent: str = WORLD,
        mass: Written = 0,
        center: Sequence[Written] = (0, 0, 0),
        inertia: Sequence[Written] = (0, 0, 0),
        inertia_axes: Rotation = (0, 0, 0),
        solid: Matter | Sequence[Matter] = (),
        description: str = "",
    ) -> Self:
        """Add a body, carried by `parent` through one joint or a sequence of them.

        `inertia` is about the mass centre: (Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) with the entries of the matrix as they
        stand in it, or a 3×3 matrix; in body axes, or in `inertia_axes`, given as rotations of joints are. In place of mass,
        centre and inertia a body may consist of solids: see `solid`.
        """
        where = f"body '{name}'"
        if name == WORLD or not is_identifier(name.replace("-", "_")):
            raise InputError(f"{where}: not a name for a body. Expected letters, digits, _ or -, and not 'world'.")
        if name in map(attrgetter("name"), self.bodies):
            raise InputError(f"{where}: declared twice. Give each body its own name.")
        joints = joints_of(joint, where)
        for i, each in enumerate(joints):
            each.require_motions(f"{where}, joint {i}")
        matter = Matter(
            self.reader.constant(mass, f"{where}, mass"),
            self._vector(center, f"{where}, center", constant=True),
            turned_inertia(
                self._inertia(inertia, f"{where}, inertia"),
                roll_pitch_yaw(self, inertia_axes, f"{where}, inertia_axes"),
            ),
        )
        if solids := _solids(solid, where):
            if any(x != 0 for x in (matter.mass, *matter.center, *(entry for row in matter.inertia for entry in row))):
                raise InputError(f"{where}: it has solids, and mass, center or inertia as well. Give one or the other.")
            matter = together(solids)
        self.bodies += (Body(name, parent, joints, matter.mass, matter.center, matter.inertia, description),)
        return self

    @checked
    def limit(
        self,
        coordinate: str,
        *,
        lower: float | str | None = None,
        upper: float | str | None = None,
        velocity: float | str | None = None,
        effort: float | str | None = None,
    ) -> Self:
        """Tell how far a coordinate can go, and how fast and how strongly it can be driven.

        Nothing is enforced by itself: `joint_stop` makes stops of lower and upper.
        """
        where = f"limit of '{coordinate}'"
        if coordinate not in self.coordinate_names:
            raise InputError(f"{where}: there is no such coordinate. {nearest(coordinate, self.coordinate_names)}")
        given = (("lower", lower), ("upper", upper), ("velocity", velocity), ("effort", effort))
        values = {key: None if x is None else self.number(x, f"{where}, {key}") for key, x in given}
        self.limits = self.limits | {coordinate: Limits(**values)}
        return self

    @checked
    def shape(
        self,
        body: str,
        kind: str,
        size: Sequence[float] = (),
        *,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        rotation: Rotation = (0.0, 0.0, 0.0),
        color: Sequence[float] | None = None,
        mesh: str = "",
    ) -> Self:
        """Tell what a body looks like; drawings use it, the equations do not."""
        where = f"shape of '{body}'"
        counts = {"box": 3, "cylinder": 2, "capsule": 2, "sphere": 1, "mesh": 3}
        if kind not in counts:
            raise InputError(f"{where}: there is no shape '{kind}'. {nearest(kind, counts)}")
        numbers = tuple(self.number(x, where) for x in row_of(size, where, f"{counts[kind]} sizes"))
        if len(numbers) != counts[kind]:
            raise InputError(f"{where}: a {kind} has {counts[kind]} sizes, got {len(numbers)}.")
        if not several(position, 3):
            raise InputError(f"{where}: position needs 3 numbers.")
        at = tuple(self.number(x, f"{where}, position") for x in position)
        angles = roll_pitch_yaw(self, rotation, f"{where}, rotation")
        turned = tuple(evaluate(angle, self.parameter_values) for angle in angles)
        if color is not None and not several(color, 4):
            count = len(color) if several(color) else repr(color)
            raise InputError(f"{where}, color: got {count} values. Expected 4: red, green, blue, alpha.")
        paint = None if color is None else tuple(self.number(x, f"{where}, color") for x in color)
        self.shapes += (Shape(body, kind, numbers, at, turned, paint, mesh),)
        return self

    @checked
    def note(self, sentence: str) -> Self:
        """Keep a sentence about how the model was made, such as what an importer left out."""
        self.notes += (sentence,)
        return self

    @checked
    def rotor(
        self,
        body: str,
        inertia: Written,
        *,
        ratio: Written = 1,
        joint: int = 0,
        motion: int = 0,
        name: str | None = None,
    ) -> Self:
        """Give the motor of a joint its inertia: a rotor that turns `ratio` times as fast as the joint.

        It adds ½ inertia (ratio × rate)² to the kinetic energy; its gyroscopic effects are left out, as is usual for
        geared drives.
        """
        key = name or f"rotor{len(self.rotors) + 1}"
        if any(rotor.name == key for rotor in self.rotors):
            raise InputError(f"rotor '{key}': declared twice. Give each rotor its own name.")
        given = {"body": body, "joint": joint, "motion": motion, "inertia": inertia, "ratio": ratio}
        self.rotors += (make(Rotor, [key], Rotor.keys, given, self, f"rotor '{key}'"),)
        return self

    # speeds and energies

    @checked
    def speed(self, value: Written, name: str | None = None, description: str = "") -> Self:
        """Choose one quasi-velocity, a formula linear in the velocities."""
        key = name or f"u{len(self.speed_list) + 1}"
        if not is_identifier(key) or key in self.reader.names or any(s.name == key for s in self.speed_list):
            raise InputError(f"speed '{key}': not a free name. Expected an identifier that nothing else uses.")
        self.speed_list += (Speed(key, self.reader.read(value, f"speed '{key}'"), description),)
        return self

    def speeds(self, *values: Written) -> Self:
        """Choose the quasi-velocities u1, u2, ... in this order."""
        for value in values:
            self.speed(value)
        return self

    @checked
    def set_energies(
        self, kinetic: Written, potential: Written = 0, forces: Mapping[str, Written] | Sequence[Written] = ()
    ) -> Self:
        """Describe the system by T(q, q̇, t), V(q, t) and applied forces Q, in the order of q or by coordinate."""
        names = self.coordinate_names
        given = {} if several(forces, 0) else by_coordinate(names, forces, "energies, forces")
        read = self.reader.read
        self.energies = Energies(
            read(kinetic, "kinetic energy"),
            read(potential, "potential energy", rates=False),
            tuple(read(given.get(name, 0), f"force {i + 1}") for i, name in enumerate(names)),
        )
        return self

    @classmethod
    def from_energies(
        cls,
        name: str,
        *,
        coordinates: Sequence[Name],
        kinetic: Written,
        potential: Written = 0,
        forces: Sequence[Written] = (),
        holonomic: Sequence[Written] = (),
        nonholonomic: Sequence[Written] = (),
        speeds: Sequence[Written] = (),
        parameters: Values | None = None,
        non_ideal: Sequence[Written] = (),
        description: str = "",
    ) -> Self:
        """A model given by its energies: T(q, q̇, t), V(q, t), applied forces Q, constraints and speeds.

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


def _solids(given: object, where: str) -> list[Matter]:
    """One solid or several, as a list."""
    parts = list(given) if several(given) else [given]
    found = [part for part in parts if isinstance(part, Matter)]
    if len(found) != len(parts):
        raise InputError(
            f"{where}, solid: got {shown(given)}. Expected solids such as model.solid('box', (1, 2, 3), mass=4)."
        )
    return found
