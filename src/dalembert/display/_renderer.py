"""Draw a scene with matplotlib: planar models as outlines from the front, others as lit surfaces in perspective.

This needs no window and no browser.

Every triangle is rasterized row by row, all triangles at once; in every pixel the nearest triangle is visible.
The image is rendered at a higher resolution and averaged (antialiasing).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display.scene import _declared_shapes
from dalembert.display.scene._declared_shapes import corners, hull
from dalembert.display.scene.scene_values import Connector, PosesByBody, Scene, SceneShape, to_world

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FINE = 2  # fine pixels along each side of an image pixel
_MAX_PIXELS = 4_000_000  # fine pixels processed at once
_AROUND, _ACROSS = 48, 7  # vertices around an axis, and rings of a quarter sphere


@dataclass(frozen=True)
class ProjectedTriangles:
    """Projected triangles: vertices (k, 3, 3) as x, y in fine pixels, and inverse depth; vertex colors (k, 3, 4)."""

    corners: np.ndarray
    colors: np.ndarray


def rasterize(parts: list[ProjectedTriangles], width: int, height: int) -> np.ndarray:
    """Return the image (height, width, 4) with values from 0 to 1, first row on top; transparent background."""
    w, h = FINE * width, FINE * height
    depths, colors_out = np.full(w * h, -np.inf), np.zeros((w * h, 4), dtype=np.float32)
    for triangles, colors in _chunks(parts, w, h):
        _draw_triangles(triangles, colors, (w, h), depths, colors_out)
    # weight colors by their opacity
    colors_out[:, :3] *= colors_out[:, 3:]
    fine = colors_out.reshape(height, FINE, width, FINE, 4)
    out = np.zeros((height, width, 4), dtype=np.float32)
    for i, j in product(range(FINE), repeat=2):
        out += fine[:, i, :, j] / FINE**2
    out[..., :3] /= np.maximum(out[..., 3:], 1e-6)
    return np.clip(out[::-1], 0.0, 1.0)


def _chunks(parts: list[ProjectedTriangles], w: int, h: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Yield the triangles inside the image, in chunks of bounded work."""
    corners = np.concatenate([part.corners for part in parts])
    colors = np.concatenate([part.colors for part in parts])
    flat = corners[:, :, :2]
    low, high = flat.min(axis=1), flat.max(axis=1)
    inside = np.all(np.isfinite(flat), axis=(1, 2)) & np.all((high > 0) & (low < (w, h)), axis=1)
    corners, colors = corners[inside], colors[inside]
    size = np.prod(np.minimum(high[inside], (w, h)) - np.maximum(low[inside], 0) + 2, axis=1)
    cuts = np.flatnonzero(np.diff(np.cumsum(size) // _MAX_PIXELS)) + 1
    return list(zip(np.split(corners, cuts), np.split(colors, cuts), strict=True))


def _draw_triangles(
    corners: np.ndarray, colors: np.ndarray, size: tuple[int, int], depths: np.ndarray, colors_out: np.ndarray
) -> None:
    """Draw triangles on the pixels where they are visible."""
    which, x, y = _pixels(corners, *size)
    a, ab, ac = corners[:, 0, :2], corners[:, 1, :2] - corners[:, 0, :2], corners[:, 2, :2] - corners[:, 0, :2]
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    inverse = 1 / np.where(np.abs(area) > 1e-9, area, np.inf)
    # barycentric weights of the second and third vertex: linear over the image
    dx, dy = x + 0.5 - a[which, 0], y + 0.5 - a[which, 1]
    second = (dx * ac[which, 1] - dy * ac[which, 0]) * inverse[which]
    third = (dy * ab[which, 0] - dx * ab[which, 1]) * inverse[which]
    z = corners[:, :, 2]
    depth = z[which, 0] + second * (z[:, 1] - z[:, 0])[which] + third * (z[:, 2] - z[:, 0])[which]
    pixel = y * size[0] + x
    order = np.flatnonzero(depth > depths[pixel])
    order = order[np.argsort(depth[order], kind="stable")]
    which, pixel, second, third = which[order], pixel[order], second[order, None], third[order, None]
    # the last of several assignments to one pixel is the nearest triangle
    depths[pixel] = depth[order]
    first = colors[:, 0]
    colors_out[pixel] = first[which] + second * (colors[:, 1] - first)[which] + third * (colors[:, 2] - first)[which]


def _pixels(corners: np.ndarray, w: int, h: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pixels inside the triangles, row by row: index of the triangle, x and y."""
    up = corners[:, :, 1]
    low = np.clip(np.ceil(up.min(axis=1) - 0.5), 0, h).astype(int)
    high = np.clip(np.floor(up.max(axis=1) - 0.5), -1, h - 1).astype(int)
    which, y = _ranges(low, high)
    left, right = np.full(len(which), np.inf), np.full(len(which), -np.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        a, b = corners[which, i], corners[which, j]
        rise = b[:, 1] - a[:, 1]
        share = (y + 0.5 - a[:, 1]) / np.where(rise, rise, np.inf)
        meets = (share >= 0) & (share <= 1) & (rise != 0)
        at = a[:, 0] + share * (b[:, 0] - a[:, 0])
        left, right = np.where(meets, np.minimum(left, at), left), np.where(meets, np.maximum(right, at), right)
    start = np.ceil(np.clip(left, -1, w + 1) - 0.5).clip(0, w).astype(int)
    end = np.floor(np.clip(right, -1, w + 1) - 0.5).clip(-1, w - 1).astype(int)
    row, x = _ranges(start, end)
    return which[row], x, y[row]


def _ranges(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all integers from low to high of every range, each with the index of its range.

    >>> [x.tolist() for x in _ranges(np.array([3, 0]), np.array([4, 0]))]
    [[0, 0, 1], [3, 4, 0]]
    """
    count = np.maximum(high - low + 1, 0)
    which = np.repeat(np.arange(len(low)), count)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + low[which]


@dataclass(frozen=True)
class TriangleMesh:
    """Triangles (k, 3, 3) in body axes, and the normals at their vertices."""

    corners: np.ndarray
    normals: np.ndarray


def surface_of(shape: SceneShape) -> TriangleMesh:
    """Return the surface of a shape, its triangles counterclockwise from outside; lines and frames have none.

    >>> surface_of(SceneShape("box", (1.0, 1.0, 1.0), "#000000")).corners.shape
    (12, 3, 3)
    """
    if shape.kind == "mesh" and shape.points is not None and shape.faces is not None:
        local = _faceted(shape.points[shape.faces])
    elif shape.kind == "box":
        local = _faceted(_box() * np.array(shape.size))
    elif shape.kind == "sphere":
        ball = _ball()
        local = TriangleMesh(ball * shape.size[0], ball)
    elif shape.kind == "capsule":
        local = _capsule(*shape.size)
    elif shape.kind in ("cylinder", "disc", "cone"):
        radius, length = shape.size
        local = _rotated(radius, 0.0 if shape.kind == "cone" else radius, length)
    else:
        return TriangleMesh(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)))
    return TriangleMesh(local.corners @ shape.turn.T + shape.at, local.normals @ shape.turn.T)


def _faceted(corners: np.ndarray) -> TriangleMesh:
    """Flat faces."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return TriangleMesh(corners, np.repeat(normals[:, None], 3, axis=1))


@cache
def _box() -> np.ndarray:
    square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) / 2
    faces = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            face = np.insert(square, axis, side, axis=1)
            outward = np.cross(face[1] - face[0], face[2] - face[0])[axis] * side > 0
            face = face if outward else face[::-1]
            faces += [face[[0, 1, 2]], face[[0, 2, 3]]]
    return np.array(faces)


@cache
def _ball() -> np.ndarray:
    angle = np.linspace(-np.pi / 2, np.pi / 2, 2 * _ACROSS + 1)
    return _revolved(np.cos(angle), np.sin(angle))


def _capsule(radius: float, length: float) -> TriangleMesh:
    """Two hemispheres and the cylinder between them."""
    angle = np.linspace(0, np.pi / 2, _ACROSS + 1)
    radii = np.concatenate([np.sin(angle), np.cos(angle)])
    heights = np.concatenate([-np.cos(angle), np.sin(angle)])
    normals = _revolved(radii, heights)
    ends = np.where(np.arange(len(radii)) <= _ACROSS, -length / 2, length / 2)
    corners = _revolved(radius * radii, radius * heights + ends)
    return TriangleMesh(corners, normals)


def _rotated(low: float, high: float, length: float) -> TriangleMesh:
    """A cylinder or cone about z with its end faces."""
    side = _revolved(np.array([low, high]), np.array([-length / 2, length / 2]))
    around = side * np.array([1, 1, 0])
    middle = np.where(np.linalg.norm(around, axis=2, keepdims=True) > 0, around, around.sum(axis=1, keepdims=True))
    slope = (low - high) / length if length > 0 else 0.0
    normals = middle / np.maximum(np.linalg.norm(middle, axis=2, keepdims=True), 1e-300) + np.array([0, 0, slope])
    normals = normals / np.linalg.norm(normals, axis=2, keepdims=True)
    ends = [_revolved(np.array([0.0, low]), np.full(2, -length / 2))]
    ends += [_revolved(np.array([high, 0.0]), np.full(2, length / 2))] if high else []
    flat = [_faceted(end) for end in ends]
    return TriangleMesh(
        np.concatenate([side, *(end.corners for end in flat)]),
        np.concatenate([normals, *(end.normals for end in flat)]),
    )


def _revolved(radii: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Surface of revolution through rings about z."""
    angle = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = np.stack([np.column_stack([r * ring, np.full(_AROUND, z)]) for r, z in zip(radii, heights, strict=True)])
    after = np.roll(rings, -1, axis=1)
    a, b, c, d = rings[:-1], after[:-1], after[1:], rings[1:]
    return np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)


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
        style = {"facecolor": _declared_shapes.lighter(shape.color), "edgecolor": _declared_shapes.darker(shape.color)}
        patch = Polygon(ring, closed=True, **style, linewidth=0.9, joinstyle="round", zorder=z, alpha=shape.opacity)
        axis.add_patch(patch)

    def _draw_nonconvex(self, axis: Axes, shape: SceneShape, triangles: np.ndarray, z: float) -> None:
        """Draw a nonconvex mesh by its visible faces (k, 3, 2) and the edges that belong to only one of them."""
        from matplotlib.collections import LineCollection, PolyCollection

        front = triangles[[_area(each) > 1e-12 * self.scene.view.size**2 for each in triangles]]
        fill, edge = _declared_shapes.lighter(shape.color), _declared_shapes.darker(shape.color)
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
        fine = FINE * side / view.size
        min_width = max(0.0022 * view.size, 1.5 / fine)
        opaque = [self._shaded(camera, frame, *each) for each in self._surfaces]
        parts = [
            # from lengths about the center to fine pixels from the lower left corner
            ProjectedTriangles(
                np.concatenate([(lit.corners[..., :2] + view.size / 2) * fine, lit.corners[..., 2:]], axis=-1),
                lit.colors,
            )
            for lit in [*self._lines(camera, frame, min_width), *opaque]
        ]
        half = view.size / 2
        axis.imshow(
            rasterize(parts, side, side),
            extent=(-half, half, -half, half),
            interpolation="nearest",
            zorder=2,
        )

    def _shaded(
        self, camera: Projection, frame: Snapshot, body: str, shape: SceneShape, surface: TriangleMesh
    ) -> ProjectedTriangles:
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
        color = np.array(_declared_shapes.rgb(shape.color))
        paint = np.clip(shade[..., None] * color + shine[..., None], 0, 1)
        alpha = np.full((*shade.shape, 1), shape.opacity)
        return ProjectedTriangles(camera(world[front]), np.concatenate([paint, alpha], axis=-1))

    def _lines(self, camera: Projection, frame: Snapshot, min_width: float) -> list[ProjectedTriangles]:
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


def _colored(triangles: np.ndarray, color: str, alpha: float) -> ProjectedTriangles:
    paint = np.broadcast_to(np.array([*_declared_shapes.rgb(color), alpha]), (len(triangles), 3, 4))
    return ProjectedTriangles(triangles, paint)


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
