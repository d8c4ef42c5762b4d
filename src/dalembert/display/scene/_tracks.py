"""Slots, wires and outlines of cams: the curves that points are held on, on the bodies that carry them.

A line is drawn as far as its point goes. A curve is followed from its point by small steps along it, each brought back onto it,
until it closes or leads away from where the point goes. A surface has such a curve where the model moves in a plane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.display.scene import _primitives
from dalembert.display.scene._layout import Layout, Placed
from dalembert.display.scene._wheels import prism
from dalembert.display.scene.scene_values import Cord, Places, Shape, moved
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.contacts.base import BetweenPoints
from dalembert.model.contacts.point_in_plane import PointInPlane
from dalembert.model.contacts.point_on_line import PointOnLine
from dalembert.model.contacts.point_on_surface import OnSurfaces, PointOnCurve
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, plain
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME, Formula, coordinate

_STEP, _FAR = 0.012, 0.35  # of the way of a point: between points of a curve, and how far it is drawn beyond
_MOST = 2000  # points of a curve in each direction
# two functions that vanish on a curve, and their gradients
Rows = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
_CELLS = 28  # of a surface, along each side
_HELD = 1e-6  # in lengths: what moves less stays


@dataclass(frozen=True)
class Track:
    """A curve (k, 3) that holds a point, in axes of the body that carries it; `closed` in itself."""

    body: str
    points: np.ndarray
    closed: bool

    def line(self, width: float) -> Shape:
        """The curve as it is."""
        role = "ground" if self.body == WORLD else "joint"
        return _primitives.line(self.points, width, _primitives.GROUND if role == "ground" else _primitives.JOINT, role)

    def plate(self, thick: float, color: str, axis: np.ndarray) -> Shape:
        """What is inside a closed curve in a plane across an axis: a cam."""
        middle, turn = self.points[:-1].mean(axis=0), _primitives.along(axis)
        rim = (self.points[:-1] - middle) @ turn[:, :2]
        return prism(1e-3 * rim, rim, thick, color, middle, turn, closed=True)


def tracks_of(layout: Layout, places: Places, normal: np.ndarray | None, unit: float) -> Iterator[Track]:
    """Every curve that holds a point."""
    for contact in layout.model.contacts:
        if isinstance(contact, BetweenPoints):
            start, (first, second) = layout.vector(contact.points[0]), contact.bodies
            R, p = places[first]
            # where the body that carries the curve sees the point, (3, k)
            path = np.einsum("xyk,xk->yk", R, moved(places, second, layout.vector(contact.points[1])) - p)
            path = path - start[:, None]
            size = min(unit, float(np.linalg.norm(np.ptp(path, axis=1))) or unit)
            points = _points(contact, layout, path, normal, size)
            if points is not None:
                closed = len(points) > 3 and np.array_equal(points[0], points[-1])
                yield Track(contact.bodies[0], points + start, bool(closed))


def _points(
    contact: BetweenPoints, layout: Layout, path: np.ndarray, normal: np.ndarray | None, unit: float
) -> np.ndarray | None:
    """The points of the curve (k, 3); None where there is none to draw."""
    across = None if normal is None else layout.poses[contact.bodies[0]].R.T @ normal
    match contact:
        case PointOnLine():
            return _straight(np.array(contact.axis, dtype=float), path, unit)
        case PointInPlane() if across is not None:
            way = np.cross(across, np.array(contact.normal, dtype=float))
            long = float(np.linalg.norm(way))
            return _straight(way / long, path, unit) if long > 1e-9 else None
        case PointOnCurve():
            return _followed(lambda x: _surfaces(contact, layout, x), path, unit)
        case OnSurfaces() if across is not None:
            flat, level = across, float(across @ path[:, 0])

            def rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                value, slopes = _surfaces(contact, layout, x)
                return np.append(value, flat @ x - level), np.vstack([slopes, flat])

            return _followed(rows, path, unit)
    return None


def _straight(way: np.ndarray, path: np.ndarray, unit: float) -> np.ndarray:
    along = way @ path
    ends = along.min() - _FAR * unit, along.max() + _FAR * unit
    middle = path.mean(axis=1) - along.mean() * way
    return np.array([middle + end * way for end in ends])


def _surfaces(contact: OnSurfaces, layout: Layout, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at = FLOATS, layout.number, vector(list(x))
    values, slopes = contact.values(*at), contact.gradients(*at)
    return plain(vector(list(values.values()))), np.array([plain(slope) for slope in slopes.values()])


def _followed(rows: Rows, path: np.ndarray, unit: float) -> np.ndarray | None:
    """The curve through the first point of a path, both ways."""
    step, far = _STEP * unit, (_FAR if path.shape[1] > 1 else 2.0) * unit  # without a run nobody knows how far it goes
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
    """The points of a curve in one direction, and whether it comes back to the first."""
    points, before = [path[:, 0]], np.zeros(3)
    for k in range(_MOST):
        _, slopes = rows(points[-1])
        way = np.cross(*slopes)
        way = way / np.linalg.norm(way) * (np.sign(way @ before) or np.sign(step))
        x = points[-1] + abs(step) * way
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
        before = way
    return points, False


@dataclass(frozen=True)
class Particle:
    """A body that slides along three axes of the world, and by which coordinates."""

    placed: Placed
    names: tuple[str, str, str]


def particles(layout: Layout) -> list[Particle]:
    """The bodies whose place are three coordinates."""
    out = []
    for placed in layout.placed.values():
        ways = np.array([m.before.R @ m.along for m in placed.motions if m.along is not None]).reshape(-1, 3)
        symbols = [motion.formula for motion in placed.motions]
        free = len(ways) == len(symbols) == 3 and all(isinstance(x, se.Symbol) for x in symbols)
        if free and placed.body.parent == WORLD and np.array_equal(np.sort(ways, axis=0)[-1], np.ones(3)):
            order = np.argmax(ways, axis=1)
            names = [str(symbols[int(np.flatnonzero(order == axis)[0])]) for axis in range(3)]
            out.append(Particle(placed, (names[0], names[1], names[2])))
    return out


def strings(layout: Layout) -> Iterator[Cord]:
    """A string for every formula that keeps a particle at a distance from a point, or on a line that turns about the origin."""
    yield from _wires(layout)
    for particle in particles(layout):
        for constraint in layout.model.holonomic_constraints:
            middle = _middle(constraint.phi, particle.names)
            if middle is not None:
                ends = layout.vector(middle), particle.placed.center
                yield Cord(constraint.name, "rope", (WORLD, particle.placed.body.name), ends, _primitives.CORD)


def _wires(layout: Layout) -> Iterator[Cord]:
    """φ = a(t)·x: the particle is on a line through the origin that turns."""
    for name, placed in layout.placed.items():
        q = [motion.formula for motion in placed.motions if isinstance(motion.formula, se.Symbol)]
        if placed.body.parent != WORLD or placed.turns or not len(q) == len(placed.motions) == 2:
            continue
        for constraint in layout.model.holonomic_constraints:
            phi = constraint.phi
            slopes = [se.diff(phi, x) for x in q]
            linear = not set(q) & set().union(*(slope.free_symbols for slope in slopes))
            if TIME in phi.free_symbols and linear and se.expand(phi - slopes[0] * q[0] - slopes[1] * q[1]) == 0:
                yield Cord(constraint.name, "rope", (WORLD, name), (np.zeros(3), placed.center), _primitives.CORD)


@dataclass(frozen=True)
class Held:
    """Where formulas hold marks of bodies: at a point of the world, or on a line between two."""

    points: tuple[np.ndarray, ...] = ()
    lines: tuple[tuple[np.ndarray, np.ndarray], ...] = ()


def held(layout: Layout, places: Places) -> Held:
    """The declared shapes whose middles stay at a point or on a line along the samples, although no joint keeps them there."""
    points, lines = list[np.ndarray](), list[tuple[np.ndarray, np.ndarray]]()
    for shape in layout.model.shapes:
        placed = layout.placed.get(shape.body)
        if placed is None or (placed.slides and not placed.floats):
            continue
        path = moved(places, shape.body, np.array(shape.position, dtype=float)).T
        _, sizes, axes = np.linalg.svd(path - path[0])
        if len(path) == 1 or (sizes[1] > _HELD * sizes[0] and sizes[0] > _HELD * layout.unit):
            continue
        if sizes[0] <= _HELD * layout.unit:
            points.append(path[0])
        else:
            along = (path - path[0]) @ axes[0]
            lines.append((path[0] + along.min() * axes[0], path[0] + along.max() * axes[0]))
    return Held(tuple(points), tuple(lines))


def _middle(phi: Formula, names: tuple[str, str, str]) -> list[Formula] | None:
    """The point whose distance φ holds, as constants; None where φ holds something else."""
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
) -> Iterator[Shape]:
    """The surface of every formula that is linear in the coordinate upwards, around the path (3, k) of its particle."""
    axis = int(np.argmax(np.abs(up)))
    for particle in particles(layout):
        for constraint in (each for each in constraints if not each.feedback):
            height = _height(constraint.phi, particle.names[axis])
            known = {*parameters, *particle.names} - {particle.names[axis]}
            if height is not None and {str(x) for x in height.free_symbols} <= known:
                path = paths[particle.placed.body.name]
                yield _grid(height, particle, axis, parameters, path)


def _height(phi: Formula, name: str) -> Formula | None:
    """φ = 0 solved for a coordinate, where it is linear in it."""
    x = coordinate(name)
    slope = se.expand(se.diff(phi, x))
    if slope == 0 or x in slope.free_symbols or TIME in phi.free_symbols:
        return None
    found = se.expand(x - phi / slope)
    return None if x in found.free_symbols else found


def _grid(height: Formula, particle: Particle, axis: int, parameters: dict[str, float], path: np.ndarray) -> Shape:
    """The surface as a mesh, somewhat larger than the path."""
    others = [k for k in range(3) if k != axis]
    low, high = path.min(axis=1), path.max(axis=1)
    margin = 0.15 * max(float((high - low)[others].max()), 1e-9)
    sides = [np.linspace(low[k] - margin, high[k] + margin, _CELLS + 1) for k in others]
    a, b = np.meshgrid(*sides, indexing="ij")
    values = dict(parameters) | {particle.names[others[0]]: a.ravel(), particle.names[others[1]]: b.ravel()}
    points = np.zeros((a.size, 3))
    points[:, others[0]], points[:, others[1]] = a.ravel(), b.ravel()
    points[:, axis] = np.zeros(a.size) + Lowering(FLOATS, values)(height)  # pyright: ignore[reportOperatorIssue]
    k = np.arange(a.size).reshape(a.shape)
    first, second, third, fourth = (x.ravel() for x in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    faces = np.concatenate([np.stack([first, second, third], 1), np.stack([first, third, fourth], 1)])
    return Shape("mesh", (1.0, 1.0, 1.0), "#b9c3ce", "ground", points=points, faces=faces, opacity=0.85)
