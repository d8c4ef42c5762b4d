"""The elements of a URDF file as records: links, joints, and what the file says about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.io.toml_source import Enough
from dalembert.io.urdf.urdf_poses import Numbers3, Pose
from dalembert.io.urdf.visuals import Visual, read_colors, read_visual
from dalembert.io.urdf.xml_reading import Element, Reading, hint, shown
from dalembert.model.joints import JOINTS
from dalembert.model.keys import quote

MAX_LINKS = 2000
MAX_SHAPES = 10_000
# what the coordinates of each kind of joint are, with their units; a free one has a quaternion (w, x, y, z)
_FORMS = [joint.urdf for joint in JOINTS if joint.urdf is not None]
COORDINATES = {kind: form.coordinates for form in _FORMS for kind in (form.type, form.unlimited) if kind is not None}
MOTIONS = {kind: len(units) for kind, units in COORDINATES.items()}
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
GRAVITY: Numbers3 = (0.0, 0.0, -9.81)

_ELSEWHERE = {
    "transmission": "drives are added by model.actuator and model.rotor",
    "gazebo": "it holds settings of another program",
    "ros2_control": "it holds settings of another program",
    "sensor": "sensors have no part in the equations",
}


@dataclass(frozen=True)
class Inertial:
    """Mass, mass centre, and inertia about the mass centre, all in axes of the link."""

    line: int
    mass: float
    center: Numbers3
    inertia: np.ndarray


@dataclass(frozen=True)
class Link:
    """A rigid part."""

    name: str
    line: int
    inertial: Inertial | None
    visuals: tuple[Visual, ...]


@dataclass(frozen=True)
class Mimic:
    """A joint follows another one: multiplier × other + offset."""

    line: int
    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Joint:
    """What connects a link to the one that carries it."""

    name: str
    line: int
    kind: str
    parent: str
    child: str
    origin: Pose
    axis: Numbers3
    limits: dict[str, float | None]  # what it can reach, as `Model.limit` is told; None where there is no bound
    damping: float
    friction: float
    mimic: Mimic | None


@dataclass(frozen=True)
class Start:
    """Where a coordinate starts, as the exporter of this program writes it."""

    line: int
    name: str
    position: float
    rate: float


@dataclass(frozen=True)
class Robot:
    """Everything that is used of a file."""

    name: str
    line: int
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Numbers3 = GRAVITY
    starts: tuple[Start, ...] = ()


def read_robot(root: Element, reading: Reading) -> Robot:
    """The robot that a file describes."""
    name = _robot_name(root, reading)
    colors = read_colors(root, reading)
    links = tuple(_link(element, colors, reading) for element in _few(root, "link", reading))
    joints = tuple(_joint(element, reading) for element in _few(root, "joint", reading))
    if sum(len(link.visuals) for link in links) > MAX_SHAPES:
        reading.wrong(root.line, "robot", f"there are more than {MAX_SHAPES} shapes.", "Remove some elements <visual>.")
    for child in root.children:
        if child.tag not in ("link", "joint", "material", "dalembert"):
            why = _ELSEWHERE.get(child.tag, "it is not known here")
            reading.unused(f"element <{shown(child.tag)}>", child.line, why)
    if not links:
        reading.wrong(root.line, "robot", "there are no links.", 'Expected at least one <link name="...">.')
    return Robot(name, root.line, links, joints, *_own(root, reading))


def _robot_name(root: Element, reading: Reading) -> str:
    for name in root.attributes:
        if name not in ("name", "version") and not name.startswith("xmlns"):
            reading.unused(f"attribute {shown(name)} of <robot>", root.line)
    if root.attributes.get("name", "").strip():
        return reading.name(root, "robot")
    reading.remark("the robot has no name and is called 'robot'", f"line {root.line}")
    return "robot"


def _few(root: Element, tag: str, reading: Reading) -> list[Element]:
    """The children with this tag; too many of them end the reading."""
    found = [*root.find(tag)]
    if len(found) > MAX_LINKS:
        fact = f"there are {len(found)} elements <{tag}>."
        reading.wrong(found[MAX_LINKS].line, "robot", fact, f"Expected at most {MAX_LINKS} in one file.")
        raise Enough
    return found


def _link(element: Element, colors: Mapping[str, tuple[float, ...]], reading: Reading) -> Link:
    name = reading.name(element, "link")
    what = f"link {quote(name)}"
    for child in element.find("collision"):
        reading.unused("element <collision>", child.line, "it is not needed for the equations")
    reading.only(element, ("inertial", "visual", "collision"), ("name",))
    given = reading.once(element, "inertial", what)
    visuals = [read_visual(visual, what, colors, reading) for visual in element.find("visual")]
    return Link(
        name,
        element.line,
        None if given is None else _inertial(given, what, reading),
        tuple(visual for visual in visuals if visual is not None),
    )


def _inertial(element: Element, what: str, reading: Reading) -> Inertial:
    reading.only(element, ("origin", "mass", "inertia"))
    what = f"{what}, inertial"
    origin = reading.origin(element, what)
    mass, inertia = reading.once(element, "mass", what, ("value",)), reading.once(element, "inertia", what, MOMENTS)
    if mass is None:
        reading.wrong(element.line, what, "the mass is missing.", 'Add <mass value="..."/>.')
    amount = 0.0 if mass is None else reading.number(mass, "value", f"{what}, mass", least=0.0)
    if inertia is None:
        reading.remark("<inertial> has no <inertia>: it counts as a point mass", f"{what} (line {element.line})")
        return Inertial(element.line, amount, origin.position, np.zeros((3, 3)))
    return Inertial(inertia.line, amount, origin.position, origin.tensor(_matrix(inertia, what, reading)))


def _matrix(element: Element, what: str, reading: Reading) -> np.ndarray:
    """The inertia in axes of the inertial origin."""
    # products of inertia that are left out are zero, as in most other readers
    defaults = {key: None if key[1] == key[2] else 0.0 for key in MOMENTS}
    values = {key: reading.number(element, key, f"{what}, inertia", default) for key, default in defaults.items()}
    return np.array([[values["i" + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])


def _joint(element: Element, reading: Reading) -> Joint:
    name = reading.name(element, "joint")
    what = f"joint {quote(name)}"
    used = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
    reading.only(element, used, ("name", "type"))
    kind = _kind(element, what, reading)
    if not MOTIONS[kind]:
        for child in element.children:
            if child.tag in ("limit", "dynamics", "mimic"):
                reading.unused(f"element <{child.tag}> of a fixed joint", child.line, "the joint does not move")
    damping, friction = _dynamics(element, kind, what, reading)
    return Joint(
        name,
        element.line,
        kind,
        _end(element, "parent", what, reading),
        _end(element, "child", what, reading),
        reading.origin(element, what),
        _axis(element, kind, what, reading),
        _limits(element, kind, what, reading),
        damping,
        friction,
        _mimic(element, kind, what, reading),
    )


def _kind(element: Element, what: str, reading: Reading) -> str:
    kind = element.attributes.get("type")
    if kind in MOTIONS:
        return kind
    fact = "the type is missing." if kind is None else f"there is no type {quote(kind)}."
    advice = "" if kind is None else f"{hint(kind, MOTIONS)} "
    reading.wrong(element.line, what, fact, f"{advice}Expected one of {', '.join(MOTIONS)}.")
    return "fixed"


def _end(element: Element, tag: str, what: str, reading: Reading) -> str:
    """The link that <parent> or <child> names, or an empty text."""
    found = reading.once(element, tag, what, ("link",))
    if found is None:
        reading.wrong(element.line, what, f"<{tag}> is missing.", f'Add <{tag} link="..."/>.')
        return ""
    return reading.name(found, f"{what}, {tag}", "link")


def _axis(element: Element, kind: str, what: str, reading: Reading) -> Numbers3:
    found = reading.once(element, "axis", what)
    if kind in ("fixed", "floating"):
        return (1.0, 0.0, 0.0)  # such a joint has no axis, though many files write one
    if found is None:
        reading.remark("there is no <axis>, so it is x", f"{what} (line {element.line})")
        return (1.0, 0.0, 0.0)
    reading.only(found, (), ("xyz",))
    x, y, z = reading.numbers(found, "xyz", f"{what}, axis", (1.0, 0.0, 0.0))
    if not any((x, y, z)):
        fact, advice = "the axis has length 0.", "Expected a direction, got (0, 0, 0). Give `xyz` a non-zero vector."
        reading.wrong(found.line, f"{what}, axis", fact, advice)
        return (1.0, 0.0, 0.0)
    return (x, y, z)


def _limits(element: Element, kind: str, what: str, reading: Reading) -> dict[str, float | None]:
    found = reading.once(element, "limit", what, ("lower", "upper", "velocity", "effort"))
    if found is None:
        if kind in ("revolute", "prismatic"):
            reading.remark("there is no <limit>, so the motion has none", f"{what} (line {element.line})")
        return {}
    what = f"{what}, limit"
    if MOTIONS[kind] > 1:
        reading.unused(f"element <limit> of a {kind} joint", found.line, "it does not say which motion is meant")
    if MOTIONS[kind] != 1:
        return {}
    ends = ("lower", "upper") if kind != "continuous" else ()
    # of two ends the one that is left out is 0, as the format says; with both left out nothing is said
    default = 0.0 if any(end in found.attributes for end in ends) else None
    limits = {end: reading.limit(found, end, what, default) for end in ends}
    lower, upper = limits.get("lower"), limits.get("upper")
    if lower is not None and upper is not None and lower > upper:
        fact = f"the lower limit {lower:g} is above the upper limit {upper:g}."
        reading.wrong(found.line, what, fact, "Exchange them.")
    return limits | {key: reading.limit(found, key, what) for key in ("velocity", "effort")}


def _dynamics(element: Element, kind: str, what: str, reading: Reading) -> tuple[float, float]:
    found = reading.once(element, "dynamics", what)
    if found is None or not MOTIONS[kind]:
        return 0.0, 0.0
    reading.only(found, (), ("damping", "friction"))
    damping, friction = (
        reading.number(found, key, f"{what}, dynamics", 0.0, least=0.0) for key in ("damping", "friction")
    )
    if MOTIONS[kind] > 1 and (damping or friction):
        reading.unused(f"element <dynamics> of a {kind} joint", found.line, "it does not say which motion is meant")
        return 0.0, 0.0
    return damping, friction


def _mimic(element: Element, kind: str, what: str, reading: Reading) -> Mimic | None:
    found = reading.once(element, "mimic", what)
    if found is None or not MOTIONS[kind]:
        return None
    what = f"{what}, mimic"
    if MOTIONS[kind] > 1:
        reading.wrong(found.line, what, f"a {kind} joint cannot follow another.", "Remove it.")
        return None
    reading.only(found, (), ("joint", "multiplier", "offset"))
    return Mimic(
        found.line,
        reading.name(found, what, "joint"),
        reading.number(found, "multiplier", what, 1.0),
        reading.number(found, "offset", what, 0.0),
    )


def _own(root: Element, reading: Reading) -> tuple[Numbers3, tuple[Start, ...]]:
    """What the exporter of this program adds, since URDF has no words for it: gravity and the initial state."""
    found = reading.once(root, "dalembert", "robot")
    if found is None:
        return GRAVITY, ()
    reading.only(found, ("coordinate",), ("gravity",))
    x, y, z = reading.numbers(found, "gravity", "dalembert", GRAVITY)
    starts = []
    for element in found.find("coordinate"):
        reading.only(element, (), ("name", "start", "rate"))
        what = "dalembert, coordinate"
        numbers = (reading.number(element, key, what, 0.0) for key in ("start", "rate"))
        starts.append(Start(element.line, reading.name(element, what), *numbers))
    return (x, y, z), tuple(starts)
