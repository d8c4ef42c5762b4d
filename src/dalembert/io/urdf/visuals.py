"""What links look like: shapes and their colours. Mesh files are looked for, not read: drawings do that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dalembert.io.urdf.urdf_poses import Pose
from dalembert.io.urdf.xml_reading import Element, Reading, shown
from dalembert.model.keys import quote

Color = tuple[float, ...]
MAX_FILE_NAME = 1000
_PACKAGE = "package://"
_LEVELS = 8

# the sizes a shape has, in the order of `Model.shape`
_SIZES = {"box": ("size",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)}


@dataclass(frozen=True)
class Visual:
    """One shape of a link."""

    line: int
    kind: str
    size: tuple[float, ...]
    pose: Pose
    color: Color | None
    mesh: str = ""


def read_colors(root: Element, reading: Reading) -> dict[str, Color]:
    """The colours of named materials; they may be defined for the whole robot or where they are first used."""
    found: dict[str, Color] = {}
    for element in root.find("material"):
        _learn(element, found, reading)
        reading.only(element, ("color", "texture"), ("name",))
        for texture in element.find("texture"):
            reading.unused("element <texture>", texture.line, "only colours are")
    for link in root.find("link"):
        for visual in link.find("visual"):
            for element in visual.find("material"):
                _learn(
                    element, found, Reading(reading.source, reading.options)
                )  # what is wrong here is told with its link
    return found


def _learn(element: Element, found: dict[str, Color], reading: Reading) -> None:
    name = element.attributes.get("name", "")
    color = next(element.find("color"), None)
    if color is not None and name and name not in found:
        found[name] = _rgba(color, f"material {quote(name)}", reading)


def _rgba(color: Element, what: str, reading: Reading) -> Color:
    reading.only(color, (), ("rgba",))
    return reading.numbers(color, "rgba", what, (0.5, 0.5, 0.5, 1.0))


def read_visual(element: Element, what: str, colors: Mapping[str, Color], reading: Reading) -> Visual | None:
    """A shape, or None if there is none that can be drawn."""
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
        reading.unused(f"a second shape in <geometry>, <{shown(other.tag)}>,", other.line, "one is expected")
    if shape.tag == "mesh":
        return _mesh(shape, what, pose, color, reading)
    if shape.tag not in _SIZES:
        reading.unused(f"shape <{shown(shape.tag)}>", shape.line, "it cannot be drawn")
        return None
    return Visual(shape.line, shape.tag, _size(shape, f"{what}, {shape.tag}", reading), pose, color)


def _size(shape: Element, what: str, reading: Reading) -> tuple[float, ...]:
    keys = _SIZES[shape.tag]
    reading.only(shape, (), keys)
    if shape.tag != "box":
        return tuple(reading.number(shape, key, what, least=0.0) for key in keys)
    if "size" not in shape.attributes:
        reading.wrong(shape.line, what, "the attribute 'size' is missing.", 'Write <box size="x y z"/>.')
    size = reading.numbers(shape, "size", what, (1.0, 1.0, 1.0))
    if min(size) < 0:
        reading.wrong(shape.line, what, f"an edge has the length {min(size):g}.", "Expected at least 0.")
    return size


def _mesh(shape: Element, what: str, pose: Pose, color: Color | None, reading: Reading) -> Visual | None:
    reading.only(shape, (), ("filename", "scale"))
    what = f"{what}, mesh"
    scale = reading.numbers(shape, "scale", what, (1.0, 1.0, 1.0))
    name = shape.attributes.get("filename", "").strip()
    if name and len(name) <= MAX_FILE_NAME and name.isprintable():
        return Visual(shape.line, "mesh", scale, pose, color, name)
    fact = f"the file name {quote(name)} cannot be used." if name else "the attribute 'filename' is missing or empty."
    reading.wrong(shape.line, what, fact, f"Expected 1 to {MAX_FILE_NAME} printable characters.")
    return None


def _color(element: Element, what: str, colors: Mapping[str, Color], reading: Reading) -> Color | None:
    material = reading.once(element, "material", what)
    if material is None:
        return None
    reading.only(material, ("color", "texture"), ("name",))
    texture, color = next(material.find("texture"), None), next(material.find("color"), None)
    if texture is not None:
        reading.unused("element <texture>", texture.line, "only colours are")
    name = material.attributes.get("name", "")
    # a colour written here counts here, whatever the name means elsewhere
    if color is not None:
        return _rgba(color, f"{what}, material", reading)
    if name and name not in colors and texture is None:
        reading.remark("a material is not defined, so the shape has no colour", f"{quote(name)} (line {material.line})")
    return colors.get(name)


def remark_missing(visuals: Iterable[Visual], folder: Path, reading: Reading) -> None:
    """Remark the mesh files that are not beside the file, nor in a package around it."""
    seen: dict[str, bool] = {}
    for visual in visuals:
        if visual.mesh and visual.mesh not in seen:
            seen[visual.mesh] = mesh_file(visual.mesh, folder) is not None
        if visual.mesh and not seen[visual.mesh]:
            reading.remark("a mesh file was not found", f"{visual.mesh!r} (line {visual.line})")


def mesh_file(name: str, folder: Path) -> Path | None:
    """The file of a mesh in the folder of the model, or, with package://, in one above; None where there is none.

    Names that lead elsewhere are not followed: http:, file:, absolute paths, `..`, links out of the folder.
    """
    folders = [folder.resolve()]
    if name.startswith(_PACKAGE):
        name, folders = name.removeprefix(_PACKAGE), [*folders, *list(folders[0].parents)[:_LEVELS]]
    if ":" in name or name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
        return None
    try:
        found = (((place / name).resolve(), place) for place in folders)
        return next((path for path, place in found if path.is_relative_to(place) and path.is_file()), None)
    except (OSError, ValueError):
        return None
