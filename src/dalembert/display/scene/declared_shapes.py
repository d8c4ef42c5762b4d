"""Shapes that the model declares: boxes, cylinders, capsules, spheres and meshes.

How far a shape reaches: points whose hull holds it, nearly.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from dalembert.display.scene import colors
from dalembert.display.scene.meshes import mesh_of
from dalembert.display.scene.scene_values import Shape
from dalembert.model.description import Elements
from dalembert.model.elements import Shape as Declared
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.rotations import roll_pitch_yaw


def declared_shapes(model: Elements) -> tuple[dict[str, list[Shape]], tuple[str, ...]]:
    """The declared shapes by body, and sentences about those that cannot be drawn."""
    out: dict[str, list[Shape]] = {}
    notes: list[str] = []
    index = {body.name: k for k, body in enumerate(model.bodies)}
    for each in model.shapes:
        usual = colors.of_body(index.get(each.body, 0), len(index))
        shape, note = _shape(each, usual)
        if shape is not None:
            out.setdefault(each.body, []).append(shape)
        if note:
            notes.append(note)
    return out, tuple(dict.fromkeys(notes))


def _shape(given: Declared, usual: str) -> tuple[Shape | None, str]:
    plain = colors.muted(usual) if given.kind == "mesh" else usual
    color = plain if given.color is None else colors.hexadecimal(given.color)
    opacity = 1.0 if given.color is None else max(0.15, given.color[3])
    at, turn = np.array(given.position, dtype=float), np.array(roll_pitch_yaw(FLOATS, given.rotation), dtype=float)
    if given.kind != "mesh":
        return Shape(given.kind, given.size, color, "body", at, turn, opacity=opacity), ""
    found = mesh_of(given.mesh, given.folder)
    if isinstance(found, str):
        return None, f"The mesh '{given.mesh}' of '{given.body}' is not drawn: {found}."
    points, faces = found
    return Shape("mesh", (1.0, 1.0, 1.0), color, "body", at, turn, points * np.array(given.size), faces, opacity), ""


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
