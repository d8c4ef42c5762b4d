"""An exercise: a new joint and a new load, each a record that is added to the list of its family, without other changes.

A rack joint rolls: it rotates about its axis and advances at a right angle to it. A cubic spring in a joint has the force k s³.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import pytest

import dalembert as dl
from dalembert.errors import InputError, ModelFileError
from dalembert.io import toml_reader
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.model import joints, loads
from dalembert.model.joints import JOINTS
from dalembert.model.joints.base import ConstraintRow, Joint, MotionAxes, Rows, along, on_line, plane
from dalembert.model.keys import constant, direction, position, size
from dalembert.model.loads import LOADS
from dalembert.model.loads.base import Applied, InJoint, LoadKinematics
from dalembert.model.model import Model
from dalembert.model.record import argument, builders, motion, record
from dalembert.model.reference_model import (
    MotionProbe,
    ReferenceFrame,
    VirtualWork,
    offset,
    parallel,
    product,
    rotation_about,
    scaled_axis,
)
from dalembert.model.values import UnitVector
from dalembert.studio.tasks.forms import families, form_of
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar
from dalembert.symbolic.symbols import Formula


@record
class Rack(Joint):
    """A joint that rotates by `angle` about `axis` and rolls by radius × angle along the first direction across it."""

    kind: ClassVar[str] = "rack"

    axis: UnitVector = argument(direction, positional=True)
    angle: Formula = motion(position)
    radius: float = argument(size, 1.0, required=True, positional=True, about="a constant: of the pinion")

    @property
    def steps(self) -> Sequence[MotionAxes]:
        """A rotation about the axis with a translation along the rack."""
        return [MotionAxes(self.axis, [e * self.radius for e in plane(self.axis)[0]])]

    def closure(self, algebra: Algebra, R: Array, p: Array) -> list[ConstraintRow]:
        """On the line of the rack; the rotation is unconstrained in a loop of this exercise."""
        return [*on_line(plane(self.axis)[0], p), along("start", plane(self.axis)[0], p)]

    def reference_pose(self, algebra: Algebra, values: Sequence[Scalar]) -> tuple[Array, Array]:
        """For the evidence."""
        return scaled_axis(plane(self.axis)[0], self.radius * values[0]), rotation_about(algebra, self.axis, values[0])

    def reference_residuals(self, algebra: Algebra, F: ReferenceFrame, M: ReferenceFrame) -> Rows:
        """For the evidence."""
        return offset(F, M), parallel(F, M, self.axis)


@record
class CubicSpring(InJoint):
    """Put a cubic spring into a joint: −stiffness × motion³."""

    kind: ClassVar[str] = "cubic_spring"

    stiffness: Formula = argument(constant, positional=True, about="a constant")

    def reversed(self) -> Self:
        """The law is odd."""
        return replace(self)

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        """For the equations."""
        k, s = motion.lower(self.stiffness), motion.joint(self.body, self.joint, self.motion).value
        half = motion.algebra.half
        return [self._along(motion, -k * s * s * s, half * half * k * s * s * s * s)]

    def reference_work(self, probe: MotionProbe) -> VirtualWork:
        """For the evidence."""
        motion = self._joint_motion(probe)
        return product(self.name, -probe.number(self.stiffness) * motion.value**3, motion)


TEXT = """
name = "wheel on a rack"
gravity = [0, -9.81, 0]
parameters.k = 3.0

[coordinates]
a = { start = 0.4, rate = 0.2 }
b = { start = -0.3 }

[[body]]
name = "wheel"
mass = 2
center = [0.1, 0.05, 0]
inertia = [0.1, 0.2, 0.3]
joint = { type = "rack", axis = [0, 0, 1], angle = "a", radius = 0.5, rotation = [0, 0, 0.2] }

[[body]]
name = "rod"
parent = "wheel"
mass = 1
center = [0, -0.4, 0]
inertia = [0.02, 0.01, 0.02]
joint = { type = "revolute", axis = [0, 0, 1], angle = "b" }

[[cubic_spring]]
body = "rod"
stiffness = "k"
"""


@pytest.fixture(autouse=True)
def _members(monkeypatch):
    # what a line in JOINTS and a line in LOADS do
    monkeypatch.setattr(joints, "JOINTS", (*JOINTS, Rack))
    monkeypatch.setattr(loads, "LOADS", (*LOADS, CubicSpring))
    for name, builder in builders((Rack, CubicSpring)).items():
        monkeypatch.setattr(Model, name, builder.function, raising=False)


def test_new_members_have_methods_with_signatures_docstrings_and_messages():
    call: Any = Model("wheel").coordinates("a", "b")
    assert str(inspect.signature(call.rack)).startswith(
        "(axis: 'ArrayInput', angle: 'Written | None' = None, radius: 'float"
    )
    assert list(inspect.signature(call.cubic_spring).parameters) == ["body", "stiffness", "joint", "motion", "name"]
    assert "stiffness : Written\n    a constant" in call.cubic_spring.__doc__
    with pytest.raises(InputError, match=r"there is no argument 'stifness'\. Did you mean 'stiffness'"):
        call.cubic_spring("rod", stifness=1)


def test_methods_and_files_build_equal_elements():
    read = loads_toml(TEXT)
    made: Any = (
        Model("wheel on a rack", (0, -9.81, 0)).parameters(k=3.0).coordinate("a", 0.4, 0.2).coordinate("b", -0.3)
    )
    joint, inertia = made.rack((0, 0, 1), "a", 0.5, rotation=(0, 0, 0.2)), (0.1, 0.2, 0.3)
    made.body("wheel", joint=joint, mass=2, center=(0.1, 0.05, 0), inertia=inertia)
    pin = made.revolute((0, 0, 1), "b")
    made.body("rod", joint=pin, parent="wheel", mass=1, center=(0, -0.4, 0), inertia=(0.02, 0.01, 0.02))
    made.cubic_spring("rod", "k")
    assert made.description == read.description


def test_the_studio_has_a_form_for_new_members():
    assert "cubic_spring" in families()["Loads"]
    assert form_of("body", toml_reader.elements()["cubic_spring"]["body"]) == "body"
    assert toml_reader.joint_keys()["rack"]["radius"].required


def test_new_members_are_read_from_a_file():
    model = loads_toml(TEXT)
    (rack,), (spring,) = model.bodies[0].joints, model.loads
    assert isinstance(rack, Rack)
    assert rack.radius == 0.5
    assert spring.title == "cubic_spring 'cubic_spring1'"
    assert not [problem for problem in model.check() if problem.blocking]


def test_a_wrong_key_of_a_new_member_is_named():
    with pytest.raises(ModelFileError, match=r"there is no key 'radios' here\. Did you mean 'radius'\?"):
        loads_toml(TEXT.replace("radius", "radios"))


def test_new_members_are_written_back():
    model = loads_toml(TEXT)
    again = loads_toml(to_toml(model))
    assert again.bodies == model.bodies
    assert again.loads == model.loads


@pytest.mark.parametrize("formalism", ["kane", "newton_euler"])
def test_formalisms_agree_on_new_members(formalism):
    model = loads_toml(TEXT)
    q, qd = model.initial
    known = dl.derive(model, "lagrange", engine="python").accelerations(q, qd)
    assert dl.derive(model, formalism, engine="python").accelerations(q, qd) == pytest.approx(known, rel=1e-12)
    assert dl.forward_dynamics(model, q, qd) == pytest.approx(known, rel=1e-12)


def test_the_evidence_agrees_with_new_members():
    found = dl.verify(loads_toml(TEXT), states=5, engines=["python"])
    assert found
    assert found.principle is not None
    assert found.principle.status == "agrees"


def test_the_evidence_notices_a_wrong_force(monkeypatch):
    right = CubicSpring.applied
    monkeypatch.setattr(CubicSpring, "applied", lambda load, motion: right(load, motion) * 2)
    found = dl.verify(loads_toml(TEXT), states=5, engines=["python"])
    assert found.principle is not None
    assert found.principle.status == "differs"
