"""How far a shape reaches: points whose hull holds it, nearly."""

from __future__ import annotations

from itertools import product

import numpy as np

from dalembert.show.scene.values import Shape

_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))


def corners(shape: Shape) -> np.ndarray:
    """Points (k, 3) in the axes of the body.

    >>> corners(Shape("sphere", (2.0,), "#000000")).max(axis=0).tolist()
    [2.0, 2.0, 2.0]
    """
    if shape.points is not None:
        local = shape.points if len(shape.points) <= 64 else _bounds(shape.points)
    elif shape.kind == "box":
        local = _CORNERS * np.array(shape.size) / 2
    elif shape.kind == "sphere":
        local = np.concatenate([np.eye(3), -np.eye(3)]) * shape.size[0]
    elif shape.kind == "frame":
        local = np.concatenate([np.zeros((1, 3)), np.eye(3)]) * shape.size[0]
    else:
        radius, length = shape.size
        half = length / 2 + (radius if shape.kind == "capsule" else 0.0)
        ring = np.array([(radius, 0), (-radius, 0), (0, radius), (0, -radius)])
        local = np.array([(x, y, z) for x, y in ring for z in (-half, half)])
    return local @ shape.turn.T + shape.at


def _bounds(points: np.ndarray) -> np.ndarray:
    low, high = points.min(axis=0), points.max(axis=0)
    return (low + high) / 2 + _CORNERS * (high - low) / 2
