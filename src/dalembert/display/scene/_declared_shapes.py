"""Primitive shapes with distinguishable colors, and the shapes that the model declares.

The extent of a shape is given by points whose convex hull approximates it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

import numpy as np
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from dalembert.display.scene.scene_values import SceneShape
from dalembert.io.urdf.urdf_elements import mesh_file
from dalembert.model.description import Elements
from dalembert.model.elements import Shape as Declared
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.rotations import roll_pitch_yaw

BODIES = ("#3f86c9", "#e0803c", "#35a57d", "#c56a9f", "#d3a126", "#7a7fd6", "#4cb0c9", "#c25b52", "#86a845", "#a07cc4")
JOINT = "#9aa3ae"
GROUND = "#8b939d"
CENTER = "#d9525e"
CORD = "#b08d57"


def of_body(index: int, count: int) -> str:
    """Return the color of a body; colors along a long chain change smoothly.

    >>> of_body(0, 3), of_body(0, 40) == of_body(1, 40)
    ('#3f86c9', False)
    """
    if count <= 14:
        return BODIES[index % len(BODIES)]
    stops = (BODIES[0], BODIES[6], BODIES[2], BODIES[4], BODIES[1], BODIES[7])
    position = index / (count - 1) * (len(stops) - 1)
    k = min(int(position), len(stops) - 2)
    mix = zip(rgb(stops[k]), rgb(stops[k + 1]), strict=True)
    return hexadecimal([a + (b - a) * (position - k) for a, b in mix])


def rgb(color: str) -> tuple[float, ...]:
    """Return red, green and blue, each from 0 to 1.

    >>> rgb("#ff0000")
    (1.0, 0.0, 0.0)
    """
    return tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))


def hexadecimal(color: Sequence[float]) -> str:
    """Return a color in hexadecimal notation.

    >>> hexadecimal((1, 0.5, 0))
    '#ff8000'
    """
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, x))):02x}" for x in color[:3])


def darker(color: str, share: float = 0.35) -> str:
    """Return a darker color.

    >>> darker("#ffffff", 0.5)
    '#808080'
    """
    return hexadecimal([x * (1 - share) for x in rgb(color)])


def lighter(color: str, share: float = 0.12) -> str:
    """Return a color closer to white.

    >>> lighter("#000000", 0.5)
    '#808080'
    """
    return hexadecimal([x + (1 - x) * share for x in rgb(color)])


def muted(color: str, share: float = 0.72) -> str:
    """Return a color closer to light gray, as on machine housings.

    >>> muted("#3f86c9", 1.0)
    '#cdd2d8'
    """
    return hexadecimal([x + (gray - x) * share for x, gray in zip(rgb(color), rgb("#cdd2d8"), strict=True)])


def along(direction: np.ndarray) -> np.ndarray:
    """Return a rotation with the given z axis."""
    z = direction / np.linalg.norm(direction)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def rod(
    a: np.ndarray, b: np.ndarray, radius: float, color: str, role: str = "body", kind: str = "capsule"
) -> SceneShape:
    """Return a capsule, cylinder or cone from a to b."""
    difference = b - a
    length = float(np.linalg.norm(difference))
    if length < 1e-12:
        return SceneShape("sphere", (radius,), color, role, a)
    return SceneShape(kind, (radius, length), color, role, (a + b) / 2, along(difference))


def pin(at: np.ndarray, axis: np.ndarray, radius: float, length: float, color: str, role: str = "joint") -> SceneShape:
    """Return a cylinder about an axis."""
    return SceneShape("cylinder", (radius, length), color, role, at, along(axis))


def box(at: np.ndarray, turn: np.ndarray, edges: np.ndarray, color: str, role: str = "body") -> SceneShape:
    """Return a box."""
    return SceneShape("box", tuple(float(x) for x in edges), color, role, at, turn)


def line(points: np.ndarray, width: float, color: str, role: str = "body") -> SceneShape:
    """Return a line through points."""
    return SceneShape("line", (width,), color, role, points=np.asarray(points, dtype=float))


def plate(points: np.ndarray, thickness: float, color: str, role: str = "body") -> SceneShape | None:
    """Return the convex hull of points in a plane, with a thickness; None if they are collinear or not coplanar."""
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle)
    sizes = np.append(sizes, np.zeros(3))
    if sizes[1] < 0.08 * sizes[0] or sizes[2] > 0.02 * sizes[0]:
        return None
    flat = (points - middle) @ axes[:2].T
    ring = hull(flat)
    corners = middle + flat[ring] @ axes[:2]
    lift = axes[2] * thickness / 2
    n = len(ring)
    top = [(0, k, k + 1) for k in range(1, n - 1)]
    bottom = [(n, n + k + 1, n + k) for k in range(1, n - 1)]
    sides = [face for k in range(n) for face in ((k, n + k, n + (k + 1) % n), (k, n + (k + 1) % n, (k + 1) % n))]
    vertices = np.concatenate([corners + lift, corners - lift])
    return SceneShape("mesh", (1.0, 1.0, 1.0), color, role, points=vertices, faces=np.array(top + bottom + sides))


def hull(points: np.ndarray) -> list[int]:
    """Return the indices of the convex hull of points in a plane, counterclockwise.

    >>> hull(np.array([(0, 0), (2, 0), (1, 0.5), (1, 2)]))
    [0, 1, 3]
    """
    order = sorted(range(len(points)), key=lambda i: tuple(points[i]))

    def half(indices: list[int]) -> list[int]:
        out: list[int] = []
        for i in indices:
            while len(out) > 1 and left(points[out[-2]], points[out[-1]], points[i]) <= 0:
                out.pop()
            out.append(i)
        return out[:-1]

    def left(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
        return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    return half(order) + half(order[::-1])


MAX_BYTES = 40_000_000
MAX_FACES = 600_000
MAX_DRAWN_FACES = 4000  # maximum number of faces of a mesh in a scene; finer meshes are coarsened
_DEPTH = 32
Triangles = np.ndarray  # (k, 3, 3)


def declared_shapes(model: Elements) -> tuple[dict[str, list[SceneShape]], tuple[str, ...]]:
    """Return the declared shapes by body, and notes on those that cannot be drawn."""
    out: dict[str, list[SceneShape]] = {}
    notes: list[str] = []
    index = {body.name: k for k, body in enumerate(model.bodies)}
    for each in model.shapes:
        usual = of_body(index.get(each.body, 0), len(index))
        shape, note = _shape(each, usual)
        if shape is not None:
            out.setdefault(each.body, []).append(shape)
        if note:
            notes.append(note)
    return out, tuple(dict.fromkeys(notes))


def _shape(shape: Declared, usual: str) -> tuple[SceneShape | None, str]:
    plain = muted(usual) if shape.kind == "mesh" else usual
    color = plain if shape.color is None else hexadecimal(shape.color)
    opacity = 1.0 if shape.color is None else max(0.15, shape.color[3])
    at, turn = np.array(shape.position, dtype=float), np.array(roll_pitch_yaw(FLOATS, shape.rotation), dtype=float)
    if shape.kind != "mesh":
        return SceneShape(shape.kind, shape.size, color, "body", at, turn, opacity=opacity), ""
    found = mesh_of(shape.mesh, shape.folder)
    if isinstance(found, str):
        return None, f"The mesh '{shape.mesh}' of '{shape.body}' is not drawn: {found}."
    points, faces = found
    return SceneShape(
        "mesh", (1.0, 1.0, 1.0), color, "body", at, turn, points * np.array(shape.size), faces, opacity
    ), ""


_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))


def corners(shape: SceneShape) -> np.ndarray:
    """Return points (k, 3) in body axes whose hull contains the shape.

    >>> corners(SceneShape("sphere", (2.0,), "#000000")).max(axis=0).tolist()
    [2.0, 2.0, 2.0]
    """
    if shape.points is not None:
        local, low, high = shape.points, shape.points.min(axis=0), shape.points.max(axis=0)
        local = local if len(local) <= 64 else (low + high) / 2 + _CORNERS * (high - low) / 2
    elif shape.kind == "box":
        local = _CORNERS * np.array(shape.size) / 2
    elif shape.kind == "sphere":
        local = np.concatenate([np.eye(3), -np.eye(3)]) * shape.size[0]
    elif shape.kind == "frame":
        local = np.concatenate([np.zeros((1, 3)), np.eye(3)]) * shape.size[0]
    else:
        radius, length = shape.size
        half = length / 2 + (radius if shape.kind == "capsule" else 0.0)
        ring = np.array([(radius, 0), (-radius, 0), (0, radius), (0, -radius)])
        local = np.array([(x, y, z) for x, y in ring for z in (-half, half)])
    return local @ shape.turn.T + shape.at


def mesh_of(name: str, folder: str) -> tuple[np.ndarray, np.ndarray] | str:
    """Return vertices (n, 3) and faces (m, 3) of a mesh file, or the reason for failure."""
    path = mesh_file(name, Path(folder)) if folder else None
    if path is None:
        return "file not found"
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        return f"the format '{path.suffix}' is not supported, only {', '.join(_READERS)}"
    try:
        if path.stat().st_size > MAX_BYTES:
            return f"it has more than {MAX_BYTES // 1_000_000} MB"
        found = reader(path.read_bytes())
    except (OSError, ValueError, IndexError, KeyError, ParseError, DefusedXmlException, UnicodeDecodeError) as error:
        return f"the file cannot be read ({type(error).__name__})"
    if not len(found) or len(found) > MAX_FACES or not np.all(np.isfinite(found)):
        return f"it has no faces, more than {MAX_FACES} faces, or values that are not finite"
    return merged(found)


def merged(triangles: Triangles, max_faces: int = MAX_DRAWN_FACES) -> tuple[np.ndarray, np.ndarray]:
    """Merge equal vertices; if there are too many faces, also vertices that are close to each other."""
    points = triangles.reshape(-1, 3)
    size = float(np.ptp(points, axis=0).max()) or 1.0
    cells = 1_000_000
    while True:
        x, y, z = np.round((points - points.min(axis=0)) / size * cells).astype(np.int64).T
        _, first, index = np.unique((x * (cells + 1) + y) * (cells + 1) + z, return_index=True, return_inverse=True)
        faces = index.reshape(-1, 3)
        apart = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
        faces = faces[apart]
        if len(faces) <= max_faces or cells <= 8:
            return points[first], faces
        cells = 160 if cells > 160 else int(cells * 0.8)


def _stl(data: bytes) -> Triangles:
    """Read STL: binary if the file size matches, else ASCII."""
    if len(data) >= 84:
        count = int.from_bytes(data[80:84], "little")
        if len(data) >= 84 + 50 * count and (count or not data.startswith(b"solid")):
            record = np.dtype([("numbers", "<f4", (4, 3)), ("rest", "<u2")])
            return np.frombuffer(data, record, count, 84)["numbers"][:, 1:].astype(float)
    words = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    return np.array(words, dtype=float).reshape(-1, 3, 3)


def _obj(data: bytes) -> Triangles:
    """Read OBJ: vertices and faces; polygons become triangle fans."""
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", errors="replace").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            vertices.append([float(x) for x in rest[:3]])
        elif word == "f":
            numbers = [int(x.split("/")[0]) for x in rest]
            ring = [k - 1 if k > 0 else len(vertices) + k for k in numbers]
            faces += [(ring[0], a, b) for a, b in pairwise(ring[1:])]
    return np.array(vertices).reshape(-1, 3)[np.array(faces, dtype=int).reshape(-1, 3)]


def _collada(data: bytes) -> Triangles:
    """Read COLLADA: all geometries with the transforms of the scene, in meters, z upwards."""
    root = fromstring(data, forbid_dtd=True)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    shapes = {each.get("id"): np.concatenate([*_geometry(each), np.zeros((0, 3, 3))]) for each in root.iter("geometry")}
    unit = root.find("asset/unit")
    scale = float(unit.get("meter", "1")) if unit is not None else 1.0
    upright = np.eye(4) * [scale, scale, scale, 1]
    if root.findtext("asset/up_axis", "Y_UP").strip() == "Y_UP":
        upright = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]) @ upright
    placed = [part for scene in root.iter("visual_scene") for part in _nodes(scene, upright, shapes, 0)]
    return np.concatenate([*placed, np.zeros((0, 3, 3))])


def _nodes(node: Element, pose: np.ndarray, shapes: dict[str | None, Triangles], depth: int) -> Iterator[Triangles]:
    for each in node:
        if each.tag in _TRANSFORMS:
            pose = pose @ _TRANSFORMS[each.tag](np.array((each.text or "").split(), dtype=float))
    for each in node.iterfind("instance_geometry"):
        found = shapes[each.get("url", "").removeprefix("#")]
        yield found @ pose[:3, :3].T + pose[:3, 3]
    if depth < _DEPTH:
        for each in node.iterfind("node"):
            yield from _nodes(each, pose, shapes, depth + 1)


def _translated(x: np.ndarray) -> np.ndarray:
    out = np.eye(4)
    out[:3, 3] = x
    return out


def _rotated(x: np.ndarray) -> np.ndarray:
    axis, angle = x[:3] / np.linalg.norm(x[:3]), np.radians(x[3])
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    out = np.eye(4)
    out[:3, :3] += np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return out


_TRANSFORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "matrix": lambda x: x.reshape(4, 4),
    "translate": _translated,
    "rotate": _rotated,
    "scale": lambda x: np.diag([*x, 1.0]),
}


def _geometry(geometry: Element) -> Iterator[Triangles]:
    """Return the triangles of one geometry."""
    arrays = {}
    for source in geometry.iter("source"):
        words = (source.findtext("float_array") or "").split()
        if len(words) % 3 == 0:  # other sources contain no positions
            arrays[source.get("id")] = np.array(words, dtype=float).reshape(-1, 3)
    for vertices in geometry.iter("vertices"):
        for each in vertices.iterfind("input"):
            if each.get("semantic") == "POSITION":
                arrays[vertices.get("id")] = arrays[each.get("source", "").removeprefix("#")]
    for kind in ("triangles", "polylist"):
        for part in geometry.iter(kind):
            yield from _primitive(part, arrays)


def _primitive(part: Element, arrays: dict[str | None, np.ndarray]) -> Iterator[Triangles]:
    inputs = {each.get("semantic"): each for each in part.iterfind("input")}
    points = arrays[inputs["VERTEX"].get("source", "").removeprefix("#")]
    stride = 1 + max(int(each.get("offset", "0")) for each in part.iterfind("input"))
    indices = np.array((part.findtext("p") or "").split(), dtype=int)
    corners = indices.reshape(-1, stride)[:, int(inputs["VERTEX"].get("offset", "0"))]
    if part.tag == "triangles":
        yield points[corners.reshape(-1, 3)]
        return
    counts = np.array((part.findtext("vcount") or "").split(), dtype=int)
    starts = np.cumsum(counts) - counts
    fans = [(s, s + k, s + k + 1) for s, n in zip(starts, counts, strict=True) for k in range(1, n - 1)]
    yield points[corners[np.array(fans, dtype=int).reshape(-1, 3)]]


_READERS: dict[str, Callable[[bytes], Triangles]] = {".stl": _stl, ".obj": _obj, ".dae": _collada}
