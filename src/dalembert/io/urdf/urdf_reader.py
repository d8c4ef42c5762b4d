"""Robots in URDF, the robot description of ROS: read with suspicion, and with a note for everything that is not used.

The way of a file: `xml` (text to elements), `elements` (elements to links and joints), `tree` (do they form one?),
`rigid` (are the masses possible; fixed links), `building` (the model).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dalembert.io.toml_source import Enough, failure
from dalembert.io.urdf.link_tree import grow, judge, merged, without_rounding
from dalembert.io.urdf.urdf_elements import read_robot
from dalembert.io.urdf.urdf_model import build
from dalembert.io.urdf.visuals import remark_missing
from dalembert.io.urdf.xml_reading import Element, Options, Reading, parse_xml, read_xml
from dalembert.model.model import Model


def read_urdf(
    path: str | Path,
    *,
    floating: bool = False,
    merge_fixed: bool = False,
    friction: bool = True,
    strict: bool = True,
) -> Model:
    """The model of a robot described by a URDF file.

    Bodies have the names of links and coordinates those of joints; `model.notes` tells what was changed or left out.
    The root link stands still unless it is `floating`: then it has the coordinates base_x, base_y, base_z and the
    quaternion base_qw, base_qx, base_qy, base_qz. `merge_fixed` makes links on fixed joints parts of those that carry
    them. Without `friction` the joints have neither damping nor friction. Without `strict` impossible inertias,
    moving links without mass and joints that follow no joint of the file are notes and no errors.

    >>> from dalembert.errors import ModelFileError
    >>> try:
    ...     read_urdf("no-such-place/arm.urdf")
    ... except ModelFileError as error:
    ...     print(error.problems[0].fact)
    there is no such file.
    """
    reading = Reading(str(path), Options(floating, merge_fixed, friction, strict))
    return _model(read_xml(path), reading, Path(path).parent)


def loads_urdf(
    text: str,
    source: str = "<text>",
    *,
    floating: bool = False,
    merge_fixed: bool = False,
    friction: bool = True,
    strict: bool = True,
) -> Model:
    """The model of a robot described by a text in URDF; `source` is what messages call it. Options as in `read_urdf`.

    >>> model = loads_urdf('''
    ... <robot name="pendulum">
    ...   <link name="ceiling"/>
    ...   <link name="rod">
    ...     <inertial>
    ...       <origin xyz="0 0 -0.5"/> <mass value="2"/> <inertia ixx="0.1" iyy="0.1" izz="0.01"/>
    ...     </inertial>
    ...   </link>
    ...   <joint name="swing" type="continuous">
    ...     <parent link="ceiling"/> <child link="rod"/> <axis xyz="0 1 0"/>
    ...   </joint>
    ... </robot>
    ... ''')
    >>> model
    <Model 'pendulum': 1 bodies, 1 coordinates, 0 constraints>
    >>> model.coordinate_names
    ('swing',)
    """
    return _model(parse_xml(text, source), Reading(source, Options(floating, merge_fixed, friction, strict)))


def _model(root: Element, reading: Reading, folder: Path | None = None) -> Model:
    _require_urdf(root, reading.source)
    model = None
    with suppress(Enough):
        robot = read_robot(root, reading)
        if folder is not None:
            remark_missing((visual for link in robot.links for visual in link.visuals), folder, reading)
        if tree := tuple(without_rounding(part, reading) for part in grow(robot, reading)):
            judge(tree, reading)
        if tree and not reading.found:
            model = build(robot, merged(tree, reading) if reading.options.merge_fixed else tree, reading)
    reading.require_sound()
    assert model is not None  # without problems there is one
    for note in reading.notes:
        model.note(note)
    return model


def _require_urdf(root: Element, source: str) -> None:
    """Raise when the text is of another kind, before hundreds of problems follow from it."""
    if root.tag != "robot":
        others = {"sdf": "This is an SDF file; convert", "mujoco": "This is a MuJoCo file; convert"}
        advice = f"{others[root.tag]} it to URDF." if root.tag in others else "Expected a URDF file."
        raise failure(f"{source}, line {root.line}", f"the file holds <{root.tag[:40]}> and no <robot>.", advice)
    macro = next((child for child in root.children if child.tag.startswith("xacro:")), None)
    if macro is not None:
        fact = f"<{macro.tag[:40]}> is a macro that has not been expanded."
        raise failure(f"{source}, line {macro.line}", fact, "Run the file through xacro and read the result.")
