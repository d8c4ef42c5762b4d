"""Fixed shapes: supports of hinges, and the floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.display.scene import _declared_shapes
from dalembert.display.scene._body_shapes import Sketch
from dalembert.display.scene._tracks import FixedShapes
from dalembert.display.scene.scene_values import SceneShape, View
from dalembert.model.contacts.rolling import Rolling
from dalembert.model.loads.ellipsoid_on_plane import EllipsoidOnPlane
from dalembert.model.loads.sphere_on_box import SphereOnBox
from dalembert.model.loads.sphere_on_plane import OnPlane
from dalembert.model.values import WORLD

_MAX_GRID_LINES = 24  # of a floor, in each direction


def shapes(
    sketch: Sketch, view: View, gravity: np.ndarray, clouds: dict[str, np.ndarray], fixed: FixedShapes
) -> list[SceneShape]:
    """Return supports of hinges on the world, rails from constraint formulas, and contact surfaces, or a floor in space."""
    floor = _floor(sketch, view, gravity, clouds)
    level = None if floor is None else floor.level
    hinges = _hinges(sketch, [(point, None) for point in fixed.points])
    found = [shape for point, axis in hinges for shape in _support(sketch, view, point, axis, level)]
    for a, b in fixed.lines:
        beyond = 0.12 * sketch.unit * (b - a) / np.linalg.norm(b - a)
        rail = a - beyond, b + beyond, 0.45 * sketch.radius
        found.append(_declared_shapes.rod(*rail, _declared_shapes.GROUND, "ground", "cylinder"))
    return [*found, *_boxes(sketch), *(floor.lines if floor else [])]


def _boxes(sketch: Sketch) -> list[SceneShape]:
    """Return the distinct boxes of the world in contacts."""
    found = {}
    for load in sketch.layout.model.loads:
        if isinstance(load, SphereOnBox) and load.ground == WORLD:
            pose, size = sketch.layout.frame(load.position, load.rotation), sketch.layout.vector(load.size)
            found[(load.position, load.rotation, load.size)] = _declared_shapes.box(
                pose.p, pose.R, size, _declared_shapes.GROUND, "ground"
            )
    return list(found.values())


def _hinges(
    sketch: Sketch, fixed: list[tuple[np.ndarray, np.ndarray | None]]
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Return the distinct hinges on the world with their axes."""
    layout, found = sketch.layout, [*fixed]
    meshes = {shape.body for shape in layout.model.shapes if shape.kind == "mesh"}  # these include their supports
    for placed in layout.placed.values():
        if placed.body.parent == WORLD and placed.turns and not placed.slides and placed.body.name not in meshes:
            about = placed.turns[0].about if len(placed.turns) == 1 else None
            found.append((placed.attached.p, None if about is None else placed.attached.R @ about))
    for loop in layout.model.loops:
        if WORLD in loop.bodies:
            half = loop.joint if loop.bodies[0] == WORLD else loop
            found.append((layout.vector(half.position), None))
    out: list[tuple[np.ndarray, np.ndarray | None]] = []
    for point, axis in found:
        if not any(np.linalg.norm(point - other) < 0.02 * sketch.unit for other, _ in out):
            out.append((point, axis))
    return out


def _support(
    sketch: Sketch, view: View, point: np.ndarray, axis: np.ndarray | None, level: float | None
) -> list[SceneShape]:
    """Return a bearing block: in space a post down to the floor, in a plane a triangle on a hatched line."""
    r, up = sketch.radius, view.up
    if sketch.normal is None:
        return _foot(sketch, up, point, up if axis is None else axis, level)
    side = np.cross(up, sketch.normal)
    # behind the mechanism, to keep the bodies visible
    at = point - 2.2 * r * sketch.normal
    base = at - 3.4 * r * up
    corners = np.array([at + 0.5 * r * up, base - 2.2 * r * side, base + 2.2 * r * side])
    foot = _declared_shapes.plate(corners, 0.6 * r, _declared_shapes.GROUND, "ground")
    lines = [np.array([base - 3.2 * r * side, base + 3.2 * r * side])]
    lines += [
        np.array([base + k * r * side, base + (k - 0.8) * r * side - 0.9 * r * up]) for k in (-2.2, -0.8, 0.6, 2.0, 3.2)
    ]
    hatch = [_declared_shapes.line(points, 0.22 * r, _declared_shapes.GROUND, "ground") for points in lines]
    return [foot, *hatch] if foot is not None else hatch


def _foot(sketch: Sketch, up: np.ndarray, point: np.ndarray, axis: np.ndarray, level: float | None) -> list[SceneShape]:
    """Return a bearing about an axis, and a post below it unless the mechanism hangs from it."""
    r, across = sketch.radius, abs(axis @ up) < 0.5
    low = point - (1.0 if across else 2.6) * r * up
    if across:
        parts = [_declared_shapes.pin(point, axis, 1.9 * r, 5.5 * r, _declared_shapes.GROUND, "ground")]
    else:
        parts = [
            _declared_shapes.rod(low, point - 0.6 * r * up, 2.4 * r, _declared_shapes.GROUND, "ground", "cylinder")
        ]
    if level is not None and up @ low > level and (not across or _stands(sketch, up, point)):
        floor = low - (up @ low - level) * up
        parts.append(_declared_shapes.rod(floor, low, 1.5 * r, _declared_shapes.GROUND, "ground", "cylinder"))
    return parts


def _stands(sketch: Sketch, up: np.ndarray, point: np.ndarray) -> bool:
    """True if the center of mass of all bodies is initially above a point."""
    layout = sketch.layout
    masses = [(placed.mass, layout.poses[name].of(placed.center) - point) for name, placed in layout.placed.items()]
    return sum(mass * float(offset @ up) for mass, offset in masses) > 0


@dataclass(frozen=True)
class Floor:
    """A grid, and its height."""

    lines: list[SceneShape]
    level: float


def _touched(sketch: Sketch) -> tuple[np.ndarray, float] | None:
    """Return the first contact plane of the world: its normal, and its height."""
    layout = sketch.layout
    for element in (*layout.model.contacts, *layout.model.loads):
        if isinstance(element, Rolling | OnPlane | EllipsoidOnPlane) and element.ground == WORLD:
            normal = np.array(element.normal, dtype=float)
            return normal, float(normal @ layout.vector(element.point))
    return None


def _floor(sketch: Sketch, view: View, gravity: np.ndarray, clouds: dict[str, np.ndarray]) -> Floor | None:
    """Return a grid on the contact plane, else a horizontal one below all moving bodies; for planar models a hatched line."""
    touched = _touched(sketch)
    if touched is None and (sketch.normal is not None or not np.any(gravity)):
        return None
    points = np.concatenate([cloud.reshape(3, -1) for cloud in clouds.values()], axis=1)
    up, level = touched or (view.up, float((view.up @ points).min()) - 0.5 * sketch.radius)
    if sketch.normal is not None:
        return _line(sketch, up, level, points)
    turn = _declared_shapes.along(up)
    flat = turn[:, :2].T @ points
    middle, half = (flat.min(axis=1) + flat.max(axis=1)) / 2, np.ptp(flat, axis=1) / 2
    reach = half + 0.25 * max(float(half.max()), sketch.unit)
    step = _round_step(2 * float(reach.max()) / _MAX_GRID_LINES, sketch.unit)
    lines = []
    for axis in (0, 1):
        other = 1 - axis
        low, high = (np.floor((middle - reach) / step) * step, np.ceil((middle + reach) / step) * step)
        for x in np.arange(low[axis], high[axis] + step / 2, step):
            ends = np.zeros((2, 3))
            ends[:, axis], ends[0, other], ends[1, other], ends[:, 2] = x, low[other], high[other], level
            lines.append(_declared_shapes.line(ends @ turn.T, 0.1 * sketch.radius, _declared_shapes.GROUND, "ground"))
    return Floor(lines, level)


def _line(sketch: Sketch, up: np.ndarray, level: float, points: np.ndarray) -> Floor | None:
    """Return the hatched trace of a plane in a planar model; None if it is the plane of the model."""
    assert sketch.normal is not None
    along = np.cross(up, sketch.normal)
    if np.linalg.norm(along) < 1e-6:
        return None
    along, r = along / np.linalg.norm(along), sketch.radius
    reach = along @ points
    low, high = float(reach.min()) - sketch.unit, float(reach.max()) + sketch.unit
    step = _round_step((high - low) / 60, sketch.unit) / 4
    base = level * up
    lines = [np.array([base + low * along, base + high * along])]
    lines += [
        np.array([base + x * along, base + (x - 0.6 * step) * along - 0.6 * step * up])
        for x in np.arange(low, high, step)
    ]
    return Floor([_declared_shapes.line(each, 0.2 * r, _declared_shapes.GROUND, "ground") for each in lines], level)


def _round_step(minimum: float, unit: float) -> float:
    """Return 1, 2 or 5 times a power of ten: about half a length of the mechanism, and at least `minimum`."""
    wanted = max(minimum, 0.4 * unit)
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= wanted * (1 - 1e-9)))
