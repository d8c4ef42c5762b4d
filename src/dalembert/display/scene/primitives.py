"""Makers of shapes: rods between points, boxes, plates."""

from __future__ import annotations

import numpy as np

from dalembert.display.scene.scene_values import Shape


def along(direction: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is the given direction."""
    z = direction / np.linalg.norm(direction)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def rod(a: np.ndarray, b: np.ndarray, radius: float, color: str, role: str = "body", kind: str = "capsule") -> Shape:
    """A capsule, cylinder or cone from a to b."""
    way = b - a
    length = float(np.linalg.norm(way))
    if length < 1e-12:
        return Shape("sphere", (radius,), color, role, a)
    return Shape(kind, (radius, length), color, role, (a + b) / 2, along(way))


def pin(at: np.ndarray, axis: np.ndarray, radius: float, length: float, color: str, role: str = "joint") -> Shape:
    """A cylinder about an axis."""
    return Shape("cylinder", (radius, length), color, role, at, along(axis))


def box(at: np.ndarray, turn: np.ndarray, edges: np.ndarray, color: str, role: str = "body") -> Shape:
    """A box."""
    return Shape("box", tuple(float(x) for x in edges), color, role, at, turn)


def line(points: np.ndarray, width: float, color: str, role: str = "body") -> Shape:
    """A line through points."""
    return Shape("line", (width,), color, role, points=np.asarray(points, dtype=float))


def plate(points: np.ndarray, thickness: float, color: str, role: str = "body") -> Shape | None:
    """The convex hull of points in a plane, with a thickness; None where they lie on a line or not in a plane."""
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle)
    sizes = np.append(sizes, np.zeros(3))
    if sizes[1] < 0.08 * sizes[0] or sizes[2] > 0.02 * sizes[0]:
        return None
    flat = (points - middle) @ axes[:2].T
    ring = hull(flat)
    corners = middle + flat[ring] @ axes[:2]
    lift = axes[2] * thickness / 2
    n = len(ring)
    top = [(0, k, k + 1) for k in range(1, n - 1)]
    bottom = [(n, n + k + 1, n + k) for k in range(1, n - 1)]
    sides = [face for k in range(n) for face in ((k, n + k, n + (k + 1) % n), (k, n + (k + 1) % n, (k + 1) % n))]
    vertices = np.concatenate([corners + lift, corners - lift])
    return Shape("mesh", (1.0, 1.0, 1.0), color, role, points=vertices, faces=np.array(top + bottom + sides))


def hull(points: np.ndarray) -> list[int]:
    """The corners of the convex hull of points in a plane, counterclockwise.

    >>> hull(np.array([(0, 0), (2, 0), (1, 0.5), (1, 2)]))
    [0, 1, 3]
    """
    order = sorted(range(len(points)), key=lambda i: tuple(points[i]))

    def half(indices: list[int]) -> list[int]:
        out: list[int] = []
        for i in indices:
            while len(out) > 1 and _left(points[out[-2]], points[out[-1]], points[i]) <= 0:
                out.pop()
            out.append(i)
        return out[:-1]

    return half(order) + half(order[::-1])


def _left(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
