"""Shapes of bodies without declared shapes, from joints, mass centers and inertias.

| model element | drawing |
|---|---|
| a disk, sphere or ellipsoid in contact, a blade | the solid with marks, the blade |
| gears, belts, racks | wheels with radii and teeth from the transmission ratio, the rack |
| joints and ends | rods between them, first along the joint axis; a plate for three or more points in a plane |
| a mass center beyond the last joint | a rod with the length from the inertia, or the box with this inertia |
| a mass without inertia | a sphere |
| a prismatic joint | a rail on the parent, and a carriage |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.display.scene import _declared_shapes
from dalembert.display.scene._declared_shapes import corners
from dalembert.display.scene._layout import BodyLayout, Layout
from dalembert.display.scene._tracks import Track
from dalembert.display.scene._wheels import Wheels
from dalembert.display.scene.scene_values import SceneShape
from dalembert.model.contacts.base import Contact
from dalembert.model.contacts.knife_edge import KnifeEdge
from dalembert.model.contacts.rolling_ball import RollingBall
from dalembert.model.contacts.rolling_disk import RollingDisk
from dalembert.model.contacts.rolling_ellipsoid import RollingEllipsoid
from dalembert.model.loads.base import Load
from dalembert.model.loads.disk_on_plane import DiskOnPlane
from dalembert.model.loads.ellipsoid_on_plane import EllipsoidOnPlane
from dalembert.model.loads.sphere_on_box import SphereOnBox
from dalembert.model.loads.sphere_on_plane import SphereOnPlane
from dalembert.model.loads.sphere_on_sphere import SphereOnSphere
from dalembert.model.values import WORLD

SLENDER = 0.3
_MAX_BARREL = 3.0  # travel in lengths of the mechanism; a longer slide is drawn as a rail
_RINGS, _AROUND = 24, 48  # of the mesh of an ellipsoid
_DISK_THICKNESS = 0.07  # in radii


@dataclass(frozen=True)
class Travel:
    """Range of a slide over the displayed motion."""

    low: float
    high: float


@dataclass(frozen=True)
class Sketch:
    """Common data of the shapes of one model."""

    layout: Layout
    unit: float
    radius: float  # of rods
    normal: np.ndarray | None  # of a planar model
    travel: dict[tuple[str, int], Travel]

    def body(self, name: str, color: str, cam: Track | None = None) -> list[SceneShape]:
        """Return the shapes of a body; a cam is drawn by its outline."""
        placed = self.layout.placed[name]
        rounds, contacts = rounds_of(self.layout, name), self.layout.contacts(name)
        shapes = [blade for contact in contacts if isinstance(contact, KnifeEdge) for blade in self._blade(contact)]
        toothed = self._toothed(name, color)
        alone = not self._distinct(name, placed)
        covered = any(rounded.disk or (alone and self._holds(rounded, placed)) for rounded in rounds)
        solid = [] if covered or (alone and (toothed or cam)) else self._solid(name, placed, color)
        solid += [*toothed, *(shape for rounded in rounds for shape in drawn(rounded, color))]
        if cam is not None and self.normal is not None:
            solid.append(cam.plate(2.2 * self.radius, color, self.layout.poses[name].R.T @ self.normal))
        # a blade and its path are visible through the body
        shapes += [replace(shape, opacity=0.45) for shape in solid] if shapes else solid
        shapes += [*self._hinge(placed), *self._wire(name, placed), *self._loop_pins(name)]
        size = (1.4 * self.radius,)
        shapes += [SceneShape("sphere", size, _declared_shapes.JOINT, "body", foot) for foot in self.layout.feet[name]]
        if placed.mass > 0 and self._within(placed.center, shapes):
            shapes.append(SceneShape("sphere", (0.55 * self.radius,), _declared_shapes.CENTER, "center", placed.center))
        return shapes

    def _within(self, point: np.ndarray, shapes: list[SceneShape]) -> bool:
        """True if shapes enclose a point, so that a mark there is attached to the body."""
        reach = np.concatenate([corners(shape) for shape in shapes] or [np.full((1, 3), np.inf)])
        margin = 2 * self.radius
        return bool(np.all((reach.min(axis=0) - margin <= point) & (point <= reach.max(axis=0) + margin)))

    @cached_property
    def wheels(self) -> Wheels:
        """Wheels of gears and belts, and racks."""
        return Wheels(self.layout)

    def _toothed(self, name: str, color: str) -> list[SceneShape]:
        """Return the wheels and the rack of a body, with marks on the wheels."""
        travel = self.travel.get((name, 0), Travel(0.0, 0.0))
        shapes = list(self.wheels.shapes(name, color, self.radius, (travel.low, travel.high)))
        for wheel in self.wheels.wheels.get(name, []):
            if not wheel.inside:
                size = 0.8 * wheel.radius, 2.2 * self.radius
                at = wheel.at + 1.1 * size[1] * wheel.level * wheel.turn[:, 2]
                shapes += spokes(SceneShape("disc", size, color, "body", at, wheel.turn))
        return shapes

    def rails(self, name: str) -> list[SceneShape]:
        """Return the rail or barrel of a body on its parent, in the axes of the parent."""
        placed = self.layout.placed[name]
        if placed.floats or not placed.slides or name in self.wheels.bars:
            return []
        index, motion = next((i, m) for i, m in enumerate(placed.motions) if m.along is not None)
        if not motion.first or motion.along is None:
            return []
        direction, travel = motion.before.R @ motion.along, self.travel[name, index]
        role = "ground" if placed.body.parent == WORLD else "joint"
        color = _declared_shapes.GROUND if role == "ground" else _declared_shapes.JOINT
        if self._telescopes(placed, travel):
            start, end = motion.before.p, motion.before.p + 0.62 * travel.low * direction
            return [_declared_shapes.rod(start, end, 1.5 * self.radius, color, role, "cylinder")]
        low, high = travel.low - 0.12 * self.unit, travel.high + 0.12 * self.unit
        a, b = motion.before.p + low * direction, motion.before.p + high * direction
        return [_declared_shapes.rod(a, b, 0.45 * self.radius, color, role, "cylinder")]

    def _telescopes(self, placed: BodyLayout, travel: Travel) -> bool:
        """True if the slide never reaches its zero position on the parent, as a rod in a barrel."""
        out = travel.low > 0.3 * travel.high > 0 and travel.high < _MAX_BARREL * self.unit
        return out and placed.body.parent != WORLD

    # contacts

    def _holds(self, rounded: Round, placed: BodyLayout) -> bool:
        """True if the round contact shape is the body, and not a foot on a leg."""
        return rounded.holds(placed.center) and rounded.holds(placed.joint_pose.p)

    def _blade(self, contact: KnifeEdge) -> list[SceneShape]:
        """Return a blade: thin across its direction, long along its path."""
        at, across = self.layout.vector(contact.point), np.array(contact.direction, dtype=float)
        up = self.normal if self.normal is not None else np.array([0.0, 0.0, 1.0])
        along = np.cross(up, across)
        turn = np.column_stack([along, across, up])
        edges = np.array([0.3, 0.025, 0.12]) * self.unit
        return [_declared_shapes.box(at, turn, edges, _declared_shapes.JOINT, "joint")]

    # the body

    def _solid(self, name: str, placed: BodyLayout, color: str) -> list[SceneShape]:
        origin, ends = placed.joint_pose.p, self._distinct(name, placed)
        edges, _ = placed.box
        shapes = self._carriage(name, placed, color)
        if placed.floats:
            return shapes + self._floating(placed, ends, color)
        if not ends:
            carries = any(other.body.parent == name for other in self.layout.placed.values())
            small = carries and edges.max() < 0.04 * self.unit
            done = shapes and (small or self._near(placed.center, origin))
            return shapes + ([] if done else self._leaf(placed, color))
        if len(ends) >= 2:
            flat = _declared_shapes.plate(np.array([origin, *ends]), 0.9 * self.radius, color)
            if flat is not None:
                return [*shapes, flat]
        for end in ends:
            shapes += self._link(placed, origin, end, color)
        if self._outside(placed, [origin, *ends]) and edges.max() < 0.2 * self.unit:
            shapes.append(_declared_shapes.rod(origin, placed.center, 0.6 * self.radius, color))
            shapes.append(SceneShape("sphere", (2.2 * self.radius,), color, "body", placed.center))
        return shapes

    def _near(self, a: np.ndarray, b: np.ndarray) -> bool:
        return float(np.linalg.norm(a - b)) < 0.03 * self.unit

    def _distinct(self, name: str, placed: BodyLayout) -> list[np.ndarray]:
        """Return the distinct ends of a body, without its joint to the parent."""
        found: list[np.ndarray] = []
        for point in self.layout.ends[name]:
            if not self._near(point, placed.joint_pose.p) and not any(self._near(point, other) for other in found):
                found.append(point)
        return found

    def _outside(self, placed: BodyLayout, points: list[np.ndarray]) -> bool:
        """True if the mass center lies off the lines from the joint of the body to its ends."""
        start = points[0]
        for end in points[1:]:
            direction = end - start
            share = np.clip((placed.center - start) @ direction / (direction @ direction), 0, 1)
            if np.linalg.norm(start + share * direction - placed.center) < 0.35 * self.unit:
                return False
        return placed.mass > 0

    def _link(self, placed: BodyLayout, a: np.ndarray, b: np.ndarray, color: str) -> list[SceneShape]:
        """Return a robot link: from its joint along the joint axis, then across it; straight if one of the two parts is short."""
        axis = placed.axis()
        corner = b if axis is None else a + ((b - a) @ axis) * axis
        if self._near(corner, a) or self._near(corner, b):
            return [_declared_shapes.rod(a, b, self.radius, color)]
        return [
            _declared_shapes.rod(a, corner, self.radius, color),
            _declared_shapes.rod(corner, b, self.radius, color),
        ]

    def _leaf(self, placed: BodyLayout, color: str) -> list[SceneShape]:
        """Return the shapes of the last body of a chain, from its mass center and inertia."""
        origin, center, (edges, axes) = placed.joint_pose.p, placed.center, placed.box
        span = float(edges.max())
        if placed.mass <= 0:  # a massless frame
            return []
        if span < 0.04 * self.unit:  # a point
            ball = SceneShape("sphere", (3.2 * self.radius,), color, "body", center)
            return (
                [ball]
                if self._near(center, origin)
                else [_declared_shapes.rod(origin, center, 0.7 * self.radius, color), ball]
            )
        order = np.argsort(edges)
        if edges[order[1]] < SLENDER * span:
            direction = axes[:, order[2]] * span / 2
            a, b = center - direction, center + direction
            near = a if np.linalg.norm(a - origin) < np.linalg.norm(b - origin) else b
            rods = [_declared_shapes.rod(a, b, self.radius, color)]
            between = np.linalg.norm(np.cross(direction, origin - center)) / np.linalg.norm(direction)
            beyond = np.linalg.norm(origin - center) > 1.05 * span / 2
            return rods + (
                [_declared_shapes.rod(origin, near, self.radius, color)] if between > 0.05 * span or beyond else []
            )
        inside = np.all(np.abs(axes.T @ (origin - center)) < 0.55 * np.maximum(edges, 2 * self.radius))
        neck = [] if inside else [_declared_shapes.rod(origin, center, self.radius, color)]
        return [*self._block(placed, color), *neck]

    def _block(self, placed: BodyLayout, color: str) -> list[SceneShape]:
        """Return the box with the inertia of the body; a wheel if it rotates about an axis of symmetry."""
        edges, axes = placed.box
        spin = placed.axis()
        order = np.argsort(edges)
        if abs(edges[order[2]] - edges[order[1]]) < 0.02 * edges[order[2]] and edges[order[0]] < 0.8 * edges[order[2]]:
            axis = axes[:, order[0]]
            if len(placed.turns) > 2 or (spin is not None and np.linalg.norm(np.cross(spin, axis)) < 1e-6):
                # the disk with the same inertia about its axis: r²/2 = a²/6
                size = float(edges[order[2]] / np.sqrt(3)), max(float(edges[order[0]]), 0.8 * self.radius)
                wheel = SceneShape("cylinder", size, color, "body", placed.center, _declared_shapes.along(axis))
                return [wheel, *spokes(wheel)]
        return [_declared_shapes.box(placed.center, axes, np.maximum(edges, 0.8 * self.radius), color)]

    def _floating(self, placed: BodyLayout, ends: list[np.ndarray], color: str) -> list[SceneShape]:
        """Return the shapes of a body without a hinge: the box with its inertia, and arms to its child joints."""
        edges, axes = placed.box
        # in a plane, a body with three or more points is a plate with these corners
        flat = (
            None
            if self.normal is None or len(ends) < 3
            else _declared_shapes.plate(np.array(ends), 0.9 * self.radius, color)
        )
        if flat is not None:
            return [flat]
        if edges.max() < 0.04 * self.unit:
            shapes = [SceneShape("sphere", (3.2 * self.radius,), color, "body", placed.center)]
        elif np.sort(edges)[1] < SLENDER * edges.max():
            direction = axes[:, int(np.argmax(edges))] * edges.max() / 2
            shapes = [_declared_shapes.rod(placed.center - direction, placed.center + direction, self.radius, color)]
        else:
            shapes = self._block(placed, color)
        for end in ends:
            if np.any(np.abs(axes.T @ (end - placed.center)) > 0.5 * edges + 0.5 * self.radius):
                shapes.append(_declared_shapes.rod(placed.center, end, 0.7 * self.radius, color))
        return shapes

    # joints

    def _hinge(self, placed: BodyLayout) -> list[SceneShape]:
        """Return a pin for one axis, a sphere for several."""
        if placed.floats or not placed.turns or self.layout.contacts(placed.body.name):
            return []
        axis = placed.axis()
        if axis is None:
            return [SceneShape("sphere", (1.9 * self.radius,), _declared_shapes.JOINT, "joint", placed.joint_pose.p)]
        return [
            _declared_shapes.pin(
                placed.joint_pose.p, axis, 1.35 * self.radius, 3.4 * self.radius, _declared_shapes.JOINT
            )
        ]

    def _loop_pins(self, name: str) -> list[SceneShape]:
        """Return the joints that close loops, on the second body."""
        out = []
        for loop in self.layout.model.loops:
            if loop.bodies[1] == name:
                at, about = self.layout.vector(loop.position), [step.about for step in loop.joint.steps]
                if len(about) == 1 and about[0] is not None:
                    axis = self.layout.frame(loop.position, loop.rotation).R @ np.array(about[0], dtype=float)
                    out.append(
                        _declared_shapes.pin(at, axis, 1.35 * self.radius, 3.4 * self.radius, _declared_shapes.JOINT)
                    )
                elif not any(step.along for step in loop.joint.steps):
                    out.append(SceneShape("sphere", (1.7 * self.radius,), _declared_shapes.JOINT, "joint", at))
        return out

    def _wire(self, name: str, placed: BodyLayout) -> list[SceneShape]:
        """Return the wire of a bead that rotates before it slides, long enough that its ends are out of view."""
        if (
            placed.floats
            or not placed.slides
            or placed.motions[0].along is not None
            or placed.turns[-1] != placed.motions[0]
        ):
            return []
        index, motion = next((i, m) for i, m in enumerate(placed.motions) if m.along is not None)
        if motion.along is None:
            return []
        far = 3 * max(abs(self.travel[name, index].low), abs(self.travel[name, index].high), self.unit)
        direction = placed.joint_pose.R @ motion.along * far
        ends = placed.joint_pose.p - direction, placed.joint_pose.p + direction
        return [_declared_shapes.rod(*ends, 0.3 * self.radius, _declared_shapes.GROUND, "ground", "cylinder")]

    def _carriage(self, name: str, placed: BodyLayout, color: str) -> list[SceneShape]:
        """Return the carriage on a rail, or the rod in a barrel."""
        if placed.floats or not placed.slides:
            return []
        index, motion = next((i, m) for i, m in enumerate(placed.motions) if m.along is not None)
        travel = self.travel[name, index]
        if motion.along is None or placed.turns:
            return []
        direction = placed.joint_pose.R @ motion.along
        if self._telescopes(placed, travel):
            back = travel.high - 0.6 * travel.low
            return [
                _declared_shapes.rod(
                    placed.joint_pose.p - back * direction, placed.joint_pose.p, 0.9 * self.radius, color
                )
            ]
        across = self.normal if self.normal is not None else None
        turn = _declared_shapes.along(direction)
        if across is not None and abs(across @ direction) < 1e-9:
            turn = np.column_stack([np.cross(across, direction), across, direction])
        edges = np.array([5.0, 4.0, 8.0]) * self.radius
        return [_declared_shapes.box(placed.joint_pose.p, turn, edges, color)]


@dataclass(frozen=True)
class Round:
    """A disk, whose third semi-axis is half its thickness, or an ellipsoid around `at`, in body axes."""

    disk: bool
    at: np.ndarray
    turn: np.ndarray
    semi_axes: np.ndarray

    def holds(self, point: np.ndarray) -> bool:
        """True if a point lies inside."""
        return bool(np.sum((self.turn.T @ (point - self.at) / self.semi_axes) ** 2) <= 1 + 1e-9)


def rounds_of(layout: Layout, body: str) -> list[Round]:
    """Return the distinct round shapes of a body from its contacts."""
    elements = (*layout.model.contacts, *layout.model.loads)
    found: list[Round] = []
    for each in (rounded for element in elements for rounded in _of(layout, element, body)):
        same = (other for other in found if other.disk == each.disk and np.allclose(other.at, each.at))
        if not any(np.allclose(other.semi_axes, each.semi_axes) for other in same):
            found.append(each)
    return found


def _of(layout: Layout, element: Contact | Load, body: str) -> Iterator[Round]:
    match element:
        case RollingDisk() | DiskOnPlane() if element.body == body:
            radius = layout.number(element.radius)
            turn = _declared_shapes.along(np.array(element.axis, dtype=float))
            yield Round(True, layout.vector(element.center), turn, radius * np.array([1, 1, _DISK_THICKNESS / 2]))
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


def drawn(rounded: Round, color: str) -> list[SceneShape]:
    """Return a disk with an axle; a sphere or an ellipsoid with three circles, one of them bright."""
    if rounded.disk:
        radius, thick = float(rounded.semi_axes[0]), float(2 * rounded.semi_axes[2])
        disk = SceneShape("disc", (radius, thick), color, "body", rounded.at, rounded.turn)
        axle = _declared_shapes.pin(rounded.at, rounded.turn[:, 2], 0.09 * radius, 3 * thick, _declared_shapes.JOINT)
        return [disk, *spokes(disk), axle]
    a = rounded.semi_axes
    if np.ptp(a) < 1e-9 * a[0]:
        solid = SceneShape("sphere", (float(a[0]),), color, "body", rounded.at, rounded.turn)
    else:
        points, faces = _mesh(a)
        solid = SceneShape("mesh", (1.0, 1.0, 1.0), color, "body", rounded.at, rounded.turn, points, faces)
    angles = np.linspace(0, 2 * np.pi, _AROUND + 1)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    out = [solid]
    for k in range(3):
        points = np.roll(circle, k + 1, axis=1) * (1.004 * a)
        shade = _declared_shapes.CENTER if k == 0 else _declared_shapes.darker(color)
        out.append(_declared_shapes.line(points @ rounded.turn.T + rounded.at, 0.02 * float(np.cbrt(a.prod())), shade))
    return out


def spokes(wheel: SceneShape) -> list[SceneShape]:
    """Return marks on both faces of a wheel, one of them bright, that make its rotation visible."""
    radius, thick = wheel.size
    angles = np.arange(3) * np.pi / 3
    directions = np.stack([np.cos(angles), np.sin(angles), np.zeros(3)], axis=1) * 0.92 * radius
    out = []
    for side in (-1, 1):
        lift = np.array([0.0, 0.0, side * (0.5 * thick + 0.004 * radius)])
        for k, direction in enumerate(directions):
            first = np.zeros(3) if k == 0 else -direction
            ends = np.array([first + lift, direction + lift]) @ wheel.turn.T + wheel.at
            shade = _declared_shapes.CENTER if k == 0 else _declared_shapes.darker(wheel.color)
            out.append(_declared_shapes.line(ends, 0.03 * radius, shade))
    return out


def _mesh(semi_axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points on rings from pole to pole, and the triangles between them."""
    lat, lon = np.linspace(0, np.pi, _RINGS + 1), np.arange(_AROUND) * 2 * np.pi / _AROUND
    across, along = np.sin(lat)[:, None], np.cos(lat)[:, None] + 0 * lon
    points = np.stack([across * np.cos(lon), across * np.sin(lon), along], axis=2).reshape(-1, 3) * semi_axes
    k, j = np.meshgrid(np.arange(_RINGS) * _AROUND, np.arange(_AROUND), indexing="ij")
    a, b = k + j, k + (j + 1) % _AROUND
    quads = np.stack([a, a + _AROUND, b + _AROUND, a, b + _AROUND, b], axis=2)
    return points, quads.reshape(-1, 3)
