"""Writer of models in URDF: bodies become links, joints become joints, parameters have their default values.

URDF supports trees of links on joints with friction, limits and shapes. Anything else is an error that names the element;
only gravity and the initial state are written into an extension element, which other programs ignore. Descriptions, units
and notes are not written.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from dalembert.errors import InputError, ModelError
from dalembert.io.files import write_text
from dalembert.io.urdf._urdf_reader import fresh_name
from dalembert.io.urdf._xml_reading import UNLIMITED
from dalembert.io.urdf.urdf_elements import GRAVITY
from dalembert.model import check
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.description import Elements
from dalembert.model.elements import Body, Limits, Shape
from dalembert.model.evaluation import at_start, value
from dalembert.model.joints.base import Joint
from dalembert.model.keys import unsupported_in_urdf
from dalembert.model.loads.base import InJoint
from dalembert.model.values import WORLD
from dalembert.symbolic.symbols import TIME, Formula, coordinate


def write_urdf(model: Elements, path: str | Path) -> None:
    """Write a model as a URDF file atomically. See `to_urdf`."""
    write_text(Path(path), to_urdf(model))


def to_urdf(model: Elements) -> str:
    """The content of a URDF file for the model; raises `InputError` for an element that URDF does not support.

    Joints have the names of coordinates and links those of bodies, so that reading the file gives the same model.

    >>> from dalembert.model.model import Model
    >>> model = Model("pendulum", gravity=(0, 0, -9.81)).coordinates("theta")
    >>> _ = model.body("rod", joint=model.revolute((0, 1, 0), "theta"), mass=2, center=(0, 0, -0.5))
    >>> print(to_urdf(model))
    <?xml version="1.0" encoding="utf-8"?>
    <robot name="pendulum">
      <link name="world" />
      <link name="rod">
        <inertial>
          <origin xyz="0.0 0.0 -0.5" />
          <mass value="2.0" />
          <inertia ixx="0.0" ixy="0.0" ixz="0.0" iyy="0.0" iyz="0.0" izz="0.0" />
        </inertial>
      </link>
      <joint name="theta" type="continuous">
        <parent link="world" />
        <child link="rod" />
        <axis xyz="0.0 1.0 0.0" />
      </joint>
    </robot>
    <BLANKLINE>
    """
    for error in _unsupported(model):
        raise error
    if found := [problem for problem in (*check.structure(model), *check.undefined(model)) if problem.blocking]:
        lines = "\n".join(f"  - {problem}" for problem in found)
        raise ModelError(f"model '{model.name}' cannot be written as URDF:\n{lines}", found)
    robot = UrdfWriter(model).robot()
    ET.indent(robot)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(robot, encoding="unicode")}\n'


def _unsupported(model: Elements) -> Iterator[InputError]:
    """An error for every element that has no counterpart in URDF."""
    if model.energies is not None:
        yield InputError(f"model '{model.name}' is defined by energies. Expected bodies; URDF supports nothing else.")
    meshes = [(f"the mesh of '{s.body}'", s.mesh) for s in model.shapes]
    for what, string in [("the name of the model", model.name), *meshes]:
        if string and not string.isprintable():
            fact = f"{what}, {string[:60]!r}, contains characters that are not printable"
            yield InputError(f"{fact}. Expected printable characters.")
    named = (
        ("loop", [loop.name for loop in model.loops], "URDF describes trees and has no loops"),
        ("nonholonomic", [c.name for c in model.nonholonomic_constraints], "URDF has no velocity constraints"),
        ("canonical", [c.name for c in model.canonical_constraints], "URDF has no constraints on momenta"),
        ("non_ideal", model.non_ideal_forces, "URDF has no constraint forces"),
        ("rotor", [rotor.name for rotor in model.rotors], "URDF has no motor inertia"),
        ("speed", [speed.name for speed in model.generalized_speeds], "URDF has no quasi-velocities"),
    )
    yield from (unsupported_in_urdf(contact.title, "URDF has no contacts and couplings") for contact in model.contacts)
    yield from (unsupported_in_urdf(f"{kind} '{name}'", fact) for kind, names, fact in named for name in names)
    known = {WORLD, *(body.name for body in model.bodies)}
    for shape in model.shapes:
        if shape.body not in known:
            yield InputError(f"shape of '{shape.body}': there is no such body. Remove it, or name a body.")


def origin(element: ET.Element, position: Iterable[float], rotation: Iterable[float]) -> None:
    """Add a pose, unless it is the identity."""
    pose = {"xyz": [*position], "rpy": [*rotation]}
    attributes = {key: numbers_str(values) for key, values in pose.items() if any(values)}
    if attributes:
        ET.SubElement(element, "origin", attributes)


def visual(link: ET.Element, shape: Shape, material: str) -> None:
    """Add a shape, with a separate material if it has a color."""
    element = ET.SubElement(link, "visual")
    origin(element, shape.position, shape.rotation)
    geometry = ET.SubElement(element, "geometry")
    match shape.kind:
        case "box":
            ET.SubElement(geometry, "box", size=numbers_str(shape.size))
        case "sphere":
            ET.SubElement(geometry, "sphere", radius=number_str(shape.size[0]))
        case "mesh":
            ET.SubElement(geometry, "mesh", filename=shape.mesh, scale=numbers_str(shape.size))
        case kind:
            radius, length = shape.size
            ET.SubElement(geometry, kind, radius=number_str(radius), length=number_str(length))
    if shape.color is not None:
        paint = ET.SubElement(element, "material", name=material)
        ET.SubElement(paint, "color", rgba=numbers_str(shape.color))


def number_str(x: float) -> str:
    """A number in a form that is read back exactly.

    >>> number_str(0.1 + 0.2)
    '0.30000000000000004'
    """
    if not math.isfinite(x):
        raise InputError(f"the number {x} cannot be written. Expected finite values of all formulas.")
    return repr(float(x) + 0.0)


def numbers_str(values: Iterable[float]) -> str:
    """Numbers separated by spaces."""
    return " ".join(number_str(x) for x in values)


class UrdfWriter:
    """Writes one model, element by element."""

    def __init__(self, model: Elements) -> None:
        self.model = model
        self.table = at_start(model)
        self.names = {WORLD, *(body.name for body in model.bodies)}
        self.joints: dict[str, ET.Element] = {}  # by the coordinate that moves them
        self.coordinates = {*model.coordinate_names}
        self.taken = {*self.coordinates}
        motions = [value for body in model.bodies for joint in body.joints for value in joint.values]
        self.uses = Counter(str(symbol) for formula in motions for symbol in formula.free_symbols)
        self.shapes: dict[str, list[Shape]] = {}
        for shape in model.shapes:
            self.shapes.setdefault(shape.body, []).append(shape)
        self.friction = self._friction()
        self.out = ET.Element("robot", name=model.name)

    def robot(self) -> ET.Element:
        """The <robot> element."""
        self._link(WORLD)
        for body in self.model.bodies:
            self._body(body)
        for constraint in self.model.holonomic_constraints:
            self._mimic(constraint)
        for name in self.model.limits:
            if name not in self.joints:
                raise unsupported_in_urdf(f"limit of '{name}'", "URDF has no limits for joints with several motions")
        self._extension()
        return self.out

    # bodies and their joints

    def _body(self, body: Body) -> None:
        """Add the link of a body and its joints, with massless links between them."""
        last = len(body.joints) - 1
        parent = body.parent
        for index, joint in enumerate(body.joints):
            child = body.name if index == last else fresh_name(f"{body.name}_{index + 1}", self.names, {})
            self._link(child, body if index == last else None)
            self._joint(joint, parent, child, body, index)
            parent = child

    def _link(self, name: str, body: Body | None = None) -> None:
        link = ET.SubElement(self.out, "link", name=name)
        if body is not None:
            self._inertial(link, body)
        if body is not None or name == WORLD:
            for shape in self.shapes.get(name, ()):
                visual(link, shape, f"{name}_material_{len(link)}")

    def _inertial(self, link: ET.Element, body: Body) -> None:
        mass, center = self._value(body.mass), [self._value(x) for x in body.center]
        inertia = [[self._value(x) for x in row] for row in body.inertia]
        if not mass and not any(x for row in inertia for x in row):
            return
        element = ET.SubElement(link, "inertial")
        origin(element, center, (0.0, 0.0, 0.0))
        ET.SubElement(element, "mass", value=number_str(mass))
        keys = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        entries = {f"i{'xyz'[i]}{'xyz'[j]}": number_str(inertia[i][j]) for i, j in keys}
        ET.SubElement(element, "inertia", entries)

    def _joint(self, joint: Joint, parent: str, child: str, body: Body, index: int) -> None:
        kind, name, axis = self._kind(joint, body, index)
        element = ET.SubElement(self.out, "joint", name=name, type=kind)
        origin(element, *([self._value(x) for x in entries] for entries in (joint.position, joint.rotation)))
        ET.SubElement(element, "parent", link=parent)
        ET.SubElement(element, "child", link=child)
        if axis is not None:
            ET.SubElement(element, "axis", xyz=numbers_str(axis))
        if len(joint.values) == 1:
            self.joints[name] = element
            self._limit(element, name, kind)
            damping, coulomb = self.friction.get((body.name, index), (0.0, 0.0))
            if damping or coulomb:
                ET.SubElement(element, "dynamics", damping=number_str(damping), friction=number_str(coulomb))

    def _kind(self, joint: Joint, body: Body, index: int) -> tuple[str, str, list[float] | None]:
        """The URDF type of a joint, its name, and its axis if it has one."""
        where = f"body '{body.name}', joint {index} ({joint.kind})"
        names = [self._coordinate(motion, where) for motion in joint.values]
        urdf_type = joint.urdf
        if urdf_type is None or len(urdf_type.coordinates) != len(names):
            raise unsupported_in_urdf(
                where, "URDF has no such joint", "Use a sequence of revolute and prismatic joints."
            )
        if not names:
            return urdf_type.type, fresh_name(f"{body.name}_joint", self.taken, {}), None
        axis = joint.steps[-1].about or joint.steps[-1].along
        near = None if axis is None else [float(a) for a in axis]
        if len(names) > 1:
            return urdf_type.type, self._prefix(names, [*urdf_type.coordinates], where), near
        limits = self.model.limits.get(names[0], Limits())
        limited = limits.lower is not None or limits.upper is not None
        return urdf_type.type if limited else urdf_type.unlimited or urdf_type.type, names[0], near

    def _coordinate(self, motion: Formula, where: str) -> str:
        """The coordinate of a motion."""
        name = str(motion)
        if motion == coordinate(name) and name in self.coordinates:
            if self.uses[name] == 1:
                return name
            fact = f"the coordinate {name} moves several joints"
            raise unsupported_in_urdf(where, fact, "Use a separate coordinate for each joint.")
        raise unsupported_in_urdf(
            where, f"its motion is the formula {name}", "Expected a single coordinate; URDF has no formulas."
        )

    def _prefix(self, names: list[str], endings: list[str], where: str) -> str:
        """The name of a joint with several motions: the common prefix of its coordinates, without the suffixes of the reader."""
        prefix = names[0].removesuffix(f"_{endings[0]}")
        wanted = [f"{prefix}_{ending}" for ending in endings]
        if names != wanted or prefix in self.taken:
            fact = f"its coordinates are {', '.join(names)}"
            raise unsupported_in_urdf(where, fact, f"The URDF reader names them {', '.join(wanted)}: use such names.")
        self.taken.add(prefix)
        return prefix

    def _limit(self, element: ET.Element, name: str, kind: str) -> None:
        limits = self.model.limits.get(name)
        if limits is None and kind == "continuous":
            return
        limits = limits or Limits()
        bounds = {"effort": limits.effort, "velocity": limits.velocity}
        if kind != "continuous":
            bounds = {"lower": -UNLIMITED if limits.lower is None else limits.lower, "upper": limits.upper, **bounds}
        ET.SubElement(element, "limit", {key: number_str(UNLIMITED if x is None else x) for key, x in bounds.items()})

    # loads and constraints

    def _friction(self) -> dict[tuple[str, int], tuple[float, float]]:
        """Viscous and dry friction by body and joint."""
        found: dict[tuple[str, int], tuple[float, float]] = {}
        joints = {(body.name, i): joint for body in self.model.bodies for i, joint in enumerate(body.joints)}
        for load in self.model.loads:
            viscous, dry = load.friction_in_urdf(self._value)
            assert isinstance(load, InJoint)
            key = (load.body, load.joint)
            urdf_type = joints[key].urdf if key in joints else None
            if urdf_type is None or len(urdf_type.coordinates) != 1:
                fact = "its joint is neither revolute nor prismatic, and URDF supports friction only there"
                raise unsupported_in_urdf(load.title, fact)
            before = found.get(key, (0.0, 0.0))
            found[key] = (before[0] + viscous, before[1] + dry)
        return found

    def _mimic(self, constraint: Holonomic) -> None:
        """A constraint a q + b p + c = 0 between two joints as q = −b/a p − c/a."""
        where = f"holonomic '{constraint.name}'"
        symbols = sorted(constraint.phi.free_symbols, key=str)
        names = [str(s) for s in symbols if str(s) in self.joints]
        slopes = {name: constraint.phi.diff(coordinate(name)) for name in names}
        moving = {coordinate(name) for name in self.coordinates} | {TIME}
        linear = not any(slope.free_symbols & moving for slope in slopes.values())
        if len(names) != 2 or len(moving & {*symbols}) != 2 or not linear or constraint.feedback:
            raise unsupported_in_urdf(where, "URDF has no constraints except linear mimic relations between two joints")
        # a constraint that was read from a file has the name of its joint
        names.sort(
            key=lambda name: (constraint.name != f"mimic of {name}", self.joints[name].find("mimic") is not None)
        )
        follower, other = names
        a, b = (self._value(slopes[name]) for name in names)
        if not a or not b or self.joints[follower].find("mimic") is not None:
            raise unsupported_in_urdf(where, "a URDF joint can mimic only one other joint")
        rest = self._value(constraint.phi.subs({coordinate(name): 0 for name in names}))
        numbers = {"multiplier": number_str(-b / a), "offset": number_str(-rest / a)}
        ET.SubElement(self.joints[follower], "mimic", {"joint": other, **numbers})

    def _extension(self) -> None:
        """Add gravity and the initial state, if they differ from the defaults of URDF readers."""
        element = ET.Element("dalembert")
        gravity = [self._value(g) for g in self.model.gravity]
        if gravity != [*GRAVITY]:
            element.set("gravity", numbers_str(gravity))
        upright = {str(joint.values[-4]) for body in self.model.bodies for joint in body.joints if joint.quaternion}
        for c in self.model.generalized_coordinates:
            if (c.start, c.start_rate) != (float(c.name in upright), 0.0):
                ET.SubElement(
                    element, "coordinate", name=c.name, start=number_str(c.start), rate=number_str(c.start_rate)
                )
        if element.attrib or len(element):
            self.out.append(element)

    # values and names

    def _value(self, formula: Formula) -> float:
        return value(formula, self.table)
