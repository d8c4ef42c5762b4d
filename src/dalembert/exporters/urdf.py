"""A model as a robot in URDF: bodies become links, joints become joints, parameters are taken at their default values.

URDF knows trees of links on joints with friction, limits and shapes. What it has no words for is an error that names
the element; only gravity and the initial state are written into an element of our own, which other programs pass over.
Descriptions, units and notes are not written.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from dalembert.errors import InputError, ModelError
from dalembert.exporters.files import write_text
from dalembert.exporters.urdf_writer import Writer
from dalembert.model import WORLD, Elements
from dalembert.model.checks import formulas, structure
from dalembert.model.file_form import unsaid


def write_urdf(model: Elements, path: str | Path) -> None:
    """Write a model as a URDF file; the file appears only when it is complete. See `to_urdf`."""
    write_text(Path(path), to_urdf(model))


def to_urdf(model: Elements) -> str:
    """The text of a URDF file that describes the model, or an `InputError` that names what URDF cannot say.

    Joints have the names of coordinates and links those of bodies, so that reading the text gives the same model back.

    >>> from dalembert.model import Model
    >>> model = Model("pendulum", gravity=(0, 0, -9.81)).coordinates("theta")
    >>> _ = model.body("rod", joint=model.revolute((0, 1, 0), "theta"), mass=2, center=(0, 0, -0.5))
    >>> print(to_urdf(model))
    <?xml version="1.0" encoding="utf-8"?>
    <robot name="pendulum">
      <link name="world" />
      <link name="rod">
        <inertial>
          <origin xyz="0.0 0.0 -0.5" />
          <mass value="2.0" />
          <inertia ixx="0.0" ixy="0.0" ixz="0.0" iyy="0.0" iyz="0.0" izz="0.0" />
        </inertial>
      </link>
      <joint name="theta" type="continuous">
        <parent link="world" />
        <child link="rod" />
        <axis xyz="0.0 1.0 0.0" />
      </joint>
    </robot>
    <BLANKLINE>
    """
    for error in _unsayable(model):
        raise error
    found = [problem for problem in (*structure.problems(model), *formulas.undefined(model)) if problem.blocking]
    if found:
        lines = "\n".join(f"  - {problem}" for problem in found)
        raise ModelError(f"model '{model.name}' cannot be written as URDF:\n{lines}", found)
    robot = Writer(model).robot()
    ET.indent(robot)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(robot, encoding="unicode")}\n'


def _unsayable(model: Elements) -> Iterator[InputError]:
    """An error for every element that has no counterpart in URDF."""
    if model.energies is not None:
        yield InputError(f"model '{model.name}' is described by energies. Expected bodies; URDF knows nothing else.")
    for what, text in [
        ("the name of the model", model.name),
        *((f"the mesh of '{s.body}'", s.mesh) for s in model.shapes),
    ]:
        if text and not text.isprintable():
            yield InputError(
                f"{what}, {text[:60]!r}, holds characters that cannot be written. Expected printable text."
            )
    named = (
        ("loop", [loop.name for loop in model.loops], "URDF describes trees and has no loops"),
        ("nonholonomic", [c.name for c in model.nonholonomic_list], "URDF has no constraints on velocities"),
        ("canonical", [c.name for c in model.canonical_list], "URDF has no constraints on momenta"),
        ("non_ideal", model.non_ideal_forces, "URDF has no forces of constraints"),
        ("rotor", [rotor.name for rotor in model.rotors], "URDF has no inertia of motors"),
        ("speed", [speed.name for speed in model.speed_list], "URDF has no quasi-velocities"),
    )
    yield from (unsaid(contact.title, "URDF has no contacts and couplings") for contact in model.contacts)
    yield from (unsaid(f"{kind} '{name}'", fact) for kind, names, fact in named for name in names)
    known = {WORLD, *(body.name for body in model.bodies)}
    for shape in model.shapes:
        if shape.body not in known:
            yield InputError(f"shape of '{shape.body}': there is no such body. Remove it, or name a body.")
