"""Primitive shapes, and colors that are distinguishable on dark and light backgrounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.display.scene.scene_values import SceneShape

BODIES = ("#3f86c9", "#e0803c", "#35a57d", "#c56a9f", "#d3a126", "#7a7fd6", "#4cb0c9", "#c25b52", "#86a845", "#a07cc4")
JOINT = "#9aa3ae"
GROUND = "#8b939d"
CENTER = "#d9525e"
CORD = "#b08d57"


def of_body(index: int, count: int) -> str:
    """Return the color of a body; colors along a long chain change smoothly.

    >>> of_body(0, 3), of_body(0, 40) == of_body(1, 40)
    ('#3f86c9', False)
    """
    if count <= 14:
        return BODIES[index % len(BODIES)]
    stops = (BODIES[0], BODIES[6], BODIES[2], BODIES[4], BODIES[1], BODIES[7])
    position = index / (count - 1) * (len(stops) - 1)
    k = min(int(position), len(stops) - 2)
    mix = zip(rgb(stops[k]), rgb(stops[k + 1]), strict=True)
    return hexadecimal([a + (b - a) * (position - k) for a, b in mix])


def rgb(color: str) -> tuple[float, ...]:
    """Return red, green and blue, each from 0 to 1.

    >>> rgb("#ff0000")
    (1.0, 0.0, 0.0)
    """
    return tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))


def hexadecimal(color: Sequence[float]) -> str:
    """Return a color in hexadecimal notation.

    >>> hexadecimal((1, 0.5, 0))
    '#ff8000'
    """
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, x))):02x}" for x in color[:3])


def darker(color: str, share: float = 0.35) -> str:
    """Return a darker color.

    >>> darker("#ffffff", 0.5)
    '#808080'
    """
    return hexadecimal([x * (1 - share) for x in rgb(color)])


def lighter(color: str, share: float = 0.12) -> str:
    """Return a color closer to white.

    >>> lighter("#000000", 0.5)
    '#808080'
    """
    return hexadecimal([x + (1 - x) * share for x in rgb(color)])


def muted(color: str, share: float = 0.72) -> str:
    """Return a color closer to light gray, as on machine housings.

    >>> muted("#3f86c9", 1.0)
    '#cdd2d8'
    """
    return hexadecimal([x + (gray - x) * share for x, gray in zip(rgb(color), rgb("#cdd2d8"), strict=True)])


def along(direction: np.ndarray) -> np.ndarray:
    """Return a rotation with the given z axis."""
    z = direction / np.linalg.norm(direction)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def rod(
    a: np.ndarray, b: np.ndarray, radius: float, color: str, role: str = "body", kind: str = "capsule"
) -> SceneShape:
    """Return a capsule, cylinder or cone from a to b."""
    difference = b - a
    length = float(np.linalg.norm(difference))
    if length < 1e-12:
        return SceneShape("sphere", (radius,), color, role, a)
    return SceneShape(kind, (radius, length), color, role, (a + b) / 2, along(difference))


def pin(at: np.ndarray, axis: np.ndarray, radius: float, length: float, color: str, role: str = "joint") -> SceneShape:
    """Return a cylinder about an axis."""
    return SceneShape("cylinder", (radius, length), color, role, at, along(axis))


def box(at: np.ndarray, turn: np.ndarray, edges: np.ndarray, color: str, role: str = "body") -> SceneShape:
    """Return a box."""
    return SceneShape("box", tuple(float(x) for x in edges), color, role, at, turn)


def line(points: np.ndarray, width: float, color: str, role: str = "body") -> SceneShape:
    """Return a line through points."""
    return SceneShape("line", (width,), color, role, points=np.asarray(points, dtype=float))


def plate(points: np.ndarray, thickness: float, color: str, role: str = "body") -> SceneShape | None:
    """Return the convex hull of points in a plane, with a thickness; None if they are collinear or not coplanar."""
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
    return SceneShape("mesh", (1.0, 1.0, 1.0), color, role, points=vertices, faces=np.array(top + bottom + sides))


def hull(points: np.ndarray) -> list[int]:
    """Return the indices of the convex hull of points in a plane, counterclockwise.

    >>> hull(np.array([(0, 0), (2, 0), (1, 0.5), (1, 2)]))
    [0, 1, 3]
    """
    order = sorted(range(len(points)), key=lambda i: tuple(points[i]))

    def half(indices: list[int]) -> list[int]:
        out: list[int] = []
        for i in indices:
            while len(out) > 1 and left(points[out[-2]], points[out[-1]], points[i]) <= 0:
                out.pop()
            out.append(i)
        return out[:-1]

    def left(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
        return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    return half(order) + half(order[::-1])
