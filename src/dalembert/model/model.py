"""The description of a mechanical system, element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from dalembert.arguments import checked
from dalembert.errors import InputError, nearest
from dalembert.expressions import is_identifier
from dalembert.expressions.formula import Written
from dalembert.model.contacts import ContactMakers
from dalembert.model.declarations import Declarations
from dalembert.model.drives import DriveMakers
from dalembert.model.elements import (
    WORLD,
    Body,
    CanonicalConstraint,
    Energies,
    Holonomic,
    Limits,
    Loop,
    Nonholonomic,
    Shape,
    Speed,
)
from dalembert.model.joints import Joint, JointMakers
from dalembert.model.joints.base import joints_of
from dalembert.model.loads import LoadMakers
from dalembert.model.making import pair, row_of, several


class Model(Declarations, JointMakers, LoadMakers, DriveMakers, ContactMakers):
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

    # bodies and loops

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
        description: str = "",
    ) -> Self:
        """Add a body, carried by `parent` through one joint or a sequence of them.

        `inertia` is about the mass centre in body axes: (Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) with the
        entries of the matrix as they stand in it, or a 3×3 matrix.
        """
        where = f"body '{name}'"
        if name == WORLD or not is_identifier(name.replace("-", "_")):
            raise InputError(f"{where}: not a name for a body. Expected letters, digits, _ or -, and not 'world'.")
        if any(b.name == name for b in self.bodies):
            raise InputError(f"{where}: declared twice. Give each body its own name.")
        joints = joints_of(joint, where)
        for i, each in enumerate(joints):
            each.require_motions(f"{where}, joint {i}")
        constant = self.reader.constant
        self.bodies += (
            Body(
                name,
                parent,
                joints,
                constant(mass, f"{where}, mass"),
                self._vector(center, f"{where}, center", constant=True),
                self._inertia(inertia, f"{where}, inertia"),
                description,
            ),
        )
        return self

    @checked
    def loop(
        self,
        name: str,
        bodies: tuple[str, str],
        joint: Joint,
        *,
        position: Sequence[Written] = (0, 0, 0),
        rotation: Sequence[Written] = (0, 0, 0),
        description: str = "",
        feedback: Any = None,
    ) -> Self:
        """Close a loop: join two bodies, or a body and the world, by a joint of any kind.

        `joint` is placed on the first body as usual; its motions are not coordinates, so leave them out. `position`
        and `rotation` place its other half on the second body. The constraints follow from the joint: nobody writes them.

        >>> model = Model("four bars").coordinates("a", "b", "c")
        >>> _ = model.body("crank", joint=model.revolute((0, 0, 1), "a"), mass=1)
        >>> _ = model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(1, 0, 0)), mass=1)
        >>> _ = model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(2, 0, 0)), mass=1)
        >>> _ = model.loop("pin", ("coupler", "rocker"), model.revolute((0, 0, 1), position=(2, 0, 0)), position=(1, 0, 0))
        >>> model.constraint_names
        ('pin, x', 'pin, y', 'pin, z', 'pin, tilt 1', 'pin, tilt 2')
        """
        where = f"loop '{name}'"
        if any(loop.name == name for loop in self.loops):
            raise InputError(f"{where}: declared twice. Give each loop its own name.")
        if not isinstance(joint, Joint):
            count = len(joints_of(joint, where))
            raise InputError(f"{where}, joint: got {count} joints in a sequence. Expected one joint.")
        moving = [str(x) for x in joint.values if x is not None and not (x.is_Number and float(x) == 0)]
        if moving:
            raise InputError(
                f"{where}: its joint moves by {', '.join(moving)}. The motions of a joint that closes a loop are free: leave "
                "them out, or let the bodies hang on each other by this joint."
            )
        place = self._placement(where, position, rotation)
        gains = self._feedback(feedback, 2, f"{where}, feedback")
        self.loops += (Loop(name, pair(bodies, where), joint.still(), *place, description, gains),)
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
        """Tell how far a coordinate can go, and how fast and how strongly it can be driven; nothing is enforced."""
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
        rotation: Sequence[float] = (0.0, 0.0, 0.0),
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
        if not several(position, 3) or not several(rotation, 3):
            raise InputError(f"{where}: position and rotation need 3 numbers each.")
        px, py, pz = (self.number(x, f"{where}, position") for x in position)
        rx, ry, rz = (self.number(x, f"{where}, rotation") for x in rotation)
        paint = None
        if color is not None:
            if not several(color, 4):
                count = len(color) if several(color) else repr(color)
                raise InputError(f"{where}, color: got {count} values. Expected 4: red, green, blue, alpha.")
            r, g, b, a = (self.number(x, f"{where}, color") for x in color)
            paint = (r, g, b, a)
        self.shapes += (Shape(body, kind, numbers, (px, py, pz), (rx, ry, rz), paint, mesh),)
        return self

    @checked
    def note(self, sentence: str) -> Self:
        """Keep a sentence about how the model was made, such as what an importer left out."""
        self.notes += (sentence,)
        return self

    # constraints and speeds

    @checked
    def holonomic(self, phi: Written, name: str | None = None, description: str = "", feedback: Any = None) -> Self:
        """Impose φ(q, t) = 0.

        With `feedback` = (α, β) it is a servo constraint that a control force drives to zero, φ̈ + β φ̇ + α φ = 0: a start off
        the target is allowed.
        """
        key = name or f"holonomic{len(self.holonomic_list) + 1}"
        formula = self.reader.read(phi, f"holonomic '{key}'", rates=False)
        gains = self._feedback(feedback, 2, f"holonomic '{key}', feedback")
        self.holonomic_list += (Holonomic(key, formula, description, gains),)
        return self

    @checked
    def nonholonomic(self, psi: Written, name: str | None = None, description: str = "", feedback: Any = None) -> Self:
        """Impose ψ(q, q̇, t) = 0; with `feedback` = α as a servo constraint, ψ̇ + α ψ = 0."""
        key = name or f"nonholonomic{len(self.nonholonomic_list) + 1}"
        formula = self.reader.read(psi, f"nonholonomic '{key}'")
        gains = self._feedback(feedback, 1, f"nonholonomic '{key}', feedback")
        self.nonholonomic_list += (Nonholonomic(key, formula, description, gains),)
        return self

    @checked
    def canonical(self, phi: Written, name: str | None = None, description: str = "") -> Self:
        """Impose φ(q, p, t) = 0 on coordinates and momenta, p(x) being ∂L/∂q̇ of the coordinate x; for `dirac` only.

        The multiplier enters the Hamiltonian, so that it moves coordinates and momenta: (5.287)–(5.292) of papers/desapio.
        This is another motion than that of d'Alembert's principle, also where p = M q̇ would make φ a constraint on velocities.
        The initial rates give the initial momenta.

        >>> model = Model("particle").coordinates("x", "y")
        >>> _ = model.body("particle", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
        >>> model.canonical("x*p(y) - y*p(x) - 3", name="spin").canonical_list[0].phi
        -3 + x*p(y) - y*p(x)
        """
        key = name or f"canonical{len(self.canonical_list) + 1}"
        formula = self.reader.canonical(phi, f"canonical '{key}'")
        self.canonical_list += (CanonicalConstraint(key, formula, description),)
        return self

    @checked
    def non_ideal(self, forces: Mapping[str, Written] | Sequence[Written]) -> Self:
        """Let the constraints do the virtual work wᵀC: C(q, q̇, t) by coordinate name, or one entry for each coordinate."""
        names = self.coordinate_names
        if not isinstance(forces, Mapping):
            forces = row_of(forces, "non_ideal", "one formula for each coordinate, or a mapping by name")
            if len(forces) != len(names):
                raise InputError(
                    f"non_ideal: {len(forces)} forces for {len(names)} coordinates. Give one for each, or a mapping by name."
                )
            forces = dict(zip(names, forces, strict=True))
        for name, force in forces.items():
            if name not in names:
                raise InputError(f"non_ideal: there is no coordinate '{name}'. {nearest(name, names)}")
            formula = self.reader.read(force, f"non_ideal '{name}'")
            self.non_ideal_forces = self.non_ideal_forces | {name: formula}
        return self

    @checked
    def speed(self, value: Any, name: str | None = None, description: str = "") -> Self:
        """Choose one quasi-velocity, a formula linear in the velocities."""
        key = name or f"u{len(self.speed_list) + 1}"
        if not is_identifier(key) or key in self.reader.names or any(s.name == key for s in self.speed_list):
            raise InputError(f"speed '{key}': not a free name. Expected an identifier that nothing else uses.")
        self.speed_list += (Speed(key, self.reader.read(value, f"speed '{key}'"), description),)
        return self

    def speeds(self, *values: Any) -> Self:
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
        if isinstance(forces, Mapping):
            for name in forces:
                if name not in names:
                    raise InputError(f"energies, forces: there is no coordinate '{name}'. {nearest(name, names)}")
            forces = [forces.get(name, 0) for name in names]
        forces = row_of(forces, "energies, forces", "one formula for each coordinate, or a mapping by name")
        if len(forces) not in (0, len(names)):
            raise InputError(
                f"model '{self.name}': {len(forces)} forces for {len(names)} coordinates. "
                "Give one force for each, or none."
            )
        read = self.reader.read
        self.energies = Energies(
            read(kinetic, "kinetic energy"),
            read(potential, "potential energy", rates=False),
            tuple(read(force, f"force {i + 1}") for i, force in enumerate(forces or [0] * len(names))),
        )
        return self

    @classmethod
    def from_energies(
        cls,
        name: str,
        *,
        coordinates: Sequence[Any],
        kinetic: Written,
        potential: Written = 0,
        forces: Sequence[Written] = (),
        holonomic: Sequence[Written] = (),
        nonholonomic: Sequence[Written] = (),
        speeds: Sequence[Written] = (),
        parameters: Mapping[Any, float] | None = None,
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
