"""Pieces of a URDF file: placements, shapes and numbers."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from dalembert.errors import InputError
from dalembert.model.elements import Shape


def origin(element: ET.Element, position: Iterable[float], rotation: Iterable[float]) -> None:
    """Add a placement, as far as it is one."""
    given = {"xyz": [*position], "rpy": [*rotation]}
    shown = {key: texts(values) for key, values in given.items() if any(values)}
    if shown:
        ET.SubElement(element, "origin", shown)


def visual(link: ET.Element, shape: Shape, material: str) -> None:
    """Add a shape, with a material of its own if it has a colour."""
    element = ET.SubElement(link, "visual")
    origin(element, shape.position, shape.rotation)
    geometry = ET.SubElement(element, "geometry")
    match shape.kind:
        case "box":
            ET.SubElement(geometry, "box", size=texts(shape.size))
        case "sphere":
            ET.SubElement(geometry, "sphere", radius=text(shape.size[0]))
        case "mesh":
            ET.SubElement(geometry, "mesh", filename=shape.mesh, scale=texts(shape.size))
        case kind:
            radius, length = shape.size
            ET.SubElement(geometry, kind, radius=text(radius), length=text(length))
    if shape.color is not None:
        paint = ET.SubElement(element, "material", name=material)
        ET.SubElement(paint, "color", rgba=texts(shape.color))


def text(x: float) -> str:
    """A number so that reading it gives the same number.

    >>> text(0.1 + 0.2)
    '0.30000000000000004'
    """
    if not math.isfinite(x):
        raise InputError(f"the number {x} cannot be written. Expected finite values of all formulas.")
    return repr(float(x) + 0.0)


def texts(values: Iterable[float]) -> str:
    """Numbers with spaces between them."""
    return " ".join(text(x) for x in values)
