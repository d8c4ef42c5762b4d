"""The description of a mechanical system, element by element."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from symengine import Piecewise, RealDouble

from dalembert.errors import InputError, ModelError, Problem, nearest
from dalembert.expressions import is_identifier, parse
from dalembert.model.checks.values import value as evaluate
from dalembert.model.elements import (
    WORLD,
    Body,
    Contact,
    Coordinate,
    Energies,
    Holonomic,
    KnifeEdge,
    Nonholonomic,
    Parameter,
    RollingDisk,
    Speed,
    Vector3,
)
from dalembert.model.formulas import Reader
from dalembert.model.joints import Fixed, Joint, Prismatic, Revolute
from dalembert.model.loads import Damper, Force, JointTorque, Load, Spring, Torque


class Model:
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

    def __init__(self, name: str, gravity: Sequence[Any] = (0, 0, 0), description: str = "") -> None:
        self.name = name
        self.description = description
        self.parameter_list: tuple[Parameter, ...] = ()
        self.coordinate_list: tuple[Coordinate, ...] = ()
        self.bodies: tuple[Body, ...] = ()
        self.loads: tuple[Load, ...] = ()
        self.holonomic_list: tuple[Holonomic, ...] = ()
        self.nonholonomic_list: tuple[Nonholonomic, ...] = ()
        self.contacts: tuple[Contact, ...] = ()
        self.speed_list: tuple[Speed, ...] = ()
        self.energies: Energies | None = None
        self.non_ideal_forces: dict[str, Any] = {}
        self.duration = 10.0
        self.samples = 501
        self._reader = Reader()
        # gravity may name parameters that are declared later, so it is read when it is asked for
        self._gravity = tuple(gravity)
        if len(self._gravity) != 3:
            raise InputError(
                f"model '{name}': gravity has {len(self._gravity)} components. Expected 3, e.g. (0, -9.81, 0)."
            )

    # what is declared

    def parameter(self, name: Any, value: float | str, description: str = "", unit: str = "") -> Model:
        """Declare a parameter with its default value, description and unit."""
        key = self._declare(name, "parameter")
        number = self._number(value, f"parameter '{key}'")
        self.parameter_list += (Parameter(key, number, description, unit),)
        self._reader.add_parameter(key, name)
        return self

    def parameters(self, values: Mapping[Any, float] | None = None, **more: float) -> Model:
        """Declare several parameters at once: `model.parameters(m=1.0, l=0.5)` or a mapping of symbols to values."""
        for name, value in {**(values or {}), **more}.items():
            self.parameter(name, value)
        return self

    def coordinate(
        self, name: Any, start: float | str = 0.0, start_rate: float | str = 0.0, description: str = "", unit: str = ""
    ) -> Model:
        """Declare a generalized coordinate with its default initial position and velocity."""
        key = self._declare(name, "coordinate")
        q0 = self._number(start, f"coordinate '{key}', initial position")
        qd0 = self._number(start_rate, f"coordinate '{key}', initial rate")
        self.coordinate_list += (Coordinate(key, description, unit, q0, qd0),)
        self._reader.add_coordinate(key, name)
        return self

    def coordinates(self, *names: Any) -> Model:
        """Declare several coordinates at once, by name or as dynamicsymbols; they start at zero, at rest."""
        for name in names:
            self.coordinate(name)
        return self

    def start(self, q: Mapping[str, float] | Sequence[float], qd: Mapping[str, float] | Sequence[float]) -> Model:
        """Set the default initial positions and velocities, by name or in the order of the coordinates."""
        q0, qd0 = self._by_name(q, "q"), self._by_name(qd, "qd")
        self.coordinate_list = tuple(
            Coordinate(c.name, c.description, c.unit, q0.get(c.name, c.start), qd0.get(c.name, c.start_rate))
            for c in self.coordinate_list
        )
        return self

    def simulation(self, duration: float | str = 10.0, samples: int = 501) -> Model:
        """Set the default duration and number of samples of a simulation."""
        where = "simulation"
        self.duration = self._number(duration, f"{where}, duration")
        if self.duration <= 0:
            raise InputError(f"{where}: the duration is {self.duration:g}. Expected a positive time.")
        if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
            raise InputError(f"{where}: samples is {samples}. Expected a whole number of at least 2.")
        self.samples = samples
        return self

    # bodies and joints

    def fixed(
        self, position: Sequence[Any] = (0, 0, 0), rotation: Sequence[Any] = (0, 0, 0), *, where: str = "joint"
    ) -> Fixed:
        """A joint that does not move, placed at `position` with `rotation` = (roll, pitch, yaw).

        `where` begins the message of an error, here and in the other joints.
        """
        return Fixed(*self._placement(f"{where} (fixed)", position, rotation))

    def revolute(
        self,
        axis: Sequence[float],
        angle: Any,
        position: Sequence[Any] = (0, 0, 0),
        rotation: Sequence[Any] = (0, 0, 0),
        *,
        where: str = "joint",
    ) -> Revolute:
        """A joint that turns about `axis` by `angle`, any expression of coordinates and time."""
        where = f"{where} (revolute)"
        place = self._placement(where, position, rotation)
        return Revolute(*place, _direction(axis, where), self._reader.read(angle, f"{where}, angle", rates=False))

    def prismatic(
        self,
        axis: Sequence[float],
        displacement: Any,
        position: Sequence[Any] = (0, 0, 0),
        rotation: Sequence[Any] = (0, 0, 0),
        *,
        where: str = "joint",
    ) -> Prismatic:
        """A joint that slides along `axis` by `displacement`, any expression of coordinates and time."""
        where = f"{where} (prismatic)"
        place = self._placement(where, position, rotation)
        value = self._reader.read(displacement, f"{where}, displacement", rates=False)
        return Prismatic(*place, _direction(axis, where), value)

    def body(
        self,
        name: str,
        *,
        joint: Joint | Sequence[Joint],
        parent: str = WORLD,
        mass: Any = 0,
        center: Sequence[Any] = (0, 0, 0),
        inertia: Sequence[Any] = (0, 0, 0),
        description: str = "",
    ) -> Model:
        """Add a body, carried by `parent` through one joint or a sequence of them.

        `inertia` is about the mass centre in body axes: (Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) with the
        entries of the matrix as they stand in it, or a 3×3 matrix.
        """
        where = f"body '{name}'"
        if name == WORLD or not is_identifier(name.replace("-", "_")):
            raise InputError(f"{where}: not a name for a body. Expected letters, digits, _ or -, and not 'world'.")
        if any(b.name == name for b in self.bodies):
            raise InputError(f"{where}: declared twice. Give each body its own name.")
        joints = (joint,) if isinstance(joint, Joint) else tuple(joint)
        constant = self._reader.constant
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

    # loads

    def force(
        self,
        body: str,
        force: Sequence[Any],
        *,
        point: Sequence[Any] | None = None,
        frame: str = WORLD,
        name: str | None = None,
    ) -> Model:
        """Apply a force at a point of a body (default: its mass centre), in the axes of `frame`."""
        key = self._load_name(name, "force")
        where = f"force '{key}'"
        at = None if point is None else self._vector(point, f"{where}, point", constant=True)
        self.loads += (Force(key, body, self._vector(force, where), at, frame),)
        return self

    def torque(
        self,
        body: str,
        torque: Sequence[Any],
        *,
        frame: str = WORLD,
        reaction: str | None = None,
        name: str | None = None,
    ) -> Model:
        """Apply a torque to a body, in the axes of `frame`, and its opposite to `reaction` when that is given."""
        key = self._load_name(name, "torque")
        self.loads += (Torque(key, body, self._vector(torque, f"torque '{key}'"), frame, reaction),)
        return self

    def joint_torque(self, body: str, value: Any, *, joint: int = 0, name: str | None = None) -> Model:
        """Drive the joint of a body: `value` acts along its motion on the child, its opposite on the parent."""
        key = self._load_name(name, "joint_torque")
        self.loads += (JointTorque(key, body, joint, self._reader.read(value, f"joint_torque '{key}'")),)
        return self

    def spring(
        self,
        bodies: tuple[str, str],
        *,
        stiffness: Any,
        natural_length: Any = 0,
        points: Sequence[Sequence[Any]] = ((0, 0, 0), (0, 0, 0)),
        name: str | None = None,
    ) -> Model:
        """Connect points of two bodies (or of the world) by a linear spring."""
        key = self._load_name(name, "spring")
        where = f"spring '{key}'"
        k = self._reader.constant(stiffness, f"{where}, stiffness")
        length = self._reader.constant(natural_length, f"{where}, natural_length")
        self.loads += (Spring(key, _pair(bodies, where), self._points(points, where), k, length),)
        return self

    def damper(
        self,
        bodies: tuple[str, str],
        *,
        damping: Any,
        points: Sequence[Sequence[Any]] = ((0, 0, 0), (0, 0, 0)),
        name: str | None = None,
    ) -> Model:
        """Connect points of two bodies (or of the world) by a linear damper."""
        key = self._load_name(name, "damper")
        where = f"damper '{key}'"
        c = self._reader.constant(damping, f"{where}, damping")
        self.loads += (Damper(key, _pair(bodies, where), self._points(points, where), c),)
        return self

    # constraints and speeds

    def holonomic(self, phi: Any, name: str | None = None, description: str = "", feedback: Any = None) -> Model:
        """Impose φ(q, t) = 0.

        With `feedback` = (α, β) it is a servo constraint that a control force drives to zero, φ̈ + β φ̇ + α φ = 0: a start off
        the target is allowed.
        """
        key = name or f"holonomic{len(self.holonomic_list) + 1}"
        formula = self._reader.read(phi, f"holonomic '{key}'", rates=False)
        gains = self._feedback(feedback, 2, f"holonomic '{key}', feedback")
        self.holonomic_list += (Holonomic(key, formula, description, gains),)
        return self

    def nonholonomic(self, psi: Any, name: str | None = None, description: str = "", feedback: Any = None) -> Model:
        """Impose ψ(q, q̇, t) = 0; with `feedback` = α as a servo constraint, ψ̇ + α ψ = 0."""
        key = name or f"nonholonomic{len(self.nonholonomic_list) + 1}"
        formula = self._reader.read(psi, f"nonholonomic '{key}'")
        gains = self._feedback(feedback, 1, f"nonholonomic '{key}', feedback")
        self.nonholonomic_list += (Nonholonomic(key, formula, description, gains),)
        return self

    def non_ideal(self, forces: Mapping[str, Any] | Sequence[Any]) -> Model:
        """Let the constraints do the virtual work wᵀC: C(q, q̇, t) by coordinate name, or one entry for each coordinate."""
        names = self.coordinate_names
        if not isinstance(forces, Mapping):
            if len(forces) != len(names):
                raise InputError(
                    f"non_ideal: {len(forces)} forces for {len(names)} coordinates. Give one for each, or a mapping by name."
                )
            forces = dict(zip(names, forces, strict=True))
        for name, force in forces.items():
            if name not in names:
                raise InputError(f"non_ideal: there is no coordinate '{name}'. {nearest(name, names)}")
            formula = self._reader.read(force, f"non_ideal '{name}'")
            self.non_ideal_forces = {**self.non_ideal_forces, name: formula}
        return self

    def knife_edge(
        self, body: str, direction: Sequence[float], *, point: Sequence[Any] = (0, 0, 0), name: str | None = None
    ) -> Model:
        """Put a blade at a point of a body: the point cannot move along `direction` (both in body axes)."""
        key = self._contact_name(name, "knife_edge")
        where = f"knife_edge '{key}'"
        at = self._vector(point, f"{where}, point", constant=True)
        self.contacts += (KnifeEdge(key, body, at, _direction(direction, where)),)
        return self

    def rolling_disk(
        self,
        body: str,
        radius: Any,
        *,
        axis: Sequence[float] = (0, 1, 0),
        center: Sequence[Any] = (0, 0, 0),
        normal: Sequence[float] = (0, 0, 1),
        contact: bool = True,
        name: str | None = None,
    ) -> Model:
        """Let a thin disc roll without slipping on the plane through the world origin with the given normal.

        With `contact` the disc is also held on the plane, as a holonomic constraint; leave it out where the coordinates
        do that already.
        """
        key = self._contact_name(name, "rolling_disk")
        where = f"rolling_disk '{key}'"
        at = self._vector(center, f"{where}, center", constant=True)
        size = self._reader.constant(radius, f"{where}, radius")
        disc = RollingDisk(key, body, size, at, _direction(axis, where), _direction(normal, where), contact)
        self.contacts += (disc,)
        return self

    def speed(self, value: Any, name: str | None = None, description: str = "") -> Model:
        """Choose one quasi-velocity, a formula linear in the velocities."""
        key = name or f"u{len(self.speed_list) + 1}"
        if not is_identifier(key) or key in self._reader.names or any(s.name == key for s in self.speed_list):
            raise InputError(f"speed '{key}': not a free name. Expected an identifier that nothing else uses.")
        self.speed_list += (Speed(key, self._reader.read(value, f"speed '{key}'"), description),)
        return self

    def speeds(self, *values: Any) -> Model:
        """Choose the quasi-velocities u1, u2, ... in this order."""
        for value in values:
            self.speed(value)
        return self

    def set_energies(self, kinetic: Any, potential: Any = 0, forces: Mapping[str, Any] | Sequence[Any] = ()) -> Model:
        """Describe the system by T(q, q̇, t), V(q, t) and applied forces Q, in the order of q or by coordinate."""
        names = self.coordinate_names
        if isinstance(forces, Mapping):
            for name in forces:
                if name not in names:
                    raise InputError(f"energies, forces: there is no coordinate '{name}'. {nearest(name, names)}")
            forces = [forces.get(name, 0) for name in names]
        if len(forces) not in (0, len(names)):
            raise InputError(
                f"model '{self.name}': {len(forces)} forces for {len(names)} coordinates. "
                "Give one force for each, or none."
            )
        read = self._reader.read
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
        kinetic: Any,
        potential: Any = 0,
        forces: Sequence[Any] = (),
        holonomic: Sequence[Any] = (),
        nonholonomic: Sequence[Any] = (),
        speeds: Sequence[Any] = (),
        parameters: Mapping[Any, float] | None = None,
        non_ideal: Sequence[Any] = (),
        description: str = "",
    ) -> Model:
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

    # what others read

    @property
    def gravity(self) -> Vector3:
        """The acceleration of gravity in world axes, as formulas."""
        return self._vector(self._gravity, f"model '{self.name}', gravity", constant=True)

    def formula(self, value: Any, where: str = "formula", *, rates: bool = True, constant: bool = False) -> Any:
        """Any formula of the declared names, read as the elements read theirs; `constant` allows parameters only.

        >>> Model("m").parameters(k=2.0).coordinates("x").formula("k*x**2/2")
        (1/2)*k*x**2
        """
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
        """The names of the constraints in the order of their rows: holonomic first."""
        return tuple(c.name for c in (*self.holonomic_list, *self.nonholonomic_list))

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
        found: list[Any] = [joint.value for body in self.bodies for joint in body.joints if joint.value is not None]
        found += [c.phi for c in self.holonomic_list] + [c.psi for c in self.nonholonomic_list]
        found += [u.value for u in self.speed_list]
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
        """False when a formula switches branches (abs, sign, min, max, piecewise)."""
        return not any(formula.atoms(Piecewise) for formula in self.formulas)

    def with_parameters(self, values: Mapping[str, float] | None = None, **more: float) -> Model:
        """A copy of the model with other default values of its parameters."""
        changes = {**(values or {}), **more}
        known = self.parameter_values
        for name in changes:
            if name not in known:
                raise InputError(f"model '{self.name}': there is no parameter '{name}'. {nearest(name, known)}")
        out = self.copy()
        out.parameter_list = tuple(
            Parameter(
                p.name, self._number(changes.get(p.name, p.value), f"parameter '{p.name}'"), p.description, p.unit
            )
            for p in self.parameter_list
        )
        return out

    def stabilized(self, alpha: float, beta: float) -> Model:
        """A copy whose constraints all have feedback: φ̈ + β φ̇ + α φ = 0 and ψ̇ + β ψ = 0, Baumgarte's stabilisation."""
        gains = tuple(self._number(gain, "stabilization") for gain in (alpha, beta))
        out = self.copy()
        out.holonomic_list = tuple(
            c if c.feedback else replace(c, feedback=tuple(map(RealDouble, gains))) for c in self.holonomic_list
        )
        out.nonholonomic_list = tuple(
            c if c.feedback else replace(c, feedback=(RealDouble(gains[1]),)) for c in self.nonholonomic_list
        )
        return out

    def copy(self) -> Model:
        """An independent copy; the elements are immutable and shared."""
        out = copy.copy(self)
        out._reader = self._reader.copy()
        return out

    def check(self) -> list[Problem]:
        """All problems of the model at once; an empty list when there are none."""
        from dalembert.model.check import problems

        return problems(self)

    def require_sound(self) -> None:
        """Raise one `ModelError` that lists every problem that stands in the way of deriving equations."""
        found = [problem for problem in self.check() if problem.blocking]
        if found:
            lines = "\n".join(f"  - {problem}" for problem in found)
            count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
            raise ModelError(f"model '{self.name}' has {count}:\n{lines}", found)

    def __repr__(self) -> str:
        return (
            f"<Model '{self.name}': {len(self.bodies)} bodies, {len(self.coordinate_list)} coordinates, "
            f"{len(self.constraint_names)} constraints>"
        )

    # how declarations are read

    def _declare(self, name: Any, kind: str) -> str:
        """The name of a new parameter or coordinate, given as text or as a SymPy symbol."""
        key = name if isinstance(name, str) else str(getattr(name, "func", name)) if kind == "coordinate" else str(name)
        if not is_identifier(key):
            raise InputError(
                f"{kind} '{key}': not a usable name. Expected an identifier of letters, digits and _ "
                "that is not t, pi or the name of a function."
            )
        if key in self._reader.names or any(s.name == key for s in self.speed_list):
            raise InputError(f"{kind} '{key}': the name is already in use. Give it a name of its own.")
        return key

    def _number(self, value: Any, where: str) -> float:
        """A finite number, given as such or as a formula of earlier parameters."""
        try:
            if isinstance(value, str):
                known = self.parameter_values
                formula = parse(value, coordinates=(), parameters=known, where=where, rates=False, time=False)
                number = evaluate(formula, known)
            else:
                number = float(value)
        except (TypeError, OverflowError):
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
        return {name: self._number(value, f"coordinate '{name}', {what}") for name, value in pairs}

    def _vector(self, values: Sequence[Any], where: str, *, constant: bool = False) -> Vector3:
        read = self._reader.constant if constant else self._reader.read
        if isinstance(values, str) or len(values) != 3:
            raise InputError(f"{where}: got {values!r}. Expected 3 components.")
        x, y, z = (read(v, f"{where}[{i}]") for i, v in enumerate(values))
        return (x, y, z)

    def _points(self, points: Sequence[Sequence[Any]], where: str) -> tuple[Vector3, Vector3]:
        if len(points) != 2:
            raise InputError(f"{where}, points: got {len(points)}. Expected 2 points, one on each body.")
        first, second = (self._vector(p, f"{where}, points[{i}]", constant=True) for i, p in enumerate(points))
        return first, second

    def _placement(self, where: str, position: Sequence[Any], rotation: Sequence[Any]) -> tuple[Vector3, Vector3]:
        return (
            self._vector(position, f"{where}, position", constant=True),
            self._vector(rotation, f"{where}, rotation", constant=True),
        )

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

    def _feedback(self, gains: Any, count: int, where: str) -> tuple[Any, ...]:
        if gains is None:
            return ()
        given = tuple(gains) if isinstance(gains, list | tuple) else (gains,)
        if len(given) != count:
            expected = "two gains (alpha, beta)" if count == 2 else "one gain alpha"
            raise InputError(f"{where}: got {len(given)} gains. Expected {expected}.")
        return tuple(self._reader.constant(gain, where) for gain in given)

    def _contact_name(self, name: str | None, kind: str) -> str:
        key = name or f"{kind}{len(self.contacts) + 1}"
        if key in self.constraint_names or any(contact.name == key for contact in self.contacts):
            raise InputError(f"{kind} '{key}': declared twice. Give each constraint its own name.")
        return key

    def _load_name(self, name: str | None, kind: str) -> str:
        key = name or f"{kind}{len(self.loads) + 1}"
        if any(load.name == key for load in self.loads):
            raise InputError(f"{kind} '{key}': declared twice. Give each load its own name.")
        return key


def _direction(axis: Sequence[float], where: str) -> tuple[float, float, float]:
    """A unit vector along `axis`."""
    if len(axis) != 3:
        raise InputError(f"{where}: the axis has {len(axis)} components. Expected 3.")
    length = math.hypot(*axis)
    if not (0 < length < math.inf):
        shown = ", ".join(f"{a:g}" for a in axis)
        raise InputError(
            f"{where}: the axis has length {length:g}. Expected a direction, got ({shown}). "
            "Give `axis` a non-zero vector."
        )
    # whole components stay whole, so that zeros and ones remain structural
    x, y, z = (int(a / length) if float(a / length).is_integer() else a / length for a in axis)
    return (x, y, z)


def _pair(bodies: Sequence[str], where: str) -> tuple[str, str]:
    if isinstance(bodies, str) or len(bodies) != 2:
        raise InputError(f"{where}, bodies: got {bodies!r}. Expected two names, of bodies or 'world'.")
    return (bodies[0], bodies[1])
