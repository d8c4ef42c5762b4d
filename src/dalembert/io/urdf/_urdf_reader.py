"""Reader of URDF, the robot description of ROS: files are untrusted, and notes report everything that is not used.

The steps: `_xml_reading` (XML to elements), `urdf_elements` (elements to links and joints), `_link_tree` (tree structure,
physical consistency of the masses, fixed links), and here the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dalembert.io.toml_reader import Table, TooManyProblems, failure
from dalembert.io.urdf._link_tree import (
    LinkWithJoint,
    Tree,
    build_tree,
    check_masses,
    is_empty,
    merged,
    without_rounding,
)
from dalembert.io.urdf._xml_reading import Element, UrdfOptions, UrdfOrigin, UrdfReading, hint, parse_xml, read_xml
from dalembert.io.urdf.urdf_elements import COORDINATES, UrdfJoint, UrdfRobot, read_robot, remark_missing
from dalembert.model.joints.base import Joint as ModelJoint
from dalembert.model.keys import quote
from dalembert.model.loads.joint_friction import SMOOTHING
from dalembert.model.model import Model
from dalembert.model.values import WORLD
from dalembert.symbolic.symbols import is_identifier

BASE = "base"
_LENGTH = 56  # an identifier has at most 64 characters, including suffixes


def read_urdf(
    path: str | Path, *, floating: bool = False, merge_fixed: bool = False, friction: bool = True, strict: bool = True
) -> Model:
    """Read a robot from a URDF file.

    Bodies have the names of links and coordinates those of joints; `model.notes` lists changes and ignored content.
    The root link is fixed unless it is `floating`: then it has the coordinates base_x, base_y, base_z and the
    quaternion base_qw, base_qx, base_qy, base_qz. `merge_fixed` merges links on fixed joints into their parent links.
    Without `friction` the joints have neither damping nor friction. Without `strict`, physically inconsistent inertias,
    moving links without mass and joints that mimic no joint of the file are notes instead of errors.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read_urdf("no-such-placement/arm.urdf")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    reading = UrdfReading(str(path), UrdfOptions(floating, merge_fixed, friction, strict))
    return _model(read_xml(path), reading, Path(path).parent)


def loads_urdf(
    content: str,
    source: str = "<text>",
    *,
    floating: bool = False,
    merge_fixed: bool = False,
    friction: bool = True,
    strict: bool = True,
) -> Model:
    """Read a robot from a URDF string; `source` is its name in messages. Options as in `read_urdf`.

    >>> model = loads_urdf('''
    ... <robot name="pendulum">
    ...   <link name="ceiling"/>
    ...   <link name="rod">
    ...     <inertial>
    ...       <origin xyz="0 0 -0.5"/> <mass value="2"/> <inertia ixx="0.1" iyy="0.1" izz="0.01"/>
    ...     </inertial>
    ...   </link>
    ...   <joint name="swing" type="continuous">
    ...     <parent link="ceiling"/> <child link="rod"/> <axis xyz="0 1 0"/>
    ...   </joint>
    ... </robot>
    ... ''')
    >>> model
    <Model 'pendulum': 1 bodies, 1 coordinates, 0 constraints>
    >>> model.coordinate_names
    ('swing',)
    """
    return _model(parse_xml(content, source), UrdfReading(source, UrdfOptions(floating, merge_fixed, friction, strict)))


def _model(root: Element, reading: UrdfReading, folder: Path | None = None) -> Model:
    _require_urdf(root, reading.source)
    model = None
    with suppress(TooManyProblems):
        robot = read_robot(root, reading)
        if folder is not None:
            remark_missing((visual for link in robot.links for visual in link.visuals), folder, reading)
        if tree := tuple(without_rounding(part, reading) for part in build_tree(robot, reading)):
            check_masses(tree, reading)
        if tree and not reading.found:
            tree = merged(tree, reading) if reading.options.merge_fixed else tree
            model = _Builder(robot, tree, reading).build()
    reading.require_sound()
    assert model is not None  # always built if there are no problems
    for note in reading.notes:
        model.note(note)
    return model


def _require_urdf(root: Element, source: str) -> None:
    """Raise for another file format, which would cause hundreds of problems."""
    if root.tag != "robot":
        others = {"sdf": "This is an SDF file; convert", "mujoco": "This is a MuJoCo file; convert"}
        advice = f"{others[root.tag]} it to URDF." if root.tag in others else "Expected a URDF file."
        raise failure(f"{source}, line {root.line}", f"the root element is <{root.tag[:40]}>, not <robot>.", advice)
    macro = next((child for child in root.children if child.tag.startswith("xacro:")), None)
    if macro is not None:
        fact = f"<{macro.tag[:40]}> is a macro that has not been expanded."
        raise failure(f"{source}, line {macro.line}", fact, "Run the file through xacro and read the result.")


@dataclass(frozen=True)
class _Coordinate:
    """A coordinate to be declared: its wanted name and its source."""

    wanted: str
    joint: str
    line: int
    unit: str
    description: str
    start: float = 0.0


class _Builder:
    """Adds coordinates, bodies, limits, friction, mimic constraints and shapes."""

    def __init__(self, robot: UrdfRobot, tree: Tree, reading: UrdfReading) -> None:
        self.model = Model(robot.name, robot.gravity)
        self.model.published = True
        self.robot, self.tree, self.reading = robot, tree, reading
        self.coordinates: dict[str, tuple[str, ...]] = {}  # by joint; the free root has the key ""
        self.bodies: dict[str, str] = {}

    def build(self) -> Model:
        self._declare()
        self._name_bodies()
        for part in self.tree:
            self._body(part)
        for part in self.tree:
            if part.joint is not None and part.moving:
                if part.joint.limits:
                    self.model.limit(*self.coordinates[part.joint.name], **part.joint.limits)
                self._friction(part.joint)
                self._mimic(part.joint)
        for part in self.tree:
            self._shapes(part)
        self._start()
        if not self.model.generalized_coordinates:
            self.reading.remark("the model has no degrees of freedom; use floating=True for a floating base")
        return self.model

    # names

    def _declare(self) -> None:
        wanted = [*self._wanted()]
        names = identifiers([c.wanted for c in wanted], is_identifier, "joint")
        for coordinate, name in zip(wanted, names, strict=True):
            if name != coordinate.joint and name != coordinate.wanted:
                source = f"joint {quote(coordinate.joint)}" if coordinate.joint else "the free base"
                self.reading.remark("a coordinate was renamed", f"{name} for {source} (line {coordinate.line})")
            self.model.coordinate(name, coordinate.start, 0.0, coordinate.description, coordinate.unit)
            self.coordinates[coordinate.joint] = (*self.coordinates.get(coordinate.joint, ()), name)

    def _wanted(self) -> Iterator[_Coordinate]:
        if self.reading.options.floating:
            root = self.tree[0].link
            yield from _coordinates("floating", BASE, "", root.line, f"of {quote(root.name)}")
        for joint in (part.joint for part in self.tree):
            if joint is not None:
                what = f"of joint {quote(joint.name)}"
                yield from _coordinates(joint.kind, joint.name, joint.name, joint.line, what)

    def _name_bodies(self) -> None:
        links = [part.link for part in self.tree]
        if self._root_is_world():
            self.bodies[links.pop(0).name] = WORLD
        names = identifiers([link.name for link in links], is_body_name, "link")
        for link, name in zip(links, names, strict=True):
            self.bodies[link.name] = name
            if name != link.name:
                self.reading.remark("a body was renamed", f"{name} for link {quote(link.name)} (line {link.line})")

    def _root_is_world(self) -> bool:
        """True if the root link is the world, or is fixed and has no mass."""
        root = self.tree[0].link
        if self.reading.options.floating or not (root.name == WORLD or is_empty(root.inertial)):
            return False
        item = f"{quote(root.name)} (line {root.line})"
        if root.name == WORLD:
            mass = "" if is_empty(root.inertial) else ", so its mass is ignored"
            self.reading.remark(f"the root link is the world itself{mass}", item)
        else:
            sentence = "the root link is fixed and has no mass: its children are attached to the world"
            self.reading.remark(sentence, item)
        return True

    # elements

    def _body(self, part: LinkWithJoint) -> None:
        name = self.bodies[part.link.name]
        if name == WORLD:
            return
        mass: Table = {}
        if (inertial := part.link.inertial) is not None:
            inertia = [vector(row) for row in inertial.inertia.tolist()]
            mass = {"mass": exact(inertial.mass), "center": vector(inertial.center), "inertia": inertia}
        if part.joint is None:
            joint = self._free("", UrdfOrigin()) if self.reading.options.floating else self.model.fixed()
            self.model.body(name, joint=joint, **mass)
        else:
            self.model.body(name, parent=self.bodies[part.joint.parent], joint=self._joint(part.joint), **mass)

    def _joint(self, joint: UrdfJoint) -> ModelJoint:
        placement = vector(joint.origin.position), vector(joint.origin.rotation)
        axis, names = joint.axis, self.coordinates.get(joint.name, ())
        match joint.kind:
            case "fixed":
                return self.model.fixed(*placement)
            case "prismatic":
                return self.model.prismatic(axis, names[0], *placement)
            case "planar":
                return self.model.planar(axis, names[:2], names[2], *placement)
            case "floating":
                return self._free(joint.name, joint.origin)
            case _:
                return self.model.revolute(axis, names[0], *placement)

    def _free(self, joint: str, origin: UrdfOrigin) -> ModelJoint:
        names = self.coordinates[joint]
        position, rotation = vector(origin.position), vector(origin.rotation)
        return self.model.free(names[:3], quaternion=names[3:], position=position, rotation=rotation)

    def _friction(self, joint: UrdfJoint) -> None:
        if not joint.damping and not joint.friction:
            return
        if not self.reading.options.friction:
            item = f"joint {quote(joint.name)} (line {joint.line})"
            self.reading.remark("damping and friction are ignored because of friction=False", item)
            return
        (name,) = self.coordinates[joint.name]
        viscous, coulomb = exact(joint.damping), exact(joint.friction)
        body = self.bodies[joint.child]
        dry = {"coulomb": coulomb, "smoothing": SMOOTHING} if joint.friction else {}
        self.model.joint_friction(body, viscous=viscous, **dry, name=f"friction of {name}")

    def _mimic(self, joint: UrdfJoint) -> None:
        """q − multiplier × other − offset = 0; the constraint has the name of its joint."""
        if (mimic := joint.mimic) is None:
            return
        (name,), (other,) = self.coordinates[joint.name], self.coordinates[mimic.joint]
        formula = f"{name} - ({exact(mimic.multiplier)!r})*{other} - ({exact(mimic.offset)!r})"
        about = f"{quote(joint.name)} follows {quote(mimic.joint)}"
        self.model.holonomic(formula, f"mimic of {name}", about)

    def _shapes(self, part: LinkWithJoint) -> None:
        for visual in part.link.visuals:
            self.model.shape(
                self.bodies[part.link.name],
                visual.kind,
                visual.size,
                position=visual.pose.position,
                rotation=visual.pose.rotation,
                color=visual.color,
                mesh=visual.mesh,
            )

    def _start(self) -> None:
        """Set the initial state of the file, and consistent initial values of mimic joints."""
        known, starts = self.model.coordinate_names, {}
        for start in self.robot.starts:
            if start.name in known:
                starts[start.name] = start
            else:
                fact = f"there is no coordinate {quote(start.name)}."
                self.reading.wrong(start.line, "dalembert, coordinate", fact, hint(start.name, known))
        q = {name: start.position for name, start in starts.items()}
        qd = {name: start.rate for name, start in starts.items()}
        joints = {part.joint.name: part.joint for part in self.tree if part.joint is not None}
        for joint in joints.values():
            self._follow(joint, joints, q, qd)
        if q or qd:
            self.model.start(q, qd)

    def _follow(
        self, joint: UrdfJoint, joints: dict[str, UrdfJoint], q: dict[str, float], qd: dict[str, float]
    ) -> None:
        chain = [joint]
        while (mimic := chain[-1].mimic) is not None and self.coordinates[chain[-1].name][0] not in q:
            chain.append(joints[mimic.joint])
        for joint in reversed(chain[:-1]):
            assert joint.mimic is not None
            (name,), (other,) = self.coordinates[joint.name], self.coordinates[joint.mimic.joint]
            q[name] = joint.mimic.multiplier * q.get(other, 0.0) + joint.mimic.offset
            qd[name] = joint.mimic.multiplier * qd.get(other, 0.0)
            if not (math.isfinite(q[name]) and math.isfinite(qd[name])):
                what, fact = f"joint {quote(joint.name)}, mimic", "its initial value is not finite."
                self.reading.wrong(joint.mimic.line, what, fact, "Expected a moderate multiplier and offset.")
                q[name] = qd[name] = 0.0


def _coordinates(kind: str, name: str, joint: str, line: int, what: str) -> Iterator[_Coordinate]:
    """The coordinates of a joint: a single one has the name of the joint, several have suffixes."""
    units = COORDINATES[kind]
    for key, unit in units.items():
        wanted = name if len(units) == 1 else f"{name}_{key}"
        yield _Coordinate(wanted, joint, line, unit, f"{key} {what}", float(key == "qw"))


def exact(x: float) -> float | int:
    """The same number, as an int if it is an integer, so that zeros and ones remain structural."""
    return int(x) if float(x).is_integer() and abs(x) < 1e15 else float(x)


def vector(values: Iterable[float]) -> list[float | int]:
    """The same vector, with integers as int."""
    return [exact(x) for x in values]


def is_body_name(name: str) -> bool:
    """True if this is a valid body name."""
    return name != WORLD and is_identifier(name.replace("-", "_"))


def identifiers(names: Sequence[str], usable: Callable[[str], bool], prefix: str) -> list[str]:
    """A valid unique identifier for every name; valid names are not changed.

    >>> identifiers(["left arm", "left_arm", "2", "sin"], is_identifier, "joint")
    ['left_arm_2', 'left_arm', 'joint_2', 'joint_sin']
    """
    waiting = {name for name in names if usable(name)}
    taken, counts = set(waiting), dict[str, int]()
    out = []
    for name in names:
        if name in waiting:
            waiting.remove(name)
            out.append(name)
        else:
            out.append(fresh_name(_plain(name, usable, prefix), taken, counts))
    return out


def _plain(name: str, usable: Callable[[str], bool], prefix: str) -> str:
    """The name with invalid characters replaced."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:_LENGTH]
    return plain if usable(plain) else f"{prefix}_{plain}"


def fresh_name(name: str, taken: set[str], counts: dict[str, int]) -> str:
    """The name, with a number appended if it is taken."""
    free = name
    while free in taken:
        counts[name] = counts.get(name, 1) + 1
        free = f"{name}_{counts[name]}"
    taken.add(free)
    return free
