"""Rasterize triangles with exact hidden-surface removal, also for intersecting triangles.

Every triangle is rasterized row by row, all triangles at once; in every pixel the nearest triangle is visible.
The image is rendered at a higher resolution and averaged (antialiasing).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from dalembert.display.scene.scene_values import SceneShape

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
    for corners, colors in _chunks(parts, w, h):
        _draw_triangles(corners, colors, (w, h), depths, colors_out)
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
