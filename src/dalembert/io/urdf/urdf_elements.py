"""The elements of a URDF file as records: links, joints and their properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.io.toml_reader import TooManyProblems
from dalembert.io.urdf._xml_reading import Element, Numbers3, UrdfOrigin, UrdfReading, hint, shortened_name
from dalembert.model.joints import JOINTS
from dalembert.model.keys import quote

MAX_LINKS = 2000
MAX_SHAPES = 10_000
# the coordinates of each joint type, with their units; a free joint has a quaternion (w, x, y, z)
_URDF_TYPES = [joint.urdf for joint in JOINTS if joint.urdf is not None]
COORDINATES = {
    kind: each.coordinates for each in _URDF_TYPES for kind in (each.type, each.unlimited) if kind is not None
}
MOTIONS = {kind: len(units) for kind, units in COORDINATES.items()}
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
GRAVITY: Numbers3 = (0.0, 0.0, -9.81)
_UNUSED = {
    "transmission": "add drives with model.actuator and model.rotor",
    "gazebo": "it contains settings of another program",
    "ros2_control": "it contains settings of another program",
    "sensor": "sensors are not part of the equations",
}
Color = tuple[float, ...]
MAX_FILE_NAME = 1000
_PACKAGE = "package://"
_LEVELS = 8
# the sizes a shape has, in the order of `Model.shape`
_SIZES = {"box": ("size",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)}


@dataclass(frozen=True)
class Inertial:
    """Mass, mass center, and inertia about the mass center, all in axes of the link."""

    line: int
    mass: float
    center: Numbers3
    inertia: np.ndarray


@dataclass(frozen=True)
class UrdfLink:
    """A rigid body."""

    name: str
    line: int
    inertial: Inertial | None
    visuals: tuple[Visual, ...]


@dataclass(frozen=True)
class Mimic:
    """A joint that mimics another: multiplier × other + offset."""

    line: int
    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class UrdfJoint:
    """The connection of a link to its parent link."""

    name: str
    line: int
    kind: str
    parent: str
    child: str
    origin: UrdfOrigin
    axis: Numbers3
    limits: dict[str, float | None]  # arguments of `Model.limit`; None if unlimited
    damping: float
    friction: float
    mimic: Mimic | None


@dataclass(frozen=True)
class Start:
    """The initial value of a coordinate, as written by our exporter."""

    line: int
    name: str
    position: float
    rate: float


@dataclass(frozen=True)
class UrdfRobot:
    """The content of a file that is used."""

    name: str
    line: int
    links: tuple[UrdfLink, ...]
    joints: tuple[UrdfJoint, ...]
    gravity: Numbers3 = GRAVITY
    starts: tuple[Start, ...] = ()


def read_robot(root: Element, reading: UrdfReading) -> UrdfRobot:
    """Read the robot of a file."""
    name = _robot_name(root, reading)
    colors = read_colors(root, reading)
    links = tuple(_link(element, colors, reading) for element in _limited(root, "link", reading))
    joints = tuple(_joint(element, reading) for element in _limited(root, "joint", reading))
    if sum(len(link.visuals) for link in links) > MAX_SHAPES:
        reading.wrong(root.line, "robot", f"the file has more than {MAX_SHAPES} shapes.", "Remove some of them.")
    for child in root.children:
        if child.tag not in ("link", "joint", "material", "dalembert"):
            why = _UNUSED.get(child.tag, "it is unknown")
            reading.unused(f"element <{shortened_name(child.tag)}>", child.line, why)
    if not links:
        reading.wrong(root.line, "robot", "the robot has no links.", 'Expected at least one <link name="...">.')
    return UrdfRobot(name, root.line, links, joints, *_extension(root, reading))


def _robot_name(root: Element, reading: UrdfReading) -> str:
    for name in root.attributes:
        if name not in ("name", "version") and not name.startswith("xmlns"):
            reading.unused(f"attribute {shortened_name(name)} of <robot>", root.line)
    if root.attributes.get("name", "").strip():
        return reading.name(root, "robot")
    reading.remark("the robot has no name and is named 'robot'", f"line {root.line}")
    return "robot"


def _limited(root: Element, tag: str, reading: UrdfReading) -> list[Element]:
    """The children with this tag; raises `TooManyProblems` if there are too many."""
    found = [*root.find(tag)]
    if len(found) > MAX_LINKS:
        fact = f"the file has {len(found)} elements <{tag}>."
        reading.wrong(found[MAX_LINKS].line, "robot", fact, f"Expected at most {MAX_LINKS} in one file.")
        raise TooManyProblems
    return found


def _link(element: Element, colors: Mapping[str, tuple[float, ...]], reading: UrdfReading) -> UrdfLink:
    name = reading.name(element, "link")
    what = f"link {quote(name)}"
    for child in element.find("collision"):
        reading.unused("element <collision>", child.line, "it is not needed for the equations")
    reading.only(element, ("inertial", "visual", "collision"), ("name",))
    inertial = reading.once(element, "inertial", what)
    visuals = [read_visual(visual, what, colors, reading) for visual in element.find("visual")]
    return UrdfLink(
        name,
        element.line,
        None if inertial is None else _inertial(inertial, what, reading),
        tuple(visual for visual in visuals if visual is not None),
    )


def _inertial(element: Element, what: str, reading: UrdfReading) -> Inertial:
    reading.only(element, ("origin", "mass", "inertia"))
    what = f"{what}, inertial"
    origin = reading.origin(element, what)
    mass, inertia = reading.once(element, "mass", what, ("value",)), reading.once(element, "inertia", what, MOMENTS)
    if mass is None:
        reading.wrong(element.line, what, "the mass is missing.", 'Add <mass value="..."/>.')
    amount = 0.0 if mass is None else reading.number(mass, "value", f"{what}, mass", minimum=0.0)
    if inertia is None:
        reading.remark("<inertial> has no <inertia>: it is a point mass", f"{what} (line {element.line})")
        return Inertial(element.line, amount, origin.position, np.zeros((3, 3)))
    return Inertial(inertia.line, amount, origin.position, origin.tensor(_matrix(inertia, what, reading)))


def _matrix(element: Element, what: str, reading: UrdfReading) -> np.ndarray:
    """The inertia in axes of the inertial origin."""
    # products of inertia are zero by default, as in most other readers
    defaults = {key: None if key[1] == key[2] else 0.0 for key in MOMENTS}
    values = {key: reading.number(element, key, f"{what}, inertia", default) for key, default in defaults.items()}
    return np.array([[values["i" + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])


def _joint(element: Element, reading: UrdfReading) -> UrdfJoint:
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
    return UrdfJoint(
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


def _kind(element: Element, what: str, reading: UrdfReading) -> str:
    kind = element.attributes.get("type")
    if kind in MOTIONS:
        return kind
    fact = "the type is missing." if kind is None else f"there is no type {quote(kind)}."
    advice = "" if kind is None else f"{hint(kind, MOTIONS)} "
    reading.wrong(element.line, what, fact, f"{advice}Expected one of {', '.join(MOTIONS)}.")
    return "fixed"


def _end(element: Element, tag: str, what: str, reading: UrdfReading) -> str:
    """The link of <parent> or <child>, or an empty str."""
    found = reading.once(element, tag, what, ("link",))
    if found is None:
        reading.wrong(element.line, what, f"<{tag}> is missing.", f'Add <{tag} link="..."/>.')
        return ""
    return reading.name(found, f"{what}, {tag}", "link")


def _axis(element: Element, kind: str, what: str, reading: UrdfReading) -> Numbers3:
    found = reading.once(element, "axis", what)
    if kind in ("fixed", "floating"):
        return (1.0, 0.0, 0.0)  # these joints have no axis, but many files define one
    if found is None:
        reading.remark("<axis> is missing; the x axis is used", f"{what} (line {element.line})")
        return (1.0, 0.0, 0.0)
    reading.only(found, (), ("xyz",))
    x, y, z = reading.numbers(found, "xyz", f"{what}, axis", (1.0, 0.0, 0.0))
    if not any((x, y, z)):
        fact, advice = "the axis has length 0.", "Expected a direction, got (0, 0, 0). Set `xyz` to a nonzero vector."
        reading.wrong(found.line, f"{what}, axis", fact, advice)
        return (1.0, 0.0, 0.0)
    return (x, y, z)


def _limits(element: Element, kind: str, what: str, reading: UrdfReading) -> dict[str, float | None]:
    found = reading.once(element, "limit", what, ("lower", "upper", "velocity", "effort"))
    if found is None:
        if kind in ("revolute", "prismatic"):
            reading.remark("<limit> is missing; the motion is unlimited", f"{what} (line {element.line})")
        return {}
    what = f"{what}, limit"
    if MOTIONS[kind] > 1:
        reading.unused(f"element <limit> of a {kind} joint", found.line, "it does not specify the motion")
    if MOTIONS[kind] != 1:
        return {}
    ends = ("lower", "upper") if kind != "continuous" else ()
    # if one of two limits is missing it is 0, as in the specification; if both are missing there is no limit
    default = 0.0 if any(end in found.attributes for end in ends) else None
    limits = {end: reading.limit(found, end, what, default) for end in ends}
    lower, upper = limits.get("lower"), limits.get("upper")
    if lower is not None and upper is not None and lower > upper:
        fact = f"the lower limit {lower:g} is above the upper limit {upper:g}."
        reading.wrong(found.line, what, fact, "Swap them.")
    return limits | {key: reading.limit(found, key, what) for key in ("velocity", "effort")}


def _dynamics(element: Element, kind: str, what: str, reading: UrdfReading) -> tuple[float, float]:
    found = reading.once(element, "dynamics", what)
    if found is None or not MOTIONS[kind]:
        return 0.0, 0.0
    reading.only(found, (), ("damping", "friction"))
    damping, friction = (
        reading.number(found, key, f"{what}, dynamics", 0.0, minimum=0.0) for key in ("damping", "friction")
    )
    if MOTIONS[kind] > 1 and (damping or friction):
        reading.unused(f"element <dynamics> of a {kind} joint", found.line, "it does not specify the motion")
        return 0.0, 0.0
    return damping, friction


def _mimic(element: Element, kind: str, what: str, reading: UrdfReading) -> Mimic | None:
    found = reading.once(element, "mimic", what)
    if found is None or not MOTIONS[kind]:
        return None
    what = f"{what}, mimic"
    if MOTIONS[kind] > 1:
        reading.wrong(found.line, what, f"a {kind} joint cannot mimic another.", "Remove it.")
        return None
    reading.only(found, (), ("joint", "multiplier", "offset"))
    return Mimic(
        found.line,
        reading.name(found, what, "joint"),
        reading.number(found, "multiplier", what, 1.0),
        reading.number(found, "offset", what, 0.0),
    )


def _extension(root: Element, reading: UrdfReading) -> tuple[Numbers3, tuple[Start, ...]]:
    """Gravity and the initial state, an extension of URDF by our exporter."""
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


@dataclass(frozen=True)
class Visual:
    """One shape of a link."""

    line: int
    kind: str
    size: tuple[float, ...]
    pose: UrdfOrigin
    color: Color | None
    mesh: str = ""


def read_colors(root: Element, reading: UrdfReading) -> dict[str, Color]:
    """The colors of named materials, defined at the robot or at their first use."""
    found: dict[str, Color] = {}
    for element in root.find("material"):
        _add_color(element, found, reading)
        reading.only(element, ("color", "texture"), ("name",))
        for texture in element.find("texture"):
            reading.unused("element <texture>", texture.line, "only colors are")
    for link in root.find("link"):
        for visual in link.find("visual"):
            for element in visual.find("material"):
                # problems are reported with the link
                _add_color(element, found, UrdfReading(reading.source, reading.options))
    return found


def _add_color(element: Element, found: dict[str, Color], reading: UrdfReading) -> None:
    name = element.attributes.get("name", "")
    color = next(element.find("color"), None)
    if color is not None and name and name not in found:
        found[name] = _rgba(color, f"material {quote(name)}", reading)


def _rgba(color: Element, what: str, reading: UrdfReading) -> Color:
    reading.only(color, (), ("rgba",))
    return reading.numbers(color, "rgba", what, (0.5, 0.5, 0.5, 1.0))


def read_visual(element: Element, what: str, colors: Mapping[str, Color], reading: UrdfReading) -> Visual | None:
    """A shape, or None if it cannot be drawn."""
    what = f"{what}, visual"
    reading.only(element, ("origin", "geometry", "material"), ("name",))
    pose = reading.origin(element, what)
    color = _color(element, what, colors, reading)
    geometry = reading.once(element, "geometry", what)
    if geometry is None or not geometry.children:
        reading.wrong(element.line, what, "the geometry is missing.", "Add <geometry> with a shape, or remove it.")
        return None
    shape, *others = geometry.children
    for other in others:
        reading.unused(f"a second shape in <geometry>, <{shortened_name(other.tag)}>,", other.line, "one is expected")
    if shape.tag == "mesh":
        return _mesh(shape, what, pose, color, reading)
    if shape.tag not in _SIZES:
        reading.unused(f"shape <{shortened_name(shape.tag)}>", shape.line, "it cannot be drawn")
        return None
    return Visual(shape.line, shape.tag, _size(shape, f"{what}, {shape.tag}", reading), pose, color)


def _size(shape: Element, what: str, reading: UrdfReading) -> tuple[float, ...]:
    keys = _SIZES[shape.tag]
    reading.only(shape, (), keys)
    if shape.tag != "box":
        return tuple(reading.number(shape, key, what, minimum=0.0) for key in keys)
    if "size" not in shape.attributes:
        reading.wrong(shape.line, what, "the attribute 'size' is missing.", 'Write <box size="x y z"/>.')
    size = reading.numbers(shape, "size", what, (1.0, 1.0, 1.0))
    if min(size) < 0:
        reading.wrong(shape.line, what, f"an edge has the length {min(size):g}.", "Expected a number >= 0.")
    return size


def _mesh(shape: Element, what: str, pose: UrdfOrigin, color: Color | None, reading: UrdfReading) -> Visual | None:
    reading.only(shape, (), ("filename", "scale"))
    what = f"{what}, mesh"
    scale = reading.numbers(shape, "scale", what, (1.0, 1.0, 1.0))
    name = shape.attributes.get("filename", "").strip()
    if name and len(name) <= MAX_FILE_NAME and name.isprintable():
        return Visual(shape.line, "mesh", scale, pose, color, name)
    fact = f"the file name {quote(name)} cannot be used." if name else "the attribute 'filename' is missing or empty."
    reading.wrong(shape.line, what, fact, f"Expected 1 to {MAX_FILE_NAME} printable characters.")
    return None


def _color(element: Element, what: str, colors: Mapping[str, Color], reading: UrdfReading) -> Color | None:
    material = reading.once(element, "material", what)
    if material is None:
        return None
    reading.only(material, ("color", "texture"), ("name",))
    texture, color = next(material.find("texture"), None), next(material.find("color"), None)
    if texture is not None:
        reading.unused("element <texture>", texture.line, "only colors are")
    name = material.attributes.get("name", "")
    # a local color overrides the named material
    if color is not None:
        return _rgba(color, f"{what}, material", reading)
    if name and name not in colors and texture is None:
        reading.remark("a material is not defined; the shape has no color", f"{quote(name)} (line {material.line})")
    return colors.get(name)


def remark_missing(visuals: Iterable[Visual], folder: Path, reading: UrdfReading) -> None:
    """Remark mesh files that are neither next to the file nor in a package above it."""
    found: dict[str, bool] = {}
    for visual in visuals:
        if visual.mesh and visual.mesh not in found:
            found[visual.mesh] = mesh_file(visual.mesh, folder) is not None
        if visual.mesh and not found[visual.mesh]:
            reading.remark("a mesh file was not found", f"{visual.mesh!r} (line {visual.line})")


def mesh_file(name: str, folder: Path) -> Path | None:
    """The mesh file in the folder of the model, or, with package://, in one above; None if there is none.

    Other locations are not used: http:, file:, absolute paths, `..`, links out of the folder.
    """
    folders = [folder.resolve()]
    if name.startswith(_PACKAGE):
        name, folders = name.removeprefix(_PACKAGE), [*folders, *list(folders[0].parents)[:_LEVELS]]
    if ":" in name or name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
        return None
    try:
        found = (((each / name).resolve(), each) for each in folders)
        return next((path for path, each in found if path.is_relative_to(each) and path.is_file()), None)
    except (OSError, ValueError):
        return None
