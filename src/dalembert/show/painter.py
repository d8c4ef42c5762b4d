"""A scene as a drawing of matplotlib: plane models as outlines from the front, others as shaded surfaces in perspective.

Surfaces are triangles, sorted by their distance and lit from above the reader; no window and no browser is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.show.scene import colors
from dalembert.show.scene.extents import corners
from dalembert.show.scene.program_form import Places, moved
from dalembert.show.scene.triangles import triangles
from dalembert.show.scene.values import Cord, Part, Scene, Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROLES = {"ground": 0, "body": 1, "joint": 2, "center": 3}
_TURNS = 7  # of the coil of a spring


@dataclass(frozen=True)
class Lens:
    """From the world to the picture: right, up and toward the reader, from the middle of the view."""

    axes: np.ndarray  # rows: right, up, toward
    target: np.ndarray
    distance: float | None  # of the eye; None: from far away
    scale: float  # of lines: points of the picture for each length

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) as (..., 3): across, upwards, and how near they are."""
        seen = (points - self.target) @ self.axes.T
        if self.distance is None:
            return seen
        near = self.distance / np.maximum(self.distance - seen[..., 2:], 0.05 * self.distance)
        return np.concatenate([seen[..., :2] * near, seen[..., 2:]], axis=-1)


@dataclass(frozen=True)
class Painter:
    """Draws moments of a scene."""

    scene: Scene

    @cached_property
    def _surfaces(self) -> dict[str, list[tuple[Shape, np.ndarray]]]:
        """The triangles of all shapes, by body."""
        return {part.name: [(shape, triangles(shape)) for shape in part.shapes] for part in self.scene.bodies}

    def places(self, q: np.ndarray, t: np.ndarray | float) -> Places:
        """Where the bodies are at states (n, k) and times."""
        return self.scene.kinematics.at(q, t)

    def draw(self, axis: Axes, places: Places, k: int, trails: dict[int, np.ndarray] | None = None) -> None:
        """Draw the k-th of the given places; `trails` are the paths (3, m) to show, by their number."""
        lens = self._lens(axis, places, k)
        self._ground(axis, lens)
        for index, path in (trails or {}).items():
            across, upwards, _ = lens(path.T).T
            axis.plot(across, upwards, color=self.scene.trails[index].color, linewidth=0.9, alpha=0.65, zorder=1)
        if self.scene.view.planar:
            self._flat(axis, lens, places, k)
        else:
            self._deep(axis, lens, places, k)
        for cord in self.scene.cords:
            self._cord(axis, lens, cord, places, k)

    def _lens(self, axis: Axes, places: Places, k: int) -> Lens:
        view = self.scene.view
        toward = (view.eye - view.target) / np.linalg.norm(view.eye - view.target)
        right = np.cross(view.up, toward)
        right = right / np.linalg.norm(right)
        target = view.target
        if view.follow is not None:
            start = self.scene.start
            home = self.places(start[0][:, None], start[1])[view.follow][1][:, 0]
            target = target + places[view.follow][1][:, k] - home
        half = view.size / 2
        axis.set_xlim(-half, half)
        axis.set_ylim(-half, half)
        axis.set_aspect("equal")
        axis.set_axis_off()
        distance = None if view.planar else float(np.linalg.norm(view.eye - view.target))
        figure = axis.get_figure()
        inches = min(axis.get_window_extent().width, axis.get_window_extent().height) / (figure.dpi if figure else 72)
        return Lens(np.array([right, np.cross(toward, right), toward]), target, distance, 72 * inches / view.size)

    # what does not move

    def _ground(self, axis: Axes, lens: Lens) -> None:
        from matplotlib.collections import LineCollection

        world = self.scene.bodies[0]
        lines = [shape for shape in world.shapes if shape.points is not None and shape.kind == "line"]
        for shape in lines:
            width = max(0.4, shape.size[0] * lens.scale)
            points = lens(_cut(shape.points))[:, :2]  # pyright: ignore[reportArgumentType]
            axis.add_collection(LineCollection([points], colors=[shape.color], linewidths=[width], alpha=0.55, zorder=0))

    # plane models: outlines

    def _flat(self, axis: Axes, lens: Lens, places: Places, k: int) -> None:
        found = []
        for part in self.scene.bodies:
            for shape in part.shapes:
                if shape.role != "center" and not (part.name == "world" and shape.kind == "line"):
                    points = lens(moved_all(places, part.name, _outline(shape), k))
                    found.append((_ROLES[shape.role], float(points[:, 2].mean()), shape, points[:, :2]))
        for z, (_, _, shape, points) in enumerate(sorted(found, key=lambda each: each[:2])):
            self._filled(axis, lens, shape, points, 2 + 0.001 * z)

    def _filled(self, axis: Axes, lens: Lens, shape: Shape, points: np.ndarray, z: float) -> None:
        from matplotlib.patches import Polygon

        if shape.kind == "line":
            width = max(0.6, shape.size[0] * lens.scale)
            axis.plot(*points.T, color=shape.color, linewidth=width, solid_capstyle="round", zorder=z)
            return
        ring = points[_hull_or_all(points)]
        edge, face = colors.darker(shape.color), colors.lighter(shape.color)
        patch = Polygon(ring, closed=True, facecolor=face, edgecolor=edge, linewidth=0.9, joinstyle="round", zorder=z)
        patch.set_alpha(shape.opacity)
        axis.add_patch(patch)

    # models in space: shaded surfaces

    def _deep(self, axis: Axes, lens: Lens, places: Places, k: int) -> None:
        from matplotlib.collections import PolyCollection

        rings: list[np.ndarray] = []
        paints: list[np.ndarray] = []
        depths: list[np.ndarray] = []
        for part in self.scene.bodies:
            for shape, surface in self._surfaces[part.name]:
                if shape.role == "center" or (part.name == "world" and shape.kind == "line"):
                    continue
                seen, paint = self._lit(lens, part, shape, surface, places, k)
                rings.append(seen[:, :, :2])
                paints.append(paint)
                depths.append(seen[:, :, 2].mean(axis=1))
        if not rings:
            return
        order = np.argsort(np.concatenate(depths))
        faces, paint = np.concatenate(rings)[order], np.concatenate(paints)[order]
        # edges in the colour of the face close the seams between neighbours
        axis.add_collection(PolyCollection(list(faces), facecolors=paint, edgecolors=paint, linewidths=0.25, zorder=2))

    def _lit(
        self, lens: Lens, part: Part, shape: Shape, surface: np.ndarray, places: Places, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The triangles that face the reader, as seen, with their colours."""
        if shape.kind == "line" and shape.points is not None:
            surface = ribbon(moved_all(places, part.name, shape.points, k), shape.size[0], lens)
            world, front = surface, np.ones(len(surface), dtype=bool)
            bright = np.full(len(surface), 0.95)
        else:
            world = moved_all(places, part.name, surface.reshape(-1, 3), k).reshape(-1, 3, 3)
            normals = np.cross(world[:, 1] - world[:, 0], world[:, 2] - world[:, 0])
            normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
            eye = lens.target + (lens.distance or 1e6) * lens.axes[2]
            front = np.einsum("ix,ix->i", normals, eye - world.mean(axis=1)) > 0
            if shape.kind == "mesh":  # whatever way its faces are turned
                normals, front = np.where(front[:, None], normals, -normals), np.ones(len(world), dtype=bool)
            light = np.array([-0.35, 0.75, 0.6]) @ lens.axes
            bright = 0.52 + 0.48 * np.clip(normals @ light / np.linalg.norm(light), -0.4, 1.0)
        color = np.array(colors.rgb(shape.color))
        paint = np.column_stack([np.clip(bright[front, None] * color * 1.12, 0, 1), np.full(front.sum(), shape.opacity)])
        return lens(world[front]), paint

    # springs

    def _cord(self, axis: Axes, lens: Lens, cord: Cord, places: Places, k: int) -> None:
        ends = [moved(places, body, point)[:, k] for body, point in zip(cord.bodies, cord.points, strict=True)]
        a, b = (lens(end)[:2] for end in ends)
        points = coil(a, b, 0.018 * self.scene.view.size) if cord.kind == "spring" else np.array([a, b])
        axis.plot(*points.T, color=cord.color, linewidth=1.2, solid_joinstyle="round", zorder=1.5)


def moved_all(places: Places, body: str, points: np.ndarray, k: int) -> np.ndarray:
    """Points (m, 3) of a body in the world at one moment."""
    R, p = places[body]
    return points @ R[:, :, k].T + p[:, k]


def coil(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """A zigzag from a to b, as springs are drawn.

    >>> coil(np.zeros(2), np.array([1.0, 0.0]), 0.1)[[0, -1]].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    way = b - a
    length = float(np.linalg.norm(way))
    if length < 1e-12:
        return np.array([a, b])
    across = np.array([-way[1], way[0]]) / length * width
    shares = np.linspace(0.12, 0.88, 2 * _TURNS + 1)
    middle = [a + s * way + (across if i % 2 else -across) for i, s in enumerate(shares)]
    return np.array([a, a + 0.08 * way, *middle, a + 0.92 * way, b])


def ribbon(points: np.ndarray, width: float, lens: Lens) -> np.ndarray:
    """A line as triangles that face the reader."""
    out = []
    for a, b in zip(points[:-1], points[1:], strict=True):
        side = np.cross(b - a, lens.axes[2])
        size = np.linalg.norm(side)
        if size > 0:
            side = side / size * width / 2
            out += [(a - side, b - side, b + side), (a - side, b + side, a + side)]
    return np.array(out).reshape(-1, 3, 3)


def _cut(points: np.ndarray) -> np.ndarray:
    """A long line in pieces, so that perspective bends nothing away behind the reader."""
    share = np.linspace(0, 1, 13)[:, None]
    return np.concatenate([a + share * (b - a) for a, b in zip(points[:-1], points[1:], strict=True)])


def _outline(shape: Shape) -> np.ndarray:
    """Points whose hull is the silhouette of a shape."""
    if shape.kind in ("line", "frame"):
        return corners(shape)
    return triangles(shape).reshape(-1, 3)


def _hull_or_all(points: np.ndarray) -> list[int]:
    from dalembert.show.scene.solids import hull

    return hull(np.round(points, 12))
