"""Shapes as triangles, for drawings without a graphics card."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from dalembert.display.scene.scene_values import Shape

_AROUND, _ACROSS = 48, 7  # corners around an axis, and rings of a quarter of a ball


@dataclass(frozen=True)
class Surface:
    """Triangles (k, 3, 3) in the axes of a body, and the normals in their corners."""

    corners: np.ndarray
    normals: np.ndarray


def surface_of(shape: Shape) -> Surface:
    """The surface of a shape, its triangles seen counterclockwise from outside; of lines and frames there is none.

    >>> surface_of(Shape("box", (1.0, 1.0, 1.0), "#000000")).corners.shape
    (12, 3, 3)
    """
    if shape.kind == "mesh" and shape.points is not None and shape.faces is not None:
        local = _faceted(shape.points[shape.faces])
    elif shape.kind == "box":
        local = _faceted(_box() * np.array(shape.size))
    elif shape.kind == "sphere":
        ball = _ball()
        local = Surface(ball * shape.size[0], ball)
    elif shape.kind == "capsule":
        local = _capsule(*shape.size)
    elif shape.kind in ("cylinder", "disc", "cone"):
        radius, length = shape.size
        local = _turned(radius, 0.0 if shape.kind == "cone" else radius, length)
    else:
        return Surface(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)))
    return Surface(local.corners @ shape.turn.T + shape.at, local.normals @ shape.turn.T)


def _faceted(corners: np.ndarray) -> Surface:
    """Flat faces."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return Surface(corners, np.repeat(normals[:, None], 3, axis=1))


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


def _capsule(radius: float, length: float) -> Surface:
    """Two half balls and what is between them."""
    angle = np.linspace(0, np.pi / 2, _ACROSS + 1)
    radii = np.concatenate([np.sin(angle), np.cos(angle)])
    heights = np.concatenate([-np.cos(angle), np.sin(angle)])
    normals = _revolved(radii, heights)
    ends = np.where(np.arange(len(radii)) <= _ACROSS, -length / 2, length / 2)
    corners = _revolved(radius * radii, radius * heights + ends)
    return Surface(corners, normals)


def _turned(low: float, high: float, length: float) -> Surface:
    """A cylinder or cone about z with both its ends."""
    side = _revolved(np.array([low, high]), np.array([-length / 2, length / 2]))
    around = side * np.array([1, 1, 0])
    middle = np.where(np.linalg.norm(around, axis=2, keepdims=True) > 0, around, around.sum(axis=1, keepdims=True))
    slope = (low - high) / length if length > 0 else 0.0
    normals = middle / np.maximum(np.linalg.norm(middle, axis=2, keepdims=True), 1e-300) + np.array([0, 0, slope])
    normals = normals / np.linalg.norm(normals, axis=2, keepdims=True)
    ends = [_revolved(np.array([0.0, low]), np.full(2, -length / 2))]
    ends += [_revolved(np.array([high, 0.0]), np.full(2, length / 2))] if high else []
    flat = [_faceted(end) for end in ends]
    return Surface(
        np.concatenate([side, *(end.corners for end in flat)]),
        np.concatenate([normals, *(end.normals for end in flat)]),
    )


def _revolved(radii: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """The surface of rings about z, from the first to the last."""
    angle = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = np.stack([np.column_stack([r * ring, np.full(_AROUND, z)]) for r, z in zip(radii, heights, strict=True)])
    after = np.roll(rings, -1, axis=1)
    a, b, c, d = rings[:-1], after[:-1], after[1:], rings[1:]
    return np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)
