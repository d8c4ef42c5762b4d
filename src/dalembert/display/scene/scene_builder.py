"""The scene of a model, with or without a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display.math.symbol_names import for_text
from dalembert.display.scene import _declared_shapes, _ground
from dalembert.display.scene import _tracks as tracks
from dalembert.display.scene._body_shapes import Sketch, Travel
from dalembert.display.scene._declared_shapes import corners, declared_shapes
from dalembert.display.scene._layout import FramePose, Layout
from dalembert.display.scene._tracks import Track, tracks_of
from dalembert.display.scene.recorded_motion import recorded_of
from dalembert.display.scene.scene_values import (
    Connector,
    Forms,
    PosesByBody,
    Recorded,
    Scene,
    SceneBody,
    SceneShape,
    Slider,
    Trail,
    View,
    to_world,
)
from dalembert.display.units import Units
from dalembert.errors import InputError
from dalembert.mechanics import assembly
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.motion import values
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.contacts.distance import Distance
from dalembert.model.contacts.point_in_plane import PointInPlane
from dalembert.model.contacts.point_on_surface import PointOnSurface
from dalembert.model.description import Elements
from dalembert.model.loads.base import Between
from dalembert.model.scales import rotational_coordinates, scales_of
from dalembert.model.values import WORLD
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.symbols import Lowering

if TYPE_CHECKING:
    from dalembert.simulation.trajectory_data import TrajectoryData


ANGLE = np.radians(32.0)  # vertical field of view
_FILL = 0.9  # filled fraction of the image
_FOLLOW_DISTANCE = 5.0  # travel in lengths of the mechanism above which the camera follows
_STRAIGHT = 1e-9


def fitted(
    clouds: dict[str, np.ndarray], poses: PosesByBody, gravity: np.ndarray, normal: np.ndarray | None, unit: float
) -> View:
    """Return the view of points (3, k, samples) of every body; `poses` are the poses of the bodies at the samples."""
    all_points = np.concatenate(list(clouds.values()), axis=1)
    bodies = [name for name in clouds if name != WORLD]
    moving = np.concatenate([clouds[name] for name in bodies], axis=1)
    apart = moving - moving.mean(axis=1, keepdims=True)
    spread = max(2 * float(np.linalg.norm(apart, axis=0).max()), unit)
    travelled = float(np.linalg.norm(np.ptp(moving, axis=(1, 2))))
    follow = bodies[0] if travelled > _FOLLOW_DISTANCE * spread else None
    if follow is not None:
        origin = poses[follow][1][:, None]
        all_points = moving - origin + origin[:, :, :1]
    up = upwards(gravity, normal)
    toward = normal if normal is not None else oblique(up)
    right = np.cross(up, toward)
    axes = np.array([right / np.linalg.norm(right), np.cross(toward, right / np.linalg.norm(right)), toward])
    in_view_axes = axes @ all_points.reshape(3, -1)
    middle = (in_view_axes.min(axis=1) + in_view_axes.max(axis=1)) / 2
    distance = _distance(in_view_axes - middle[:, None], normal is not None, unit)
    if normal is None:  # perspective enlarges near objects, which shifts the center of the image
        for _ in range(3):
            near = distance / np.maximum(distance - in_view_axes[2] + middle[2], 0.02 * distance)
            projected = (in_view_axes[:2] - middle[:2, None]) * near
            middle[:2] += (projected.min(axis=1) + projected.max(axis=1)) / 2
            distance = _distance(in_view_axes - middle[:, None], False, unit)
    target = axes.T @ middle
    size = 2 * distance * float(np.tan(ANGLE / 2))
    return View(up, normal is not None, target + distance * toward, target, size, unit, follow)


def _distance(in_view_axes: np.ndarray, planar: bool, unit: float) -> float:
    """Return the camera distance at which all points (right, up, toward) are in the image."""
    slope = _FILL * np.tan(ANGLE / 2)
    toward = np.zeros(in_view_axes.shape[1]) if planar else in_view_axes[2]
    return max(float((np.abs(in_view_axes[:2]).max(axis=0) / slope + toward).max()), unit / 2 / slope)


def upwards(gravity: np.ndarray, normal: np.ndarray | None) -> np.ndarray:
    """Return the up direction: against gravity; if gravity is normal to the view plane, along y, z or x."""
    up = 0.0 - gravity
    if normal is not None:
        up = up - (up @ normal) * normal
    size = np.linalg.norm(up)
    if size > 1e-6 * max(np.linalg.norm(gravity), 1e-300):
        return up / size + 0.0  # turns -0.0 into 0.0
    if normal is None:
        return np.array([0.0, 0.0, 1.0])
    for axis in np.eye(3)[[1, 2, 0]]:
        up = axis - (axis @ normal) * normal
        if np.linalg.norm(up) > 0.5:
            return up / np.linalg.norm(up)
    return np.array([0.0, 1.0, 0.0])


def oblique(up: np.ndarray) -> np.ndarray:
    """Return the viewing direction from the front, right and above."""
    k = int(np.argmax(np.abs(up)))
    right = np.eye(3)[(k + 1) % 3]
    right = right - (right @ up) * up
    right = right / np.linalg.norm(right)
    front = np.cross(right, up)
    direction = 0.55 * right + front + 0.5 * up
    return direction / np.linalg.norm(direction)


def normal_of(layout: Layout) -> np.ndarray | None:
    """Return the normal of the plane in which all bodies move, in world axes; None if there is none."""
    turns, slides, constant = _directions(layout)
    if not constant:
        return None
    for turn in turns[:1]:
        across = all(abs(turn @ slide) < _STRAIGHT for slide in slides)
        alike = all(np.linalg.norm(np.cross(turn, other)) < _STRAIGHT for other in turns)
        return _forward(turn) if across and alike else None
    if not slides:
        return None
    return _normal_of_slides(layout, slides)


def _directions(layout: Layout) -> tuple[list[np.ndarray], list[np.ndarray], bool]:
    """Return all rotation axes and slide directions of joints in the initial state, and whether every motion has one."""
    turns, slides = list[np.ndarray](), list[np.ndarray]()
    for placed in layout.placed.values():
        parent = layout.poses[placed.body.parent] if placed.body.parent != WORLD else FramePose()
        for motion in placed.motions:
            R = parent.R @ motion.before.R
            if motion.about is None and motion.along is None:
                return [], [], False
            if motion.about is not None:
                turns.append(R @ motion.about)
            if motion.along is not None:
                slides.append(R @ motion.along)
                if motion.about is not None:  # a screw
                    return [], [], False
    return turns, slides, True


def _normal_of_slides(layout: Layout, slides: list[np.ndarray]) -> np.ndarray | None:
    """Return the plane of the slides, for models without rotations; for one slide, a plane that contains gravity."""
    _, sizes, axes = np.linalg.svd(np.array(slides))
    if len(sizes) > 2 and sizes[2] > _STRAIGHT:
        return None
    if len(sizes) > 1 and sizes[1] > _STRAIGHT:
        return _forward(np.cross(axes[0], axes[1]))
    direction = axes[0]
    gravity = layout.vector(layout.model.gravity)
    across = np.cross(direction, gravity)
    if np.linalg.norm(across) < _STRAIGHT:
        across = np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))])
    return _forward(across / np.linalg.norm(across))


def _forward(n: np.ndarray) -> np.ndarray:
    """Return the one of ±n that points toward the viewer: +z or +x, but −y, so that x is to the right."""
    k = int(np.argmax(np.abs(n)))
    toward = -1.0 if k == 1 else 1.0
    return n * np.sign(n[k]) * toward + 0.0


_VIEW_SAMPLES = 120  # of a run
_CLOSED = 1e-6
_TRAILS = 4
_FAR_AWAY = 4.0  # lengths of the mechanism
_MAX_TRAIL = 4.0  # length, in sizes of the view
_ROD_RADIUS, _MIN_RADIUS, _MAX_RADIUS = 0.022, 0.008, 0.15  # of rods: usual, minimum in sizes of the view, maximum


def scene_of(model: Elements, run: TrajectoryData | None = None, *, motion: Recorded | None = None) -> Scene:
    """Return the scene of a model, with the motion of a run, a recorded motion, or interactive coordinates.

    >>> import dalembert as dl
    >>> scene = scene_of(dl.load("four-bar"))
    >>> scene.view.planar, scene.view.up.tolist(), [part.name for part in scene.bodies]
    (True, [0.0, 1.0, 0.0], ['world', 'crank', 'output', 'coupler'])
    """
    if not model.bodies:
        raise InputError(
            f"model '{model.name}' is defined by energies, so there is nothing to draw. "
            "Define it by bodies and joints; plots of the coordinates work for every model: run.plot()."
        )
    return _SceneBuilder(model, run, motion).scene


@dataclass(frozen=True)
class _SceneBuilder:
    """The parts of a scene, computed on demand."""

    declared: Elements
    run: TrajectoryData | None
    motion: Recorded | None

    @cached_property
    def forms(self) -> Forms:
        values = self.declared.parameter_values
        return Forms(with_contacts(self.declared), values if self.run is None else dict(self.run.parameters))

    @cached_property
    def states(self) -> tuple[np.ndarray, np.ndarray]:
        """The samples for the view: q (n, k) and t."""
        if (source := self.run or self.motion) is not None:
            chosen = np.unique(np.linspace(0, len(source.t) - 1, _VIEW_SAMPLES).astype(int))
            return source.q[:, chosen], source.t[chosen]
        q, t = self.declared.initial[0], np.zeros(1)
        closure = self.forms.closure
        if closure is not None:
            gap = closure.at(q[:, None], t)[: closure.rows(len(q))]
            if not np.abs(gap).max() < _CLOSED:
                q = assembly.assemble_state(self.declared).q
        return q[:, None], t

    @cached_property
    def poses(self) -> PosesByBody:
        """Poses of the bodies at the samples."""
        return self.forms.poses.at(*self.states)

    @cached_property
    def layout(self) -> Layout:
        q, t = self.states
        return Layout(self.declared, self.forms.values, q[:, 0], float(t[0]))

    @cached_property
    def normal(self) -> np.ndarray | None:
        return normal_of(self.layout)

    @cached_property
    def gravity(self) -> np.ndarray:
        return self.layout.vector(self.declared.gravity)

    @cached_property
    def sketch(self) -> Sketch:
        q, t = self.states
        paths = [pose[1].T for name, pose in self.poses.items() if name != WORLD]
        spread = np.ptp(np.concatenate([*paths, np.reshape(self.layout.ends[WORLD], (-1, 3))]), axis=0)
        unit = self.layout.unit or 0.35 * float(np.linalg.norm(spread)) or scales_of(self.declared).length
        zero = [np.zeros(len(t))] * len(q)
        lower = Lowering(FLOATS, values(self.declared, t, list(q), zero, self.forms.values))
        travel, reach = {}, 0.35 * unit if self.run is None and self.motion is None else 0.0
        for name, placed in self.layout.placed.items():
            for index, motion in enumerate(placed.motions):
                if motion.along is not None:
                    slid = np.zeros(len(t)) + lower(motion.formula)  # pyright: ignore[reportOperatorIssue]
                    travel[name, index] = Travel(float(slid.min()) - reach, float(slid.max()) + reach)
        radius = min(max(_ROD_RADIUS * unit, _MIN_RADIUS * self._reach(unit)), _MAX_RADIUS * unit)
        return Sketch(self.layout, unit, radius, self.normal, travel)

    def _reach(self, unit: float) -> float:
        """Size of a view of all joints, ends and mass centers along the samples."""
        points = {WORLD: self._attached}
        for name, placed in self.layout.placed.items():
            points[name] = np.array([placed.joint_pose.p, placed.center, *self.layout.ends[name]])
        clouds = self._clouds(points)
        return fitted(clouds, self.poses, self.gravity, self.normal, unit).size

    def _clouds(self, points: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Transform points by body to world axes, without bodies beyond their limits."""
        chosen = {name: each for name, each in points.items() if each.size and name not in self.beyond_limits}
        return {name: self._in_world(name, each) for name, each in chosen.items()}

    def _in_world(self, name: str, points: np.ndarray) -> np.ndarray:
        """Transform points (k, 3) of a body to world axes along the samples, (3, k, samples)."""
        if name == WORLD:
            return np.repeat(points.T[:, :, None], len(self.states[1]), axis=2)
        R, p = self.poses[name]
        return np.einsum("xyk,iy->xik", R, points) + p[:, None]

    @cached_property
    def drawings(self) -> tuple[dict[str, list[SceneShape]], tuple[str, ...]]:
        """The declared shapes by body, and notes on them."""
        return declared_shapes(self.declared)

    @cached_property
    def parts(self) -> tuple[tuple[SceneBody, ...], tuple[str, ...]]:
        """The world and the bodies, and notes on them."""
        names = list(self.layout.placed)
        drawings, notes = self.drawings
        shapes: dict[str, list[SceneShape]] = {WORLD: list(drawings.get(WORLD, []))}
        for k, name in enumerate(names):
            color = _declared_shapes.of_body(k, len(names))
            shapes[name] = [] if self._covered(name) else self.sketch.body(name, color, self.cams.get(name))
            shapes[name] += drawings.get(name, [])
        for name, placed in self.layout.placed.items():
            if not self._covered(name):
                shapes[placed.body.parent] += self.sketch.rails(name)
        for track in self.tracks:
            if track is not self.cams.get(track.body):
                shapes[track.body].append(track.line(0.3 * self.sketch.radius))
        return tuple(SceneBody(name, tuple(each)) for name, each in shapes.items()), notes

    @property
    def surfaces(self) -> list[Holonomic]:
        """The constraints that may be surfaces of the world: declared formulas, and points on surfaces."""
        names = {c.name for c in self.declared.contacts if isinstance(c, PointOnSurface | PointInPlane)}
        found = (c for c in self.forms.model.holonomic_constraints if c.name in names)
        return [*self.declared.holonomic_constraints, *found]

    @cached_property
    def tracks(self) -> tuple[Track, ...]:
        return tuple(tracks_of(self.layout, self.poses, self.normal, self.sketch.unit))

    @cached_property
    def cams(self) -> dict[str, Track]:
        """The outlines of bodies that are cams: closed curves in a planar model."""
        plane = self.normal is not None
        return {track.body: track for track in self.tracks if plane and track.closed and track.body != WORLD}

    def _covered(self, name: str) -> bool:
        """True if declared shapes reach all joints of a body, and one of them its own, so that no shapes are added."""
        shapes = self.drawings[0].get(name, [])
        if not shapes or any(shape.kind == "mesh" for shape in shapes):
            return bool(shapes)
        each, margin = [corners(shape) for shape in shapes], 0.05 * self.sketch.unit

        def reached(points: np.ndarray, place: np.ndarray) -> bool:
            return bool(np.all((points.min(axis=0) - margin <= place) & (place <= points.max(axis=0) + margin)))

        origin, all_corners = self.layout.placed[name].joint_pose.p, np.concatenate(each)
        return any(reached(points, origin) for points in each) and all(
            reached(all_corners, place) for place in self.layout.ends[name]
        )

    @cached_property
    def beyond_limits(self) -> set[str]:
        """Bodies that slid far beyond their joint limits, which are not enforced; the view ignores them."""
        out, names = set[str](), list(self.declared.coordinate_names)
        for name, placed in self.layout.placed.items():
            for motion in placed.slides:
                limits = self.declared.limits.get(str(motion.formula))
                if limits is None or limits.lower is None or limits.upper is None:
                    continue
                slid, span = self.states[0][names.index(str(motion.formula))], limits.upper - limits.lower
                if slid.min() < limits.lower - span or slid.max() > limits.upper + span:
                    out.add(name)
        return out

    @cached_property
    def clouds(self) -> dict[str, np.ndarray]:
        """Corners of all shapes in world axes along the samples, (3, k, samples); of the world only attachment points."""
        points = {WORLD: self._attached}
        for part in self.parts[0][1:]:
            drawn = [corners(shape) for shape in part.shapes if shape.role != "ground"]
            points[part.name] = np.concatenate(drawn or [np.zeros((1, 3))])
        clouds = self._clouds(points)
        if self.normal is None and WORLD in clouds and np.any(self.gravity):
            # supports extend down to the lowest point
            up = upwards(self.gravity, None)
            heights = {name: np.einsum("x,xik->ik", up, cloud) for name, cloud in clouds.items()}
            below = heights[WORLD] - min(float(each.min()) for each in heights.values())
            clouds[WORLD] = np.concatenate([clouds[WORLD], clouds[WORLD] - up[:, None, None] * below], axis=1)
        return clouds

    @property
    def _attached(self) -> np.ndarray:
        """Attachment points on the world, (k, 3); without the zero position of a slide whose body stays far away."""
        unit, zeros = self.layout.unit, []
        for name, placed in self.layout.placed.items():
            if placed.body.parent == WORLD and placed.slides:
                far = np.linalg.norm(self.poses[name][1] - placed.attached.p[:, None], axis=0).min()
                zeros += [placed.attached.p] if far > _FAR_AWAY * unit > 0 else []
        ends = [end for end in self.layout.ends[WORLD] if not any(np.array_equal(end, zero) for zero in zeros)]
        return np.reshape(ends, (-1, 3))

    @cached_property
    def view(self) -> View:
        return fitted(self.clouds, self.poses, self.gravity, self.normal, self.sketch.unit)

    @property
    def scene(self) -> Scene:
        parts, notes = self.parts
        world, *bodies = parts
        paths = {name: self.poses[name][1] for name in self.layout.placed}
        below = tracks.surfaces(self.layout, self.surfaces, self.forms.values, self.view.up, paths) if self.run else ()
        fixed_points = (
            tracks.fixed_shapes(self.layout, self.poses)
            if self.declared.holonomic_constraints
            else tracks.FixedShapes()
        )
        fixed = [*below] or _ground.shapes(self.sketch, self.view, self.gravity, self.clouds, fixed_points)
        recorded = self.motion
        if self.run is not None:
            recorded = recorded_of(self.run, self.layout, self.forms.poses, self.sketch.unit)
        return Scene(
            self.declared.name,
            self.declared.text,
            self.view,
            self.sliders,
            (SceneBody(WORLD, (*fixed, *world.shapes)), *bodies),
            self.forms.poses,
            self.forms.closure,
            recorded,
            self.trails,
            self.cords,
            notes,
        )

    @property
    def sliders(self) -> tuple[Slider, ...]:
        """The coordinates with their ranges."""
        model, units = self.declared, Units(self.declared)
        turning, scales = rotational_coordinates(model), scales_of(model)
        driven = {c.prescribed for c in model.holonomic_constraints}
        out = []
        for k, name in enumerate(model.coordinate_names):
            limits = model.limits.get(name)
            start = float(self.states[0][k, 0])
            reach = np.pi if name in turning else max(scales.q[k], abs(start))
            low, high = (limits.lower, limits.upper) if limits else (None, None)
            low, high = start - reach if low is None else low, start + reach if high is None else high
            unit = units.label(units.coordinate(name))
            out.append(Slider(name, for_text(name), unit, start, low, high, name in turning, name in driven))
        return tuple(out)

    @property
    def trails(self) -> tuple[Trail, ...]:
        """The ends of chains, and the mass centers of bodies in a loop."""
        layout, names = self.layout, list(self.layout.placed)
        parents = {placed.body.parent for placed in layout.placed.values()}
        looped = {name for loop in self.declared.loops for name in loop.bodies}
        tied = {name for loop in self.declared.loops if WORLD in loop.bodies for name in loop.bodies}
        tied |= {name for name, placed in layout.placed.items() if placed.body.parent == WORLD and not placed.floats}
        out = []
        for k, name in enumerate(names):
            placed = layout.placed[name]
            if name in looped & tied or name in self.beyond_limits:
                continue
            floating = placed.floats and not any(layout.contacts(name))
            if name in parents and not floating:
                continue
            part = next(part for part in self.parts[0] if part.name == name)
            drawn = [corners(shape) for shape in part.shapes if shape.role == "body"]
            points = np.concatenate(drawn or [placed.center[None]])
            tip = placed.center
            if not (name in looped or floating) and np.linalg.norm(np.ptp(points, axis=0)) > 0.1 * self.sketch.unit:
                distance = np.linalg.norm(
                    points - placed.joint_pose.p, axis=1
                )  # the center of the points at the far end
                tip = points[distance > distance.max() - 0.06 * self.sketch.unit].mean(axis=0)
            marks = [] if floating or self._covered(name) else self.drawings[0].get(name, [])
            tip = marks[0].at if len(marks) == 1 else tip
            out.append(Trail(name, tip, _declared_shapes.of_body(k, len(names)), self._trail_duration(name, tip)))
        carried = [trail for trail in out if layout.placed[trail.body].floats and trail.body in looped]
        return tuple((carried or out)[:_TRAILS])

    def _trail_duration(self, name: str, point: np.ndarray) -> float:
        """Return the visible duration of a trail in seconds, limited for readability."""
        t, path = self.states[1], to_world(self.poses, name, point)
        length = float(np.linalg.norm(np.diff(path, axis=1), axis=0).sum())
        duration = float(t[-1] - t[0])
        free = self.view.follow is not None or not length
        return duration if free else duration * min(1.0, _MAX_TRAIL * self.view.size / length)

    @property
    def cords(self) -> tuple[Connector, ...]:
        """Springs, dampers and rods between two points, belts, and strings from constraint formulas."""
        out = []
        for element in (*self.declared.loads, *self.declared.contacts):
            if isinstance(element, Between | Distance):
                first, second = (self.layout.vector(point) for point in element.points)
                out.append(
                    Connector(element.name, element.kind, element.bodies, (first, second), _declared_shapes.CORD)
                )
        return (*out, *self.sketch.wheels.belts, *tracks.strings(self.layout))
