"""Shapes as triangles, for drawings without a graphics card."""

from __future__ import annotations

from functools import cache

import numpy as np

from dalembert.show.scene.values import Shape

_AROUND, _ACROSS = 18, 5  # corners around an axis, and rings of half a ball


def triangles(shape: Shape) -> np.ndarray:
    """The surface of a shape as triangles (k, 3, 3) in the axes of its body, each seen counterclockwise from outside.

    >>> triangles(Shape("box", (1.0, 1.0, 1.0), "#000000")).shape
    (12, 3, 3)
    """
    if shape.kind == "mesh" and shape.points is not None and shape.faces is not None:
        local = shape.points[shape.faces]
    elif shape.kind == "box":
        local = _box() * np.array(shape.size)
    elif shape.kind == "sphere":
        local = _ball() * shape.size[0]
    elif shape.kind == "capsule":
        radius, length = shape.size
        local = _revolved(*_capsule(radius, length))
    elif shape.kind in ("cylinder", "disc"):
        radius, length = shape.size
        rings = np.linspace(-length / 2, length / 2, 2 + min(8, int(length / max(4 * radius, 1e-300))))
        local = _revolved(np.array([0.0, *([radius] * len(rings)), 0.0]), np.array([rings[0], *rings, rings[-1]]))
    elif shape.kind == "cone":
        radius, length = shape.size
        local = _revolved(np.array([0.0, radius, 0.0]), np.array([-length / 2, -length / 2, length / 2]))
    else:
        return np.zeros((0, 3, 3))
    return local @ shape.turn.T + shape.at


@cache
def _box() -> np.ndarray:
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) / 2
    faces = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            square = np.insert(np.roll(corners, 0, axis=0), axis, side, axis=1)
            outward = np.cross(square[1] - square[0], square[2] - square[0])[axis] * side > 0
            square = square if outward else square[::-1]
            faces += [square[[0, 1, 2]], square[[0, 2, 3]]]
    return np.array(faces)


@cache
def _ball() -> np.ndarray:
    angle = np.linspace(-np.pi / 2, np.pi / 2, 2 * _ACROSS + 1)
    return _revolved(np.cos(angle), np.sin(angle))


def _capsule(radius: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Radii and heights of the rings of a capsule."""
    angle = np.linspace(0, np.pi / 2, _ACROSS + 1)
    middle = np.linspace(-length / 2, length / 2, 2 + min(10, int(length / max(4 * radius, 1e-300))))
    radii = [*(radius * np.sin(angle)), *([radius] * (len(middle) - 2)), *(radius * np.cos(angle))]
    heights = [*(-length / 2 - radius * np.cos(angle)), *middle[1:-1], *(length / 2 + radius * np.sin(angle))]
    return np.array(radii), np.array(heights)


def _revolved(radii: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """The surface of rings about z, from the lowest to the highest."""
    angle = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = np.stack([np.column_stack([r * ring, np.full(_AROUND, z)]) for r, z in zip(radii, heights, strict=True)])
    after = np.roll(rings, -1, axis=1)
    a, b, c, d = rings[:-1], after[:-1], after[1:], rings[1:]
    both = np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)
    area = np.linalg.norm(np.cross(both[:, 1] - both[:, 0], both[:, 2] - both[:, 0]), axis=1)
    return both[area > 1e-12 * area.max()]
