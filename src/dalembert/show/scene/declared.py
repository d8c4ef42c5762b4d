"""Shapes that the model declares: boxes, cylinders, capsules, spheres and meshes."""

from __future__ import annotations

import numpy as np

from dalembert.algebra import FLOATS
from dalembert.model import Elements
from dalembert.model.elements import Shape as Declared
from dalembert.show.scene import colors
from dalembert.show.scene.meshes import mesh_of
from dalembert.show.scene.values import Shape
from dalembert.spatial import roll_pitch_yaw


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
