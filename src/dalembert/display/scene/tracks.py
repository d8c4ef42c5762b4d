"""Slots, wires and outlines of cams: the curves that points are held on, on the bodies that carry them.

A line is drawn as far as its point goes. A curve is followed from its point by small steps along it, each brought back onto it,
until it closes or leads away from where the point goes. A surface has such a curve where the model moves in a plane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.display.scene import colors, primitives
from dalembert.display.scene.layout import Layout
from dalembert.display.scene.scene_programs import Places, moved
from dalembert.display.scene.scene_values import Shape
from dalembert.display.scene.wheels import prism
from dalembert.model.contacts.base import BetweenPoints
from dalembert.model.contacts.point_in_plane import PointInPlane
from dalembert.model.contacts.point_on_line import PointOnLine
from dalembert.model.contacts.point_on_surface import OnSurfaces, PointOnCurve
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, plain

_STEP, _FAR = 0.012, 0.35  # of the way of a point: between points of a curve, and how far it is drawn beyond
_MOST = 2000  # points of a curve in each direction

Rows = Callable[
    [np.ndarray], tuple[np.ndarray, np.ndarray]
]  # two functions that vanish on a curve, and their gradients


@dataclass(frozen=True)
class Track:
    """A curve (k, 3) that holds a point, in axes of the body that carries it; `closed` in itself."""

    body: str
    points: np.ndarray
    closed: bool

    def line(self, width: float) -> Shape:
        """The curve as it is."""
        role = "ground" if self.body == WORLD else "joint"
        return primitives.line(self.points, width, colors.GROUND if role == "ground" else colors.JOINT, role)

    def plate(self, thick: float, color: str, axis: np.ndarray) -> Shape:
        """What is inside a closed curve in a plane across an axis: a cam."""
        middle, turn = self.points[:-1].mean(axis=0), primitives.along(axis)
        rim = (self.points[:-1] - middle) @ turn[:, :2]
        return prism(1e-3 * rim, rim, thick, color, middle, turn, closed=True)


def tracks_of(layout: Layout, places: Places, normal: np.ndarray | None, unit: float) -> Iterator[Track]:
    """Every curve that holds a point."""
    for contact in layout.model.contacts:
        if isinstance(contact, BetweenPoints):
            start = layout.vector(contact.points[0])
            path = _path(contact, layout, places) - start[:, None]
            points = _points(
                contact, layout, path, normal, min(unit, float(np.linalg.norm(np.ptp(path, axis=1))) or unit)
            )
            if points is not None:
                closed = len(points) > 3 and np.array_equal(points[0], points[-1])
                yield Track(contact.bodies[0], points + start, bool(closed))


def _path(contact: BetweenPoints, layout: Layout, places: Places) -> np.ndarray:
    """Where the body that carries the curve sees the point, (3, k)."""
    first, second = contact.bodies
    R, p = places[first]
    return np.einsum("xyk,xk->yk", R, moved(places, second, layout.vector(contact.points[1])) - p)


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
