"""Slots, wires and cam outlines: the curves that constrain points, on the bodies that carry them.

A line is drawn over the travel of its point. A curve is traced from its point by small steps, each projected back onto the curve,
until it closes or leaves the travel of the point. A surface has such a curve if the model is planar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.display.scene import _declared_shapes
from dalembert.display.scene._layout import BodyLayout, Layout
from dalembert.display.scene._wheels import prism
from dalembert.display.scene.scene_values import Connector, PosesByBody, SceneShape, to_world
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.contacts.base import BetweenPoints
from dalembert.model.contacts.point_in_plane import PointInPlane
from dalembert.model.contacts.point_on_line import PointOnLine
from dalembert.model.contacts.point_on_surface import OnSurfaces, PointOnCurve
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, to_numeric
from dalembert.symbolic.symbols import TIME, Formula, Lowering, coordinate

_STEP, _MARGIN = 0.012, 0.35  # of the travel of a point: step along a curve, and length drawn beyond it
_MAX_POINTS = 2000  # of a curve in each direction
# two functions that vanish on a curve, and their gradients
Rows = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
_SURFACE_CELLS = 28  # along each side
_FIXED_TOLERANCE = 1e-6  # motion of a fixed point, in lengths


@dataclass(frozen=True)
class Track:
    """A curve (k, 3) that constrains a point, in axes of the body that carries it; `closed` for a closed curve."""

    body: str
    points: np.ndarray
    closed: bool

    def line(self, width: float) -> SceneShape:
        """Return the curve as a line."""
        role = "ground" if self.body == WORLD else "joint"
        return _declared_shapes.line(
            self.points, width, _declared_shapes.GROUND if role == "ground" else _declared_shapes.JOINT, role
        )

    def plate(self, thick: float, color: str, axis: np.ndarray) -> SceneShape:
        """Return the inside of a closed curve in a plane normal to an axis: a cam."""
        middle, turn = self.points[:-1].mean(axis=0), _declared_shapes.along(axis)
        rim = (self.points[:-1] - middle) @ turn[:, :2]
        return prism(1e-3 * rim, rim, thick, color, middle, turn, closed=True)


def tracks_of(layout: Layout, poses: PosesByBody, normal: np.ndarray | None, unit: float) -> Iterator[Track]:
    """Return all curves that constrain points."""
    for contact in layout.model.contacts:
        if isinstance(contact, BetweenPoints):
            start, (first, second) = layout.vector(contact.points[0]), contact.bodies
            R, p = poses[first]
            # path of the point in the axes of the body with the curve, (3, k)
            path = np.einsum("xyk,xk->yk", R, to_world(poses, second, layout.vector(contact.points[1])) - p)
            path = path - start[:, None]
            size = min(unit, float(np.linalg.norm(np.ptp(path, axis=1))) or unit)
            points = _points(contact, layout, path, normal, size)
            if points is not None:
                closed = len(points) > 3 and np.array_equal(points[0], points[-1])
                yield Track(contact.bodies[0], points + start, bool(closed))


def _points(
    contact: BetweenPoints, layout: Layout, path: np.ndarray, normal: np.ndarray | None, unit: float
) -> np.ndarray | None:
    """Return the points of the curve (k, 3); None if there is none to draw."""
    across = None if normal is None else layout.poses[contact.bodies[0]].R.T @ normal
    match contact:
        case PointOnLine():
            return _straight(np.array(contact.axis, dtype=float), path, unit)
        case PointInPlane() if across is not None:
            direction = np.cross(across, np.array(contact.normal, dtype=float))
            long = float(np.linalg.norm(direction))
            return _straight(direction / long, path, unit) if long > 1e-9 else None
        case PointOnCurve():
            return _trace(lambda x: _surfaces(contact, layout, x), path, unit)
        case OnSurfaces() if across is not None:
            flat, level = across, float(across @ path[:, 0])

            def rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                value, slopes = _surfaces(contact, layout, x)
                return np.append(value, flat @ x - level), np.vstack([slopes, flat])

            return _trace(rows, path, unit)
    return None


def _straight(direction: np.ndarray, path: np.ndarray, unit: float) -> np.ndarray:
    along = direction @ path
    ends = along.min() - _MARGIN * unit, along.max() + _MARGIN * unit
    middle = path.mean(axis=1) - along.mean() * direction
    return np.array([middle + end * direction for end in ends])


def _surfaces(contact: OnSurfaces, layout: Layout, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at = FLOATS, layout.number, vector(list(x))
    values, slopes = contact.values(*at), contact.gradients(*at)
    return to_numeric(vector(list(values.values()))), np.array([to_numeric(slope) for slope in slopes.values()])


def _trace(rows: Rows, path: np.ndarray, unit: float) -> np.ndarray | None:
    """Return the curve through the first point of a path, in both directions."""
    step, far = _STEP * unit, (_MARGIN if path.shape[1] > 1 else 2.0) * unit  # the travel is unknown without a run
    with np.errstate(all="ignore"):
        halves = []
        for sign in (1.0, -1.0):
            found, closed = _half(rows, path, sign * step, far)
            if closed:
                return np.array([*found, found[0]])
            halves.append(found)
    points = [*reversed(halves[1][1:]), *halves[0]]
    return np.array(points) if len(points) > 1 else None


def _half(rows: Rows, path: np.ndarray, step: float, far: float) -> tuple[list[np.ndarray], bool]:
    """Return the points of a curve in one direction, and whether it returns to the first."""
    points, before = [path[:, 0]], np.zeros(3)
    for k in range(_MAX_POINTS):
        _, slopes = rows(points[-1])
        direction = np.cross(*slopes)
        direction = direction / np.linalg.norm(direction) * (np.sign(direction @ before) or np.sign(step))
        x = points[-1] + abs(step) * direction
        for _ in range(2):
            value, slopes = rows(x)
            if not (np.isfinite(value).all() and np.isfinite(slopes).all()):
                return points, False
            x = x - np.linalg.pinv(slopes) @ value
        size = np.linalg.norm(x - points[-1])
        if not 0.5 * abs(step) < size < 2 * abs(step) or np.linalg.norm(path.T - x, axis=1).min() > far:
            return points, False
        if k > 2 and np.linalg.norm(x - points[0]) < 0.75 * abs(step):
            return points, True
        points.append(x)
        before = direction
    return points, False


@dataclass(frozen=True)
class Particle:
    """A body with three translations along world axes, and their coordinates."""

    placed: BodyLayout
    names: tuple[str, str, str]


def particles(layout: Layout) -> list[Particle]:
    """Return the bodies whose position is three coordinates."""
    out = []
    for placed in layout.placed.values():
        directions = np.array([m.before.R @ m.along for m in placed.motions if m.along is not None]).reshape(-1, 3)
        symbols = [motion.formula for motion in placed.motions]
        free = len(directions) == len(symbols) == 3 and all(isinstance(x, se.Symbol) for x in symbols)
        if free and placed.body.parent == WORLD and np.array_equal(np.sort(directions, axis=0)[-1], np.ones(3)):
            order = np.argmax(directions, axis=1)
            names = [str(symbols[int(np.flatnonzero(order == axis)[0])]) for axis in range(3)]
            out.append(Particle(placed, (names[0], names[1], names[2])))
    return out


def strings(layout: Layout) -> Iterator[Connector]:
    """Return a string for every constraint that fixes the distance of a particle, or its line through the origin."""
    yield from _wires(layout)
    for particle in particles(layout):
        for constraint in layout.model.holonomic_constraints:
            middle = _middle(constraint.phi, particle.names)
            if middle is not None:
                ends = layout.vector(middle), particle.placed.center
                yield Connector(
                    constraint.name, "rope", (WORLD, particle.placed.body.name), ends, _declared_shapes.CORD
                )


def _wires(layout: Layout) -> Iterator[Connector]:
    """Match φ = a(t)·x: the particle is on a rotating line through the origin."""
    for name, placed in layout.placed.items():
        q = [motion.formula for motion in placed.motions if isinstance(motion.formula, se.Symbol)]
        if placed.body.parent != WORLD or placed.turns or not len(q) == len(placed.motions) == 2:
            continue
        for constraint in layout.model.holonomic_constraints:
            phi = constraint.phi
            slopes = [se.diff(phi, x) for x in q]
            linear = not set(q) & set().union(*(slope.free_symbols for slope in slopes))
            if TIME in phi.free_symbols and linear and se.expand(phi - slopes[0] * q[0] - slopes[1] * q[1]) == 0:
                yield Connector(
                    constraint.name, "rope", (WORLD, name), (np.zeros(3), placed.center), _declared_shapes.CORD
                )


@dataclass(frozen=True)
class FixedShapes:
    """Body points that constraint formulas fix at a world point, or on a line between two points."""

    points: tuple[np.ndarray, ...] = ()
    lines: tuple[tuple[np.ndarray, np.ndarray], ...] = ()


def fixed_shapes(layout: Layout, poses: PosesByBody) -> FixedShapes:
    """Return the declared shapes whose centers stay at a point or on a line along the samples without a joint."""
    points, lines = list[np.ndarray](), list[tuple[np.ndarray, np.ndarray]]()
    for shape in layout.model.shapes:
        placed = layout.placed.get(shape.body)
        if placed is None or (placed.slides and not placed.floats):
            continue
        path = to_world(poses, shape.body, np.array(shape.position, dtype=float)).T
        _, sizes, axes = np.linalg.svd(path - path[0])
        if len(path) == 1 or (sizes[1] > _FIXED_TOLERANCE * sizes[0] and sizes[0] > _FIXED_TOLERANCE * layout.unit):
            continue
        if sizes[0] <= _FIXED_TOLERANCE * layout.unit:
            points.append(path[0])
        else:
            along = (path - path[0]) @ axes[0]
            lines.append((path[0] + along.min() * axes[0], path[0] + along.max() * axes[0]))
    return FixedShapes(tuple(points), tuple(lines))


def _middle(phi: Formula, names: tuple[str, str, str]) -> list[Formula] | None:
    """Return the fixed point of a distance constraint φ, as constants; None for other constraints."""
    q = [coordinate(name) for name in names]
    slopes = [se.diff(phi, x) for x in q]
    second = [[se.expand(se.diff(slope, x)) for x in q] for slope in slopes]
    size = second[0][0]
    round_ = all(se.expand(second[i][j] - (size if i == j else 0)) == 0 for i in range(3) for j in range(3))
    if not round_ or size == 0 or TIME in phi.free_symbols or size.free_symbols & set(q):
        return None
    return [se.expand(x - slope / size) for x, slope in zip(q, slopes, strict=True)]


def surfaces(
    layout: Layout,
    constraints: Sequence[Holonomic],
    parameters: dict[str, float],
    up: np.ndarray,
    paths: dict[str, np.ndarray],
) -> Iterator[SceneShape]:
    """Return the surface of every constraint that is linear in the vertical coordinate, around the path (3, k) of a particle."""
    axis = int(np.argmax(np.abs(up)))
    for particle in particles(layout):
        for constraint in (each for each in constraints if not each.feedback):
            height = _height(constraint.phi, particle.names[axis])
            known = {*parameters, *particle.names} - {particle.names[axis]}
            if height is not None and {str(x) for x in height.free_symbols} <= known:
                path = paths[particle.placed.body.name]
                yield _grid(height, particle, axis, parameters, path)


def _height(phi: Formula, name: str) -> Formula | None:
    """Solve φ = 0 for a coordinate in which it is linear."""
    x = coordinate(name)
    slope = se.expand(se.diff(phi, x))
    if slope == 0 or x in slope.free_symbols or TIME in phi.free_symbols:
        return None
    found = se.expand(x - phi / slope)
    return None if x in found.free_symbols else found


def _grid(height: Formula, particle: Particle, axis: int, parameters: dict[str, float], path: np.ndarray) -> SceneShape:
    """Return the surface as a mesh, slightly larger than the path."""
    others = [k for k in range(3) if k != axis]
    low, high = path.min(axis=1), path.max(axis=1)
    margin = 0.15 * max(float((high - low)[others].max()), 1e-9)
    sides = [np.linspace(low[k] - margin, high[k] + margin, _SURFACE_CELLS + 1) for k in others]
    a, b = np.meshgrid(*sides, indexing="ij")
    values = dict(parameters) | {particle.names[others[0]]: a.ravel(), particle.names[others[1]]: b.ravel()}
    points = np.zeros((a.size, 3))
    points[:, others[0]], points[:, others[1]] = a.ravel(), b.ravel()
    points[:, axis] = np.zeros(a.size) + Lowering(FLOATS, values)(height)  # pyright: ignore[reportOperatorIssue]
    k = np.arange(a.size).reshape(a.shape)
    first, second, third, fourth = (x.ravel() for x in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    faces = np.concatenate([np.stack([first, second, third], 1), np.stack([first, third, fourth], 1)])
    return SceneShape("mesh", (1.0, 1.0, 1.0), "#b9c3ce", "ground", points=points, faces=faces, opacity=0.85)
