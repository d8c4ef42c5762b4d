"""Draw a scene with matplotlib: planar models as outlines from the front, others as lit surfaces in perspective.

This needs no window and no browser.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display import _rasterizer
from dalembert.display._rasterizer import TriangleMesh, surface_of
from dalembert.display.scene import _primitives
from dalembert.display.scene._declared_shapes import corners
from dalembert.display.scene._primitives import hull
from dalembert.display.scene.scene_values import Connector, PosesByBody, Scene, SceneShape, to_world

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROLES = {"ground": 0, "body": 1, "joint": 2, "center": 3}
_COIL_TURNS = 7  # of a spring
_LIGHT = np.array([-0.35, 0.75, 0.6]) / np.linalg.norm([-0.35, 0.75, 0.6])  # right, up, toward the viewer
_LINE_SEGMENTS = 24  # of a long line


@dataclass(frozen=True)
class Projection:
    """Projection from the world to the image: right, up and toward the viewer, from the center of the view."""

    axes: np.ndarray  # rows: right, up, toward
    target: np.ndarray
    distance: float | None  # of the camera; None: parallel projection
    scale: float  # points of the image per length

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Project points (..., 3) to (..., 3): x, y and inverse depth."""
        in_view_axes = (points - self.target) @ self.axes.T
        if self.distance is None:
            return in_view_axes
        away = np.maximum(self.distance - in_view_axes[..., 2:], 0.02 * self.distance)
        # straight lines in space stay straight in these coordinates, with the inverse depth 1/away
        return np.concatenate([in_view_axes[..., :2] * self.distance / away, self.distance / away], axis=-1)


@dataclass(frozen=True)
class Snapshot:
    """Content of one drawing: the k-th sample of the poses, and the paths (3, m) of points, by index of the trail."""

    poses: PosesByBody
    k: int
    paths: dict[int, np.ndarray]

    def points(self, body: str, points: np.ndarray) -> np.ndarray:
        """Transform points (..., 3) of a body to world axes."""
        R, p = self.poses[body]
        return points @ R[:, :, self.k].T + p[:, self.k]


@dataclass(frozen=True)
class SceneRenderer:
    """Draws a scene at given times."""

    scene: Scene

    def draw(self, axis: Axes, frame: Snapshot) -> None:
        """Draw the scene at one time; the axes get the limits of the view."""
        camera = self._projection(axis, frame)
        if self.scene.view.planar:
            self._draw_outlines(axis, camera, frame)
        else:
            self._draw_surfaces(axis, camera, frame)

    def _projection(self, axis: Axes, frame: Snapshot) -> Projection:
        view = self.scene.view
        toward = (view.eye - view.target) / np.linalg.norm(view.eye - view.target)
        right = np.cross(view.up, toward)
        right = right / np.linalg.norm(right)
        target = view.target
        if view.follow is not None:
            target = target + frame.poses[view.follow][1][:, frame.k] - self._followed_start
        half = view.size / 2
        axis.set_xlim(-half, half)
        axis.set_ylim(-half, half)
        axis.set_aspect("equal")
        axis.set_axis_off()
        distance = None if view.planar else float(np.linalg.norm(view.eye - view.target))
        box = axis.get_window_extent()
        figure = axis.get_figure()
        points = min(box.width, box.height) / (figure.dpi if figure else 72) * 72
        return Projection(np.array([right, np.cross(toward, right), toward]), target, distance, points / view.size)

    @cached_property
    def _followed_start(self) -> np.ndarray:
        """Return the initial position of the body that the camera follows."""
        q, t = self.scene.start
        return self.scene.kinematics.at(q[:, None], t)[str(self.scene.view.follow)][1][:, 0]

    # planar models: outlines

    def _draw_outlines(self, axis: Axes, camera: Projection, frame: Snapshot) -> None:
        found = []
        for part in self.scene.bodies:
            for shape in part.shapes:
                if shape.role != "center":
                    points = camera(frame.points(part.name, _outline(shape)))
                    found.append((_ROLES[shape.role], float(points[:, 2].mean()), shape, points[:, :2]))
        for z, (_, _, shape, points) in enumerate(sorted(found, key=lambda each: each[:2])):
            self._draw_shape(axis, camera, shape, points, 2 + 0.001 * z)
        for index, path in frame.paths.items():
            across, upwards, _ = camera(path.T).T
            axis.plot(across, upwards, color=self.scene.trails[index].color, linewidth=0.9, alpha=0.7, zorder=1.9)
        for cord in self.scene.cords:
            points = self._connector(cord, camera, frame)
            axis.plot(*camera(points).T[:2], color=cord.color, linewidth=1.2, solid_joinstyle="round", zorder=1.95)

    def _draw_shape(self, axis: Axes, camera: Projection, shape: SceneShape, points: np.ndarray, z: float) -> None:
        from matplotlib.patches import Polygon

        if shape.kind == "line":
            width = max(0.5, shape.size[0] * camera.scale)
            axis.plot(*points.T, color=shape.color, linewidth=width, solid_capstyle="round", zorder=z)
            return
        ring = points[hull(np.round(points / self.scene.view.size, 9))]
        if shape.kind == "mesh" and _area(ring) > 1.02 * sum(
            max(0.0, _area(each)) for each in points.reshape(-1, 3, 2)
        ):
            self._draw_nonconvex(axis, shape, points.reshape(-1, 3, 2), z)
            return
        style = {"facecolor": _primitives.lighter(shape.color), "edgecolor": _primitives.darker(shape.color)}
        patch = Polygon(ring, closed=True, **style, linewidth=0.9, joinstyle="round", zorder=z, alpha=shape.opacity)
        axis.add_patch(patch)

    def _draw_nonconvex(self, axis: Axes, shape: SceneShape, triangles: np.ndarray, z: float) -> None:
        """Draw a nonconvex mesh by its visible faces (k, 3, 2) and the edges that belong to only one of them."""
        from matplotlib.collections import LineCollection, PolyCollection

        front = triangles[[_area(each) > 1e-12 * self.scene.view.size**2 for each in triangles]]
        fill, edge = _primitives.lighter(shape.color), _primitives.darker(shape.color)
        axis.add_collection(PolyCollection(list(front), facecolors=fill, edgecolors=fill, linewidths=0.4, zorder=z))
        sides = np.stack([front, np.roll(front, -1, axis=1)], axis=2).reshape(-1, 2, 2)
        keys = [frozenset(map(tuple, np.round(side / self.scene.view.size, 7).tolist())) for side in sides]
        count = Counter(keys)
        rim = [side for side, key in zip(sides, keys, strict=True) if count[key] == 1]
        axis.add_collection(LineCollection(rim, colors=edge, linewidths=0.9, zorder=z + 0.0004))

    # models in space: lit surfaces

    @cached_property
    def _surfaces(self) -> list[tuple[str, SceneShape, TriangleMesh]]:
        """Return the surfaces of all shapes, with their bodies."""
        found = [(part.name, shape) for part in self.scene.bodies for shape in part.shapes if shape.role != "center"]
        return [(name, shape, surface_of(shape)) for name, shape in found if shape.kind not in ("line", "frame")]

    def _draw_surfaces(self, axis: Axes, camera: Projection, frame: Snapshot) -> None:
        box, view = axis.get_window_extent(), self.scene.view
        side = int(min(box.width, box.height))
        fine = _rasterizer.FINE * side / view.size
        min_width = max(0.0022 * view.size, 1.5 / fine)
        opaque = [self._shaded(camera, frame, *each) for each in self._surfaces]
        parts = [
            # from lengths about the center to fine pixels from the lower left corner
            _rasterizer.ProjectedTriangles(
                np.concatenate([(lit.corners[..., :2] + view.size / 2) * fine, lit.corners[..., 2:]], axis=-1),
                lit.colors,
            )
            for lit in [*self._lines(camera, frame, min_width), *opaque]
        ]
        half = view.size / 2
        axis.imshow(
            _rasterizer.rasterize(parts, side, side),
            extent=(-half, half, -half, half),
            interpolation="nearest",
            zorder=2,
        )

    def _shaded(
        self, camera: Projection, frame: Snapshot, body: str, shape: SceneShape, surface: TriangleMesh
    ) -> _rasterizer.ProjectedTriangles:
        """Return the triangles that face the viewer, projected, with their colors."""
        world = frame.points(body, surface.corners)
        normals = surface.normals @ frame.poses[body][0][:, :, frame.k].T
        eye = camera.target + (camera.distance or 0.0) * camera.axes[2]
        front = np.einsum("ijx,ijx->ij", normals, eye - world).mean(axis=1) > 0
        if shape.kind == "mesh":  # with any orientation of its faces
            normals, front = np.where(front[:, None, None], normals, -normals), np.ones(len(world), dtype=bool)
        bright = normals[front] @ (_LIGHT @ camera.axes)
        shine = np.clip(bright, 0, 1) ** 24 * 0.18
        shade = 0.7 + 0.36 * np.clip(bright, -0.6, 1.0)
        color = np.array(_primitives.rgb(shape.color))
        paint = np.clip(shade[..., None] * color + shine[..., None], 0, 1)
        alpha = np.full((*shade.shape, 1), shape.opacity)
        return _rasterizer.ProjectedTriangles(camera(world[front]), np.concatenate([paint, alpha], axis=-1))

    def _lines(self, camera: Projection, frame: Snapshot, min_width: float) -> list[_rasterizer.ProjectedTriangles]:
        """Return grids, marks, springs and trails as ribbons that face the viewer."""
        found = [
            (
                frame.points(part.name, shape.points),
                shape.size[0],
                shape.color,
                0.6 if shape.role == "ground" else 1.0,
            )
            for part in self.scene.bodies
            for shape in part.shapes
            if shape.kind == "line" and shape.points is not None
        ]
        found += [(path.T, 1.6 * min_width, self.scene.trails[k].color, 0.85) for k, path in frame.paths.items()]
        found += [(self._connector(cord, camera, frame), 2 * min_width, cord.color, 1.0) for cord in self.scene.cords]
        return [
            _colored(ribbon(points, width, min_width, camera), color, alpha) for points, width, color, alpha in found
        ]

    def _connector(self, cord: Connector, camera: Projection, frame: Snapshot) -> np.ndarray:
        """Return the points of a spring or rope in world axes."""
        a, b = (to_world(frame.poses, *end)[:, frame.k] for end in zip(cord.bodies, cord.points, strict=True))
        return coil(a, b, 0.018 * self.scene.view.size, camera.axes[2]) if cord.kind == "spring" else np.array([a, b])


def _colored(triangles: np.ndarray, color: str, alpha: float) -> _rasterizer.ProjectedTriangles:
    paint = np.broadcast_to(np.array([*_primitives.rgb(color), alpha]), (len(triangles), 3, 4))
    return _rasterizer.ProjectedTriangles(triangles, paint)


def coil(a: np.ndarray, b: np.ndarray, width: float, toward: np.ndarray) -> np.ndarray:
    """Return the zigzag of a spring from a to b, viewed from the direction `toward`.

    >>> coil(np.zeros(3), np.array([1.0, 0.0, 0.0]), 0.1, np.array([0.0, 0.0, 1.0]))[[0, -1], :2].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    across = np.cross(toward, b - a)
    size = float(np.linalg.norm(across))
    if size < 1e-12:
        return np.array([a, b])
    shares = np.linspace(0.12, 0.88, 2 * _COIL_TURNS + 1)
    signs = np.where(np.arange(len(shares)) % 2, 1.0, -1.0)
    middle = a + shares[:, None] * (b - a) + (signs * width / size)[:, None] * across
    return np.array([a, a + 0.08 * (b - a), *middle, a + 0.92 * (b - a), b])


def ribbon(points: np.ndarray, width: float, min_width: float, camera: Projection) -> np.ndarray:
    """Return a line through world points as projected triangles of at least `min_width`; points behind the viewer are clipped."""
    share = np.linspace(0, 1, _LINE_SEGMENTS + 1 if len(points) <= 3 else 2)
    starts, segments = points[:-1, None], np.diff(points, axis=0)[:, None]
    a = camera((starts + share[:-1, None] * segments).reshape(-1, 3))
    b = camera((starts + share[1:, None] * segments).reshape(-1, 3))
    near = np.ones(len(a)) if camera.distance is None else a[:, 2]
    a, b, near = a[near < 8], b[near < 8], near[near < 8]
    side = np.stack([a[:, 1] - b[:, 1], b[:, 0] - a[:, 0], np.zeros(len(a))], axis=1)
    half = np.maximum(width * near, min_width)[:, None] / 2
    side = side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300) * half
    return np.concatenate([np.stack([a - side, b - side, b + side], 1), np.stack([a - side, b + side, a + side], 1)])


def _area(ring: np.ndarray) -> float:
    """Return the signed area of a polygon (k, 2), negative if clockwise."""
    x, y = ring.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def _outline(shape: SceneShape) -> np.ndarray:
    """Return points whose convex hull is the silhouette of a shape; for a line, its points in order."""
    if shape.kind == "line" and shape.points is not None:
        return shape.points
    return corners(shape) if shape.kind == "frame" else surface_of(shape).corners.reshape(-1, 3)
