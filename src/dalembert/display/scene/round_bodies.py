"""Round bodies: the discs, balls and ellipsoids that roll or press, with marks on them, so that their turning is seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.display.scene import colors, primitives
from dalembert.display.scene.layout import Layout
from dalembert.display.scene.scene_values import Shape
from dalembert.model.contacts.base import Contact
from dalembert.model.contacts.rolling_ball import RollingBall
from dalembert.model.contacts.rolling_disk import RollingDisk
from dalembert.model.contacts.rolling_ellipsoid import RollingEllipsoid
from dalembert.model.loads.base import Load
from dalembert.model.loads.disk_on_plane import DiskOnPlane
from dalembert.model.loads.ellipsoid_on_plane import EllipsoidOnPlane
from dalembert.model.loads.sphere_on_box import SphereOnBox
from dalembert.model.loads.sphere_on_plane import SphereOnPlane
from dalembert.model.loads.sphere_on_sphere import SphereOnSphere

_RINGS, _AROUND = 24, 48  # of the mesh of an ellipsoid
_THIN = 0.07  # of a disc, in radii


@dataclass(frozen=True)
class Round:
    """A disc, whose third semi-axis is half its thickness, or an ellipsoid around `at`, in body axes."""

    disc: bool
    at: np.ndarray
    turn: np.ndarray
    semi_axes: np.ndarray

    def holds(self, point: np.ndarray) -> bool:
        """Whether a point lies within it."""
        return bool(np.sum((self.turn.T @ (point - self.at) / self.semi_axes) ** 2) <= 1 + 1e-9)


def rounds_of(layout: Layout, body: str) -> list[Round]:
    """All that is round on a body by its contacts, each once."""
    elements = (*layout.model.contacts, *layout.model.loads)
    found: list[Round] = []
    for each in (round_ for element in elements for round_ in _of(layout, element, body)):
        same = (other for other in found if other.disc == each.disc and np.allclose(other.at, each.at))
        if not any(np.allclose(other.semi_axes, each.semi_axes) for other in same):
            found.append(each)
    return found


def _of(layout: Layout, element: Contact | Load, body: str) -> Iterator[Round]:
    match element:
        case RollingDisk() | DiskOnPlane() if element.body == body:
            radius = layout.number(element.radius)
            turn = primitives.along(np.array(element.axis, dtype=float))
            yield Round(True, layout.vector(element.center), turn, radius * np.array([1, 1, _THIN / 2]))
        case RollingEllipsoid() | EllipsoidOnPlane() if element.body == body:
            pose = layout.frame(element.center, element.rotation)
            yield Round(False, pose.p, pose.R, layout.vector(element.semi_axes))
        case RollingBall() | SphereOnPlane() | SphereOnBox() | SphereOnSphere() if element.body == body:
            yield from _ball(layout.vector(element.center), layout.number(element.radius))
        case SphereOnSphere() if element.ground == body:
            yield from _ball(layout.vector(element.ground_center), layout.number(element.ground_radius))
        case _:
            return


def _ball(at: np.ndarray, radius: float) -> Iterator[Round]:
    if radius > 0:
        yield Round(False, at, np.eye(3), np.full(3, radius))


def drawn(round_: Round, color: str) -> list[Shape]:
    """A disc with an axle; a ball or an ellipsoid with three circles, one of them bright."""
    if round_.disc:
        radius, thick = float(round_.semi_axes[0]), float(2 * round_.semi_axes[2])
        disc = Shape("disc", (radius, thick), color, "body", round_.at, round_.turn)
        axle = primitives.pin(round_.at, round_.turn[:, 2], 0.09 * radius, 3 * thick, colors.JOINT)
        return [disc, *spokes(disc), axle]
    a = round_.semi_axes
    if np.ptp(a) < 1e-9 * a[0]:
        solid = Shape("sphere", (float(a[0]),), color, "body", round_.at, round_.turn)
    else:
        points, faces = _mesh(a)
        solid = Shape("mesh", (1.0, 1.0, 1.0), color, "body", round_.at, round_.turn, points, faces)
    angles = np.linspace(0, 2 * np.pi, _AROUND + 1)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    out = [solid]
    for k in range(3):
        points = np.roll(circle, k + 1, axis=1) * (1.004 * a)
        shade = colors.CENTER if k == 0 else colors.darker(color)
        out.append(primitives.line(points @ round_.turn.T + round_.at, 0.02 * float(np.cbrt(a.prod())), shade))
    return out


def spokes(wheel: Shape) -> list[Shape]:
    """Marks on both faces of a wheel, one of them bright, so that its turning is seen."""
    radius, thick = wheel.size
    angles = np.arange(3) * np.pi / 3
    ways = np.stack([np.cos(angles), np.sin(angles), np.zeros(3)], axis=1) * 0.92 * radius
    out = []
    for side in (-1, 1):
        lift = np.array([0.0, 0.0, side * (0.5 * thick + 0.004 * radius)])
        for k, way in enumerate(ways):
            first = np.zeros(3) if k == 0 else -way
            ends = np.array([first + lift, way + lift]) @ wheel.turn.T + wheel.at
            shade = colors.CENTER if k == 0 else colors.darker(wheel.color)
            out.append(primitives.line(ends, 0.03 * radius, shade))
    return out


def _mesh(semi_axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points on rings from pole to pole, and the triangles between them."""
    lat, lon = np.linspace(0, np.pi, _RINGS + 1), np.arange(_AROUND) * 2 * np.pi / _AROUND
    across, along = np.sin(lat)[:, None], np.cos(lat)[:, None] + 0 * lon
    points = np.stack([across * np.cos(lon), across * np.sin(lon), along], axis=2).reshape(-1, 3) * semi_axes
    k, j = np.meshgrid(np.arange(_RINGS) * _AROUND, np.arange(_AROUND), indexing="ij")
    a, b = k + j, k + (j + 1) % _AROUND
    quads = np.stack([a, a + _AROUND, b + _AROUND, a, b + _AROUND, b], axis=2)
    return points, quads.reshape(-1, 3)
